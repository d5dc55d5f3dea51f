//! What one message is: a call, or something else, or a refusal.
//!
//! The envelope is judged here, the parameters of a `tools/call` in
//! [`crate::call`]. The rules are those of `docs/spec/action-binding.md` §1.

use alloc::string::String;
use alloc::vec::Vec;

use crate::document::{Item, Kind};
use crate::verdict::Verdict;
use crate::{
    Admitted, Code, Document, Id, Limits, Notification, Numbers, Refusal, Reply, Request, call,
    number,
};

/// The only method that is bound.
pub(crate) const TOOLS_CALL: &str = "tools/call";
/// An `id` is at most this many bytes of unescaped UTF-8.
const MAX_ID_BYTES: usize = 256;

/// Reads one message exactly as it arrived.
///
/// # Errors
/// The one refusal that `docs/spec/action-binding.md` §1 prescribes: the
/// earliest fault in reading, else the first of the highest code.
pub fn admit(numbers: Numbers, message: &[u8]) -> Result<Admitted, Refusal> {
    let document = Document::read(message, Limits::STANDARD)?;
    let envelope = Envelope::of(&document)?;
    let params = || envelope.params.map(Item::canonical);
    if let Some(method) = envelope.method {
        let method: String = method.text().unwrap_or_default().into_owned();
        return match envelope.id {
            Some(id) if method == TOOLS_CALL => {
                call::call(numbers, &document, id, envelope.params).map(Admitted::Call)
            }
            Some(id) => Ok(Admitted::Request(Request {
                id,
                method,
                params: params(),
            })),
            None => Ok(Admitted::Notification(Notification {
                method,
                params: params(),
            })),
        };
    }
    // INVARIANT: an envelope without a method is a whole reply.
    let answer = match (envelope.result, envelope.error) {
        (Some(result), None) => Ok(result.canonical()),
        (_, error) => Err(error.map(Item::canonical).unwrap_or_default()),
    };
    let id = envelope.id.unwrap_or(Id::Number(0));
    Ok(Admitted::Reply(Reply { id, answer }))
}

/// The members of a JSON-RPC 2.0 message that is one.
#[derive(Default)]
struct Envelope<'d> {
    id: Option<Id>,
    method: Option<Item<'d>>,
    params: Option<Item<'d>>,
    result: Option<Item<'d>>,
    error: Option<Item<'d>>,
}

impl<'d> Envelope<'d> {
    fn of(document: &'d Document<'_>) -> Result<Self, Refusal> {
        let root = document.root();
        let mut verdict = Verdict::new(Code::Envelope);
        if root.kind() != Kind::Object {
            verdict.fault(root);
        }
        let mut envelope = Self::default();
        let mut version = None;
        let asks = root.get("method").is_some();
        for member in root.children() {
            match (member.name(), asks) {
                (Some("jsonrpc"), _) => version = Some(member),
                (Some("id"), _) => match id(member) {
                    Some(id) => envelope.id = Some(id),
                    None => verdict.fault(member),
                },
                (Some("method"), _) => {
                    envelope.method = Some(member);
                    verdict.expect(member, Kind::String);
                }
                (Some("params"), true) => {
                    envelope.params = Some(member);
                    verdict.expect(member, Kind::Object);
                }
                (Some("result"), false) => envelope.result = Some(member),
                (Some("error"), false) => {
                    envelope.error = Some(member);
                    verdict.expect(member, Kind::Object);
                }
                _ => verdict.fault(member),
            }
        }
        match version {
            Some(version) if version.is_text("2.0") => {}
            version => verdict.fault(version.unwrap_or(root)),
        }
        let bound = envelope
            .method
            .is_some_and(|method| method.is_text(TOOLS_CALL));
        if (bound || !asks) && root.get("id").is_none() {
            verdict.fault(root);
        }
        match (envelope.result, envelope.error) {
            (None, None) if !asks => verdict.fault(root),
            (Some(result), Some(error)) => verdict.fault(result.later(error)),
            _ => {}
        }
        verdict.close()?;
        Ok(envelope)
    }
}

/// A string of at most 256 bytes, or an integer of magnitude at most 2^53 - 1.
fn id(item: Item<'_>) -> Option<Id> {
    match item.kind() {
        Kind::Number => number::safe_integer(item.raw()).map(Id::Number),
        Kind::String => {
            let text = item.text().filter(|text| text.len() <= MAX_ID_BYTES)?;
            Some(Id::Text(text.into_owned()))
        }
        _ => None,
    }
}

/// The message that asks for exactly this canonical action: `jsonrpc`, `id` 0
/// and, as `params`, the action without its `method`.
///
/// # Errors
/// The refusal that [`interpret`](crate::interpret) gives for bytes that are
/// not of an action's form.
pub fn envelop(action: &[u8]) -> Result<Vec<u8>, Refusal> {
    let document = Document::read(action, Limits::STANDARD)?;
    call::check_form(&document)?;
    let mut message = Vec::with_capacity(action.len() + 64);
    message.extend_from_slice(br#"{"id":0,"jsonrpc":"2.0","method":"tools/call","params":"#);
    let params = document
        .root()
        .children()
        .filter(|member| member.name() != Some("method"));
    crate::write::object(&mut message, params);
    message.push(b'}');
    Ok(message)
}
