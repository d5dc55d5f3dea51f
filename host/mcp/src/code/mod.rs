//! The stable codes of everything the gateway refuses or cannot answer.
//!
//! The text is the contract; each has a page `docs/errors/<code>.md`. Numbers
//! lie outside −32768..−32000, which JSON-RPC reserves, except where MCP itself
//! prescribes one. Codes of a profile's refusals are those of
//! [`countersign_canon::Code`]. `number` has the numbers, `status` the HTTP
//! status under which each travels, `message` what a caller is told beside it.

mod message;
mod number;
mod status;

use std::fmt;

use countersign_canon::{Classification, Code as Admission};

pub use status::{called_status, passed_status};

/// Why a request was not answered with an upstream's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// A profile does not admit the message.
    NotAdmitted(Admission),

    // The front: before anything was read.
    /// No credential, or one that names no agent.
    Unauthenticated,
    /// The credential is not given once, in its header.
    AuthorizationMalformed,
    /// The token is none that a trusted issuer signed.
    TokenInvalid,
    /// The token has expired.
    TokenExpired,
    /// The token is not valid yet.
    TokenNotYetValid,
    /// The token was issued for another audience.
    TokenAudience,
    /// The token lacks a scope.
    TokenScope,
    /// The token is bound to a key whose possession was not proved.
    ProofRequired,
    /// The proof of possession does not hold.
    ProofInvalid,
    /// The proof of possession was used before.
    ProofReplayed,
    /// The proof of possession lacks a current nonce.
    ProofNonce,
    /// The client certificate names no workload.
    ClientCertificate,
    /// The issuer's keys are not at hand.
    IssuerUnavailable,
    /// The `Host` header is not one that the gateway answers to.
    HostNotAllowed,
    /// The `Origin` header is not one that may call the gateway.
    OriginNotAllowed,
    /// No upstream is configured under that path.
    UnknownServer,
    /// Only what this revision's transport defines is answered.
    MethodNotAllowed,
    /// The client accepts neither JSON nor an event stream.
    NotAcceptable,
    /// The body is not plain UTF-8 JSON.
    UnsupportedMediaType,
    /// Where the body ends depends on who reads it.
    Framing,
    /// The body broke off or came too slowly.
    BodyUnreadable,
    /// More requests than the agent's rate.
    RateLimited,
    /// The gateway is shutting down.
    ShuttingDown,

    // The protocol.
    /// A header contradicts the body, the session or another header.
    HeaderMismatch,
    /// A version that the gateway does not speak.
    UnsupportedVersion,
    /// `_meta` lacks what this revision requires.
    MissingMeta,
    /// A request that needs a session came without one.
    SessionRequired,
    /// No such session, or it has ended, or it is another agent's.
    UnknownSession,
    /// A request with this id is still in flight in this session.
    DuplicateId,
    /// A method that the gateway does not support.
    MethodNotSupported,
    /// A reply to nothing that was asked.
    UnsolicitedReply,

    // The way of a call.
    /// An `execution_id` is required here.
    ExecutionIdRequired,
    /// The upstream offers no such tool.
    UnknownTool,
    /// The upstream offers it, and nobody approved it.
    ToolNotApproved,
    /// It is not what was approved any more.
    CatalogDrift,
    /// The arguments do not fit the tool's input schema.
    ArgumentsInvalid,
    /// A policy forbids it, none permits it, or one could not be evaluated.
    PolicyDenied,
    /// The execution is still open.
    InFlight,
    /// The execution is settled.
    Replay,
    /// The execution is blocked until an operator resolves it.
    Blocked,
    /// The identifier belongs to something else.
    Collision,
    /// It was recorded under a profile that cannot be compared.
    Incomparable,
    /// It answers a round that was never asked.
    ContinuationMismatch,
    /// A round asked before, of an execution still open.
    RoundReplay,
    /// The execution has had as many rounds as it may have.
    RoundLimit,
    /// A state of a round that was not issued to this agent.
    UnknownState,
    /// Too many calls at once, or the ledger's queue is full.
    Overloaded,
    /// The agent has as many executions on record as it may have.
    ExecutionQuota,
    /// The ledger cannot be reached; nothing was sent.
    LedgerUnavailable,
    /// The ledger is older than its anchor; nothing is admitted.
    LedgerRolledBack,
    /// What would have to be recorded is longer than an entry may be.
    EntryTooLong,
    /// A profile trapped, or contradicted what the host computed.
    ProfileFault,

    // Fetching an answer.
    /// No execution of this agent has that name.
    ExecutionUnknown,
    /// The answer is not kept, or not any more.
    AnswerNotRetained,

    // Asking for a task.
    /// No task of this agent has that id.
    TaskUnknown,
    /// The upstream did not answer about the task.
    TaskUnanswered,

    // Passing on what is no call.
    /// The upstream did not answer a request that is no call.
    RequestUnanswered,

    // After the reservation.
    /// The upstream cannot be reached, and no byte of the call was sent.
    UpstreamUnavailable,
    /// Bytes may have left, and no authoritative answer came.
    OutcomeUnknown,
    /// The answer came but could not be recorded.
    SettlementFailed,
    /// A fault of the gateway's own.
    Internal,
}

