//! What stands behind admission, as the gateway itself runs it: routing, the
//! validation of arguments, the policy request and its evaluation, the headers
//! that mirror arguments, and the body for the upstream.

use countersign_canon::View;
use countersign_mcp::envelope::{Additions, tool_call};
use countersign_mcp::mirror;
use countersign_policy::{Agent, Bundle, Class, Identity, PolicySet, Request, Tool};

use countersign_schema::InputSchema;

use crate::finding::Seen;
use crate::generate::NAMES;

/// The server behind the gateway.
const SERVER: &str = "s";

/// Input schemas that each see another side of the arguments.
const SCHEMAS: [&str; 4] = [
    r#"{"type":"object","properties":{"amount":{"type":"integer"}}}"#,
    r#"{"type":"object","properties":{"amount":{"type":"number","maximum":1000}}}"#,
    r#"{"type":"object","required":["to"],"properties":{"to":{"type":"string","maxLength":64,"pattern":"^\\S*$"}}}"#,
    r#"{"type":"object","properties":{"items":{"type":"array","minItems":2,"uniqueItems":true},"flag":{"enum":[true,null]}}}"#,
];

/// The consumers, ready to be shown actions.
#[derive(Debug)]
pub(crate) struct Consumers {
    policies: PolicySet,
    schemas: Vec<InputSchema>,
}

/// Everything that the consumers did with one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Treatment {
    route: String,
    schemas: Vec<String>,
    policy: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Consumers {
    /// Sets up what needs setting up.
    ///
    /// # Errors
    /// What the loader of policies, or of schemas, says of the probes.
    pub(crate) fn new() -> Result<Self, String> {
        let file = ("probes.cedar".to_owned(), probes());
        let bundle = Bundle::of([file]).map_err(|error| error.to_string())?;
        let policies = PolicySet::load(bundle).map_err(|error| error.to_string())?;
        let compile = |schema: &&str| {
            InputSchema::compile(Some(schema.as_bytes())).map_err(|error| error.to_string())
        };
        let schemas = SCHEMAS.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { policies, schemas })
    }

    /// Shows an action to every consumer.
    pub(crate) fn treat(&self, action: &[u8], tool: &str, view: &View) -> Treatment {
        let tool = Tool {
            server: SERVER,
            name: tool,
            class: Class::SideEffecting,
        };
        let decision = self.policies.decide(&Request {
            agent: Agent {
                method: "token",
                issuer: "countersign",
                subject: "certification",
            },
            identity: Identity::default(),
            tool,
            view,
            shape: None,
            execution_id: Some("e"),
            workflow_id: None,
            client: b"{}",
            continuation: None,
            revision: "2025-11-25",
        });
        let names: Vec<String> = decision
            .determining()
            .iter()
            .map(ToString::to_string)
            .collect();
        let header = |argument: &&str| match mirror::value(view, argument) {
            Ok(None) => format!("no Mcp-Param-{argument}"),
            Ok(Some(value)) => format!(
                "Mcp-Param-{argument}: {}",
                countersign_mcp::headers::encoded(&value.to_string())
            ),
            Err(no_form) => format!("{argument}: {no_form}"),
        };
        let held = |schema: &InputSchema| match schema.check(view) {
            Ok(()) => "fits".to_owned(),
            Err(misfit) => format!("`{}` breaks `{}`", misfit.pointer, misfit.keyword),
        };
        let additions = Additions {
            meta: Vec::new(),
            continuation: None,
        };
        Treatment {
            route: format!("{SERVER}/{}", tool.name),
            schemas: self.schemas.iter().map(held).collect(),
            policy: format!("{} by {}", decision.reason().as_str(), names.join(", ")),
            headers: NAMES.iter().map(header).collect(),
            body: tool_call(1, action, &additions).unwrap_or_default(),
        }
    }
}

