//! An upstream's answer to a tool call, on its way to the caller.
//!
//! Its bytes stay as the upstream wrote them, except that members under
//! `countersign.dev/` leave `_meta` (or, in an error, `data`) and a receipt of
//! ours joins it. The receipt is known only after the outcome was recorded, so
//! an answer is prepared as two pieces with a gap.

use countersign_canon::document::{Item, Kind};
use countersign_canon::write;
use thiserror::Error;

/// What members of the gateway's own begin with; nobody else's may.
pub const OWN_PREFIX: &str = "countersign.dev/";
/// The receipt's name in a result's `_meta` or an error's `data`.
pub const RECEIPT: &str = "countersign.dev/receipt";

/// What an upstream answered, as far as outcomes tell it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A result without `isError`.
    Succeeded,
    /// A result with `isError`.
    ToolError,
    /// A JSON-RPC error.
    UpstreamError,
    /// The upstream asks for another round.
    InputRequired {
        /// The state that it issued, if it did.
        request_state: Option<String>,
    },
}

/// An answer that keeps to no form that MCP knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a tool result: {0}")]
pub struct Malformed(&'static str);

/// An answer with a gap for the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    verdict: Verdict,
    before: Vec<u8>,
    /// None where there is no place for a receipt.
    gap: Option<Gap>,
    removed: usize,
    added: bool,
    /// Of an error, where it is an integer.
    number: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    /// The bytes without a receipt, from where `before` ends.
    closed: Vec<u8>,
    /// How many bytes of `before` only make room for a receipt.
    room: usize,
    /// The bytes after a receipt.
    after: Vec<u8>,
}

/// Whether the receiver is told `resultType`, which its revision requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// Added where the upstream left it out, since absent means `complete`.
    Stated,
    /// Left as the upstream has it.
    AsIs,
}

impl Answer {
    /// Prepares a result.
    ///
    /// `rounds` says whether the revision that was spoken with the upstream
    /// knows `input_required`.
    ///
    /// # Errors
    /// [`Malformed`] where it is no object, `_meta` is neither an object nor
    /// null, `isError` is no truth value, or `resultType` is unknown.
    pub fn result(result: Item<'_>, kind: ResultType, rounds: bool) -> Result<Self, Malformed> {
        if result.kind() != Kind::Object {
            return Err(Malformed("the result is no object"));
        }
        let verdict = verdict(result, rounds)?;
        let added = kind == ResultType::Stated && result.get("resultType").is_none();
        let ending: &[u8] = if added {
            br#""resultType":"complete""#
        } else {
            b""
        };
        Self::splice(result, "_meta", verdict, ending)
    }

    /// Prepares an error object.
    ///
    /// # Errors
    /// [`Malformed`] where it is no object.
    pub fn error(error: Item<'_>) -> Result<Self, Malformed> {
        if error.kind() != Kind::Object {
            return Err(Malformed("the error is no object"));
        }
        let answer = Self::splice(error, "data", Verdict::UpstreamError, b"")?;
        Ok(Self {
            number: error.get("code").and_then(Item::integer),
            ..answer
        })
    }

    /// `extra` is a member that ends the object, if there is one.
    fn splice(
        object: Item<'_>,
        holder: &'static str,
        verdict: Verdict,
        extra: &[u8],
    ) -> Result<Self, Malformed> {
        let added = !extra.is_empty();
        let open = object
            .raw()
            .strip_suffix(b"}")
            .ok_or(Malformed("it is no object"))?;
        let comma = |wanted: bool| if wanted { &b","[..] } else { b"" };
        let held = object.get(holder);
        match held.map(Item::kind) {
            None => {
                let first = object.count() == 0;
                let before = [open, comma(!first), b"\"", holder.as_bytes(), b"\":{"].concat();
                let room = before.len() - open.len();
                let after = [b"}", comma(added), extra, b"}"].concat();
                let closed = [comma(added && !first), extra, b"}"].concat();
                let gap = Some(Gap {
                    closed,
                    room,
                    after,
                });
                Ok(Self {
                    verdict,
                    before,
                    gap,
                    removed: 0,
                    added,
                    number: None,
                })
            }
            Some(Kind::Object) => {
                let held = held.ok_or(Malformed("it is no object"))?;
                let start = held.offset().saturating_sub(object.offset());
                let (Some(head), Some(tail)) =
                    (open.get(..start), open.get(start + held.raw().len()..))
                else {
                    return Err(Malformed("it is no object"));
                };
                let mut before = [head, b"{"].concat();
                let (mut removed, mut kept) = (0, 0);
                for child in held.children() {
                    let name = child.name().unwrap_or_default();
                    if name.starts_with(OWN_PREFIX) {
                        removed += 1;
                        continue;
                    }
                    before.extend_from_slice(comma(kept > 0));
                    write::string(&mut before, name);
                    before.push(b':');
                    before.extend_from_slice(child.raw());
                    kept += 1;
                }
                before.extend_from_slice(comma(kept > 0));
                let after = [b"}", tail, comma(added), extra, b"}"].concat();
                let room = usize::from(kept > 0);
                let gap = Some(Gap {
                    closed: after.clone(),
                    room,
                    after,
                });
                Ok(Self {
                    verdict,
                    before,
                    gap,
                    removed,
                    added,
                    number: None,
                })
            }
            // There is no place for a receipt; it is fetched by call_id.
            Some(kind) if kind == Kind::Null || holder == "data" => {
                let before = [open, comma(added), extra, b"}"].concat();
                Ok(Self {
                    verdict,
                    before,
                    gap: None,
                    removed: 0,
                    added,
                    number: None,
                })
            }
            Some(_) => Err(Malformed("`_meta` is no object")),
        }
    }

