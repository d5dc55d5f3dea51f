//! What a caller is told where it gets no upstream's answer.
//!
//! Every member of `error.data` is one that this module names, built from
//! typed facts, so that nothing internal can slip in. The caller's own text
//! (pointer, offset) goes back to the caller and nowhere else.

use countersign_canon::{Difference, Id, Refusal};

use crate::json::{self, Object};
use crate::{ErrorCode, Revision};

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The log.
    pub log_id: String,
    /// The entry's sequence in it.
    pub sequence: u64,
}

/// A refusal, or the news that no answer is to be had, as the caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: ErrorCode,
    /// More than the code's own sentence; lower case, no full stop.
    pub detail: Option<&'static str>,
    /// The `call_id` of this attempt.
    pub attempt: Option<String>,
    /// The `call_id` of the attempt that owns the execution.
    pub call_id: Option<String>,
    /// The state of the execution.
    pub state: Option<&'static str>,
    /// Its outcome, once settled.
    pub outcome: Option<&'static str>,
    /// The last entry on the execution or, without one, of this attempt.
    pub log_position: Option<LogPosition>,
    /// Whether it is certain that nothing was sent under this identifier.
    pub safe_with_new_id: bool,
    /// In what a collision differs.
    pub difference: Option<Difference>,
    /// Set where the recorded profile does not admit the message at all.
    pub not_admissible: bool,
    /// Where in the message it went wrong.
    pub refusal: Option<Refusal>,
    /// Where the arguments do not fit, and the keyword that does not hold.
    pub misfit: Option<(String, String)>,
    /// Milliseconds after which trying again makes sense.
    pub retry_after_ms: Option<u32>,
    /// The version that was asked for and is not spoken.
    pub requested_version: Option<String>,
    /// Until when the settled answer can be fetched, where it is kept.
    pub answer_until: Option<String>,
    /// A receipt for what was recorded, as JSON.
    pub receipt: Option<Vec<u8>>,
}

impl Problem {
    /// A problem of which only the code is known.
    #[must_use]
    pub fn new(code: ErrorCode) -> Self {
        Self {
            code,
            detail: None,
            attempt: None,
            call_id: None,
            state: None,
            outcome: None,
            log_position: None,
            safe_with_new_id: false,
            difference: None,
            not_admissible: false,
            refusal: None,
            misfit: None,
            retry_after_ms: None,
            requested_version: None,
            answer_until: None,
            receipt: None,
        }
    }

    /// A message that a profile does not admit.
    #[must_use]
    pub fn not_admitted(refusal: Refusal) -> Self {
        let mut problem = Self::new(ErrorCode::NotAdmitted(refusal.code));
        problem.refusal = Some(refusal);
        problem
    }

