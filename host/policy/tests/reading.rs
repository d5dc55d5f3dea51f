//! Every distinction that reaches the upstream can be read by a policy.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use support::{Call, holds};

const AT: &str = "context.at.getTag(\"/arguments/x\")";

/// Whether a condition on `/arguments/x` holds for that value.
fn holds_for(condition: &str, value: &str) -> bool {
    let condition = format!(
        "context.at.hasTag(\"/arguments/x\") && {}",
        condition.replace("$", AT)
    );
    holds(&condition, &Call::of(&format!("{{\"x\":{value}}}")))
}

#[test]
fn each_kind_of_value_is_told_apart() {
    for (value, kind) in [
        ("null", "null"),
        ("true", "boolean"),
        ("7", "integer"),
        ("-7", "integer"),
        ("7.0", "number"),
        ("7e0", "number"),
        ("-0", "number"),
        ("9223372036854775808", "number"),
        ("\"7\"", "text"),
        ("[]", "array"),
        ("{}", "object"),
    ] {
        for other in [
            "null", "boolean", "integer", "number", "text", "array", "object",
        ] {
            let condition = format!("$.kind == \"{other}\"");
            assert_eq!(
                holds_for(&condition, value),
                kind == other,
                "{value} {other}"
            );
        }
    }
}

#[test]
fn a_value_has_the_parts_of_its_kind_and_no_others() {
    for (value, parts) in [
        ("null", vec![]),
        ("false", vec!["bool"]),
        ("7", vec!["long", "number"]),
        ("7.0", vec!["number"]),
        ("\"7\"", vec!["text", "len"]),
        ("[7]", vec!["len"]),
        ("{\"a\":7}", vec!["len"]),
    ] {
        // `has long` alone, so that no guard lets anything pass.
        for part in ["bool", "long", "number", "text", "len"] {
            let condition = format!("$ has {part}");
            assert_eq!(
                holds_for(&condition, value),
                parts.contains(&part),
                "{value} {part}"
            );
        }
    }
}

#[test]
fn values_are_exact() {
    for (condition, value) in [
        ("$ has bool && $.bool", "true"),
        ("$ has bool && !$.bool", "false"),
        (
            "$ has long && $.long == -9223372036854775807 - 1",
            "-9223372036854775808",
        ),
        ("$ has number && $.number.lexeme == \"1E+2\"", "1E+2"),
        (
            "$ has number && $.number.lexeme == \"7\" && $.number.floor == 7",
            "7",
        ),
        (
            "$ has number && $.number has decimal && $.number.decimal == decimal(\"1.5\")",
            "1.50",
        ),
        (
            "$ has number && !($.number has decimal) && $.number.ceil == 1",
            "0.00001",
        ),
        (
            "$ has text && $.text == \"a\\u{0}\\u{1f642}\" && $ has len && $.len == 3",
            "\"a\\u0000\\ud83d\\ude42\"",
        ),
        ("$ has text && $.text == \"e\\u{301}\"", "\"e\\u0301\""),
        ("$ has len && $.len == 3", "[1,1,1]"),
    ] {
        assert!(holds_for(condition, value), "{condition} {value}");
    }
    assert!(!holds_for(
        "$ has text && $.text == \"\\u{e9}\"",
        "\"e\\u0301\""
    ));
}

#[test]
fn order_multiplicity_absence_and_null_are_told_apart() {
    let first_is = |text: &str| {
        format!(
            "context.at.hasTag(\"/arguments/x/0\") && context.at.getTag(\"/arguments/x/0\") has text
             && context.at.getTag(\"/arguments/x/0\").text == \"{text}\""
        )
    };
    for (condition, value, expected) in [
        (first_is("a"), r#"{"x":["a","b"]}"#, true),
        (first_is("a"), r#"{"x":["b","a"]}"#, false),
        (first_is("a"), r#"{"x":{"0":"a"}}"#, true),
        (
            "context.at.hasTag(\"/arguments/x\") && context.at.getTag(\"/arguments/x\").kind == \"array\"".to_owned(),
            r#"{"x":{"0":"a"}}"#,
            false,
        ),
        ("context.at.hasTag(\"/arguments/x/1\")".to_owned(), r#"{"x":["a","a"]}"#, true),
        ("context.at.hasTag(\"/arguments/x/1\")".to_owned(), r#"{"x":["a"]}"#, false),
        ("context.at.hasTag(\"/arguments/x\")".to_owned(), r#"{"x":null}"#, true),
        ("context.at.hasTag(\"/arguments/x\")".to_owned(), "{}", false),
        ("context.at.hasTag(\"/arguments/a~1b~0c/\")".to_owned(), r#"{"a/b~c":{"":1}}"#, true),
    ] {
        assert_eq!(holds(&condition, &Call::of(value)), expected, "{condition} {value}");
    }
}

#[test]
fn everything_of_the_action_is_in_view_and_absence_is_not_emptiness() {
    let whole = r#"{"method":"tools/call","name":"transfer","arguments":{},"task":{"ttl":5},"_meta":{"example.org/a":"x"}}"#;
    let bare = r#"{"method":"tools/call","name":"transfer"}"#;
    for (key, in_whole, in_bare) in [
        ("", true, true),
        ("/method", true, true),
        ("/name", true, true),
        ("/arguments", true, false),
        ("/task/ttl", true, false),
        ("/_meta/example.org~1a", true, false),
        ("/_meta/io.modelcontextprotocol~1logLevel", false, false),
    ] {
        let condition = format!("context.at.hasTag(\"{key}\")");
        assert_eq!(holds(&condition, &Call::action(whole)), in_whole, "{key}");
        assert_eq!(holds(&condition, &Call::action(bare)), in_bare, "{key}");
    }
}

#[test]
fn client_context_and_continuation_are_views_of_their_own() {
    let mut call = Call::of("{\"requestState\":\"mine\"}");
    call.client =
        r#"{"io.modelcontextprotocol/clientInfo":{"name":"probe","version":"1"}}"#.to_owned();
    let name = "context.client.hasTag(\"/io.modelcontextprotocol~1clientInfo/name\")
        && context.client.getTag(\"/io.modelcontextprotocol~1clientInfo/name\") has text
        && context.client.getTag(\"/io.modelcontextprotocol~1clientInfo/name\").text == \"probe\"";
    let state = "context has continuation && context.continuation.hasTag(\"/requestState\")";
    let number = "context has continuation && context.continuation.hasTag(\"/inputResponses/a\")
        && context.continuation.getTag(\"/inputResponses/a\") has number
        && context.continuation.getTag(\"/inputResponses/a\").number.ceil > 1000";
    assert!(holds(name, &call));
    assert!(!holds(state, &call));
    call.continuation = Some(r#"{"inputResponses":{"a":1e30}}"#.to_owned());
    assert!(!holds(state, &call));
    assert!(holds(number, &call));
    call.continuation = Some(r#"{"requestState":"theirs"}"#.to_owned());
    assert!(holds(state, &call));
    call.client = "{}".to_owned();
    assert!(!holds(name, &call));
}

#[test]
fn json_that_looks_like_an_entity_or_an_extension_value_is_an_object() {
    for value in [
        r#"{"__extn":{"fn":"decimal","arg":"5000.0"}}"#,
        r#"{"__entity":{"type":"Agent","id":"token//root"}}"#,
        r#"{"__expr":"context"}"#,
        r#"{"kind":"integer","long":1,"number":{"lexeme":"1","floor":1,"ceil":1}}"#,
    ] {
        assert!(
            holds_for(
                "$.kind == \"object\" && $ has len && !($ has number)",
                value
            ),
            "{value}"
        );
    }
}
