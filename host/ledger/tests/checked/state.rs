//! Everything that there is at one moment: the store, the processes, the
//! attempts, and what really happened upstream.

use countersign_canon::Outcome;
use countersign_ledger::{Leaves, Owner, Record};

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub store: Store,
    pub replicas: Vec<Replica>,
    pub attempts: Vec<Attempt>,
    pub upstream: Vec<Upstream>,
    pub left: Left,
    /// Rules that a single move broke; a moment does not show them later.
    pub broken: Vec<Broken>,
}

/// The database that the replicas share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    pub up: bool,
    pub incarnations: Vec<Incarnation>,
    /// By execution; those without identifier have one for each attempt.
    pub rows: Vec<Option<Row>>,
    /// The entries of each execution, in the order of their commits.
    pub chains: Vec<Vec<Entry>>,
    /// Commits whose connection broke: each still happens, or never will.
    pub pending: Vec<Write>,
}

/// One start of one replica, as the store knows it, with its lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation {
    pub replica: u8,
    /// Ticks until the lease runs out, on the store's clock.
    pub lease: u8,
    /// The same as its process believes, on a clock that counts suspension.
    pub believed: u8,
    /// A sweeper gave it up.
    pub ended: bool,
    /// Its process has slept or died since the last renewal.
    pub absent: bool,
}

/// An execution's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub record: Record,
    pub action: u8,
    /// The attempt that opened it.
    pub call: u8,
    pub length: u8,
}

/// An entry of an execution's chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub sequence: u8,
    pub leaves: Leaves,
    pub outcome: Option<Outcome>,
    pub terminal: bool,
    /// The attempt that caused it.
    pub by: Option<u8>,
}

/// A row and its entry, as one transaction writes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    pub execution: u8,
    /// What stood in the row when this was decided; `None` for an insert.
    pub was: Option<(Owner, u8)>,
    pub row: Row,
    pub entry: Entry,
    pub then: Then,
}

/// What a write is for, once it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    Permit,
    Refuse,
    End,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    pub life: Life,
    pub incarnation: u8,
    pub connected: bool,
    /// Ticks before its sweeper may work.
    pub sweeps_in: u8,
    /// Ticks for which the store was there and this process not connected.
    pub late: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    Runs,
    Sleeps,
    Dead,
}

/// One attempt, at the replica that it reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    pub at: u8,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not presented yet, or to be decided again.
    Waiting,
    /// Decided on the row as read; nothing is committed.
    Decided(Write),
    /// The connection broke at the commit.
    Doubt(Write),
    /// The same, and the caller was told `ledger-unavailable`.
    GivenUp(Write),
    /// The permit is there.
    Permitted(Owner),
    /// The gate was passed; no byte has left.
    Armed(Owner),
    /// Bytes have left.
    Sent(Owner),
    /// It is known what became of it; that is not durable.
    Holds(Owner, Word),
    /// The settlement is decided; nothing is committed.
    Ending(Owner, Word, Write),
    /// The connection broke at the settlement's commit.
    EndDoubt(Owner, Word, Write),
    /// The row is written and its entry is not: only with a fault.
    Half(Write, Box<Phase>),
    Told(Told),
}

/// What became of a call, as its owner knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    NotSent,
    Unanswered,
    Answered,
    Asked,
    Task,
}

/// How an attempt ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Refused,
    Outcome,
    Unavailable,
    Fenced,
    /// Its process died.
    Nothing,
}

/// What happened upstream under one execution, by round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Upstream {
    pub effects: Vec<u8>,
    pub answered: bool,
    pub asked: u8,
}

/// What may still go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    pub crashes: u8,
    pub pauses: u8,
    pub outages: u8,
    pub cuts: u8,
    pub acts: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// A byte left and no durable entry says that it may.
    EffectWithoutReservation,
    /// A byte left under an execution that its owner had lost.
    SentAfterLoss,
    /// A running replica was given up because the store was away.
    LivingGivenUp,
    /// An outcome that was there was replaced.
    OutcomeReplaced,
}

impl State {
    pub fn runs(&self, replica: u8) -> bool {
        self.replicas[usize::from(replica)].life == Life::Runs
    }

    /// Whether a replica can talk to the store now.
    pub fn talks(&self, replica: u8) -> bool {
        self.store.up && self.runs(replica) && self.replicas[usize::from(replica)].connected
    }

    pub fn incarnation(&self, replica: u8) -> &Incarnation {
        &self.store.incarnations[usize::from(self.replicas[usize::from(replica)].incarnation)]
    }

    pub fn breaks(&mut self, rule: Broken) {
        if !self.broken.contains(&rule) {
            self.broken.push(rule);
            self.broken.sort_unstable_by_key(|rule| *rule as u8);
        }
    }
}
