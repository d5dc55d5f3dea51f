//! Decides what a group of requests writes, before anything is written.
//!
//! A [`Plan`] reads rows through [`Rows`] inside the transaction that will
//! carry its writes, applies the state machine to a working set in memory, and
//! yields a [`Batch`]. Requests of one group see each other's effects here, so
//! that the store writes each row once. A request that fails leaves nothing in
//! the plan; an error of the store ends the whole plan.

mod act;
mod attempt;
mod draft;
#[cfg(test)]
pub(crate) mod sample;
mod settle;

use std::collections::HashMap;

use countersign_canon::Digest;
use countersign_evidence::{
    Agent, CallId, Draft, Entry, ExecutionId, Head, Kind, Link, Receipt, Round, RoundSays, Salt,
    Time,
};

use crate::attempt::{Epochs, Position};
use crate::error::LedgerError;
use crate::execution::Execution;
use crate::identity::Incarnation;
use crate::options::Salts;
use crate::record::Record;
use crate::request::InForce;
use crate::settlement::Kept;
use crate::step::{Effects, Owner};
use crate::store::StoreError;

pub(crate) use attempt::Answer as AttemptAnswer;

/// What an entry that ends something may be longer than the one that opened it, in
/// bytes: two digests, a code, a task's state. Where an opening entry left no such
/// room, a call could be made whose end cannot be written.
const ENDING_BYTES: usize = 4_096;

/// A row with the number under which its store keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) number: i64,
    pub(crate) execution: Execution,
}

/// What a plan reads: the rows as the transaction sees them.
pub(crate) trait Rows {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Result<Option<Row>, StoreError>;
    fn by_call(&self, call_id: &CallId) -> Result<Option<Row>, StoreError>;
    fn by_number(&self, number: i64) -> Result<Option<Row>, StoreError>;
    fn held_by(&self, agent: &Agent) -> Result<u64, StoreError>;
    fn issued_to(&self, agent: &Agent, state: &Digest) -> Result<bool, StoreError>;
    fn retained(&self, number: i64) -> Result<Option<Vec<u8>>, StoreError>;
    /// Until when the settled answer of a row is kept, where that is after
    /// `now_us`.
    fn kept_until(&self, number: i64, now_us: i64) -> Result<Option<i64>, StoreError>;
    /// Whether this replica's log holds an entry.
    fn holds(&self, sequence: u64, hash: Digest) -> Result<bool, StoreError>;
    /// Whether an incarnation that is not this one is proved dead.
    fn dead(&self, incarnation: Incarnation) -> Result<bool, StoreError>;
}

/// What must stand in a row for a write to it to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Was {
    pub(crate) owner: Owner,
    pub(crate) chain_length: u64,
}

/// What happens to the answer that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Retain {
    Leave,
    /// For the round that is awaited.
    Keep(Vec<u8>),
    /// That round is answered.
    Drop,
    /// The one that settled it, for a while.
    Answer(Kept),
}

/// A row that the group touched.
#[derive(Clone, Debug)]
pub(crate) struct Working {
    pub(crate) row: Row,
    /// `None` for a row that the group inserts.
    pub(crate) was: Option<Was>,
    pub(crate) changed: bool,
    pub(crate) retain: Retain,
}

/// An entry of the group, with the row on whose chain it stands.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) entry: Entry,
    pub(crate) row: Option<i64>,
    /// Whether that row is the one that the entry's own call opened, by which
    /// it is found.
    by_row: bool,
}

impl Planned {
    fn on(row: &Row, entry: Entry) -> Self {
        Self {
            by_row: entry.said().call_id.as_ref() == Some(&row.execution.call_id),
            row: Some(row.number),
            entry,
        }
    }

    /// The call by which the entry is to be found by itself. What stands on the
    /// chain that its own call opened is found by the row, whose name it repeats:
    /// a second index by calls would cost each call a page.
    pub(crate) fn call_id(&self) -> Option<&CallId> {
        let named = self.entry.said().call_id.as_ref();
        named.filter(|_| !self.by_row)
    }

    /// An entry that is about no execution.
    fn alone(entry: Entry) -> Self {
        Self {
            entry,
            row: None,
            by_row: false,
        }
    }
}

