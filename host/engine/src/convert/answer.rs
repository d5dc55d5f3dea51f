//! The answers of `admit` and `interpret`, believed only as far as they can
//! be checked without reading the message again.

use countersign_canon::view::Cursor;
use countersign_canon::{
    Admitted, Call, Code, Continuation, Digest, Id, Node, Notification, Refusal, Reply, Request,
    Value, View,
};

use crate::bindings::profile as wit;
use crate::fault::{FaultKind, Rule};
use crate::profile::Interpreted;

/// The bytes that a pointer may have.
const POINTER_BYTES: usize = 256;
/// The characters that an execution or workflow identifier may have.
const CORRELATION_CHARS: usize = 200;
/// The bytes that a text `id` may have.
const ID_BYTES: usize = 256;
/// The greatest magnitude that a number `id` may have: 2^53 - 1.
const ID_MAX: u64 = (1 << 53) - 1;

/// A vector of a component's own, with its answer believed.
pub(crate) struct Described {
    pub(crate) message: Vec<u8>,
    pub(crate) answer: Result<Option<(Vec<u8>, Digest)>, Refusal>,
}

impl Described {
    pub(crate) fn new(vector: wit::Vector) -> Result<Self, FaultKind> {
        let answer = match vector.answer {
            Ok(None) => Ok(None),
            Ok(Some(bound)) => Ok(Some((bound.action, digest(&bound.binding)?))),
            Err(said) => Err(refusal(said, vector.message.len())?),
        };
        Ok(Self {
            message: vector.message,
            answer,
        })
    }
}

pub(crate) fn admitted(said: wit::Admitted) -> Result<Admitted, FaultKind> {
    Ok(match said {
        wit::Admitted::Call(call) => Admitted::Call(Call {
            id: id(call.id)?,
            action: call.action,
            execution_id: correlation(call.execution_id)?,
            workflow_id: correlation(call.workflow_id)?,
            client: call.client,
            continuation: call.continuation.map(|said| Continuation {
                canonical: said.canonical,
                request_state: said.request_state,
            }),
            transport: call.transport,
        }),
        wit::Admitted::Request(request) => Admitted::Request(Request {
            id: id(request.id)?,
            method: request.method,
            params: request.params,
        }),
        wit::Admitted::Notification(notification) => Admitted::Notification(Notification {
            method: notification.method,
            params: notification.params,
        }),
        wit::Admitted::Reply(reply) => Admitted::Reply(Reply {
            id: id(reply.id)?,
            answer: reply.answer,
        }),
    })
}

fn id(said: wit::Id) -> Result<Id, FaultKind> {
    match said {
        wit::Id::Number(number) if number.unsigned_abs() <= ID_MAX => Ok(Id::Number(number)),
        wit::Id::Text(text) if text.len() <= ID_BYTES => Ok(Id::Text(text)),
        _ => Err(FaultKind::Malformed(Rule::Id)),
    }
}

fn correlation(said: Option<String>) -> Result<Option<String>, FaultKind> {
    let sound = |text: &String| {
        (1..=CORRELATION_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
    };
    if said.as_ref().is_none_or(sound) {
        Ok(said)
    } else {
        Err(FaultKind::Malformed(Rule::Correlation))
    }
}

/// A refusal of a message of `length` bytes.
pub(crate) fn refusal(said: wit::Refusal, length: usize) -> Result<Refusal, FaultKind> {
    let within = usize::try_from(said.offset).is_ok_and(|offset| offset <= length);
    let pointed = said.pointer.is_empty() || said.pointer.starts_with('/');
    if !within || !pointed || said.pointer.len() > POINTER_BYTES {
        return Err(FaultKind::Malformed(Rule::Refusal));
    }
    Ok(Refusal {
        code: code(said.code),
        pointer: said.pointer,
        offset: said.offset,
    })
}

fn code(said: wit::Code) -> Code {
    match said {
        wit::Code::Encoding => Code::Encoding,
        wit::Code::Syntax => Code::Syntax,
        wit::Code::Surrogate => Code::Surrogate,
        wit::Code::DuplicateMember => Code::DuplicateMember,
        wit::Code::Limit => Code::Limit,
        wit::Code::Envelope => Code::Envelope,
        wit::Code::Params => Code::Params,
        wit::Code::Correlation => Code::Correlation,
        wit::Code::Number => Code::Number,
        wit::Code::Value => Code::Value,
    }
}

/// An interpretation by a profile that counts at most `nodes`.
pub(crate) fn interpretation(
    said: wit::Interpretation,
    nodes: u32,
) -> Result<Interpreted, FaultKind> {
    let malformed = FaultKind::Malformed(Rule::View);
    if usize::try_from(nodes).is_ok_and(|nodes| said.view.len() > nodes) {
        return Err(malformed);
    }
    let view = View::new(said.view.into_iter().map(node).collect()).map_err(|_| malformed)?;
    let is = |name, text: &str| {
        let value = view.root().get(name).map(Cursor::value);
        matches!(value, Some(Value::Text(found)) if found == text)
    };
    if !is("method", "tools/call") || !is("name", &said.tool) {
        return Err(malformed);
    }
    Ok(Interpreted {
        binding: digest(&said.binding)?,
        tool: said.tool,
        view,
    })
}

fn digest(text: &str) -> Result<Digest, FaultKind> {
    text.parse().map_err(|_| FaultKind::Malformed(Rule::Digest))
}

fn node(said: wit::Node) -> Node {
    Node {
        name: said.name,
        value: match said.value {
            wit::Value::Null => Value::Null,
            wit::Value::Boolean(value) => Value::Boolean(value),
            wit::Value::Integer(value) => Value::Integer(value),
            wit::Value::Number(lexeme) => Value::Number(lexeme),
            wit::Value::Text(text) => Value::Text(text),
            wit::Value::Array(items) => Value::Array(items),
            wit::Value::Object(members) => Value::Object(members),
        },
    }
}
