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

/// What a set holds of the budget for what calls begin with.
fn taken(budget: &Budget) -> (usize, usize) {
    (
        usize::MAX / 2 - budget.slices.left(),
        usize::MAX / 2 - budget.kept.left(),
    )
}

fn ample() -> Arc<Budget> {
    Arc::new(Budget::of(usize::MAX / 2, usize::MAX / 2))
}

fn at_revision(number: usize) -> Call {
    Call {
        revision: format!("r{number}"),
        ..Call::of("{}")
    }
}

#[test]
fn sets_that_find_no_room_take_the_place_of_others() {
    let mut text = "permit (principal, action, resource);\n".repeat(500);
    for number in 0..700 {
        text.push_str(&format!(
            "forbid (principal, action, resource) when {{ context.revision == \"r{number}\" }};\n"
        ));
    }
    let budget = ample();
    let set = Set::within(bundle(&text), &budget);
    // More kinds of calls than there is room for, again and again.
    for number in (0..100).chain(0..100) {
        let call = at_revision(number);
        assert_eq!(set.evaluated(&call.request()), 501);
        assert_eq!(call.decide(&set).reason(), Reason::Forbidden);
        let index = set.slice(&call.request());
        let kept = index.kept.read().unwrap();
        assert!(kept.policies <= MOST_KEPT && !kept.parts.is_empty());
        assert_eq!(taken(&budget).1, kept.weight);
    }
    drop(set);
    assert_eq!(taken(&budget), (0, 0));
}

#[test]
fn what_is_most_of_all_policies_is_decided_with_all_and_takes_no_room() {
    // 100 that all calls need, and 300 that ask for two facts.
    let mut text = "permit (principal, action, resource);\n".repeat(100);
    for number in 0..150 {
        text.push_str(&format!(
            "forbid (principal, action, resource) when {{ context.revision == \"r{number}\" }};\n\
             forbid (principal, action, resource) when {{ context.args.to == \"t{number}\" }};\n"
        ));
    }
    let budget = ample();
    let (set, shape) = (
        Set::within(bundle(&text), &budget),
        Shape::of_schema(SCHEMA),
    );
    for number in 0..150 {
        // Without its arguments all that ask for them are weighed.
        let untyped = at_revision(number);
        assert_eq!(set.evaluated(&untyped.request()), 400);
    }
    assert_eq!(taken(&budget).1, 0);
    for number in 0..150 {
        let call = Call {
            revision: format!("r{number}"),
            ..Call::of("{\"to\":\"t1\"}")
        };
        let mut typed = call.request();
        typed.shape = shape.as_ref();
        assert_eq!(set.evaluated(&typed), 102);
        assert_eq!(set.decide(&typed), set.decide_with_all(&typed));
    }
}

/// Twenty servers, each with a slice of its own for each class.
#[test]
fn slices_and_sets_take_no_more_than_there_is_and_decide_alike() {
    let mut text =
        "permit (principal, action in Action::\"side-effecting\", resource);\n".repeat(20);
    for number in 0..20 {
        text.push_str(&format!(
            "permit (principal, action in Action::\"server:s{number}\", resource) when {{ context.revision == \"r1\" }};\n\
             forbid (principal, action == Action::\"s{number}/transfer\", resource) when {{ context.revision == \"r2\" }};\n\
             forbid (principal, action in Action::\"server:s{number}\", resource) when {{ context.args.n > 3 }};\n"
        ));
    }
    let ample = ample();
    let expected = Set::within(bundle(&text), &ample);
    for room in [0, 4_000, 100_000, 400_000] {
        for kept in [0, 4_000, 100_000] {
            let budget = Arc::new(Budget::of(room, kept));
            let set = Set::within(bundle(&text), &budget);
            for number in 0..21 {
                for class in crate::Class::ALL {
                    for revision in ["r0", "r1", "r2"] {
                        let call = Call {
                            server: format!("s{number}"),
                            class,
                            revision: revision.to_owned(),
                            ..Call::of("{\"n\":4}")
                        };
                        assert_eq!(call.decide(&set), call.decide(&expected), "{call:?}");
                        assert_eq!(call.decide(&set), set.decide_with_all(&call.request()));
                    }
                }
            }
            // A purse that is overdrawn would have more than was in it.
            assert!(budget.slices.left() <= room && budget.kept.left() <= kept);
            drop(set);
            assert_eq!((budget.slices.left(), budget.kept.left()), (room, kept));
        }
    }
    assert!(taken(&ample).0 > 400_000, "{:?}", taken(&ample));
}