/// What a group writes, all in one transaction.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<Working>,
    pub(crate) entries: Vec<Planned>,
    pub(crate) held: HashMap<Agent, u64>,
    /// Agents that now hold so many rows that an operator should know.
    pub(crate) nearing: Vec<Nearing>,
    pub(crate) head: Head,
    pub(crate) epochs: Epochs,
    /// When it was decided, microseconds since 1970.
    pub(crate) now_us: i64,
}

/// An agent that comes near to the rows that it may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nearing {
    pub(crate) agent: Agent,
    pub(crate) held: u64,
    pub(crate) limit: u64,
}

/// What the plan starts from, read in the same transaction.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) head: Head,
    pub(crate) epochs: Epochs,
    pub(crate) next_number: i64,
}

/// The answer to one request, or the store's error, which ends the group.
pub(crate) type Said<T> = Result<Result<T, LedgerError>, StoreError>;

pub(crate) struct Plan<'a, R> {
    rows: &'a R,
    now: Time,
    me: Incarnation,
    agent_rows: u64,
    /// How many rollbacks of the store this process has accepted.
    era: u64,
    /// Set where executions that are reserved now are blinded.
    blind: Option<&'a Salts>,
    base: Base,
    working: Vec<Working>,
    entries: Vec<Planned>,
    held: HashMap<Agent, u64>,
    nearing: Vec<Nearing>,
}

impl<'a, R: Rows> Plan<'a, R> {
    pub(crate) fn new(
        rows: &'a R,
        base: Base,
        now_us: i64,
        me: Incarnation,
        agent_rows: u64,
    ) -> Self {
        let now = Time::from_micros(now_us);
        let (working, entries, held) = (Vec::new(), Vec::new(), HashMap::new());
        Self {
            rows,
            now,
            me,
            agent_rows,
            era: 0,
            blind: None,
            base,
            working,
            entries,
            held,
            nearing: Vec::new(),
        }
    }

    /// Gives permits of that era, and knows those of earlier ones.
    pub(crate) fn in_era(mut self, era: u64) -> Self {
        self.era = era;
        self
    }

    /// Blinds the executions that are reserved from here on, with such salts.
    pub(crate) fn blinded(mut self, blind: Option<&'a Salts>) -> Self {
        self.blind = blind;
        self
    }

    pub(crate) fn into_batch(self) -> Batch {
        let Self {
            now,
            base,
            mut working,
            entries,
            held,
            nearing,
            ..
        } = self;
        working.retain(|working| working.changed);
        Batch {
            rows: working,
            entries,
            held,
            nearing,
            head: base.head,
            epochs: base.epochs,
            now_us: now.micros(),
        }
    }

    /// Appends an entry that belongs to no execution.
    pub(crate) fn append(
        &mut self,
        draft: &Draft,
        in_force: InForce,
    ) -> Result<(Position, Epochs), LedgerError> {
        let entry = self.place_alone(draft.clone())?;
        let position = position(&entry);
        self.entries.push(Planned::alone(entry));
        let epochs = &mut self.base.epochs;
        match in_force {
            InForce::Unchanged => {}
            InForce::Policy => epochs.policy = epochs.policy.saturating_add(1),
            InForce::Catalog => epochs.catalog = epochs.catalog.saturating_add(1),
        }
        Ok((position, *epochs))
    }

    /// Places an entry that no row is about: nothing could keep its salt.
    fn place_alone(&mut self, mut draft: Draft) -> Result<Entry, LedgerError> {
        if self.blind.is_some() {
            draft.withhold();
        }
        self.place(draft, None)
    }

    /// Places an entry about a row, which says whether it is blinded.
    fn place_on(
        &mut self,
        mut draft: Draft,
        link: Link,
        salt: Option<&Salt>,
    ) -> Result<Entry, LedgerError> {
        if let Some(salt) = salt {
            draft.blind(salt);
        }
        self.place(draft, Some(link))
    }

