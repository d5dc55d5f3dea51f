//! What an entry says, before its log gives it a place.
//!
//! A [`Draft`] holds every field of `docs/spec/evidence.md`, section 1, that
//! the log does not assign. A field that is `None` is written as `null`:
//! absence is a statement and is hashed like one. No argument, result,
//! credential or token has a field here.

use std::fmt;

use countersign_canon::{Digest, Outcome};

use crate::{
    Blinding, CallId, Classified, EffectBoundary, ExecutionId, ExecutionIdStatus, Kind,
    RefusalCode, RoundSays, ServerName, SessionId, Time, WorkflowId,
};

/// The authenticated workload behind a call: exact strings, compared byte for
/// byte; all three together are the key of its executions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent {
    /// How it proved who it is, for example `token`.
    pub method: String,
    /// Who vouches for it, for example an issuer's URL; empty where nobody does.
    pub issuer: String,
    /// Who it is, in the issuer's words.
    pub subject: String,
}

/// Where a call goes; written `SERVER@DIGEST/TOOL`, the form that `classify`
/// compares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The operator's name of the server.
    pub server: ServerName,
    /// The digest of the server's URL or command.
    pub server_digest: Digest,
    /// The tool's name, exactly as the caller wrote it.
    pub tool: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.server, self.server_digest, self.tool)
    }
}

/// Begins the reason of a denial that was recorded and not carried out.
pub const OBSERVED: &str = "observed-";

/// What policy said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call may go on.
    pub allow: bool,
    /// The ids of the policies that decided, sorted.
    pub determining: Vec<String>,
    /// Why, as the policy engine's stable code; after [`OBSERVED`] where a
    /// denial was recorded and not carried out.
    pub reason: String,
}

/// What a decision rested on besides the request and the entry's own fields, so
/// that it can be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyInputs {
    /// What the tool's annotations claim about its effects, as policy names it.
    pub class: String,
    /// The audience of the token that was presented.
    pub audience: Option<String>,
    /// The thumbprint of the key whose possession was proved.
    pub proof_key: Option<String>,
}

/// The three digests that a tool's description can have at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// As the upstream described the tool last.
    pub discovered: Option<Digest>,
    /// As an operator approved it.
    pub approved: Option<Digest>,
    /// As it was taken to be when the call was decided.
    pub attributed: Option<Digest>,
}

/// One side of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Asked by the upstream or claimed by an attempt.
    pub says: RoundSays,
    /// Which one it is: the first round that is asked is 1; at most 32.
    pub number: u32,
}

/// A task of the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The digest of its id, which is bound to the agent that received it.
    pub id: Digest,
    /// Its state in the words of the protocol, for example `working`.
    pub status: String,
}

/// Attempts that were counted instead of written one by one; their code is the
/// entry's `refusal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first of them came.
    pub from: Time,
    /// When the last of them came.
    pub to: Time,
}

/// What an operator stated about an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Who stated it, authenticated apart from agents.
    pub operator: String,
    /// Why, in the operator's words.
    pub reason: String,
    /// The digest of the evidence that was given with it.
    pub evidence: Option<Digest>,
}

/// A change of the key that signs checkpoints; made by
/// [`crate::key::SigningKey::rotate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRotation {
    /// The verifier's text of the key in force so far.
    pub previous: String,
    /// The verifier's text of the key in force from this entry on.
    pub next: String,
    /// The old key's signature over the change, base64.
    pub signature: String,
}