impl ErrorCode {
    /// Every code, with a profile's refusals once for each of theirs.
    pub fn all() -> impl Iterator<Item = Self> {
        Admission::ALL.into_iter().map(Self::NotAdmitted).chain(OWN)
    }

    /// The code as it is written in errors, entries and docs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAdmitted(code) => code.as_str(),
            Self::Unauthenticated => "unauthenticated",
            Self::AuthorizationMalformed => "authorization-malformed",
            Self::TokenInvalid => "token-invalid",
            Self::TokenExpired => "token-expired",
            Self::TokenNotYetValid => "token-not-yet-valid",
            Self::TokenAudience => "token-audience",
            Self::TokenScope => "token-scope",
            Self::ProofRequired => "proof-required",
            Self::ProofInvalid => "proof-invalid",
            Self::ProofReplayed => "proof-replayed",
            Self::ProofNonce => "proof-nonce",
            Self::ClientCertificate => "client-certificate",
            Self::IssuerUnavailable => "issuer-unavailable",
            Self::HostNotAllowed => "host-not-allowed",
            Self::OriginNotAllowed => "origin-not-allowed",
            Self::UnknownServer => "unknown-server",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::NotAcceptable => "not-acceptable",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::Framing => "framing",
            Self::BodyUnreadable => "body-unreadable",
            Self::RateLimited => "rate-limited",
            Self::ShuttingDown => "shutting-down",
            Self::HeaderMismatch => "header-mismatch",
            Self::UnsupportedVersion => "unsupported-version",
            Self::MissingMeta => "missing-meta",
            Self::SessionRequired => "session-required",
            Self::UnknownSession => "unknown-session",
            Self::DuplicateId => "duplicate-id",
            Self::MethodNotSupported => "method-not-supported",
            Self::UnsolicitedReply => "unsolicited-reply",
            Self::ExecutionIdRequired => "execution-id-required",
            Self::UnknownTool => "unknown-tool",
            Self::ToolNotApproved => "tool-not-approved",
            Self::CatalogDrift => "catalog-drift",
            Self::ArgumentsInvalid => "arguments-invalid",
            Self::PolicyDenied => "policy-denied",
            Self::InFlight => "in-flight",
            Self::Replay => "replay",
            Self::Blocked => "blocked",
            Self::Collision => "collision",
            Self::Incomparable => "incomparable",
            Self::ContinuationMismatch => "continuation-mismatch",
            Self::RoundReplay => "round-replay",
            Self::RoundLimit => "round-limit",
            Self::UnknownState => "request-state-unknown",
            Self::Overloaded => "overloaded",
            Self::ExecutionQuota => "execution-quota",
            Self::LedgerUnavailable => "ledger-unavailable",
            Self::LedgerRolledBack => "ledger-rolled-back",
            Self::EntryTooLong => "entry-too-long",
            Self::ProfileFault => "profile-fault",
            Self::ExecutionUnknown => "execution-unknown",
            Self::AnswerNotRetained => "answer-not-retained",
            Self::TaskUnknown => "task-unknown",
            Self::TaskUnanswered => "task-unanswered",
            Self::RequestUnanswered => "request-unanswered",
            Self::UpstreamUnavailable => "upstream-unavailable",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::SettlementFailed => "settlement-failed",
            Self::Internal => "internal",
        }
    }

    /// The code of that text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|code| code.as_str() == text)
    }
}