    fn place(&mut self, mut draft: Draft, link: Option<Link>) -> Result<Entry, LedgerError> {
        draft.time = self.now;
        let mut head = self.base.head.clone();
        let room = if opens(&draft) { ENDING_BYTES } else { 0 };
        let entry = head.append(draft, link);
        let most = usize::try_from(Entry::MAX_BYTES).unwrap_or(usize::MAX);
        if entry.bytes().len().saturating_add(room) > most {
            return Err(LedgerError::EntryTooLong);
        }
        self.base.head = head;
        Ok(entry)
    }

    /// Moves the row at `index` and appends the entry that this leaves; says where.
    fn advance(
        &mut self,
        index: usize,
        record: Record,
        effects: &Effects,
        draft: Draft,
    ) -> Result<Position, LedgerError> {
        let Some(working) = self.working.get(index) else {
            return Err(LedgerError::NotFound);
        };
        let execution = &working.row.execution;
        let link = Link {
            execution_seq: execution.chain_length,
            execution_previous: Some(execution.last.hash),
        };
        let salt = execution.salt;
        let draft = draft::finished(draft, &record, effects);
        let entry = self.place_on(draft, link, salt.as_ref())?;
        let now_us = self.now.micros();
        let Some(working) = self.working.get_mut(index) else {
            return Err(LedgerError::NotFound);
        };
        working.changed = true;
        let execution = &mut working.row.execution;
        execution.record = record;
        execution.chain_length = execution.chain_length.saturating_add(1);
        let place = position(&entry);
        execution.last = place.clone();
        execution.changed_us = now_us;
        if effects.terminal {
            execution.terminal = Some(place.clone());
        }
        self.entries.push(Planned::on(&working.row, entry));
        Ok(place)
    }

    fn find(&mut self, agent: &Agent, id: &ExecutionId) -> Result<Option<usize>, StoreError> {
        let known = self.working.iter().position(|working| {
            let execution = &working.row.execution;
            execution.execution_id.as_ref() == Some(id) && &execution.agent == agent
        });
        match known {
            Some(index) => Ok(Some(index)),
            None => Ok(self
                .rows
                .by_execution(agent, id)?
                .map(|row| self.take_up(row))),
        }
    }

    fn find_call(&mut self, call_id: &CallId) -> Result<Option<usize>, StoreError> {
        let known = self
            .working
            .iter()
            .position(|working| &working.row.execution.call_id == call_id);
        match known {
            Some(index) => Ok(Some(index)),
            None => Ok(self.rows.by_call(call_id)?.map(|row| self.take_up(row))),
        }
    }

    fn find_number(&mut self, number: i64) -> Result<Option<usize>, StoreError> {
        match self
            .working
            .iter()
            .position(|working| working.row.number == number)
        {
            Some(index) => Ok(Some(index)),
            None => Ok(self.rows.by_number(number)?.map(|row| self.take_up(row))),
        }
    }

    fn take_up(&mut self, row: Row) -> usize {
        let record = &row.execution.record;
        let was = Was {
            owner: Owner {
                incarnation: record.owner,
                fence: record.fence,
            },
            chain_length: row.execution.chain_length,
        };
        self.working.push(Working {
            row,
            was: Some(was),
            changed: false,
            retain: Retain::Leave,
        });
        self.working.len() - 1
    }

    /// The receipt for the entry that was placed last, with the salt of the row
    /// that it is about.
    fn receipt(&self, index: Option<usize>) -> Option<Receipt> {
        let mut receipt = Receipt::of(&self.entries.last()?.entry)?;
        receipt.salt = self.execution(index).and_then(|execution| execution.salt);
        Some(receipt)
    }

    fn execution(&self, index: Option<usize>) -> Option<&Execution> {
        index
            .and_then(|index| self.working.get(index))
            .map(|working| &working.row.execution)
    }
}

/// Whether an entry is one after which something may be sent: what ends that
/// repeats it.
fn opens(draft: &Draft) -> bool {
    let claims = |round: &Round| round.says == RoundSays::Claimed;
    draft.kind == Kind::Admission || draft.round.as_ref().is_some_and(claims)
}

pub(crate) fn position(entry: &Entry) -> Position {
    Position {
        log_id: entry.log_id().clone(),
        sequence: entry.sequence(),
        hash: entry.hash(),
    }
}
