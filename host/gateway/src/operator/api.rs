//! What operators ask and are told, as it travels: JSON over the operator's
//! socket (`docs/operators/access.md`). Names and places only; no argument,
//! result or credential has a member here.

use std::fmt;

use countersign_evidence as evidence;
use countersign_ledger::{Execution, LedgerError, Position, outcome_str};
use serde::{Deserialize, Serialize};

/// An authenticated workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// How it proves who it is: `token`, `open`.
    pub method: String,
    /// Who vouches for it; empty where nobody does.
    #[serde(default)]
    pub issuer: String,
    /// Who it is.
    pub subject: String,
}

/// Which execution is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Which {
    /// By the call that opened it.
    Call {
        /// The call.
        call_id: String,
    },
    /// By its agent and the agent's own name for it.
    Execution {
        /// The agent.
        agent: Agent,
        /// The identifier.
        execution_id: String,
    },
}

/// `/v1/executions/list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// `in-flight`, `awaiting-input`, `task-open` or `blocked`; absent for all
    /// of these.
    #[serde(default)]
    pub state: Option<String>,
    /// Only this subject's.
    #[serde(default)]
    pub subject: Option<String>,
    /// Only those after this number.
    #[serde(default)]
    pub after: i64,
    /// How many at most: 1 to 1,000; absent for 100.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// One page of executions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Oldest first.
    pub executions: Vec<Row>,
    /// What `after` is for the next page; absent on the last.
    pub next: Option<i64>,
}

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The log.
    pub log_id: String,
    /// The entry's sequence in it.
    pub sequence: u64,
    /// Its hash.
    pub hash: String,
}

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in a list; absent where it was asked for by name.
    pub number: Option<i64>,
    /// Who owns the identifier.
    pub agent: Agent,
    /// The identifier, if there was one.
    pub execution_id: Option<String>,
    /// The call that opened it.
    pub call_id: String,
    /// Where it stands.
    pub state: String,
    /// Its outcome, once settled.
    pub outcome: Option<String>,
    /// How far its request came.
    pub effect_boundary: String,
    /// Rounds claimed so far.
    pub rounds: usize,
    /// The upstream's task, if there is one.
    pub task: Option<String>,
    /// The incarnation that owns it, or did.
    pub owner: i64,
    /// Rises with each owner.
    pub fence: i64,
    /// The server that it calls.
    pub server: String,
    /// The digest of that server's URL or command.
    pub server_digest: String,
    /// The tool that it calls.
    pub tool: String,
    /// The profile that it was bound under.
    pub profile: String,
    /// The binding of its action.
    pub binding: String,
    /// The caller's name of the work.
    pub workflow_id: Option<String>,
    /// When it was reserved, UTC.
    pub reserved: String,
    /// When its last entry was written, UTC.
    pub changed: String,
    /// How many entries its chain has.
    pub entries: u64,
    /// The last of them.
    pub last: Place,
    /// Its terminal entry, once there is one.
    pub terminal: Option<Place>,
}

/// `/v1/executions/show`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The execution.
    pub execution: Row,
    /// The entries on it, whole, as the log holds them.
    pub log: Vec<serde_json::Value>,
}

/// `/v1/executions/explain`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// What the record holds.
    pub known: Vec<String>,
    /// What nobody can tell from it.
    pub unknown: Vec<String>,
    /// What to do, in order.
    pub next: Vec<String>,
    /// The commands that then come into question.
    pub commands: Vec<String>,
}

/// `/v1/executions/resolve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// Which execution.
    pub which: Which,
    /// The outcome that is stated; absent where the late answer is adopted.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Adopts the outcome of the newest late answer.
    #[serde(default)]
    pub late_answer: bool,
    /// Why, in the operator's words; 1 to 4,096 bytes. Who says it is the
    /// listener's to know.
    pub reason: String,
    /// SHA-256 of the evidence that was looked at, `sha256:` and hex.
    #[serde(default)]
    pub evidence: Option<String>,
}

/// `/v1/executions/abandon`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    /// Which execution.
    pub which: Which,
    /// Why, in the operator's words; 1 to 4,096 bytes. Who says it is the
    /// listener's to know.
    pub reason: String,
    /// SHA-256 of the evidence that was looked at, `sha256:` and hex.
    #[serde(default)]
    pub evidence: Option<String>,
}

