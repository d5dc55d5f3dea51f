//! The HTTP status under which each code, and an upstream's error, travels.

use countersign_canon::Code as Admission;
use http::StatusCode;

use super::ErrorCode;
use crate::Revision;

impl ErrorCode {
    /// The HTTP status under which it travels. After admission that is 200,
    /// except where MCP prescribes another: a 404, 429 or 503 would make
    /// clients initialize again or send again.
    #[must_use]
    pub const fn status(self, revision: Revision) -> StatusCode {
        match self {
            // Well-formed requests, whose ids are known: answered in band.
            Self::NotAdmitted(
                Admission::Params | Admission::Correlation | Admission::Number | Admission::Value,
            ) => StatusCode::OK,
            Self::NotAdmitted(_)
            | Self::Framing
            | Self::BodyUnreadable
            | Self::HeaderMismatch
            | Self::UnsupportedVersion
            | Self::MissingMeta
            | Self::SessionRequired
            | Self::UnsolicitedReply => StatusCode::BAD_REQUEST,
            Self::AuthorizationMalformed => StatusCode::BAD_REQUEST,
            Self::Unauthenticated
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::TokenNotYetValid
            | Self::TokenAudience
            | Self::ProofRequired
            | Self::ProofInvalid
            | Self::ProofReplayed
            | Self::ProofNonce
            | Self::ClientCertificate => StatusCode::UNAUTHORIZED,
            Self::HostNotAllowed | Self::OriginNotAllowed | Self::TokenScope => {
                StatusCode::FORBIDDEN
            }
            Self::IssuerUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::UnknownServer | Self::UnknownSession => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Self::MethodNotSupported if !revision.has_sessions() => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        }
    }
}

/// The HTTP status under which an upstream's own error travels: 200, except
/// where 2026-07-28 prescribes another for its number.
#[must_use]
pub const fn passed_status(revision: Revision, number: Option<i64>) -> StatusCode {
    match number {
        Some(-32601) if !revision.has_sessions() => StatusCode::NOT_FOUND,
        Some(-32021) if !revision.has_sessions() => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// The same for an upstream's error in answer to a call: never 404, since it was
/// a call, and clients of older habits send again after one.
#[must_use]
pub const fn called_status(revision: Revision, number: Option<i64>) -> StatusCode {
    match number {
        Some(-32021) if !revision.has_sessions() => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
