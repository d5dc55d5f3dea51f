//! One request to an upstream, and what may become of it.

use countersign_canon::document::Item;
use countersign_evidence::RefusalCode;
use countersign_ledger::SendGate;
use countersign_mcp::mirror;

use crate::delivery::{Cancel, Line};

/// One request to an upstream.
pub(crate) struct Request<'r> {
    /// Its method.
    pub(crate) method: &'r str,
    /// What `Mcp-Name` says, in revisions that have it.
    pub(crate) name: Option<&'r str>,
    /// What `Mcp-Param-*` say, likewise: a name in lower case without the
    /// prefix, and the argument where it is present.
    pub(crate) mirrored: &'r [(String, Option<mirror::Argument>)],
    /// Writes the message under the id that the gateway mints for it; none
    /// where it cannot be written, and then nothing is sent.
    pub(crate) body: &'r (dyn Fn(u64) -> Option<Vec<u8>> + Send + Sync),
    /// Passed directly before the first byte is written.
    pub(crate) gate: Option<SendGate>,
    /// Where goes what is said before the answer.
    pub(crate) line: Option<Line>,
    /// Whether it stays open until its client goes away.
    pub(crate) endless: bool,
    /// Whether its caller still wants an answer.
    pub(crate) cancel: Cancel,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exchange<T> {
    /// It is certain that no byte of it left.
    NotSent(Reason),
    /// Bytes may have left, and no authoritative answer came.
    Unanswered {
        /// Why.
        reason: Reason,
        /// Something came that could not be relied on.
        received: bool,
    },
    /// The upstream answered.
    Answered(T),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It could not be connected to, started or greeted.
    Unreachable,
    /// It is there, and answered the greeting with something else.
    Ungreeted,
    /// The reservation does not hold any more.
    ReservationLost,
    /// The time was up.
    Timeout,
    /// The connection or the process ended.
    Closed,
    /// The stream or the body ended without an answer to this request.
    NoAnswer,
    /// A status, or a content type, that carries no answer.
    Status,
    /// What came is refused by the strict reader, or is no tool result.
    Unreadable,
    /// What came is larger than a message may be.
    TooLarge,
    /// The request could not be put together from the action.
    Unwritable,
    /// The caller cancelled it.
    Cancelled,
    /// The gateway shuts down.
    ShuttingDown,
    /// As many agents use it as may.
    Crowded,
}

impl Reason {
    /// The stable code, as it stands in entries.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable | Self::Ungreeted => "upstream-unreachable",
            Self::ReservationLost => "reservation-lost",
            Self::Timeout => "upstream-timeout",
            Self::Closed => "upstream-closed",
            Self::NoAnswer => "upstream-no-answer",
            Self::Status => "upstream-status",
            Self::Unreadable => "upstream-unreadable",
            Self::TooLarge => "upstream-too-large",
            Self::Unwritable => "request-unwritable",
            Self::Cancelled => "cancelled",
            Self::ShuttingDown => "shutting-down",
            Self::Crowded => "overloaded",
        }
    }

    /// The same, as entries take it.
    #[must_use]
    pub(crate) fn code(self) -> Option<RefusalCode> {
        RefusalCode::new(self.as_str()).ok()
    }
}

/// A result, or an error object.
pub(crate) type Answer<'d> = Result<Item<'d>, Item<'d>>;

/// Reads an answer. None where it is of no form that the caller knows.
pub(crate) trait Read<T>: FnOnce(Answer<'_>) -> Option<T> + Send {}
impl<T, F: FnOnce(Answer<'_>) -> Option<T> + Send> Read<T> for F {}