/// The code under which a classification that does not go past is refused;
/// none for what goes on.
#[must_use]
pub const fn refused_as(classification: Classification) -> Option<ErrorCode> {
    match classification {
        Classification::Fresh | Classification::Continuation => None,
        Classification::InFlight => Some(ErrorCode::InFlight),
        Classification::ContinuationMismatch => Some(ErrorCode::ContinuationMismatch),
        Classification::RoundReplay => Some(ErrorCode::RoundReplay),
        Classification::Replay(_) => Some(ErrorCode::Replay),
        Classification::Blocked => Some(ErrorCode::Blocked),
        Classification::Collision(_) => Some(ErrorCode::Collision),
        Classification::Incomparable => Some(ErrorCode::Incomparable),
    }
}

const OWN: [ErrorCode; 61] = [
    ErrorCode::Framing,
    ErrorCode::Unauthenticated,
    ErrorCode::AuthorizationMalformed,
    ErrorCode::TokenInvalid,
    ErrorCode::TokenExpired,
    ErrorCode::TokenNotYetValid,
    ErrorCode::TokenAudience,
    ErrorCode::TokenScope,
    ErrorCode::ProofRequired,
    ErrorCode::ProofInvalid,
    ErrorCode::ProofReplayed,
    ErrorCode::ProofNonce,
    ErrorCode::ClientCertificate,
    ErrorCode::IssuerUnavailable,
    ErrorCode::HostNotAllowed,
    ErrorCode::OriginNotAllowed,
    ErrorCode::UnknownServer,
    ErrorCode::MethodNotAllowed,
    ErrorCode::NotAcceptable,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::BodyUnreadable,
    ErrorCode::RateLimited,
    ErrorCode::ShuttingDown,
    ErrorCode::HeaderMismatch,
    ErrorCode::UnsupportedVersion,
    ErrorCode::MissingMeta,
    ErrorCode::SessionRequired,
    ErrorCode::UnknownSession,
    ErrorCode::DuplicateId,
    ErrorCode::MethodNotSupported,
    ErrorCode::UnsolicitedReply,
    ErrorCode::ExecutionIdRequired,
    ErrorCode::UnknownTool,
    ErrorCode::ToolNotApproved,
    ErrorCode::CatalogDrift,
    ErrorCode::ArgumentsInvalid,
    ErrorCode::PolicyDenied,
    ErrorCode::InFlight,
    ErrorCode::Replay,
    ErrorCode::Blocked,
    ErrorCode::Collision,
    ErrorCode::Incomparable,
    ErrorCode::ContinuationMismatch,
    ErrorCode::RoundReplay,
    ErrorCode::RoundLimit,
    ErrorCode::UnknownState,
    ErrorCode::Overloaded,
    ErrorCode::ExecutionQuota,
    ErrorCode::LedgerUnavailable,
    ErrorCode::LedgerRolledBack,
    ErrorCode::EntryTooLong,
    ErrorCode::ProfileFault,
    ErrorCode::ExecutionUnknown,
    ErrorCode::AnswerNotRetained,
    ErrorCode::TaskUnknown,
    ErrorCode::TaskUnanswered,
    ErrorCode::RequestUnanswered,
    ErrorCode::UpstreamUnavailable,
    ErrorCode::OutcomeUnknown,
    ErrorCode::SettlementFailed,
    ErrorCode::Internal,
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
