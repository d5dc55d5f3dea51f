//! The whole check of a database: SQLite's own, every entry, every row.
//!
//! Opening looks at the schema, the last entry and the anchor, since a start
//! must not take hours. This looks at everything, in one transaction, and
//! changes nothing: it works on a damaged database and on a backup. Only while
//! no gateway writes it, since a reader of that length keeps the WAL from
//! starting again.

use std::path::Path;

use countersign_canon::Digest;
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::tree::Frontier;
use countersign_evidence::{CallId, Entry, Head, LogId};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::anchor::Anchor;
use crate::check::{Checked, Finding, Progress, Step};
use crate::error::CheckError;
use crate::execution::Execution;
use crate::plan::Row;
use crate::record::State;
use crate::sqlite::columns::{Count, Raw};
use crate::sqlite::connect::reading;
use crate::sqlite::signers::Signers;
use crate::sqlite::{rows, schema};

/// Entries, or rows, that are read at once.
const PAGE: usize = 1_000;
/// Findings after which no more are kept.
const MOST_FINDINGS: usize = 100;

struct Check<'a> {
    connection: Connection,
    log_id: LogId,
    checked: Checked,
    progress: &'a mut dyn FnMut(Progress),
}

/// Checks the database at `path`; against `key` and the anchor where they are
/// given.
///
/// # Errors
///
/// [`CheckError`] where there is nothing that could be checked.
pub fn check(
    path: &Path,
    key: Option<&VerifyingKey>,
    anchor: Option<&Path>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Checked, CheckError> {
    if !path.exists() {
        return Err(CheckError::Missing(path.to_owned()));
    }
    let connection = reading(path)?;
    let (found, known) = (schema::version(&connection)?, schema::newest());
    if found != known {
        return Err(CheckError::Version { found, known });
    }
    connection.execute_batch("BEGIN")?;
    let (log_id, head): (String, Vec<u8>) =
        connection.query_row("SELECT log_id, head FROM ledger", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let log_id = LogId::new(&log_id).map_err(|_| CheckError::NoLedger)?;
    let mut check = Check {
        connection,
        log_id: log_id.clone(),
        checked: Checked::of(log_id.clone()),
        progress,
    };
    check.pages()?;
    let signers = check.signers(key)?;
    let tree = check.entries(signers.as_ref())?;
    match Head::decode(log_id, &head) {
        Ok(head) => check.head(&head, &tree),
        Err(error) => check.find("ledger", error.to_string()),
    }
    check.executions()?;
    check.agents()?;
    if let Some(anchor) = anchor {
        check.anchor(anchor)?;
    }
    Ok(check.checked)
}

/// The log as its entries make it.
struct Tree {
    frontier: Frontier,
    last: Option<Digest>,
}

impl Check<'_> {
    fn find(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.checked.found += 1;
        if self.checked.findings.len() < MOST_FINDINGS {
            self.checked.findings.push(Finding {
                place: place.into(),
                what: what.into(),
            });
        }
    }

    fn tell(&mut self, step: Step, done: u64, of: u64) {
        (self.progress)(Progress { step, done, of });
    }

    fn count(&self, table: &str) -> Result<u64, CheckError> {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: Count = self.connection.query_row(&sql, [], |row| row.get(0))?;
        Ok(count.0)
    }

    /// What SQLite itself says of its pages and indexes.
    fn pages(&mut self) -> Result<(), CheckError> {
        self.tell(Step::Pages, 0, 1);
        let said: Vec<String> = {
            let sql = format!("PRAGMA integrity_check({MOST_FINDINGS})");
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        for line in said.into_iter().filter(|line| line != "ok") {
            self.find("sqlite", line);
        }
        let foreign: usize = {
            let mut statement = self.connection.prepare("PRAGMA foreign_key_check")?;
            let rows = statement.query_map([], |_| Ok(()))?;
            rows.count()
        };
        if foreign > 0 {
            self.find("sqlite", format!("{foreign} references to no row"));
        }
        self.tell(Step::Pages, 1, 1);
        Ok(())
    }

    /// The keys that may have signed the checkpoints, where one is given.
    fn signers(&mut self, key: Option<&VerifyingKey>) -> Result<Option<Signers>, CheckError> {
        let Some(key) = key else { return Ok(None) };
        let (signers, broken) = Signers::of(&self.connection, key)?;
        if let Some(broken) = broken {
            let place = format!("entry {}", broken.sequence);
            self.find(place, "does not hand over to the key that follows");
        }
        Ok(Some(signers))
    }

    /// Every entry, in order: its bytes, its hash, its place, its chain; and
    /// every checkpoint, when the tree has its size.
    fn entries(&mut self, signers: Option<&Signers>) -> Result<Tree, CheckError> {
        let of = self.count("entries")?;
        let mut tree = Tree {
            frontier: Frontier::new(),
            last: None,
        };
        self.checkpoint(0, &tree, signers)?;
        let mut from = 0;
        loop {
            let page = self.page(from)?;
            let full = page.len() == PAGE;
            for (sequence, hash, bytes) in page {
                let expected = tree.frontier.size();
                let place = format!("entry {sequence}");
                if sequence != expected {
                    self.find(&place, format!("stands where {expected} should"));
                }
                match Entry::parse(&bytes) {
                    Err(error) => self.find(&place, error.to_string()),
                    Ok(entry) => {
                        if entry.hash() != hash {
                            self.find(&place, "is not what its hash says");
                        }
                        if entry.sequence() != sequence || entry.log_id() != &self.log_id {
                            self.find(&place, "says that it stands elsewhere");
                        }
                        if entry.previous() != tree.last {
                            self.find(&place, "is not chained to the one before it");
                        }
                    }
                }
                tree.frontier.append(hash.to_bytes());
                tree.last = Some(hash);
                from = sequence.saturating_add(1);
                self.checked.entries += 1;
                self.checkpoint(tree.frontier.size(), &tree, signers)?;
            }
            self.tell(Step::Entries, self.checked.entries, of);
            if !full {
                break;
            }
        }
        let beyond: Count = self.connection.query_row(
            "SELECT count(*) FROM checkpoints WHERE size > ?1",
            params![Count(tree.frontier.size())],
            |row| row.get(0),
        )?;
        if beyond.0 > 0 {
            let what = format!("{} checkpoints sign more entries than there are", beyond.0);
            self.find("checkpoints", what);
        }
        Ok(tree)
    }

    fn page(&self, from: u64) -> Result<Vec<(u64, Digest, Vec<u8>)>, CheckError> {
        let sql = "SELECT sequence, hash, bytes FROM entries WHERE sequence >= ?1 \
                   ORDER BY sequence LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = Count(u64::try_from(PAGE).unwrap_or(0));
        let rows = statement.query_map(params![Count(from), limit], |row| {
            Ok((
                row.get::<_, Count>(0)?.0,
                row.get::<_, Raw>(1)?.0,
                row.get(2)?,
            ))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The checkpoint of that size, if there is one.
    fn checkpoint(
        &mut self,
        size: u64,
        tree: &Tree,
        signers: Option<&Signers>,
    ) -> Result<(), CheckError> {
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT text FROM checkpoints WHERE size = ?1")?
            .query_row(params![Count(size)], |row| row.get(0))
            .optional()?;
        let Some(text) = text else { return Ok(()) };
        self.checked.checkpoints += 1;
        let place = format!("checkpoint {size}");
        match SignedCheckpoint::parse(&text) {
            Err(error) => self.find(&place, error.to_string()),
            Ok(signed) => {
                let said = signed.unverified();
                if said.size != size || said.root != tree.frontier.root() {
                    self.find(&place, "signs another log");
                }
                if signers.is_some_and(|signers| !signers.signed(&signed)) {
                    self.find(&place, "is not signed by the key that was in force");
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, head: &Head, tree: &Tree) {
        if head.size() != tree.frontier.size()
            || head.last() != tree.last
            || head.root() != tree.frontier.root()
        {
            self.find("ledger", "the head is not that of the entries");
        }
    }

    /// Every row: its chain of entries, from the first to the tip that it names.
    fn executions(&mut self) -> Result<(), CheckError> {
        let of = self.count("executions")?;
        let mut after = 0;
        loop {
            let page = rows::after(&self.connection, &self.log_id, after, PAGE)?;
            let full = page.len() == PAGE;
            for Row { number, execution } in page {
                after = number;
                self.checked.executions += 1;
                self.chain(number, &execution)?;
            }
            self.tell(Step::Executions, self.checked.executions, of);
            if !full {
                return Ok(());
            }
        }
    }

    fn chain(&mut self, number: i64, execution: &Execution) -> Result<(), CheckError> {
        let place = format!("execution of call `{}`", execution.call_id);
        let entries: Vec<(Vec<u8>, Option<String>)> = {
            let sql = "SELECT bytes, call_id FROM entries WHERE execution = ?1 ORDER BY sequence";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![number], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<_, _>>()?
        };
        let (mut length, mut last, mut terminal) = (0_u64, None, false);
        for (bytes, found_by) in &entries {
            // One that cannot be read was found among the entries.
            let Ok(entry) = Entry::parse(bytes) else {
                return Ok(());
            };
            let link = entry.link();
            let fits = link.is_some_and(|link| {
                link.execution_seq == length && link.execution_previous == last
            });
            let said = entry.said();
            let mine = said.agent.as_ref() == Some(&execution.agent)
                && said.execution_id == execution.execution_id;
            if !fits || !mine {
                let at = entry.sequence();
                self.find(&place, format!("entry {at} is not the next of its chain"));
            }
            // Its own call's entries are found by the row; other builds named them
            // once more.
            let call_id = said.call_id.as_ref().map(CallId::as_str);
            let by_row = call_id == Some(execution.call_id.as_str());
            if found_by.as_deref() != call_id && !(by_row && found_by.is_none()) {
                let at = entry.sequence();
                self.find(&place, format!("entry {at} is not found by its call"));
            }
            let named = execution.terminal.as_ref();
            terminal |= named.is_some_and(|named| named.hash == entry.hash());
            length += 1;
            last = Some(entry.hash());
        }
        if length != execution.chain_length || last != Some(execution.last.hash) {
            self.find(&place, "its tip is not the last entry of its chain");
        }
        let settled = matches!(execution.record.state, State::Settled(_));
        if settled != execution.terminal.is_some() || settled != terminal {
            self.find(&place, "its terminal entry is not on its chain");
        }
        Ok(())
    }

    /// What agents are said to hold.
    fn agents(&mut self) -> Result<(), CheckError> {
        let wrong: Vec<String> = {
            let sql = "SELECT a.subject FROM agents a WHERE a.held <> \
                       (SELECT count(*) FROM executions e WHERE e.agent = a.number)";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        for subject in wrong {
            self.find(
                format!("agent `{subject}`"),
                "holds another number of executions than is counted",
            );
        }
        Ok(())
    }

    /// The database must hold what the anchor names.
    fn anchor(&mut self, path: &Path) -> Result<(), CheckError> {
        let anchor = match Anchor::read(path) {
            Ok(Some(anchor)) => anchor,
            Ok(None) => {
                self.find("anchor", "there is none");
                return Ok(());
            }
            Err(error) => {
                self.find("anchor", error.to_string());
                return Ok(());
            }
        };
        if anchor.log_id != self.log_id {
            self.find(
                "anchor",
                format!("it is that of the log `{}`", anchor.log_id),
            );
            return Ok(());
        }
        let Some(last) = anchor.size.checked_sub(1) else {
            return Ok(());
        };
        let held: Option<Raw> = self
            .connection
            .query_row(
                "SELECT hash FROM entries WHERE sequence = ?1",
                params![Count(last)],
                |row| row.get(0),
            )
            .optional()?;
        if held.map(|held| held.0) != anchor.last {
            let what = format!(
                "it names {} entries, and the database is behind it or another",
                anchor.size
            );
            self.find("anchor", what);
        }
        Ok(())
    }
}