    /// What the upstream answered.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// How many members under our prefix the upstream sent, which are gone.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Whether a member was added that the upstream did not send.
    #[must_use]
    pub fn added(&self) -> bool {
        self.added
    }

    /// The result or error object as it is without a receipt.
    #[must_use]
    pub fn without_receipt(&self) -> Vec<u8> {
        let Some(gap) = &self.gap else {
            return self.before.clone();
        };
        let whole = self.before.len().saturating_sub(gap.room);
        [self.before.get(..whole).unwrap_or_default(), &gap.closed].concat()
    }

    /// The number of an error.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        self.number
    }

    /// Whether it is an error object, and so not a result.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.verdict == Verdict::UpstreamError
    }

    /// The result or error object with the receipt, which is JSON already.
    #[must_use]
    pub fn with_receipt(self, receipt: &[u8]) -> Vec<u8> {
        let mut out = self.before;
        let Some(gap) = self.gap else { return out };
        write::string(&mut out, RECEIPT);
        out.push(b':');
        out.extend_from_slice(receipt);
        out.extend_from_slice(&gap.after);
        out
    }
}

fn verdict(result: Item<'_>, rounds: bool) -> Result<Verdict, Malformed> {
    let kind = match result.get("resultType") {
        None => None,
        Some(item) => Some(item.text().ok_or(Malformed("`resultType` is no text"))?),
    };
    match kind.as_deref() {
        None | Some("complete") => {}
        Some("input_required") if rounds => {
            let request_state = match result.get("requestState") {
                None => None,
                Some(state) => Some(state.text().ok_or(Malformed("`requestState` is no text"))?),
            };
            let request_state = request_state.map(std::borrow::Cow::into_owned);
            return Ok(Verdict::InputRequired { request_state });
        }
        Some(_) => return Err(Malformed("an unknown `resultType`")),
    }
    match result.get("isError").map(Item::kind) {
        None | Some(Kind::False | Kind::Null) => Ok(Verdict::Succeeded),
        Some(Kind::True) => Ok(Verdict::ToolError),
        Some(_) => Err(Malformed("`isError` is no truth value")),
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    fn result(text: &str, kind: ResultType) -> Result<(String, Verdict, usize), Malformed> {
        let whole = format!(" {{ \"result\" : {text} }}");
        let document = Document::read(whole.as_bytes(), Limits::STANDARD).unwrap();
        let answer = Answer::result(document.root().get("result").unwrap(), kind, true)?;
        let (verdict, removed) = (answer.verdict().clone(), answer.removed());
        Ok((
            String::from_utf8(answer.with_receipt(b"{}")).unwrap(),
            verdict,
            removed,
        ))
    }

    #[test]
    fn a_result_keeps_every_byte_and_gains_a_receipt() {
        for (sent, given) in [
            ("{}", r#"{"_meta":{"countersign.dev/receipt":{}}}"#),
            (
                r#"{ "content" : [ {"n": 1.0, "m":-0, "x":1e400} ], "isError":false }"#,
                r#"{ "content" : [ {"n": 1.0, "m":-0, "x":1e400} ], "isError":false ,"_meta":{"countersign.dev/receipt":{}}}"#,
            ),
            (
                r#"{"_meta": {"k" : 123456789012345678901234567890} ,"content":[]}"#,
                r#"{"_meta": {"k":123456789012345678901234567890,"countersign.dev/receipt":{}} ,"content":[]}"#,
            ),
            (
                r#"{"_meta":{"k":1.0,"l":[],"m":""}}"#,
                r#"{"_meta":{"k":1.0,"l":[],"m":"","countersign.dev/receipt":{}}}"#,
            ),
            (
                r#"{"_meta":{},"a":1}"#,
                r#"{"_meta":{"countersign.dev/receipt":{}},"a":1}"#,
            ),
            (r#"{"_meta":null,"a":1}"#, r#"{"_meta":null,"a":1}"#),
        ] {
            let (text, verdict, removed) = result(sent, ResultType::AsIs).unwrap();
            assert_eq!(text, given);
            assert_eq!((verdict, removed), (Verdict::Succeeded, 0));
        }
    }

    #[test]
    fn without_its_receipt_an_answer_is_what_the_upstream_sent() {
        for (sent, kind, given) in [
            ("{}", ResultType::AsIs, "{}"),
            ("{}", ResultType::Stated, r#"{"resultType":"complete"}"#),
            (r#"{"a":1.0}"#, ResultType::AsIs, r#"{"a":1.0}"#),
            (
                r#"{"a":1.0}"#,
                ResultType::Stated,
                r#"{"a":1.0,"resultType":"complete"}"#,
            ),
            (
                r#"{"_meta":{"k":1},"a":2}"#,
                ResultType::AsIs,
                r#"{"_meta":{"k":1},"a":2}"#,
            ),
            (
                r#"{"_meta":{},"a":2}"#,
                ResultType::AsIs,
                r#"{"_meta":{},"a":2}"#,
            ),
            (
                r#"{"_meta":{"countersign.dev/x":1}}"#,
                ResultType::AsIs,
                r#"{"_meta":{}}"#,
            ),
            (
                r#"{"_meta":null}"#,
                ResultType::Stated,
                r#"{"_meta":null,"resultType":"complete"}"#,
            ),
        ] {
            let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
            let answer = Answer::result(document.root(), kind, false).unwrap();
            assert_eq!(answer.added(), kind == ResultType::Stated, "{sent}");
            assert_eq!((answer.is_error(), answer.number()), (false, None));
            assert_eq!(
                String::from_utf8(answer.without_receipt()).unwrap(),
                given,
                "{sent}"
            );
        }
    }

    #[test]
    fn an_error_is_told_apart_with_its_number() {
        for (sent, number) in [
            (r#"{"code":-32602,"message":"m"}"#, Some(-32_602)),
            (r#"{"code":1.5,"message":"m"}"#, None),
            (r#"{"message":"m"}"#, None),
        ] {
            let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
            let answer = Answer::error(document.root()).unwrap();
            assert_eq!(answer.number(), number, "{sent}");
            assert_eq!((answer.is_error(), answer.added()), (true, false));
        }
    }

    #[test]
    fn a_receipt_that_an_upstream_forged_is_gone_however_its_name_is_spelled() {
        let forged =
            r#"{"_meta":{"countersign.dev/receipt":{"x":1},"k":1,"\u0063ountersign.dev/x":2}}"#;
        let (text, _, removed) = result(forged, ResultType::AsIs).unwrap();
        assert_eq!(text, r#"{"_meta":{"k":1,"countersign.dev/receipt":{}}}"#);
        assert_eq!(removed, 2);
    }

    #[test]
    fn a_revision_that_requires_a_result_type_is_given_one() {
        let (text, ..) = result(r#"{"content":[]}"#, ResultType::Stated).unwrap();
        assert_eq!(
            text,
            r#"{"content":[],"_meta":{"countersign.dev/receipt":{}},"resultType":"complete"}"#
        );
        let (text, ..) = result(r#"{"resultType":"complete"}"#, ResultType::Stated).unwrap();
        assert_eq!(text.matches("resultType").count(), 1);
    }

    #[test]
    fn what_is_no_tool_result_is_malformed() {
        for (text, verdict) in [
            (r#"{"isError":true}"#, Some(Verdict::ToolError)),
            (r#"{"isError":null}"#, Some(Verdict::Succeeded)),
            (
                r#"{"resultType":"input_required","requestState":"s"}"#,
                Some(Verdict::InputRequired {
                    request_state: Some("s".to_owned()),
                }),
            ),
            (r#"{"resultType":"task"}"#, None),
            (r#"{"resultType":1}"#, None),
            (r#"{"isError":"true"}"#, None),
            (r#"{"resultType":"input_required","requestState":7}"#, None),
            (r#"{"_meta":[]}"#, None),
            ("[]", None),
            ("null", None),
        ] {
            let got = result(text, ResultType::AsIs)
                .ok()
                .map(|(_, verdict, _)| verdict);
            assert_eq!(got, verdict, "{text}");
        }
    }

    #[test]
    fn where_no_rounds_are_spoken_nobody_asks_for_one() {
        let text = r#"{"resultType":"input_required"}"#;
        let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
        for rounds in [true, false] {
            let read = Answer::result(document.root(), ResultType::AsIs, rounds);
            assert_eq!(read.is_ok(), rounds);
        }
    }

    #[test]
    fn an_error_takes_the_receipt_into_its_data_where_that_is_possible() {
        for (sent, given) in [
            (
                r#"{"code":-32000,"message":"no"}"#,
                r#"{"code":-32000,"message":"no","data":{"countersign.dev/receipt":{}}}"#,
            ),
            (
                r#"{"code":1,"data":{"countersign.dev/receipt":1,"k":1.0},"message":"no"}"#,
                r#"{"code":1,"data":{"k":1.0,"countersign.dev/receipt":{}},"message":"no"}"#,
            ),
            (
                r#"{"code":1,"message":"no","data":"text"}"#,
                r#"{"code":1,"message":"no","data":"text"}"#,
            ),
        ] {
            let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
            let answer = Answer::error(document.root()).unwrap();
            assert_eq!(
                String::from_utf8(answer.with_receipt(b"{}")).unwrap(),
                given
            );
        }
    }
}
