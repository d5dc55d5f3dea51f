//! What a sequence does, as data: generated from a seed, kept as JSON, shrunk.

use serde::{Deserialize, Serialize};

use super::faults::Fault;
use super::upstream::{Moment, Reply};

/// Something that happens to one replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// It is killed.
    Kill,
    /// It is stopped for so many milliseconds.
    Pause(u32),
    /// A fault is armed in it.
    Arm(Fault),
    /// Its wall clock is moved, by seconds from what it really is.
    Clock(i64),
    /// Something happens between it and its database.
    Database(Cut),
    /// The same, at the commit of the next checkpoint.
    Checkpoint(Cut),
}

/// What happens between a replica and its PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cut {
    /// The next commit never arrives, and its connection ends.
    BeforeCommit,
    /// The next commit arrives; the connection ends before it is acknowledged.
    Unacknowledged,
    /// The next commit is acknowledged; then the connection ends.
    AfterCommit,
    /// The next commit takes so many milliseconds longer to arrive.
    HoldCommit(u32),
    /// The next commit never arrives, and the replica is killed.
    KillBeforeCommit,
    /// The next commit arrives; the replica is killed before it is told.
    KillWithinCommit,
    /// The next commit is acknowledged; then the replica is killed.
    KillAfterCommit,
    /// The next commit arrives; the replica is stopped for so many milliseconds
    /// before it is told.
    PauseWithinCommit(u32),
    /// The server ends the back end right before the next commit arrives.
    TerminateAtCommit,
    /// Nothing comes through for so many milliseconds, and nothing is closed.
    Silence(u32),
    /// Every connection ends, and none is taken for so many milliseconds.
    Outage(u32),
    /// The server ends every back end of the replica.
    Terminate,
    /// The server itself crashes, and is started again.
    Crash,
    /// The server is stopped, and started again so many milliseconds later.
    Down(u32),
    /// The server finds no room for a row, until everything goes well again.
    NoRoom,
    /// The same, when it commits.
    NoRoomAtCommit,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Who calls.
    pub agent: usize,
    /// Under which of the sequence's identifiers; none without one.
    pub id: Option<usize>,
    /// What it asks for.
    pub action: i64,
    /// Through which replica.
    pub replica: usize,
    /// The round that it answers.
    pub round: Option<Round>,
    /// How the upstream answers, if it is asked.
    pub reply: Reply,
    /// What happens right before it is sent.
    pub before: Option<Deed>,
    /// What happens while the upstream has it.
    pub meanwhile: Option<(Moment, Deed)>,
}

impl Call {
    /// A plain call of the first agent through the first replica.
    #[must_use]
    pub fn new(id: usize) -> Self {
        Self {
            agent: 0,
            id: Some(id),
            action: 1,
            replica: 0,
            round: None,
            reply: Reply::Result,
            before: None,
            meanwhile: None,
        }
    }
}

/// The answer to a question of the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Round {
    /// The state that is presented.
    pub state: Option<String>,
    /// The answer.
    pub answer: i64,
}

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// A call, and its answer is awaited.
    Call(Call),
    /// Calls at the same time.
    Together(Vec<Call>),
    /// Calls at the same time, and so many microseconds later something happens
    /// to a replica, wherever it is by then.
    Interrupted(Vec<Call>, u32, usize, Deed),
    /// Something happens to a replica.
    Do(usize, Deed),
    /// A replica is stopped in an orderly way.
    Stop(usize),
    /// A replica has met what it cannot go on after, and ends by itself.
    Ended(usize),
    /// A replica is started, where it does not run; with a fault from the start.
    Start(usize, Option<Fault>),
    /// A second gateway is started on the store of a replica.
    Second(usize),
    /// A replica's store is replaced by an old copy while it is down.
    Restore(usize),
    /// Nothing happens for so many milliseconds, or until the armed fault has
    /// acted.
    Wait(u32),
    /// So many milliseconds go by, whatever happens.
    Pass(u32),
    /// The fault that was armed in a replica acts, or so many milliseconds go by.
    Until(usize, u32),
    /// A replica's database is replaced by an old copy while everyone runs.
    RestoreRunning(usize),
    /// So many calls with identifiers of their own, eight at a time, or fewer
    /// where the armed fault acts before.
    Burst(u32),
}

/// A sequence of steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sequence {
    /// Where it comes from.
    pub seed: u64,
    /// What it does.
    pub steps: Vec<Step>,
}
