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
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
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
        let mut ending = Vec::new();
        if kind == ResultType::Stated && result.get("resultType").is_none() {
            ending.extend_from_slice(br#","resultType":"complete""#);
        }
        ending.push(b'}');
        Self::splice(result, "_meta", verdict, &ending)
    }

    /// Prepares an error object.
    ///
    /// # Errors
    /// [`Malformed`] where it is no object.
    pub fn error(error: Item<'_>) -> Result<Self, Malformed> {
        if error.kind() != Kind::Object {
            return Err(Malformed("the error is no object"));
        }
        match error.get("data").map(Item::kind) {
            None | Some(Kind::Object) => Self::splice(error, "data", Verdict::UpstreamError, b"}"),
            // There is no place for a receipt; it is fetched by call_id.
            Some(_) => Ok(Self {
                verdict: Verdict::UpstreamError,
                before: error.raw().to_vec(),
                gap: None,
                removed: 0,
            }),
        }
    }

    fn splice(
        object: Item<'_>,
        member: &'static str,
        verdict: Verdict,
        ending: &[u8],
    ) -> Result<Self, Malformed> {
        let raw = object.raw();
        let open = raw.strip_suffix(b"}").ok_or(Malformed("it is no object"))?;
        let Some(meta) = object.get(member) else {
            let mut before = open.to_vec();
            if object.count() > 0 {
                before.push(b',');
            }
            write::string(&mut before, member);
            before.extend_from_slice(b":{");
            let after = [b"}", ending].concat();
            return Ok(Self { verdict, before, gap: Some(Gap { after }), removed: 0 });
        };
        if !matches!(meta.kind(), Kind::Object | Kind::Null) {
            return Err(Malformed("`_meta` is no object"));
        }
        let start = meta.offset().saturating_sub(object.offset());
        let end = start + meta.raw().len();
        let (Some(head), Some(tail)) = (open.get(..start), open.get(end..)) else {
            return Err(Malformed("it is no object"));
        };
        let mut before = head.to_vec();
        before.push(b'{');
        let mut removed = 0;
        for child in meta.children() {
            let name = child.name().unwrap_or_default();
            if name.starts_with(OWN_PREFIX) {
                removed += 1;
                continue;
            }
            write::string(&mut before, name);
            before.push(b':');
            before.extend_from_slice(child.raw());
            before.push(b',');
        }
        let after = [b"}", tail, ending].concat();
        Ok(Self { verdict, before, gap: Some(Gap { after }), removed })
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

    /// How many bytes it takes, without the receipt.
    #[must_use]
    pub fn size(&self) -> usize {
        self.before.len() + self.gap.as_ref().map_or(0, |gap| gap.after.len())
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
        Ok((String::from_utf8(answer.with_receipt(b"{}")).unwrap(), verdict, removed))
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
            (r#"{"_meta":{},"a":1}"#, r#"{"_meta":{"countersign.dev/receipt":{}},"a":1}"#),
            (r#"{"_meta":null}"#, r#"{"_meta":{"countersign.dev/receipt":{}}}"#),
        ] {
            let (text, verdict, removed) = result(sent, ResultType::AsIs).unwrap();
            assert_eq!(text, given);
            assert_eq!((verdict, removed), (Verdict::Succeeded, 0));
        }
    }

    #[test]
    fn a_receipt_that_an_upstream_forged_is_gone_however_its_name_is_spelled() {
        let forged = r#"{"_meta":{"countersign.dev/receipt":{"x":1},"k":1,"\u0063ountersign.dev/x":2}}"#;
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
                Some(Verdict::InputRequired { request_state: Some("s".to_owned()) }),
            ),
            (r#"{"resultType":"task"}"#, None),
            (r#"{"resultType":1}"#, None),
            (r#"{"isError":"true"}"#, None),
            (r#"{"_meta":[]}"#, None),
            ("[]", None),
            ("null", None),
        ] {
            let got = result(text, ResultType::AsIs).ok().map(|(_, verdict, _)| verdict);
            assert_eq!(got, verdict, "{text}");
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
            assert_eq!(String::from_utf8(answer.with_receipt(b"{}")).unwrap(), given);
        }
    }
}
