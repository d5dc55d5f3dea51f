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
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::Revision;

    #[test]
    fn no_two_codes_share_a_text_or_a_number() {
        let texts: HashSet<_> = ErrorCode::all().map(ErrorCode::as_str).collect();
        let numbers: HashSet<_> = ErrorCode::all().map(ErrorCode::number).collect();
        assert_eq!(texts.len(), ErrorCode::all().count());
        for code in ErrorCode::all() {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
        assert_eq!(ErrorCode::parse("replays"), None);
        assert_eq!(numbers.len(), ErrorCode::all().count());
    }

    /// Everything by which a code shows itself to a caller. With
    /// `COUNTERSIGN_GOLDEN=write` in the environment the file is written anew.
    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "a switch for whoever changes what is said"
    )]
    fn a_code_travels_under_the_number_and_the_statuses_that_it_always_had() {
        let mut table = String::from("code\tnumber\twith sessions\twithout\tmessage\n");
        for code in ErrorCode::all() {
            let statuses = Revision::ALL.map(|revision| code.status(revision).as_u16());
            let [rest @ .., newest] = statuses;
            assert!(rest.iter().all(|status| *status == rest[0]), "{code}");
            table.push_str(&format!(
                "{code}\t{}\t{}\t{newest}\t{}\n",
                code.number(),
                rest[0],
                code.message()
            ));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/codes.tsv");
        if std::env::var_os("COUNTERSIGN_GOLDEN").is_some_and(|value| value == "write") {
            std::fs::write(&path, &table).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        for (now, before) in table.lines().zip(golden.lines()) {
            assert_eq!(now, before);
        }
        assert_eq!(table.lines().count(), golden.lines().count());
    }

    #[test]
    fn an_upstreams_error_has_a_status_of_its_own_only_where_the_newest_revision_says_so() {
        for revision in Revision::ALL {
            let newest = !revision.has_sessions();
            for (number, passed, called) in [
                (Some(-32_601), if newest { 404 } else { 200 }, 200),
                (
                    Some(-32_021),
                    if newest { 400 } else { 200 },
                    if newest { 400 } else { 200 },
                ),
                (Some(-32_602), 200, 200),
                (None, 200, 200),
            ] {
                assert_eq!(passed_status(revision, number).as_u16(), passed);
                assert_eq!(called_status(revision, number).as_u16(), called);
            }
        }
    }

    #[test]
    fn only_what_the_protocol_prescribes_lies_in_the_reserved_range() {
        let reserved: Vec<_> = ErrorCode::all()
            .filter(|code| (-32768..=-32000).contains(&code.number()))
            .map(ErrorCode::as_str)
            .collect();
        assert_eq!(
            reserved,
            [
                "header-mismatch",
                "unsupported-version",
                "missing-meta",
                "method-not-supported"
            ]
        );
    }

    #[test]
    fn a_text_code_is_lower_case_words_joined_by_hyphens() {
        for code in ErrorCode::all() {
            assert!(
                code.as_str()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{code}"
            );
            assert!(!code.message().ends_with('.'), "{code}");
        }
    }

    #[test]
    fn only_fresh_and_continuation_go_past_classification() {
        for (classification, code) in [
            (Classification::Fresh, None),
            (Classification::Continuation, None),
            (Classification::InFlight, Some("in-flight")),
            (
                Classification::ContinuationMismatch,
                Some("continuation-mismatch"),
            ),
            (Classification::RoundReplay, Some("round-replay")),
            (
                Classification::Replay(countersign_canon::Outcome::Succeeded),
                Some("replay"),
            ),
            (Classification::Blocked, Some("blocked")),
            (
                Classification::Collision(countersign_canon::Difference::default()),
                Some("collision"),
            ),
            (Classification::Incomparable, Some("incomparable")),
        ] {
            assert_eq!(refused_as(classification).map(ErrorCode::as_str), code);
        }
    }
}
