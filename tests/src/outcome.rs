//! What a reader makes of a message, written as the vectors and the reference
//! write it (`vectors/README.md`).

use countersign_canon::{
    Admitted, Call, Digest, Id, Interpretation, Node, ProfileId, Refusal, Value as Node_, preimage,
};
use serde_json::{Value, json};

/// Whether long texts are given whole, or as their digest and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As the reference's batch mode gives them.
    Whole,
    /// As the vectors give those of more than 1,024 bytes.
    Digested,
}

/// The bytes of a text beyond which a vector gives its digest.
const LONG_BYTES: usize = 1_024;

/// The nodes of a view beyond which a vector gives their number.
const LONG_NODES: usize = 1_024;

/// The outcome of `admit`.
#[must_use]
pub fn to_json(profile: &ProfileId, outcome: &Result<Admitted, Refusal>, length: Length) -> Value {
    match outcome {
        Err(refusal) => refused(refusal),
        Ok(Admitted::Call(said)) => json!({ "call": call(profile, said, length) }),
        Ok(Admitted::Request(request)) => json!({ "request": {
            "id": id(&request.id),
            "method": request.method,
            "params": request.params.as_ref().map(|params| text(params, length)),
        }}),
        Ok(Admitted::Notification(notification)) => json!({ "notification": {
            "method": notification.method,
            "params": notification.params.as_ref().map(|params| text(params, length)),
        }}),
        Ok(Admitted::Reply(reply)) => {
            let (kind, answer) = match &reply.answer {
                Ok(result) => ("ok", result),
                Err(error) => ("err", error),
            };
            json!({ "reply": { "id": id(&reply.id), kind: text(answer, length) } })
        }
    }
}

fn call(profile: &ProfileId, call: &Call, length: Length) -> Value {
    json!({
        "id": id(&call.id),
        "action": text(&call.action, length),
        "execution_id": call.execution_id,
        "workflow_id": call.workflow_id,
        "client": text(&call.client, length),
        "continuation": call.continuation.as_ref().map(|continuation| json!({
            "canonical": text(&continuation.canonical, length),
            "request_state": continuation
                .request_state
                .as_ref()
                .map(|state| text(state.as_bytes(), length)),
        })),
        "transport": text(&call.transport, length),
        "binding": preimage::binding(profile, &call.action).as_str(),
    })
}

/// The digests that `context.json` gives of a call.
#[must_use]
pub fn digests(profile: &ProfileId, call: &Call) -> Value {
    let binding = preimage::binding(profile, &call.action);
    let mut digests = json!({ "client": preimage::client_context(&call.client).as_str() });
    if let Some(continuation) = &call.continuation {
        let state = continuation
            .request_state
            .as_deref()
            .map(preimage::request_state);
        digests["continuation"] =
            preimage::continuation(profile, &binding, &continuation.canonical)
                .as_str()
                .into();
        digests["request_state"] = state.map(|state| state.as_str().to_owned()).into();
    }
    digests
}

/// The outcome of `interpret`, as `views.json` gives it.
#[must_use]
pub fn view_to_json(outcome: &Result<Interpretation, Refusal>) -> Value {
    match outcome {
        Err(refusal) => refused(refusal),
        Ok(meaning) => {
            let nodes = if meaning.view.len() > LONG_NODES {
                json!({ "count": meaning.view.len() })
            } else {
                meaning.view.iter().map(node).collect()
            };
            json!({ "view": {
                "binding": meaning.binding.as_str(),
                "tool": meaning.tool,
                "nodes": nodes,
            }})
        }
    }
}

fn node(node: &Node) -> Value {
    let (kind, value) = match &node.value {
        Node_::Null => ("null", None),
        Node_::Boolean(value) => ("boolean", Some(json!(value))),
        Node_::Integer(value) => ("integer", Some(json!(value.to_string()))),
        Node_::Number(lexeme) => ("number", Some(text(lexeme.as_bytes(), Length::Digested))),
        Node_::Text(value) => ("text", Some(text(value.as_bytes(), Length::Digested))),
        Node_::Array(items) => ("array", Some(json!(items))),
        Node_::Object(members) => ("object", Some(json!(members))),
    };
    let mut written = json!({ "kind": kind });
    if let Some(name) = &node.name {
        written["name"] = text(name.as_bytes(), Length::Digested);
    }
    if let Some(value) = value {
        written["value"] = value;
    }
    written
}

fn refused(refusal: &Refusal) -> Value {
    json!({ "refused": {
        "code": refusal.code.as_str(),
        "offset": refusal.offset,
        "pointer": refusal.pointer,
    }})
}

fn id(id: &Id) -> Value {
    match id {
        Id::Number(number) => json!({ "number": number }),
        Id::Text(text) => json!({ "text": text }),
    }
}

fn text(bytes: &[u8], length: Length) -> Value {
    if length == Length::Digested && bytes.len() > LONG_BYTES {
        json!({ "sha256": Digest::of(&[bytes]).as_str(), "bytes": bytes.len() })
    } else {
        String::from_utf8(bytes.to_vec())
            .expect("canonical bytes are UTF-8")
            .into()
    }
}
