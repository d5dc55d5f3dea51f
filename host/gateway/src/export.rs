//! Writing a bundle: what a verifier needs, from a ledger and its archive.
//!
//! Used by the operator's listener of a running gateway, and by the command
//! line on the store of one that is stopped. The rules are those of
//! `docs/spec/evidence.md` §3.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::bundle::{
    BundleError, ExecutionName, Filter, FilterBy, LogExtent, Manifest, Opening, Proof, Writer,
};
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::proof::Collector;
use countersign_evidence::{Blinding, Entry, Kind, LogId, Time};
use countersign_ledger::{
    AnswerBounds, KnownLog, Ledger, LedgerError, Selection, StoredCheckpoint, StoredEntry,
};
use thiserror::Error;

use crate::archive::Archive;
use crate::config::Store;
use crate::environment::Environment;
use crate::rotation::{self, RotationError};
use crate::store::{self, StoreError};

/// Entries that are read at once.
const PAGE: usize = 512;

/// How long another replica's next checkpoint is waited for, and how often it is
/// looked for: a little longer than replicas wait with it.
const LOOKS: u32 = 24;
const LOOK: Duration = Duration::from_millis(250);

/// Why there is no bundle, or only part of one.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The ledger cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Ledger(#[from] LedgerError),
    /// The store of a stopped gateway cannot be opened.
    #[error(transparent)]
    Open(#[from] StoreError),
    /// The key cannot be read.
    #[error(transparent)]
    Key(#[from] RotationError),
    /// The archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    Archive(#[source] std::io::Error),
    /// The bundle cannot be written.
    #[error("the bundle cannot be written: {0}")]
    Bundle(#[from] BundleError),
}

/// What is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which entries.
    pub selection: Selection,
    /// Whether the salts of blinded executions among them go with them.
    pub salts: bool,
}

/// Where a bundle comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The ledger.
    pub ledger: Ledger,
    /// What its entries name.
    pub archive: Archive,
    /// The log's key, for the reader to compare.
    pub key: VerifyingKey,
}

/// Opens the store of a stopped gateway, as an incarnation of its own: what an
/// earlier one left in flight is blocked now.
///
/// # Errors
/// [`ExportError`]; `ledger-in-use` while a gateway has it.
pub fn open_store(store: &Store, environment: &Environment) -> Result<Source, ExportError> {
    let (signing, unfinished) = match rotation::read(&store.key, environment) {
        Err(error @ RotationError::Unfinished { .. }) => {
            (rotation::in_place(&store.key, environment)?, Some(error))
        }
        read => (read?, None),
    };
    let key = signing.verifying_key();
    let ledger = store::open(store, environment, signing, AnswerBounds::default())?;
    // A rollback is accepted first, and nothing else can be done until then.
    if let Some(unfinished) = unfinished.filter(|_| !ledger.rolled_back()) {
        ledger.stop()?;
        return Err(unfinished.into());
    }
    Ok(Source {
        ledger,
        archive: Archive::new(store.archive.clone()),
        key,
    })
}

/// Exports from the store of a stopped gateway, and closes it again.
///
/// # Errors
/// [`ExportError`].
pub fn from_store<W: Write>(
    store: &Store,
    environment: &Environment,
    wanted: &Wanted,
    out: W,
) -> Result<W, ExportError> {
    let source = open_store(store, environment)?;
    source.ledger.checkpoint().wait()?;
    let out = write(&source, wanted, environment.now(), out)?;
    source.ledger.stop()?;
    Ok(out)
}

