//! What is left out changes no decision.

use std::collections::BTreeMap;

use countersign_canon::{Document, Limits, Node, Value, View};
use countersign_catalog::Shape;

use super::*;
use crate::{Agent, Bundle, Class, Identity, PolicySet as Set, Reason, Tool};

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

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return format!("({})", self.of(&CONDITIONS));
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
            self.of(&["permit", "forbid"]),
            self.of(&[
                "principal",
                "principal",
                "principal == Agent::\"token//ci\""
            ]),
            self.of(&["resource", "resource", "resource == Server::\"a\""]),
            self.of(&["when", "unless"]),
            self.condition(2),
        )
    }
}

fn view(arguments: &str) -> View {
    let action = format!("{{\"arguments\":{arguments},\"method\":\"tools/call\",\"name\":\"x\"}}");
    let document = Document::read(action.as_bytes(), Limits::STANDARD).unwrap();
    let mut nodes = Vec::new();
    let mut open = vec![document.root()];
    while let Some(item) = open.pop() {
        let count = u32::try_from(item.count()).unwrap();
        let value = match (item.text(), item.integer()) {
            (Some(text), _) => Value::Text(text.into_owned()),
            (None, Some(number)) => Value::Integer(number),
            (None, None) if item.kind() == countersign_canon::document::Kind::Array => {
                Value::Array(count)
            }
            (None, None) => Value::Object(count),
        };
        nodes.push(Node {
            name: item.name().map(str::to_owned),
            value,
        });
        let children: Vec<_> = item.children().collect();
        open.extend(children.into_iter().rev());
    }
    View::new(nodes).unwrap()
}

fn set(text: &str) -> Set {
    // Policies that fail in some request are refused by strict validation.
    Set::recorded(Bundle::of([("a.cedar".to_owned(), text.to_owned())]).unwrap()).unwrap()
}

fn request<'a>(
    subject: &'a str,
    server: &'a str,
    execution_id: Option<&'a str>,
    view: &'a View,
    shape: Option<&'a Shape>,
) -> Request<'a> {
    Request {
        agent: Agent {
            method: "token",
            issuer: "",
            subject,
        },
        identity: Identity::default(),
        tool: Tool {
            server,
            name: "x",
            class: Class::ReadOnly,
        },
        view,
        shape,
        execution_id,
        workflow_id: None,
        client: b"{}",
        continuation: None,
        revision: "2025-11-25",
    }
}

#[test]
fn leaving_out_policies_and_arguments_changes_no_decision() {
    let shape = Shape::of_schema(SCHEMA);
    let views = [
        r#"{"to":"x"}"#,
        r#"{"deep":{"a":"y","b":"q"},"note":"n","tags":["s","t"],"to":"z"}"#,
        r#"{"deep":{"b":"y"},"n":5,"note":"m","to":"x"}"#,
        r#"{"n":0,"tags":[],"to":"x/y"}"#,
    ]
    .map(view);
    let mut random = Random(0x5eed);
    let mut reasons = BTreeMap::new();
    let (mut evaluated, mut all) = (0, 0);
    for _ in 0..100 {
        let text: String = (0..7).map(|_| random.policy()).collect();
        let set = set(&text);
        for view in &views {
            for (subject, execution_id) in [("ci", None), ("ci", Some("e")), ("dev", Some("f"))] {
                for (server, shape) in [("a", shape.as_ref()), ("b", shape.as_ref()), ("b", None)] {
                    let request = request(subject, server, execution_id, view, shape);
                    let decision = set.decide(&request);
                    assert_eq!(
                        decision,
                        set.decide_with_all(&request),
                        "{text}\n{request:?}"
                    );
                    *reasons.entry(decision.reason()).or_insert(0) += 1;
                    evaluated += set.evaluated(&request);
                    all += 7;
                }
            }
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
        let view = view(&format!("{{\"n\":4,\"to\":\"{to}\"}}"));
        let request = request(subject, "a", execution_id, &view, shape.as_ref());
        assert_eq!(
            set.evaluated(&request),
            evaluated,
            "{subject} {to} {execution_id:?}"
        );
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
    let (set, view) = (set(&text), view("{}"));
    let mut evaluated = Vec::new();
    for number in 0..100 {
        let revision = format!("r{number}");
        let mut request = request("ci", "a", None, &view, None);
        request.revision = &revision;
        evaluated.push(set.evaluated(&request));
        assert_eq!(set.decide(&request).reason(), Reason::Forbidden);
    }
    let kept = MOST_KEPT / 502;
    assert!(evaluated[..kept].iter().all(|count| *count == 501));
    assert!(evaluated[kept..].iter().all(|count| *count == 600));
}
