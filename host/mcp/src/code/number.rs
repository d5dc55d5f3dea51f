//! The JSON-RPC number of each code.

use super::ErrorCode;

impl ErrorCode {
    /// The JSON-RPC number. Those of ours lie in −31999..−31000.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            // As MCP 2026-07-28 and JSON-RPC prescribe.
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
            Self::MissingMeta => -32602,
            Self::MethodNotSupported => -32601,

            // A discriminant of a field-less enum: 0 to 9.
            Self::NotAdmitted(code) => -31000 - code as i32,

            Self::Framing => -31112,
            Self::Unauthenticated => -31020,
            Self::HostNotAllowed => -31021,
            Self::OriginNotAllowed => -31022,
            Self::UnknownServer => -31023,
            Self::MethodNotAllowed => -31024,
            Self::NotAcceptable => -31025,
            Self::UnsupportedMediaType => -31026,
            Self::BodyUnreadable => -31027,
            Self::RateLimited => -31028,
            Self::ShuttingDown => -31029,
            Self::SessionRequired => -31033,
            Self::UnknownSession => -31034,
            Self::DuplicateId => -31035,
            Self::UnsolicitedReply => -31037,

            Self::ExecutionIdRequired => -31050,
            Self::UnknownTool => -31051,
            Self::PolicyDenied => -31052,
            Self::InFlight => -31053,
            Self::Replay => -31054,
            Self::Blocked => -31055,
            Self::Collision => -31056,
            Self::Incomparable => -31057,
            Self::ContinuationMismatch => -31058,
            Self::RoundReplay => -31059,
            Self::RoundLimit => -31060,
            Self::UnknownState => -31061,
            Self::ToolNotApproved => -31062,
            Self::CatalogDrift => -31063,
            Self::ArgumentsInvalid => -31064,
            Self::Overloaded => -31070,
            Self::ExecutionQuota => -31071,
            Self::LedgerUnavailable => -31072,
            Self::LedgerRolledBack => -31073,
            Self::EntryTooLong => -31075,
            Self::ProfileFault => -31074,
            Self::ExecutionUnknown => -31076,
            Self::AnswerNotRetained => -31077,
            Self::TaskUnknown => -31078,
            Self::TaskUnanswered => -31079,
            Self::RequestUnanswered => -31083,
            Self::UpstreamUnavailable => -31080,
            Self::OutcomeUnknown => -31081,
            Self::SettlementFailed => -31082,
            Self::Internal => -31090,

            Self::AuthorizationMalformed => -31100,
            Self::TokenInvalid => -31101,
            Self::TokenExpired => -31102,
            Self::TokenNotYetValid => -31103,
            Self::TokenAudience => -31104,
            Self::TokenScope => -31105,
            Self::ProofRequired => -31106,
            Self::ProofInvalid => -31107,
            Self::ProofReplayed => -31108,
            Self::ProofNonce => -31109,
            Self::ClientCertificate => -31110,
            Self::IssuerUnavailable => -31111,
        }
    }
}