/// Writes a bundle of what was committed before. Cut a checkpoint first, so
/// that all of it is signed.
///
/// # Errors
/// [`ExportError`]; then what was written is not a bundle.
pub fn write<W: Write>(
    source: &Source,
    wanted: &Wanted,
    now: Time,
    out: W,
) -> Result<W, ExportError> {
    let logs = signed_logs(source)?;
    let manifest = Manifest {
        exported: Some(now),
        logs: logs.iter().map(|log| log.extent(source)).collect(),
        filter: filter(&wanted.selection),
    };
    let mut disclosed = HashSet::new();
    let mut writer = Writer::new(out, &manifest)?;
    for log in &logs {
        let chosen = entries(source, log, wanted, &mut disclosed, &mut writer)?;
        if manifest.filter.is_some()
            && let Some(checkpoint) = &log.checkpoint
        {
            let log_id = &log.known.head.log_id;
            proofs(source, log_id, &chosen, checkpoint.size, &mut writer)?;
        }
        if let Some(checkpoint) = &log.checkpoint {
            writer.checkpoint(&checkpoint.text)?;
        }
    }
    let named = writer.named().clone();
    for (profile, component) in &named.profiles {
        // What is missing the verifier will miss, and say so.
        let bytes = source
            .archive
            .profile(*component)
            .map_err(ExportError::Archive)?;
        if let (Ok(id), Some(bytes)) = (profile.parse(), bytes) {
            writer.profile(&id, &bytes)?;
        }
    }
    for checkpoint in &named.catalogs {
        let offer = source
            .archive
            .offer(*checkpoint)
            .map_err(ExportError::Archive)?;
        if let Some(text) = offer {
            writer.catalog(*checkpoint, &text)?;
        }
    }
    for set in &named.policies {
        for (name, text) in source
            .archive
            .policies(*set)
            .map_err(ExportError::Archive)?
        {
            writer.policy(*set, &name, &text)?;
        }
    }
    if writer.left_out() > 0 {
        tracing::warn!(
            members = writer.left_out(),
            "what a bundle cannot hold was left out of it: name it to the verifier"
        );
    }
    Ok(writer.finish()?)
}

/// One log as far as it is exported. Entries that come later are another
/// export's.
struct Log {
    known: KnownLog,
    checkpoint: Option<StoredCheckpoint>,
}

impl Log {
    fn extent(&self, source: &Source) -> LogExtent {
        let head = &self.known.head;
        let key = self.known.key.clone();
        LogExtent {
            log_id: head.log_id.clone(),
            size: head.size,
            key: key.or_else(|| Some(source.key.to_string())),
        }
    }

    /// Leaves out what came since the checkpoint was cut, where no chain can go
    /// on in another log; but a ledger that cuts none any more shows what it
    /// holds.
    fn end_where_signed(&mut self, source: &Source) {
        if let Some(signed) = &self.checkpoint
            && !source.ledger.rolled_back()
            && !source.ledger.failed()
        {
            let head = &mut self.known.head;
            head.size = head.size.min(signed.size);
        }
    }

    fn is_signed(&self) -> bool {
        let newest = self.checkpoint.as_ref();
        newest.is_some_and(|newest| newest.size >= self.known.head.size)
    }
}

/// Every log of the store, with its newest checkpoint. The other replicas of a
/// fleet sign what they have written a few seconds later, which is waited for;
/// one that is gone signs no more.
fn signed_logs(source: &Source) -> Result<Vec<Log>, ExportError> {
    let mut looks = 0;
    loop {
        // Checkpoints before ends, so that none signs more than is exported.
        let mut checkpoints = HashMap::new();
        for known in source.ledger.logs().wait()? {
            let log_id = known.head.log_id;
            let newest = source.ledger.newest_checkpoint_of(&log_id).wait()?;
            checkpoints.insert(log_id, newest);
        }
        let mut logs: Vec<Log> = source
            .ledger
            .logs()
            .wait()?
            .into_iter()
            .map(|known| Log {
                checkpoint: checkpoints.remove(&known.head.log_id).flatten(),
                known,
            })
            .collect();
        if let [only] = logs.as_mut_slice() {
            only.end_where_signed(source);
        }
        let own = source.ledger.log_id();
        let mut others = logs.iter().filter(|log| log.known.head.log_id != *own);
        if looks >= LOOKS || others.all(Log::is_signed) {
            return Ok(logs);
        }
        looks += 1;
        std::thread::sleep(LOOK);
    }
}

/// Writes the entries of a selection in one log; gives their places.
fn entries<W: Write>(
    source: &Source,
    log: &Log,
    wanted: &Wanted,
    disclosed: &mut HashSet<ExecutionName>,
    writer: &mut Writer<W>,
) -> Result<Vec<u64>, ExportError> {
    let (log_id, size) = (&log.known.head.log_id, log.known.head.size);
    let selection = &wanted.selection;
    let mut chosen = Vec::new();
    let mut keys = match selection {
        Selection::All => BTreeMap::new(),
        _ => rotations(source, log_id, size)?,
    };
    let mut next = Some(0);
    while let Some(from) = next {
        let page = source
            .ledger
            .entries_of(log_id, selection, from, PAGE)
            .wait()?;
        next = page.next;
        for stored in page.entries {
            if stored.sequence >= size {
                next = None;
                break;
            }
            let later = keys.split_off(&stored.sequence);
            for (sequence, bytes) in std::mem::replace(&mut keys, later) {
                writer.raw_entry(&bytes)?;
                chosen.push(sequence);
            }
            keys.remove(&stored.sequence);
            match Entry::parse(&stored.bytes) {
                Ok(entry) => {
                    writer.entry(&entry)?;
                    if wanted.salts
                        && let Some((salt, binding)) = stored.opening
                        && discloses(&entry, selection, disclosed)
                        && let Some(opening) = Opening::of(entry.said(), binding, salt)
                    {
                        writer.opening(&opening)?;
                    }
                }
                // Written by a later version; it is exported as it stands.
                Err(_) => writer.raw_entry(&stored.bytes)?,
            }
            if *selection != Selection::All {
                chosen.push(stored.sequence);
            }
        }
    }
    for (sequence, bytes) in keys {
        writer.raw_entry(&bytes)?;
        chosen.push(sequence);
    }
    Ok(chosen)
}

