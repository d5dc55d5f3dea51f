//! What is left out changes no decision.

use std::collections::BTreeMap;

use countersign_catalog::Shape;

use super::*;
use crate::{PolicySet as Set, Reason};
use support::{Call, Random, bundle};

#[path = "../../tests/support/mod.rs"]
mod support;

const SCHEMA: &[u8] = br#"{"type":"object","required":["to"],"properties":{
    "to":{"type":"string"},"note":{"type":"string"},"n":{"type":"integer"},
    "tags":{"type":"array","items":{"type":"string"}},
    "deep":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}"#;

/// What holds, what does not, and what fails in some request.
const CONDITIONS: [&str; 27] = [
    "true",
    "false",
    "principal == Agent::\"token//ci\"",
    "principal.subject == \"ci\"",
    "\"dev\" != principal.subject",
    "[\"ci\", \"other\"].contains(principal.subject)",
    "[Agent::\"token//dev\"].contains(principal)",
    "resource == Server::\"a\"",
    "context.revision == \"2025-11-25\"",
    "context has execution_id",
    "context.execution_id == \"e\"",
    "context has execution_id && context.execution_id == \"e\"",
    "context has args",
    "context.args has note",
    "context.args.to == \"x\"",
    "context.args.to != \"x\"",
    "context.args.note == \"n\"",
    "context.args has note && context.args.note == \"n\"",
    "context.args.to has x && context.args.to == \"x\"",
    "context.args.deep.a == \"y\"",
    "context.args has deep && context.args.deep has a && context.args.deep.a == \"y\"",
    "context.args.n + 9223372036854775806 > 0",
    "context.args == { to: \"x\" }",
    "context.args.deep == { a: \"y\", b: \"q\" }",
    "context.args.tags.contains(\"t\")",
    "context.at.getTag(\"/arguments/to\").text == \"x\"",
    "context.at.hasTag(\"/arguments/note\") && context.at.getTag(\"/arguments/note\") has text \
     && context.at.getTag(\"/arguments/note\").text == \"n\"",
];

impl Random {
    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return format!("({})", self.pick(&CONDITIONS));
        }
        let (one, two) = (self.condition(depth - 1), self.condition(depth - 1));
        match self.below(5) {
            0 => format!("(!{one})"),
            1 => format!("({one} || {two})"),
            2 => format!("(if {one} then {two} else {one})"),
            _ => format!("({one} && {two})"),
        }
    }

    fn policy(&mut self) -> String {
        format!(
            "{} ({}, action, {}) {} {{ {} }};\n",
            self.pick(&["permit", "forbid"]),
            self.pick(&[
                "principal",
                "principal",
                "principal == Agent::\"token//ci\""
            ]),
            self.pick(&["resource", "resource", "resource == Server::\"a\""]),
            self.pick(&["when", "unless"]),
            self.condition(2),
        )
    }
}

fn set(text: &str) -> Set {
    // Policies that fail in some request are refused by strict validation.
    Set::recorded(bundle(text)).unwrap()
}

fn call(subject: &str, server: &str, execution_id: Option<&str>, arguments: &str) -> Call {
    Call {
        agent: ["token", "", subject].map(str::to_owned),
        server: server.to_owned(),
        execution_id: execution_id.map(str::to_owned),
        ..Call::of(arguments)
    }
}

#[test]
fn leaving_out_policies_and_arguments_changes_no_decision() {
    let shape = Shape::of_schema(SCHEMA);
    let mut requests = Vec::new();
    for arguments in [
        r#"{"to":"x"}"#,
        r#"{"deep":{"a":"y","b":"q"},"note":"n","tags":["s","t"],"to":"z"}"#,
        r#"{"deep":{"b":"y"},"n":5,"note":"m","to":"x"}"#,
        r#"{"n":0,"tags":[],"to":"x/y"}"#,
    ] {
        for (subject, execution_id) in [("ci", None), ("ci", Some("e")), ("dev", Some("f"))] {
            for (server, typed) in [("a", true), ("b", true), ("b", false)] {
                requests.push((call(subject, server, execution_id, arguments), typed));
            }
        }
    }
    let mut random = Random(0x5eed);
    let mut reasons = BTreeMap::new();
    let (mut evaluated, mut all) = (0, 0);
    for _ in 0..100 {
        let text: String = (0..7).map(|_| random.policy()).collect();
        let set = set(&text);
        for (call, typed) in &requests {
            let mut request = call.request();
            request.shape = shape.as_ref().filter(|_| *typed);
            let decision = set.decide(&request);
            let expected = set.decide_with_all(&request);
            assert_eq!(decision, expected, "{text}\n{request:?}");
            *reasons.entry(decision.reason()).or_insert(0) += 1;
            evaluated += set.evaluated(&request);
            all += 7;
        }
    }
    // What is compared is worth comparing.
    for reason in [
        Reason::Permitted,
        Reason::Forbidden,
        Reason::NoPermit,
        Reason::EvaluationError,
    ] {
        assert!(reasons.get(&reason) >= Some(&60), "{reasons:?}");
    }
    assert!(evaluated * 10 < all * 8, "{evaluated} of {all}");
}

#[test]
fn a_rule_about_another_text_is_not_evaluated() {
    let mut text = String::from("permit (principal, action, resource);\n");
    for number in 0..50 {
        text.push_str(&format!(
            "forbid (principal == Agent::\"token//a{number}\", action, resource);\n\
             forbid (principal, action, resource) unless {{ context.args.to != \"t{number}\" || context.args.n <= 3 }};\n\
             forbid (principal, action, resource) when {{ context has execution_id && context.execution_id == \"e{number}\" }};\n"
        ));
    }
    let (set, shape) = (set(&text), Shape::of_schema(SCHEMA));
    for (subject, to, execution_id, evaluated) in [
        ("ci", "x", Some("e"), 1),
        ("a7", "x", Some("e"), 2),
        ("ci", "t49", Some("e0"), 3),
        ("a1", "t1", Some("e1"), 4),
        // Without the fact, all that ask for it.
        ("ci", "x", None, 51),
    ] {
        let arguments = format!("{{\"n\":4,\"to\":\"{to}\"}}");
        let call = call(subject, "a", execution_id, &arguments);
        let mut request = call.request();
        request.shape = shape.as_ref();
        assert_eq!(set.evaluated(&request), evaluated, "{request:?}");
        assert_eq!(set.decide(&request), set.decide_with_all(&request));
    }
}

#[test]
fn sets_are_kept_up_to_a_bound_and_beyond_it_all_policies_decide() {
    let mut text = "permit (principal, action, resource);\n".repeat(500);
    for number in 0..100 {
        text.push_str(&format!(
            "forbid (principal, action, resource) when {{ context.revision == \"r{number}\" }};\n"
        ));
    }
    let set = set(&text);
    let mut evaluated = Vec::new();
    for number in 0..100 {
        let call = Call {
            revision: format!("r{number}"),
            ..Call::of("{}")
        };
        evaluated.push(set.evaluated(&call.request()));
        assert_eq!(call.decide(&set).reason(), Reason::Forbidden);
    }
    let kept = MOST_KEPT / 502;
    assert!(evaluated[..kept].iter().all(|count| *count == 501));
    assert!(evaluated[kept..].iter().all(|count| *count == 600));
}
