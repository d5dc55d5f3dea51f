//! Tasks of 2025-11-25: what an upstream says of one, and what its end means.
//!
//! | observed | outcome |
//! |---|---|
//! | `tasks/result` with a result without `isError` | `succeeded` |
//! | `tasks/result` with a result with `isError` | `tool-error` |
//! | `tasks/result` with an error other than −32602 and −32603 | `upstream-error` |
//! | `tasks/result` with −32602 or −32603 | none: it may be about the question |
//! | status `completed` | `succeeded` |
//! | status `failed` | `tool-error`: the tool ran, and says that it failed |
//! | status `cancelled` | `outcome-unknown`: work may have gone on |
//! | status `working`, `input_required` | none: it goes on |
//!
//! The first end that is observed counts. Other revisions have no
//! `params.task`; what they answer instead is an unknown `resultType`.

use countersign_canon::Outcome;
use countersign_canon::document::{Item, Kind};

use crate::Verdict;

/// A task, as its upstream names and describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The upstream's name for it.
    pub id: String,
    /// Where it stands.
    pub status: Status,
}

/// Where a task stands, in the protocol's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the protocol's own words")]
pub enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Working,
        Self::InputRequired,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// The outcome of a task that stands here for good; none while it goes on.
    #[must_use]
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Working | Self::InputRequired => None,
            Self::Completed => Some(Outcome::Succeeded),
            Self::Failed => Some(Outcome::ToolError),
            Self::Cancelled => Some(Outcome::OutcomeUnknown),
        }
    }
}

/// The task that an upstream made of a call; none where it answered the call.
#[must_use]
pub fn created(result: Item<'_>) -> Option<Task> {
    read(result.get("task")?)
}

/// A task as `tasks/get`, `tasks/cancel` and the members of `tasks/list` have
/// it.
#[must_use]
pub fn read(task: Item<'_>) -> Option<Task> {
    if task.kind() != Kind::Object {
        return None;
    }
    Some(Task {
        id: task.get("taskId")?.text()?.into_owned(),
        status: Status::parse(&task.get("status")?.text()?)?,
    })
}

/// The outcome that an answer to `tasks/result` states; `code` is that of an
/// error.
#[must_use]
pub fn outcome(verdict: &Verdict, code: Option<i128>) -> Option<Outcome> {
    match verdict {
        Verdict::Succeeded => Some(Outcome::Succeeded),
        Verdict::ToolError => Some(Outcome::ToolError),
        Verdict::UpstreamError if matches!(code, Some(-32602 | -32603)) => None,
        Verdict::UpstreamError => Some(Outcome::UpstreamError),
        Verdict::InputRequired { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    #[test]
    fn each_cell_of_the_table_reads_as_it_is_written() {
        for (status, expected) in [
            ("working", None),
            ("input_required", None),
            ("completed", Some(Outcome::Succeeded)),
            ("failed", Some(Outcome::ToolError)),
            ("cancelled", Some(Outcome::OutcomeUnknown)),
        ] {
            assert_eq!(
                Status::parse(status).unwrap().outcome(),
                expected,
                "{status}"
            );
        }
        for (verdict, code, expected) in [
            (Verdict::Succeeded, None, Some(Outcome::Succeeded)),
            (Verdict::ToolError, None, Some(Outcome::ToolError)),
            (
                Verdict::UpstreamError,
                Some(-32000),
                Some(Outcome::UpstreamError),
            ),
            (Verdict::UpstreamError, Some(-32602), None),
            (Verdict::UpstreamError, Some(-32603), None),
            (Verdict::UpstreamError, None, Some(Outcome::UpstreamError)),
        ] {
            assert_eq!(outcome(&verdict, code), expected, "{verdict:?} {code:?}");
        }
    }

    #[test]
    fn only_what_names_a_task_and_a_known_status_is_one() {
        for (text, expected) in [
            (r#"{"task":{"taskId":"t","status":"working"}}"#, true),
            (r#"{"task":{"taskId":"t","status":"strolling"}}"#, false),
            (r#"{"task":{"taskId":7,"status":"working"}}"#, false),
            (r#"{"task":{"status":"working"}}"#, false),
            (r#"{"task":"t"}"#, false),
            (r#"{"content":[]}"#, false),
        ] {
            let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
            assert_eq!(created(document.root()).is_some(), expected, "{text}");
        }
    }
}