    /// With a sentence that says more than the code's own.
    #[must_use]
    pub fn because(mut self, detail: &'static str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The whole JSON-RPC error response. Without a known `id` it says `null`.
    #[must_use]
    pub fn response(&self, id: Option<&Id>) -> Vec<u8> {
        let message = match self.detail {
            Some(detail) => format!("{}: {}: {detail}", self.code, self.code.message()),
            None => format!("{}: {}", self.code, self.code.message()),
        };
        let error = Object::new()
            .integer("code", i64::from(self.code.number()))
            .text("message", &message)
            .raw("data", &self.data())
            .finish();
        Object::new()
            .text("jsonrpc", "2.0")
            .raw("id", &json::id(id))
            .raw("error", &error)
            .finish()
    }

    fn data(&self) -> Vec<u8> {
        let position = self.log_position.as_ref().map(|position| {
            Object::new()
                .text("log_id", &position.log_id)
                .raw("sequence", position.sequence.to_string().as_bytes())
                .finish()
        });
        let mut data = Object::new()
            .text("code", self.code.as_str())
            .text_or_null("attempt", self.attempt.as_deref())
            .text_or_null("call_id", self.call_id.as_deref())
            .text_or_null("state", self.state)
            .text_or_null("outcome", self.outcome)
            .raw("log_position", position.as_deref().unwrap_or(b"null"))
            .boolean("safe_with_new_id", self.safe_with_new_id);
        if let Some(words) = self.difference() {
            data = data.texts("difference", words);
        }
        if let Some(refusal) = &self.refusal {
            data = data
                .text("pointer", &refusal.pointer)
                .integer("offset", i64::from(refusal.offset));
        }
        if let Some((pointer, keyword)) = &self.misfit {
            data = data.text("pointer", pointer).text("keyword", keyword);
        }
        if let Some(ms) = self.retry_after_ms {
            data = data.integer("retry_after_ms", i64::from(ms));
        }
        if self.code == ErrorCode::UnsupportedVersion {
            data = data
                .texts("supported", Revision::ALL.map(Revision::as_str))
                .text_or_null("requested", self.requested_version.as_deref());
        }
        if let Some(until) = &self.answer_until {
            data = data.text("answer_until", until);
        }
        if let Some(receipt) = &self.receipt {
            data = data.raw(crate::RECEIPT, receipt);
        }
        data.finish()
    }

    fn difference(&self) -> Option<Vec<&'static str>> {
        if self.not_admissible {
            return Some(vec!["not-admissible"]);
        }
        let difference = self.difference?;
        let words = [
            ("binding", difference.binding),
            ("target", difference.target),
        ];
        Some(
            words
                .into_iter()
                .filter(|(_, differs)| *differs)
                .map(|(word, _)| word)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::Code;

    use super::*;

    #[test]
    fn every_refusal_says_code_state_outcome_owner_position_and_safety() {
        let mut problem = Problem::new(ErrorCode::Replay);
        problem.attempt = Some("b".to_owned());
        problem.call_id = Some("a".to_owned());
        problem.state = Some("settled");
        problem.outcome = Some("succeeded");
        problem.log_position = Some(LogPosition {
            log_id: "log".to_owned(),
            sequence: 7,
        });
        let text = String::from_utf8(problem.response(Some(&Id::Number(3)))).unwrap();
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-31054,"message":"replay: the execution is settled and is not run again","data":{"code":"replay","attempt":"b","call_id":"a","state":"settled","outcome":"succeeded","log_position":{"log_id":"log","sequence":7},"safe_with_new_id":false}}}"#
        );
    }

    #[test]
    fn what_is_not_known_is_null_and_not_left_out() {
        let text = String::from_utf8(Problem::new(ErrorCode::PolicyDenied).response(None)).unwrap();
        for member in [
            r#""id":null"#,
            r#""state":null"#,
            r#""outcome":null"#,
            r#""log_position":null"#,
        ] {
            assert!(text.contains(member), "{member}");
        }
    }

    #[test]
    fn a_pointer_with_quotes_and_controls_cannot_break_out_of_its_text() {
        let refusal = Refusal {
            code: Code::Params,
            pointer: "/a\"},\u{1}".to_owned(),
            offset: 12,
        };
        let text = String::from_utf8(Problem::not_admitted(refusal).response(None)).unwrap();
        assert!(
            text.contains(r#""pointer":"/a\"},\u0001","offset":12"#),
            "{text}"
        );
    }

    #[test]
    fn a_collision_names_its_difference_and_a_version_the_list() {
        let mut problem = Problem::new(ErrorCode::Collision);
        problem.difference = Some(Difference {
            binding: true,
            target: false,
        });
        let text = String::from_utf8(problem.response(None)).unwrap();
        assert!(text.contains(r#""difference":["binding"]"#));
        let mut problem = Problem::new(ErrorCode::UnsupportedVersion);
        problem.requested_version = Some("2031-01-01".to_owned());
        let text = String::from_utf8(problem.response(None)).unwrap();
        assert!(text.contains(r#""supported":["2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"2031-01-01""#));
    }
}