/// The entries that change a log's key, by their places: every part carries
/// them, or whoever trusts an earlier key could not tell who signed its head.
fn rotations(
    source: &Source,
    log_id: &LogId,
    size: u64,
) -> Result<BTreeMap<u64, Vec<u8>>, ExportError> {
    let is = |stored: &StoredEntry| {
        let entry = names_rotation(&stored.bytes).then(|| Entry::parse(&stored.bytes));
        entry.is_some_and(|entry| entry.is_ok_and(|e| e.said().kind == Kind::KeyRotated))
    };
    let mut found = BTreeMap::new();
    let mut next = Some(0);
    while let Some(from) = next.filter(|from| *from < size) {
        let all = Selection::All;
        let page = source.ledger.entries_of(log_id, &all, from, PAGE).wait()?;
        next = page.next;
        let entries = page.entries.into_iter();
        let rotations = entries.filter(|stored| stored.sequence < size && is(stored));
        found.extend(rotations.map(|stored| (stored.sequence, stored.bytes)));
    }
    Ok(found)
}

/// Whether an entry can be a rotation, without reading it.
fn names_rotation(bytes: &[u8]) -> bool {
    let word = Kind::KeyRotated.as_str().as_bytes();
    bytes.windows(word.len()).any(|window| window == word)
}

/// Whether an entry is the first of its execution that is exported. In a whole
/// bundle that is its admission; in a part it has to be remembered.
fn discloses(entry: &Entry, selection: &Selection, disclosed: &mut HashSet<ExecutionName>) -> bool {
    if *selection == Selection::All {
        return entry.link().is_some_and(|link| link.execution_seq == 0);
    }
    // What holds no blinded value has nothing to be opened.
    entry.said().blind == Blinding::Salted
        && ExecutionName::of(entry.said()).is_some_and(|name| disclosed.insert(name))
}

/// Writes the inclusion proofs of the chosen entries under the checkpoint.
fn proofs<W: Write>(
    source: &Source,
    log_id: &LogId,
    chosen: &[u64],
    size: u64,
    writer: &mut Writer<W>,
) -> Result<(), ExportError> {
    let mut collector = Collector::new(size);
    let signed: Vec<u64> = chosen
        .iter()
        .copied()
        .filter(|sequence| *sequence < size)
        .collect();
    for sequence in &signed {
        collector.want_inclusion(*sequence);
    }
    let mut next = Some(0);
    while let Some(from) = next.filter(|from| *from < size) {
        let all = Selection::All;
        let page = source.ledger.entries_of(log_id, &all, from, PAGE).wait()?;
        next = page.next;
        for stored in page.entries {
            collector.leaf(Digest::to_bytes(stored.hash));
        }
    }
    for sequence in signed {
        if let Some(path) = collector.inclusion(sequence) {
            writer.proof(&Proof {
                log_id: log_id.clone(),
                sequence,
                size,
                path,
            })?;
        }
    }
    Ok(())
}

fn filter(selection: &Selection) -> Option<Filter> {
    let (by, value) = match selection {
        Selection::All => return None,
        Selection::Execution(_, id) => (FilterBy::Execution, id.to_string()),
        Selection::Call(call_id) => (FilterBy::Execution, call_id.to_string()),
        Selection::Agent(agent) => (
            FilterBy::Agent,
            format!("{}:{}:{}", agent.method, agent.issuer, agent.subject),
        ),
        Selection::Workflow(id) => (FilterBy::Workflow, id.to_string()),
        Selection::Time(from, to) => {
            let text = |micros: &i64| Time::from_micros(*micros).to_string();
            (FilterBy::Time, format!("{}/{}", text(from), text(to)))
        }
    };
    Some(Filter { by, value })
}
