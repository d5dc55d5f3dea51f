//! `context.args`: typed by an approved schema, and nothing else of it.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_catalog::Shape;
use countersign_policy::{Class, Decision, PolicySet, Tool, Typed};
use support::{Call, bundle};

const SCHEMA: &[u8] = br#"{"type":"object","required":["to"],"properties":{
    "to":{"type":"string"},"amount":{"type":"number"},"count":{"type":"integer"},
    "tags":{"type":"array","items":{"type":"string"}},
    "__extn":{"type":"object","properties":{"fn":{"type":"string"},"arg":{"type":"string"}}},
    "either":{"type":["string","number"]}}}"#;

fn load(text: &str) -> Result<PolicySet, String> {
    let shape = Shape::of_schema(SCHEMA);
    let tool = |name, class| Tool {
        server: "ledger",
        name,
        class,
    };
    let tools = [
        Typed {
            tool: tool("transfer", Class::SideEffecting),
            shape: shape.as_ref(),
        },
        Typed {
            tool: tool("balance", Class::ReadOnly),
            shape: None,
        },
    ];
    PolicySet::load_for(bundle(text), &tools).map_err(|error| error.to_string())
}

fn decide(set: &PolicySet, arguments: &str) -> Decision {
    let shape = Shape::of_schema(SCHEMA);
    let call = Call::of(arguments);
    let mut request = call.request();
    request.shape = shape.as_ref();
    set.decide(&request)
}

fn forbid(condition: &str) -> String {
    format!(
        "permit (principal, action, resource);
         forbid (principal, action == Action::\"ledger/transfer\", resource) when {{ {condition} }};"
    )
}

#[test]
fn a_number_is_compared_by_its_value_in_every_spelling() {
    let set = load(&forbid(
        "context.args has amount && context.args.amount.ceil > 1000",
    ))
    .unwrap();
    for (amount, allowed) in [
        ("1000", true),
        ("1000.0", true),
        ("1e3", true),
        ("-1e400", true),
        ("5000", false),
        ("5000.0", false),
        ("5e3", false),
        ("1000.5", false),
        ("1e30", false),
        ("1e400", false),
    ] {
        let decision = decide(&set, &format!(r#"{{"to":"a","amount":{amount}}}"#));
        assert_eq!(decision.allow(), allowed, "{amount}");
    }
    assert!(decide(&set, r#"{"to":"a"}"#).allow());
}

#[test]
fn what_an_argument_is_called_makes_no_entity_and_no_extension_value() {
    let set = load(&forbid(
        r#"context.args has "__extn" && context.args["__extn"] has arg && context.args["__extn"].arg == "5000.0""#,
    ))
    .unwrap();
    let looks = r#"{"to":"a","__extn":{"fn":"decimal","arg":"5000.0"}}"#;
    assert_eq!(decide(&set, looks).reason().as_str(), "forbidden");
    let entity = r#"{"to":"a","other":{"__entity":{"type":"Agent","id":"x"}}}"#;
    assert!(decide(&set, entity).allow());
}

#[test]
fn what_the_schema_does_not_type_is_not_there_and_a_wrong_type_does_not_load() {
    for (condition, loads) in [
        (r#"context.args.to == "bob""#, true),
        (
            r#"context.args has tags && context.args.tags.contains("x")"#,
            true,
        ),
        ("context.args has count && context.args.count > 3", true),
        ("context.args.amount.ceil > 1", false),
        ("context.args.to > 1", false),
        (
            "context.args has count && context.args.count.ceil > 1",
            false,
        ),
        ("context.args has amount && context.args.amount > 1", false),
        ("context.args.either == \"x\"", false),
        ("context.args.other == \"x\"", false),
    ] {
        assert_eq!(load(&forbid(condition)).is_ok(), loads, "{condition}");
    }
    let set = load(&forbid(
        r#"context.args has tags && context.args.tags.contains("x")"#,
    ))
    .unwrap();
    assert!(!decide(&set, r#"{"to":"a","tags":["y","x","x"]}"#).allow());
    assert!(decide(&set, r#"{"to":"a","tags":[]}"#).allow());
}

#[test]
fn naming_a_tool_that_is_not_approved_does_not_load() {
    for (scope, loads) in [
        ("action == Action::\"ledger/transfer\"", true),
        ("action == Action::\"ledger/balance\"", true),
        ("action == Action::\"ledger/Transfer\"", false),
        ("action in Action::\"server:ledger\"", true),
        ("action in Action::\"server:ledgers\"", false),
        ("action in Action::\"destructive\"", true),
    ] {
        let text = format!("forbid (principal, {scope}, resource);");
        assert_eq!(load(&text).is_ok(), loads, "{scope}");
    }
}

#[test]
fn arguments_that_were_not_held_against_their_schema_are_denied() {
    let set = load(&forbid("context.args.to == \"bob\"")).unwrap();
    for arguments in [
        r#"{"to":7}"#,
        "{}",
        r#"{"to":"a","count":1.0}"#,
        r#"{"to":"a","tags":[1]}"#,
    ] {
        let decision = decide(&set, arguments);
        assert_eq!(decision.reason().as_str(), "invalid-request", "{arguments}");
    }
}
