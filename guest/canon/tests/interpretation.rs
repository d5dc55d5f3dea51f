//! Interpretation: views of actions, and bytes that are none.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

use countersign_canon::{Code, Interpretation, Node, Numbers, ProfileId, Value, View, interpret};

fn id() -> ProfileId {
    "exact@1.0.0".parse().unwrap()
}

fn read(action: &str) -> Interpretation {
    interpret(&id(), Numbers::AsWritten, action.as_bytes()).unwrap()
}

#[test]
fn a_view_holds_every_value_in_the_order_of_its_bytes() {
    let action = r#"{"_meta":{"k":"é\n"},"arguments":{"":[1,-1,0,1.0,-0,1e5,9223372036854775807,-9223372036854775808,9223372036854775808,true,false,null,[],{}],"\b":"/"},"method":"tools/call","name":"a\"b"}"#;
    let read = read(action);
    assert_eq!(read.tool, "a\"b");
    let number = |lexeme: &str| Value::Number(lexeme.into());
    let named = |name: &str, value| Node {
        name: Some(name.into()),
        value,
    };
    let item = |value| Node { name: None, value };
    let expected = vec![
        item(Value::Object(4)),
        named("_meta", Value::Object(1)),
        named("k", Value::Text("é\n".into())),
        named("arguments", Value::Object(2)),
        named("", Value::Array(14)),
        item(Value::Integer(1)),
        item(Value::Integer(-1)),
        item(Value::Integer(0)),
        item(number("1.0")),
        item(number("-0")),
        item(number("1e5")),
        item(Value::Integer(i64::MAX)),
        item(Value::Integer(i64::MIN)),
        item(number("9223372036854775808")),
        item(Value::Boolean(true)),
        item(Value::Boolean(false)),
        item(Value::Null),
        item(Value::Array(0)),
        item(Value::Object(0)),
        named("\u{8}", Value::Text("/".into())),
        named("method", Value::Text("tools/call".into())),
        named("name", Value::Text("a\"b".into())),
    ];
    assert_eq!(read.view, expected);
    assert!(View::new(read.view).is_ok());
}

#[test]
fn a_binding_is_the_digest_of_the_profile_and_the_action() {
    // { printf 'countersign.action-binding.v1\nexact@1.0.0\n'; printf '%s' ACTION; } | sha256sum
    let read = read(r#"{"method":"tools/call","name":"echo"}"#);
    assert_eq!(
        read.binding.as_str(),
        "sha256:ec07bacf773369eca8b72865949d5c5d6f3b7993e4358cb9407b7b3154b2a592"
    );
}

#[test]
fn bytes_that_are_no_action_are_refused() {
    use Code::{Number, Params, Syntax, Value};
    for (action, code, pointer) in [
        ("", Syntax, ""),
        ("[]", Params, ""),
        ("{}", Params, ""),
        (r#"{"method":"tools/call"}"#, Params, ""),
        (r#"{"name":"n"}"#, Params, ""),
        (r#"{"method":"tools/list","name":"n"}"#, Params, "/method"),
        (r#"{"method":"tools/call","name":""}"#, Params, "/name"),
        (
            r#"{"arguments":[],"method":"tools/call","name":"n"}"#,
            Params,
            "/arguments",
        ),
        (
            r#"{"method":"tools/call","name":"n","task":null}"#,
            Params,
            "/task",
        ),
        (
            r#"{"_meta":{},"method":"tools/call","name":"n"}"#,
            Params,
            "/_meta",
        ),
        (
            r#"{"_meta":[1],"method":"tools/call","name":"n"}"#,
            Params,
            "/_meta",
        ),
        (
            r#"{"_meta":{"baggage":1},"method":"tools/call","name":"n"}"#,
            Params,
            "/_meta/baggage",
        ),
        (
            r#"{"_meta":{"countersign.dev/x":1},"method":"tools/call","name":"n"}"#,
            Params,
            "/_meta/countersign.dev~1x",
        ),
        (
            r#"{"_cmcp":{},"method":"tools/call","name":"n"}"#,
            Params,
            "/_cmcp",
        ),
        (
            r#"{"id":1,"method":"tools/call","name":"n"}"#,
            Params,
            "/id",
        ),
        (
            r#"{"arguments":{"a":1.5}, "method":"tools/call","name":"n"}"#,
            Number,
            "/arguments/a",
        ),
        (r#"{"method":"tools/call", "name":"n"}"#, Value, ""),
        (r#" {"method":"tools/call","name":"n"}"#, Value, ""),
        ("{\"method\":\"tools/call\",\"name\":\"n\"}\n", Value, ""),
        (r#"{"name":"n","method":"tools/call"}"#, Value, ""),
        (r#"{"method":"tools\/call","name":"n"}"#, Value, ""),
        (r#"{"method":"tools/call","name":"\u006e"}"#, Value, ""),
        (r#"{"method":"tools/call","na\u006de":"n"}"#, Value, ""),
        (r#"{"method":"tools/call","name":"\u001F"}"#, Value, ""),
        (r#"{"method":"tools/call","name":"\u000a"}"#, Value, ""),
        (
            r#"{"arguments":{"b":1,"a":1},"method":"tools/call","name":"n"}"#,
            Value,
            "",
        ),
        (
            r#"{"arguments":{"a":[ ]},"method":"tools/call","name":"n"}"#,
            Value,
            "",
        ),
        (
            "{\"arguments\":{\"\u{e000}\":1,\"😀\":1},\"method\":\"tools/call\",\"name\":\"n\"}",
            Value,
            "",
        ),
    ] {
        let refusal = interpret(&id(), Numbers::SafeIntegers, action.as_bytes()).expect_err(action);
        let said = (
            refusal.code,
            refusal.pointer.as_str(),
            refusal.offset as usize,
        );
        assert_eq!(said, (code, pointer, action.len()), "{action}");
    }
}