impl Treatment {
    /// The first consumer that did something else with the other action, and
    /// what it did with each.
    pub(crate) fn against(&self, other: &Self) -> Option<Seen> {
        let body = |treatment: &Self| String::from_utf8_lossy(&treatment.body).into_owned();
        let seen = |consumer, of: [String; 2]| {
            let [one, other] = &of;
            (one != other).then_some(Seen { consumer, of })
        };
        seen("routing", [self.route.clone(), other.route.clone()])
            .or_else(|| {
                let both = [&self.schemas, &other.schemas];
                seen("input schemas", both.map(|told| told.join("; ")))
            })
            .or_else(|| seen("policy", [self.policy.clone(), other.policy.clone()]))
            .or_else(|| {
                seen(
                    "headers",
                    [self.headers.join("; "), other.headers.join("; ")],
                )
            })
            .or_else(|| seen("upstream body", [body(self), body(other)]))
    }
}

/// Policies that each permit on one distinction, so that the names of those
/// that determined a decision say all that policy saw.
fn probes() -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let mut probe = |id: String, condition: String| {
        // INVARIANT: writing to a string does not fail.
        let _ = writeln!(
            text,
            "@id(\"{id}\")\npermit (principal, action, resource)\nwhen {{ {condition} }};"
        );
    };
    probe("any".into(), "true".into());
    for pointer in ["/task", "/_meta", "/arguments", "/_meta/vendor~1x"] {
        let name: String = pointer
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        probe(
            format!("{name}-there"),
            format!("context.at.hasTag(\"{pointer}\")"),
        );
    }
    for name in NAMES {
        let pointer = format!("/arguments/{name}");
        let tag = format!("context.at.getTag(\"{pointer}\")");
        let there = format!("context.at.hasTag(\"{pointer}\")");
        let mut when = |what: &str, condition: &str| {
            let condition = condition.replace('@', &tag);
            probe(format!("{name}-{what}"), format!("{there} && {condition}"));
        };
        for kind in [
            "null", "boolean", "integer", "number", "text", "array", "object",
        ] {
            when(kind, &format!("@.kind == \"{kind}\""));
        }
        when("true", "@ has bool && @.bool");
        when("above", "@ has number && @.number.ceil > 1000");
        when("below", "@ has number && @.number.floor < 0");
        when(
            "decimal",
            "@ has number && @.number has decimal && @.number.decimal.lessThanOrEqual(decimal(\"10.5\"))",
        );
        when("safe", "@ has long && @.long <= 9007199254740991");
        when("word", "@ has text && @.text like \"a*\"");
        when("spaced", "@ has text && @.text like \"* \"");
        when("several", "@ has len && @.len >= 2");
        when("long", "@ has len && @.len >= 100");
    }
    text
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Numbers, interpret};

    use super::*;

    fn treated(consumers: &Consumers, arguments: &str) -> Treatment {
        let action = format!(r#"{{"arguments":{arguments},"method":"tools/call","name":"t"}}"#);
        let id = "exact@1.0.0".parse().unwrap();
        let read = interpret(&id, Numbers::AsWritten, action.as_bytes()).unwrap();
        consumers.treat(
            action.as_bytes(),
            &read.tool,
            &View::new(read.view).unwrap(),
        )
    }

    #[test]
    fn each_consumer_says_what_it_saw() {
        let consumers = Consumers::new().unwrap();
        let of = |one, other| {
            let seen = treated(&consumers, one).against(&treated(&consumers, other));
            seen.map(|seen| seen.consumer)
        };
        for (one, other, consumer) in [
            ("{}", "{}", None),
            (
                r#"{"amount":1}"#,
                r#"{"amount":1.0}"#,
                Some("input schemas"),
            ),
            (r#"{"to":null}"#, "{}", Some("input schemas")),
            (r#"{"flag":true}"#, r#"{"flag":null}"#, Some("policy")),
            (r#"{"to":"b"}"#, r#"{"to":"c"}"#, Some("headers")),
            (r#"{"x":1}"#, r#"{"x":2}"#, Some("upstream body")),
        ] {
            assert_eq!(of(one, other), consumer, "{one} {other}");
        }
    }
}
