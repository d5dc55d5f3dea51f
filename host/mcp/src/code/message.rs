//! What a caller is told beside a code.

use super::ErrorCode;

impl ErrorCode {
    /// One sentence for the caller, without a full stop; it says nothing that
    /// is internal to the gateway.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::NotAdmitted(_) => "the message is not admitted",
            Self::Unauthenticated => "no credential that names an agent",
            Self::AuthorizationMalformed => "the credential must be given once, in its header",
            Self::TokenInvalid => "the token is none that a trusted issuer signed",
            Self::TokenExpired => "the token has expired",
            Self::TokenNotYetValid => "the token is not valid yet",
            Self::TokenAudience => "the token was issued for another audience",
            Self::TokenScope => "the token lacks a scope that this resource needs",
            Self::ProofRequired => "the token is bound to a key, and its possession was not proved",
            Self::ProofInvalid => "the proof of possession does not hold for this request",
            Self::ProofReplayed => "the proof of possession was used before",
            Self::ProofNonce => {
                "the proof of possession needs the nonce that comes with this answer"
            }
            Self::ClientCertificate => {
                "the client certificate names no workload of this trust domain"
            }
            Self::IssuerUnavailable => "the issuer's keys are not at hand",
            Self::HostNotAllowed => "the `Host` header is not allowed",
            Self::OriginNotAllowed => "the `Origin` header is not allowed",
            Self::UnknownServer => "no server is configured under this path",
            Self::MethodNotAllowed => "the HTTP method is not part of this revision's transport",
            Self::NotAcceptable => "`Accept` allows neither JSON nor an event stream",
            Self::UnsupportedMediaType => "the body must be unencoded `application/json` in UTF-8",
            Self::Framing => "where the body ends depends on who reads it",
            Self::BodyUnreadable => "the body broke off or came too slowly",
            Self::RateLimited => "too many requests",
            Self::ShuttingDown => "the gateway is shutting down",
            Self::HeaderMismatch => "a header contradicts the message or the session",
            Self::UnsupportedVersion => "unsupported protocol version",
            Self::MissingMeta => "`_meta` lacks what this protocol version requires",
            Self::SessionRequired => "this request needs a session",
            Self::UnknownSession => "no such session",
            Self::DuplicateId => "a request with this id is in flight in this session",
            Self::MethodNotSupported => "method not supported",
            Self::UnsolicitedReply => "a reply to nothing that was asked",
            Self::ExecutionIdRequired => "this call needs an `execution_id`",
            Self::UnknownTool => "the server offers no such tool",
            Self::ToolNotApproved => "nobody approved this tool",
            Self::CatalogDrift => "the tool is not what was approved any more",
            Self::ArgumentsInvalid => "the arguments do not fit the tool's input schema",
            Self::PolicyDenied => "policy does not permit this call",
            Self::InFlight => "the execution is still open",
            Self::Replay => "the execution is settled and is not run again",
            Self::Blocked => "the execution is blocked until an operator resolves it",
            Self::Collision => "the `execution_id` belongs to another call",
            Self::Incomparable => "the `execution_id` was recorded under another profile",
            Self::ContinuationMismatch => "the continuation answers no round that was asked",
            Self::RoundReplay => "this round was asked before",
            Self::RoundLimit => "the execution has had as many rounds as it may have",
            Self::UnknownState => "the state was not issued to this agent",
            Self::Overloaded => "too many calls at once",
            Self::ExecutionQuota => "the agent has too many executions on record",
            Self::LedgerUnavailable => "the ledger is unavailable, and nothing was sent",
            Self::LedgerRolledBack => "the ledger was rolled back, and nothing is admitted",
            Self::EntryTooLong => "what would be recorded is too long, and nothing was sent",
            Self::ProfileFault => "the profile failed on this message",
            Self::ExecutionUnknown => "no execution of this agent has this name",
            Self::AnswerNotRetained => "the answer is not kept, or not any more",
            Self::TaskUnknown => "no task of this agent has this id",
            Self::TaskUnanswered => "the server did not answer about the task",
            Self::RequestUnanswered => "the server did not answer this request",
            Self::UpstreamUnavailable => "the server is unavailable, and the call was not sent",
            Self::OutcomeUnknown => "the call may have run, and no authoritative answer came",
            Self::SettlementFailed => "the call was answered, and the outcome is not recorded yet",
            Self::Internal => "internal fault",
        }
    }
}
