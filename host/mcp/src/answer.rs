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
mod tests;
