//! Admission and what follows it: a message is what `docs/spec/action-binding.md`
//! §1 and §2 say that it is, under both profiles and however it is spelled; an
//! action means what it says, and goes upstream as it is.

mod expected;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{
    Admitted, Call, Limits, Node, Numbers, ProfileId, Value, admit, envelop, interpret,
};
use countersign_mcp::envelope::{self, Additions};
use countersign_mcp::incoming::{self, Incoming};
use sha2::{Digest as _, Sha256};

use crate::message;
use crate::model::{self, Tree};
use expected::{expected, member};

pub(crate) fn run(data: &[u8]) {
    let bytes = message::of(data);
    let tree = model::read(&bytes, Limits::STANDARD).ok();
    for numbers in [Numbers::AsWritten, Numbers::SafeIntegers] {
        let said = admit(numbers, &bytes);
        let Some(tree) = &tree else {
            assert!(said.is_err(), "what is no JSON is admitted as {said:?}");
            continue;
        };
        let expected = expected(numbers, tree);
        let code = said.as_ref().map_err(|refusal| refusal.code);
        assert_eq!(code, expected.as_ref().map_err(|code| *code), "{numbers:?}");
        let other = model::respelled(tree, 0);
        let other = admit(numbers, &other).map_err(|refusal| refusal.code);
        assert_eq!(other, expected, "spelled otherwise, {numbers:?}");
        if let Err(refusal) = &said {
            assert_eq!(refusal.offset as usize, bytes.len(), "all had to be read");
        }
        if let Ok(Admitted::Call(call)) = &said {
            action(numbers, &call.action);
        }
        if let Ok(admitted) = &said {
            received(admitted, &bytes);
        }
        if let (Ok(Admitted::Call(call)), Numbers::AsWritten) = (&said, numbers) {
            upstream(call);
        }
    }
}

/// An action asks for itself, means what it says, and has the digest of its
/// bytes.
fn action(numbers: Numbers, action: &[u8]) {
    let message = envelop(action).expect("it is of an action's form");
    let Ok(Admitted::Call(again)) = admit(numbers, &message) else {
        panic!("its own message is no call");
    };
    assert_eq!(again.action, action, "it asks for itself");
    let profile: ProfileId = match numbers {
        Numbers::AsWritten => "exact@1.0.0",
        Numbers::SafeIntegers => "jcs-integer@1.0.0",
    }
    .parse()
    .unwrap();
    let meaning = interpret(&profile, numbers, action).expect("it has a meaning");
    let tree = model::read(action, Limits::STANDARD).expect("it is JSON");
    let mut nodes = Vec::new();
    view(None, &tree, &mut nodes);
    assert_eq!(meaning.view, nodes);
    assert_eq!(Some(&Tree::Text(meaning.tool)), member(&tree, "name"));
    let preimage = [
        b"countersign.action-binding.v1\n",
        profile.as_str().as_bytes(),
        b"\n",
        action,
    ];
    let digest: String = Sha256::digest(preimage.concat())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(meaning.binding.as_str(), format!("sha256:{digest}"));
}

/// The view of a value, made from the model.
fn view(name: Option<&str>, tree: &Tree, nodes: &mut Vec<Node>) {
    let count = |length: usize| u32::try_from(length).unwrap();
    let value = match tree {
        Tree::Null => Value::Null,
        Tree::Boolean(value) => Value::Boolean(*value),
        Tree::Number(lexeme) => match lexeme.parse::<i64>() {
            Ok(integer) if integer.to_string() == *lexeme => Value::Integer(integer),
            _ => Value::Number(lexeme.clone()),
        },
        Tree::Text(text) => Value::Text(text.clone()),
        Tree::Array(items) => Value::Array(count(items.len())),
        Tree::Object(members) => Value::Object(count(members.len())),
    };
    nodes.push(Node {
        name: name.map(str::to_owned),
        value,
    });
    match tree {
        Tree::Array(items) => items.iter().for_each(|item| view(None, item, nodes)),
        Tree::Object(members) => {
            for (name, value) in members {
                view(Some(name), value, nodes);
            }
        }
        _ => {}
    }
}

/// What is admitted from a client is not taken for something else from a server.
fn received(admitted: &Admitted, bytes: &[u8]) {
    let document = incoming::read(bytes).expect("what is admitted is read");
    let message = incoming::message(&document);
    match (admitted, &message) {
        (Admitted::Call(_) | Admitted::Request(_), Ok(Incoming::Request { .. }))
        | (Admitted::Notification(_), Ok(Incoming::Notification { .. })) => {}
        (Admitted::Reply(reply), Ok(Incoming::Reply { id, answer })) => {
            assert!(id.is_some());
            let answer = answer.map(Item::canonical);
            assert_eq!(answer.map_err(Item::canonical), reply.answer);
        }
        // An error needs a code and a message there, and only there.
        (Admitted::Reply(reply), Err(_)) => {
            let error = document.root().get("error").expect("it is an error");
            let kind = |name| error.get(name).map(Item::kind);
            let whole = (kind("code"), kind("message"));
            assert_ne!(whole, (Some(Kind::Number), Some(Kind::String)), "{reply:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// The message that goes upstream holds the action's members as they are, and
/// beside them only what the gateway mints.
fn upstream(call: &Call) {
    let minted = br#"{"n":1.0}"#.to_vec();
    let additions = Additions {
        meta: vec![("countersign.dev/call_id", minted)],
        continuation: call.continuation.as_ref().map(|round| &round.canonical[..]),
    };
    let sent = envelope::tool_call(7, &call.action, &additions).expect("an action goes upstream");
    let sent = model::read(&sent, Limits::STANDARD).expect("what is sent is JSON");
    let mut params = Vec::new();
    let Tree::Object(action) = model::read(&call.action, Limits::STANDARD).unwrap() else {
        panic!("an action is an object");
    };
    let mut meta = Vec::new();
    for (name, value) in action {
        match (name.as_str(), value) {
            ("method", _) => {}
            ("_meta", Tree::Object(members)) => meta = members,
            (_, value) => params.push((name, value)),
        }
    }
    if let Some(round) = &call.continuation {
        let Tree::Object(round) = model::read(&round.canonical, Limits::STANDARD).unwrap() else {
            panic!("a continuation is an object");
        };
        params.extend(round);
    }
    let n = vec![("n".into(), Tree::Number("1.0".into()))];
    meta.push(("countersign.dev/call_id".into(), Tree::Object(n)));
    params.push(("_meta".into(), Tree::Object(meta)));
    let expected = Tree::Object(vec![
        ("jsonrpc".into(), Tree::Text("2.0".into())),
        ("id".into(), Tree::Number("7".into())),
        ("method".into(), Tree::Text("tools/call".into())),
        ("params".into(), Tree::Object(params)),
    ]);
    assert_eq!(model::canonical(&sent), model::canonical(&expected));
}
