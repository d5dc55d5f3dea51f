//! What a sequence does, as data: generated from a seed, changed by a mutation,
//! kept as JSON, shrunk. Nothing here knows what must come of it.

use serde::{Deserialize, Serialize};

/// The agents that the gateway knows.
pub const AGENTS: [&str; 2] = ["alice", "bob"];

/// The two servers: one that asks for rounds, one that makes tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Server {
    /// Speaks 2026-07-28, and is called in it.
    Rounds,
    /// Speaks 2025-11-25, and is called in it, in sessions.
    Tasks,
}

impl Server {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Rounds, Self::Tasks];

    /// Its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Tasks => "tasks",
        }
    }
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Whose token is presented.
    pub agent: usize,
    /// Whether the token is one that the gateway does not know.
    pub stranger: bool,
    /// Where sessions are, whose session is presented, if not the agent's own.
    pub session: Option<usize>,
    /// Where it is sent.
    pub server: Server,
    /// Under which identifier.
    pub id: Option<u8>,
    /// The tool.
    pub tool: String,
    /// The number among its arguments, as it is written.
    pub number: String,
    /// Whether a task is asked for.
    pub task: bool,
    /// The round that it answers.
    pub round: Option<Round>,
    /// What the upstream answers, if it is asked.
    pub reply: Reply,
    /// What else happens while the upstream has the call.
    pub meanwhile: Vec<Act>,
}

impl Call {
    /// A plain call.
    #[must_use]
    pub fn new(agent: usize, server: Server, id: Option<u8>) -> Self {
        Self {
            agent,
            stranger: false,
            session: None,
            server,
            id,
            tool: "pay".to_owned(),
            number: "1".to_owned(),
            task: false,
            round: None,
            reply: Reply::Result,
            meanwhile: Vec::new(),
        }
    }
}

/// The answer to a question of the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Round {
    /// The state that is presented.
    pub state: Option<String>,
    /// The answer.
    pub answer: u8,
}

/// What the upstream answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// A result.
    Result,
    /// A result of a tool that failed.
    ToolError,
    /// An error.
    Error,
    /// A question, with this state.
    Ask(String),
    /// A task of this name.
    Task(String),
    /// Something that cannot be read.
    Garbage,
    /// Nothing: the connection ends, after the effect.
    HangUp,
    /// Nothing: the gateway dies when the call arrives.
    DiesOnArrival,
    /// Nothing: the gateway dies after the effect.
    DiesAfterEffect,
}

/// What is asked of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Asks {
    /// Its status, which is this one.
    Get(Status),
    /// Its result.
    Result,
    /// That it is cancelled.
    Cancel,
}

/// What the upstream says of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the protocol's own words")]
pub enum Status {
    Working,
    Completed,
    Failed,
    Cancelled,
}

/// What an operator does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Office {
    /// Lists what is open.
    List,
    /// States an outcome; with a reason or without.
    Resolve {
        /// Whose.
        agent: usize,
        /// Which.
        id: u8,
        /// The outcome.
        outcome: String,
        /// Whether a reason is given.
        reason: bool,
    },
    /// Gives up what is awaited.
    Abandon {
        /// Whose.
        agent: usize,
        /// Which.
        id: u8,
    },
    /// Has policies and approvals read again.
    Reload,
    /// Approves what a server offers now, without some of its tools.
    Approve {
        /// The server.
        server: Server,
        /// The tool that is left out.
        without: Option<String>,
    },
    /// Accepts that the ledger is older than its anchor.
    Accept,
    /// An agent asks for what an operator may: on the agents' address.
    Intrude(usize),
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Act {
    /// An agent calls a tool.
    Call(Call),
    /// An agent asks about a task by its name.
    Task(usize, String, Asks),
    /// An agent fetches the answer of an execution.
    Fetch(usize, Server, u8),
    /// An agent sends a request that is no call.
    Pass(usize, Server, String),
    /// An operator acts.
    Office(Office),
    /// Other policies stand in their folder: by number.
    Policies(u8),
    /// A server offers another version of its tools: by number.
    Tools(Server, u8),
    /// The gateway looks again at what a server offers.
    Look(Server),
    /// The gateway is stopped in good order and started again.
    Restart,
    /// The same, with another key for its log.
    Rotate,
    /// The same, with another profile by default.
    Profile(String),
    /// The gateway is killed and started again.
    Kill,
    /// The ledger is copied.
    Keep,
    /// The gateway is stopped, the copy takes the ledger's place, and it is
    /// started again.
    Restore,
}

/// A fault of the store on the way of one act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Does {
    /// The gateway dies before what it wrote is committed.
    DiesBefore,
    /// The gateway dies after it was committed, and before anybody is told.
    DiesAfter,
    /// The commit fails.
    CommitLost,
    /// The commit happens, and its acknowledgement is lost.
    Unacknowledged,
    /// There is no room, until the act is over.
    DiskFull,
    /// The sync fails.
    SyncFails,
}

impl Does {
    /// Whether the gateway is gone once it has happened.
    #[must_use]
    pub fn ends(self) -> bool {
        matches!(self, Self::DiesBefore | Self::DiesAfter | Self::SyncFails)
    }
}

/// At the how manyth durable boundary of the act what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// 0 is the first.
    pub boundary: usize,
    /// What.
    pub does: Does,
}

/// An act, and what goes wrong meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    /// The act.
    pub act: Act,
    /// The fault.
    pub fault: Option<Fault>,
}

impl From<Act> for Step {
    fn from(act: Act) -> Self {
        Self { act, fault: None }
    }
}

/// A whole sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plan {
    /// Where it comes from.
    pub seed: u64,
    /// The mutation that made it what it is.
    pub mutation: String,
    /// Where the mutation is: the step, whose finding is the plan's.
    pub at: usize,
    /// What happens.
    pub steps: Vec<Step>,
}