/// `/v1/ledger/status`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The log.
    pub log_id: String,
    /// How many entries it has.
    pub size: u64,
    /// The hash of the last one.
    pub last: Option<String>,
    /// The incarnation that answers.
    pub incarnation: i64,
    /// Whether the database was found older than it was, so that nothing is
    /// admitted.
    pub rolled_back: bool,
    /// Why nothing is admitted, as `/readyz` has it: `draining`, `failed`,
    /// `rolled-back`, `away`, `unsure` or `tokens`; absent where calls are.
    #[serde(default)]
    pub hindrance: Option<String>,
}

/// `/v1/ledger/backup`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// Where the copy goes: an absolute path at which there is nothing yet.
    pub file: String,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUp {
    /// Its size.
    pub bytes: u64,
}

/// `/v1/ledger/rollback/accept`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptRollback {
    /// Why, in the operator's words; 1 to 4,096 bytes.
    pub reason: String,
    /// SHA-256 of the evidence that was looked at, `sha256:` and hex.
    #[serde(default)]
    pub evidence: Option<String>,
}

/// `/v1/catalog/discover`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discover {
    /// Only this server.
    #[serde(default)]
    pub server: Option<String>,
}

/// What servers offer now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovered {
    /// Each server.
    pub servers: Vec<Offered>,
}

/// What one server offers now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// The server.
    pub server: String,
    /// Its offer, as canonical text.
    pub offer: Option<String>,
    /// The stable code of why it could not be read.
    pub error: Option<String>,
}

/// `/v1/catalog/approve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The offers that are approved, as canonical texts.
    pub offers: Vec<String>,
    /// Why, in the operator's words; 1 to 4,096 bytes.
    pub reason: String,
}

/// What came into force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// The digest of the policies.
    pub policies: String,
    /// The servers whose approval changed.
    pub servers: Vec<String>,
    /// The profile for new calls.
    #[serde(default)]
    pub profile: String,
    /// The profiles that were not loaded before.
    #[serde(default)]
    pub loaded: Vec<String>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Refused {
    /// The stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
}

impl Refused {
    /// The code of a question that cannot be read.
    pub const CODE: &'static str = "operator-request";

    /// The code of policies and approvals that do not come into force.
    pub const RELOAD: &'static str = "reload-refused";

    pub(super) fn reload(what: impl fmt::Display) -> Self {
        Self {
            code: Self::RELOAD.to_owned(),
            message: what.to_string(),
        }
    }

    pub(super) fn malformed(what: impl fmt::Display) -> Self {
        Self {
            code: Self::CODE.to_owned(),
            message: what.to_string(),
        }
    }
}

impl From<LedgerError> for Refused {
    fn from(error: LedgerError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
        }
    }
}

impl From<&evidence::Agent> for Agent {
    fn from(agent: &evidence::Agent) -> Self {
        Self {
            method: agent.method.clone(),
            issuer: agent.issuer.clone(),
            subject: agent.subject.clone(),
        }
    }
}

impl From<Agent> for evidence::Agent {
    fn from(agent: Agent) -> Self {
        Self {
            method: agent.method,
            issuer: agent.issuer,
            subject: agent.subject,
        }
    }
}

impl From<&Position> for Place {
    fn from(position: &Position) -> Self {
        Self {
            log_id: position.log_id.to_string(),
            sequence: position.sequence,
            hash: position.hash.to_string(),
        }
    }
}

impl Row {
    pub(super) fn of(number: Option<i64>, execution: &Execution) -> Self {
        let (record, admitted) = (&execution.record, &execution.admitted);
        let time = |micros| evidence::Time::from_micros(micros).to_string();
        Self {
            number,
            agent: (&execution.agent).into(),
            execution_id: execution.execution_id.as_ref().map(ToString::to_string),
            call_id: execution.call_id.to_string(),
            state: record.state.to_string(),
            outcome: record.state.outcome().map(|o| outcome_str(o).to_owned()),
            effect_boundary: record.boundary.to_string(),
            rounds: record.claimed.len(),
            task: record.task.as_ref().map(|task| task.as_str().to_owned()),
            owner: record.owner.get(),
            fence: record.fence.get(),
            server: admitted.target.server.to_string(),
            server_digest: admitted.target.server_digest.to_string(),
            tool: admitted.target.tool.clone(),
            profile: admitted.profile.clone(),
            binding: admitted.binding.to_string(),
            workflow_id: execution
                .context
                .workflow_id
                .as_ref()
                .map(ToString::to_string),
            reserved: time(execution.reserved_us),
            changed: time(execution.changed_us),
            entries: execution.chain_length,
            last: (&execution.last).into(),
            terminal: execution.terminal.as_ref().map(Into::into),
        }
    }
}