/// Every field of an entry that its log does not assign.
///
/// `Draft::new(kind, time)` leaves every other field absent; the caller sets
/// those that the kind speaks of:
///
/// ```
/// use countersign_evidence::{Draft, Kind, Time};
///
/// let mut draft = Draft::new(Kind::Refusal, Time::from_micros(1_767_323_045_000_006));
/// draft.refusal = Some("syntax".parse()?);
/// # Ok::<(), countersign_evidence::MalformedIdentifier>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What it records.
    pub kind: Kind,
    /// When, by the clock of the log's owner.
    pub time: Time,
    /// The attempt that it belongs to.
    pub call_id: Option<CallId>,
    /// The gateway's own name of the session.
    pub session_id: Option<SessionId>,
    /// The authenticated workload.
    pub agent: Option<Agent>,
    /// In an `alias`, the identity that the workload had before.
    pub agent_before: Option<Agent>,
    /// The user whom the agent represents, as authenticated.
    pub represented_user: Option<String>,
    /// What the agent's authority rests on, as a reference.
    pub authority: Option<String>,
    /// The caller's name of the execution.
    pub execution_id: Option<ExecutionId>,
    /// Whether there was one; `None` in entries that no attempt caused.
    pub execution_id_status: Option<ExecutionIdStatus>,
    /// The caller's name of the work.
    pub workflow_id: Option<WorkflowId>,
    /// The revision of MCP that the client spoke, for example `2025-11-25`.
    pub revision: Option<String>,
    /// The digest of the client context.
    pub client_digest: Option<Digest>,
    /// With sessions, the canonical text of the client context, since the
    /// request does not carry it.
    pub client: Option<String>,
    /// The operator's name of the upstream server.
    pub server: Option<ServerName>,
    /// The digest of the server's URL or command.
    pub server_digest: Option<Digest>,
    /// The tool's name.
    pub tool: Option<String>,
    /// The profile, `NAME@MAJOR.MINOR.PATCH`.
    pub profile: Option<String>,
    /// The WIT world that the profile implements, with its version.
    pub world: Option<String>,
    /// The digest of the profile's component.
    pub component: Option<Digest>,
    /// The binding of the action.
    pub binding: Option<Digest>,
    /// What was done to the binding, the continuation and the answer; set where
    /// the entry is written.
    pub blind: Blinding,
    /// The digest of the continuation.
    pub continuation: Option<Digest>,
    /// The digest of the `requestState` that the attempt carried.
    pub request_state_presented: Option<Digest>,
    /// The digest of the `requestState` that the upstream issued.
    pub request_state_issued: Option<Digest>,
    /// What the attempt is, computed in the transaction that writes the entry;
    /// `None` for an attempt without execution id.
    pub classification: Option<Classified>,
    /// Why the attempt was refused.
    pub refusal: Option<RefusalCode>,
    /// What policy said.
    pub decision: Option<Decision>,
    /// Every other input of the decision that does not come from the request.
    pub policy_inputs: Option<PolicyInputs>,
    /// The policy engine and its version.
    pub evaluator: Option<String>,
    /// The digest of the set of policies.
    pub policy_digest: Option<Digest>,
    /// The digests of the tool's description.
    pub catalog: Catalog,
    /// How far the request got.
    pub effect_boundary: Option<EffectBoundary>,
    /// The outcome, as far as an entry of this kind states one.
    pub outcome: Option<Outcome>,
    /// The digest of the answer, as [`crate::answer`] computes it.
    pub answer_digest: Option<Digest>,
    /// The length of the answer in bytes, as [`crate::answer`] computes it.
    pub answer_bytes: Option<u64>,
    /// Which owner of the execution wrote this; rises with each owner.
    pub fence: Option<u64>,
    /// The owner's incarnation.
    pub incarnation: Option<String>,
    /// Which round this is about.
    pub round: Option<Round>,
    /// Which task this is about.
    pub task: Option<Task>,
    /// What was counted.
    pub suppressed: Option<Suppressed>,
    /// What an operator stated.
    pub resolution: Option<Resolution>,
    /// Which keys changed.
    pub key: Option<KeyRotation>,
}

impl Draft {
    /// A draft in which every other field is absent.
    #[must_use]
    pub fn new(kind: Kind, time: Time) -> Self {
        Self {
            kind,
            time,
            call_id: None,
            session_id: None,
            agent: None,
            agent_before: None,
            represented_user: None,
            authority: None,
            execution_id: None,
            execution_id_status: None,
            workflow_id: None,
            revision: None,
            client_digest: None,
            client: None,
            server: None,
            server_digest: None,
            tool: None,
            profile: None,
            world: None,
            component: None,
            binding: None,
            blind: Blinding::Plain,
            continuation: None,
            request_state_presented: None,
            request_state_issued: None,
            classification: None,
            refusal: None,
            decision: None,
            policy_inputs: None,
            evaluator: None,
            policy_digest: None,
            catalog: Catalog::default(),
            effect_boundary: None,
            outcome: None,
            answer_digest: None,
            answer_bytes: None,
            fence: None,
            incarnation: None,
            round: None,
            task: None,
            suppressed: None,
            resolution: None,
            key: None,
        }
    }

    /// Where the call goes, where all three parts of that are known.
    #[must_use]
    pub fn target(&self) -> Option<Target> {
        Some(Target {
            server: self.server.clone()?,
            server_digest: self.server_digest?,
            tool: self.tool.clone()?,
        })
    }
}
