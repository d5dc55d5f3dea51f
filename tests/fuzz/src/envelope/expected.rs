//! What a message is, said once more from `docs/spec/action-binding.md` alone:
//! over a tree, without places.

use countersign_canon::{
    Admitted, Call, Code, Continuation, Id, Notification, Numbers, Reply, Request,
};

use crate::model::{self, Tree};

type Members = [(String, Tree)];

/// What a message is admitted as, or the code that it is refused with.
pub(super) fn expected(numbers: Numbers, message: &Tree) -> Result<Admitted, Code> {
    let envelope = envelope_of(message).ok_or(Code::Envelope)?;
    let params = || envelope.params.map(canonical);
    match (envelope.method, envelope.id.clone()) {
        (Some("tools/call"), Some(id)) => call(numbers, id, envelope.params).map(Admitted::Call),
        (Some(method), Some(id)) => Ok(Admitted::Request(Request {
            id,
            method: method.to_owned(),
            params: params(),
        })),
        (Some(method), None) => Ok(Admitted::Notification(Notification {
            method: method.to_owned(),
            params: params(),
        })),
        (None, id) => Ok(Admitted::Reply(Reply {
            id: id.ok_or(Code::Envelope)?,
            answer: envelope.answer.ok_or(Code::Envelope)?,
        })),
    }
}

/// The member of that name.
pub(super) fn member<'t>(tree: &'t Tree, name: &str) -> Option<&'t Tree> {
    let Tree::Object(members) = tree else {
        return None;
    };
    let found = members.iter().find(|member| member.0 == name);
    found.map(|member| &member.1)
}

fn canonical(tree: &Tree) -> Vec<u8> {
    model::canonical(tree).into_bytes()
}

struct Envelope<'t> {
    id: Option<Id>,
    method: Option<&'t str>,
    params: Option<&'t Tree>,
    answer: Option<Result<Vec<u8>, Vec<u8>>>,
}

fn envelope_of(message: &Tree) -> Option<Envelope<'_>> {
    let Tree::Object(members) = message else {
        return None;
    };
    let get = |name| member(message, name);
    let known: &[&str] = match get("method") {
        Some(_) => &["jsonrpc", "id", "method", "params"],
        None => &["jsonrpc", "id", "result", "error"],
    };
    let foreign = members
        .iter()
        .any(|(name, _)| !known.contains(&name.as_str()));
    if foreign || get("jsonrpc") != Some(&Tree::Text("2.0".into())) {
        return None;
    }
    let id = match get("id") {
        None => None,
        Some(Tree::Text(text)) if text.len() <= 256 => Some(Id::Text(text.clone())),
        Some(Tree::Number(lexeme)) => Some(Id::Number(safe(lexeme)?)),
        Some(_) => return None,
    };
    let is_object = |tree: &Tree| matches!(tree, Tree::Object(_));
    if get("params").is_some_and(|params| !is_object(params)) {
        return None;
    }
    let method = match get("method") {
        None => None,
        Some(Tree::Text(method)) => Some(method.as_str()),
        Some(_) => return None,
    };
    let answer = match (get("result"), get("error")) {
        (None, None) => None,
        (Some(result), None) => Some(Ok(canonical(result))),
        (None, Some(error)) if is_object(error) => Some(Err(canonical(error))),
        _ => return None,
    };
    let needs_id = matches!(method, None | Some("tools/call"));
    let lacks = needs_id && id.is_none() || method.is_none() && answer.is_none();
    (!lacks).then_some(Envelope {
        id,
        method,
        params: get("params"),
        answer,
    })
}

/// An integer that every reader carries: written plainly, of magnitude at most
/// 2^53 − 1.
fn safe(lexeme: &str) -> Option<i64> {
    let integer: i64 = lexeme.parse().ok()?;
    let plain = integer.to_string() == lexeme;
    (plain && integer.unsigned_abs() < 1 << 53).then_some(integer)
}

const CLIENT: [&str; 4] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];
const TRANSPORT: [&str; 2] = ["progressToken", "traceparent"];
const DROPPED: [&str; 2] = ["tracestate", "baggage"];
const OURS: &str = "countersign.dev/";
const KEYS: [&str; 2] = ["execution_id", "workflow_id"];

