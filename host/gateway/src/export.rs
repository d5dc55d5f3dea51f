//! Writing a bundle: what a verifier needs, from a ledger and its archive.
//!
//! Used by the operator's listener of a running gateway, and by the command
//! line on the store of one that is stopped. The rules are those of
//! `docs/spec/evidence.md` §3.

use std::io::Write;

use countersign_canon::Digest;
use countersign_evidence::bundle::{
    BundleError, Filter, FilterBy, LogExtent, Manifest, Proof, Writer,
};
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::proof::Collector;
use countersign_evidence::{Entry, Time};
use countersign_ledger::{Ledger, LedgerError, OpenError, Options, Selection};
use thiserror::Error;

use crate::archive::Archive;
use crate::config::Store;
use crate::environment::Environment;
use crate::rotation::{self, RotationError};

/// Entries that are read at once.
const PAGE: usize = 512;

/// Why there is no bundle, or only part of one.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The ledger cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Ledger(#[from] LedgerError),
    /// The store of a stopped gateway cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
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
    let signing = rotation::read(&store.key)?;
    let key = signing.verifying_key();
    let options = Options::new(store.path.clone(), store.anchor.clone());
    let ledger = Ledger::open_sqlite(options, environment.clock.clone(), signing)?;
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
    selection: &Selection,
    out: W,
) -> Result<W, ExportError> {
    let source = open_store(store, environment)?;
    source.ledger.checkpoint().wait()?;
    let out = write(&source, selection, environment.now(), out)?;
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
    selection: &Selection,
    now: Time,
    out: W,
) -> Result<W, ExportError> {
    // Entries that come later are another export's, and so are those that came
    // since the checkpoint was cut; but a ledger that cuts none any more shows
    // what it holds.
    let mut head = source.ledger.head()?;
    let checkpoint = source.ledger.newest_checkpoint()?;
    if let Some(signed) = &checkpoint
        && !source.ledger.rolled_back()
        && !source.ledger.failed()
    {
        head.size = head.size.min(signed.size);
    }
    let manifest = Manifest {
        exported: Some(now),
        logs: vec![LogExtent {
            log_id: head.log_id.clone(),
            size: head.size,
            key: Some(source.key.to_string()),
        }],
        filter: filter(selection),
    };
    let mut writer = Writer::new(out, &manifest)?;
    let chosen = entries(source, selection, head.size, &mut writer)?;
    if manifest.filter.is_some()
        && let Some(checkpoint) = &checkpoint
    {
        proofs(source, &chosen, checkpoint.size, &mut writer)?;
    }
    if let Some(checkpoint) = checkpoint {
        writer.checkpoint(&checkpoint.text)?;
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
    for set in &named.policies {
        for (name, text) in source
            .archive
            .policies(*set)
            .map_err(ExportError::Archive)?
        {
            writer.policy(*set, &name, &text)?;
        }
    }
    Ok(writer.finish()?)
}

/// Writes the entries of a selection below `size`; gives their places.
fn entries<W: Write>(
    source: &Source,
    selection: &Selection,
    size: u64,
    writer: &mut Writer<W>,
) -> Result<Vec<u64>, ExportError> {
    let mut chosen = Vec::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let page = source.ledger.entries(selection, from, PAGE)?;
        next = page.next;
        for stored in page.entries {
            if stored.sequence >= size {
                return Ok(chosen);
            }
            match Entry::parse(&stored.bytes) {
                Ok(entry) => writer.entry(&entry)?,
                // Written by a later version; it is exported as it stands.
                Err(_) => writer.raw_entry(&stored.bytes)?,
            }
            if *selection != Selection::All {
                chosen.push(stored.sequence);
            }
        }
    }
    Ok(chosen)
}

/// Writes the inclusion proofs of the chosen entries under the checkpoint.
fn proofs<W: Write>(
    source: &Source,
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
        let page = source.ledger.entries(&Selection::All, from, PAGE)?;
        next = page.next;
        for stored in page.entries {
            collector.leaf(Digest::to_bytes(stored.hash));
        }
    }
    for sequence in signed {
        if let Some(path) = collector.inclusion(sequence) {
            let log_id = source.ledger.log_id().clone();
            writer.proof(&Proof {
                log_id,
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