/// Whether a member of `_meta` belongs to the action.
fn is_action(name: &str) -> bool {
    let elsewhere = [&CLIENT[..], &TRANSPORT, &DROPPED].concat();
    !name.starts_with(OURS) && !elsewhere.contains(&name)
}

fn call(numbers: Numbers, id: Id, params: Option<&Tree>) -> Result<Call, Code> {
    let params = params.filter(|params| sound(params)).ok_or(Code::Params)?;
    let meta: &Members = match member(params, "_meta") {
        Some(Tree::Object(members)) => members,
        _ => &[],
    };
    let [execution_id, workflow_id] = KEYS.map(|key| correlation(params, meta, key));
    let (execution_id, workflow_id) = (execution_id?, workflow_id?);
    let some = |of: &Members, which: &dyn Fn(&str) -> bool| {
        let chosen = of.iter().filter(|(name, _)| which(name)).cloned();
        Tree::Object(chosen.collect())
    };
    let mut action = vec![("method".to_owned(), Tree::Text("tools/call".into()))];
    let Tree::Object(members) = params else {
        return Err(Code::Params);
    };
    for (name, value) in members {
        if ["name", "arguments", "task"].contains(&name.as_str()) {
            action.push((name.clone(), value.clone()));
        }
    }
    let bound = some(meta, &is_action);
    if bound != Tree::Object(Vec::new()) {
        action.push(("_meta".into(), bound));
    }
    let action = Tree::Object(action);
    if numbers == Numbers::SafeIntegers && !all_safe(&action) {
        return Err(Code::Number);
    }
    let round = some(members, &|name| {
        ["inputResponses", "requestState"].contains(&name)
    });
    let continuation = (round != Tree::Object(Vec::new())).then(|| Continuation {
        canonical: canonical(&round),
        request_state: match member(params, "requestState") {
            Some(Tree::Text(state)) => Some(state.clone()),
            _ => None,
        },
    });
    Ok(Call {
        id,
        action: canonical(&action),
        execution_id,
        workflow_id,
        client: canonical(&some(meta, &|name| CLIENT.contains(&name))),
        continuation,
        transport: canonical(&some(meta, &|name| TRANSPORT.contains(&name))),
    })
}

/// Whether the parameters have the form that a call's have.
fn sound(params: &Tree) -> bool {
    let Tree::Object(members) = params else {
        return false;
    };
    let fits = |(name, value): &(String, Tree)| match (name.as_str(), value) {
        ("name", Tree::Text(name)) => (1..=128).contains(&name.chars().count()),
        ("arguments" | "task" | "inputResponses", Tree::Object(_)) => true,
        ("requestState", Tree::Text(_)) => true,
        ("_cmcp", Tree::Object(inner)) => inner.iter().all(|m| KEYS.contains(&m.0.as_str())),
        ("_meta", Tree::Object(inner)) => inner
            .iter()
            .filter_map(|(name, _)| name.strip_prefix(OURS))
            .all(|ours| KEYS.contains(&ours)),
        _ => false,
    };
    members.iter().all(fits) && member(params, "name").is_some()
}

/// An identifier, from either of its places.
fn correlation(params: &Tree, meta: &Members, key: &str) -> Result<Option<String>, Code> {
    let here = member(params, "_cmcp").and_then(|cmcp| member(cmcp, key));
    let mut there = meta
        .iter()
        .filter(|(name, _)| *name == format!("{OURS}{key}"));
    let given: Vec<&Tree> = here.into_iter().chain(there.next().map(|m| &m.1)).collect();
    let text = |given: &&Tree| match given {
        Tree::Text(text) => {
            let visible = text.bytes().all(|byte| (0x21..=0x7E).contains(&byte));
            (visible && (1..=200).contains(&text.len())).then(|| text.clone())
        }
        _ => None,
    };
    let texts: Option<Vec<String>> = given.iter().map(text).collect();
    match texts.ok_or(Code::Correlation)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [one, other] if one == other => Ok(Some(one.clone())),
        _ => Err(Code::Correlation),
    }
}

fn all_safe(tree: &Tree) -> bool {
    match tree {
        Tree::Number(lexeme) => safe(lexeme).is_some(),
        Tree::Array(items) => items.iter().all(all_safe),
        Tree::Object(members) => members.iter().all(|(_, value)| all_safe(value)),
        _ => true,
    }
}
