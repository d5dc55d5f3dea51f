//! A rule for several tools that is none for one of them.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_catalog::Shape;
use countersign_policy::{Class, PolicySet, Tool, Typed};
use support::bundle;

const NUMBER: &str = r#"{"type":"object","properties":{"amount":{"type":"number"}}}"#;
const EITHER: &str = r#"{"type":"object","properties":{"amount":{"type":["number","string"]}}}"#;

/// What loading says against `l/pay`, with a number, `l/wire`, of that schema,
/// and `l/list`, which only reads.
fn load(text: &str, wire: &str) -> Result<PolicySet, String> {
    let (pay, wire) = (
        Shape::of_schema(NUMBER.as_bytes()),
        Shape::of_schema(wire.as_bytes()),
    );
    let tool = |name, class| Tool {
        server: "l",
        name,
        class,
    };
    let tools = [
        Typed {
            tool: tool("pay", Class::SideEffecting),
            shape: pay.as_ref(),
        },
        Typed {
            tool: tool("wire", Class::Destructive),
            shape: wire.as_ref(),
        },
        Typed {
            tool: tool("list", Class::ReadOnly),
            shape: None,
        },
    ];
    PolicySet::load_for(bundle(text), &tools).map_err(|error| error.to_string())
}

const BOTH: &str = "action in [Action::\"l/pay\", Action::\"l/wire\"]";
const OVER: &str = "context.args has amount && context.args.amount.ceil > 1000";

#[test]
fn a_forbid_forbids_something_of_each_tool_that_it_names() {
    for (scope, clause, wire, missing) in [
        (BOTH, format!("when {{ {OVER} }}"), NUMBER, None),
        // The argument has no one type any more.
        (BOTH, format!("when {{ {OVER} }}"), EITHER, Some("l/wire")),
        (
            "action in [Action::\"l/wire\", Action::\"server:l\"]",
            "when { action == Action::\"l/pay\" }".to_owned(),
            NUMBER,
            Some("l/wire"),
        ),
        (
            BOTH,
            "when { action == Action::\"l/pay\" }".to_owned(),
            NUMBER,
            Some("l/wire"),
        ),
        (
            BOTH,
            "when { action in Action::\"destructive\" }".to_owned(),
            NUMBER,
            Some("l/pay"),
        ),
        (
            BOTH,
            "unless { action in Action::\"destructive\" }".to_owned(),
            NUMBER,
            Some("l/wire"),
        ),
        (
            "action in [Action::\"l/pay\", Action::\"l/list\"]",
            "unless { action in Action::\"read-only\" }".to_owned(),
            NUMBER,
            Some("l/list"),
        ),
        (
            BOTH,
            "when { action in Action::\"side-effecting\" }".to_owned(),
            NUMBER,
            None,
        ),
        (BOTH, String::new(), EITHER, None),
        (
            BOTH,
            "when { context.at.hasTag(\"/arguments/amount\") }".to_owned(),
            EITHER,
            None,
        ),
        // A scope that names no tool is for those that there may be.
        (
            "action in Action::\"server:l\"",
            "when { action in Action::\"destructive\" }".to_owned(),
            NUMBER,
            None,
        ),
        (
            "action == Action::\"l/pay\"",
            format!("when {{ {OVER} }}"),
            EITHER,
            None,
        ),
        (
            "action in [Action::\"l/pay\", Action::\"l/pay\"]",
            format!("when {{ {OVER} }}"),
            EITHER,
            None,
        ),
    ] {
        let text = format!("\nforbid (principal, {scope}, resource) {clause};");
        match (load(&text, wire), missing) {
            (Ok(_), None) => {}
            (Err(told), Some(tool)) => {
                assert!(
                    told.starts_with("test.cedar:2: policy-impossible"),
                    "{told}"
                );
                assert!(told.contains(&format!("`{tool}`")), "{told}\n{text}");
                assert_eq!(told.matches("policy-impossible").count(), 1, "{told}");
            }
            (Ok(_), Some(tool)) => panic!("nothing of `{tool}` is forbidden: {text}"),
            (Err(told), None) => panic!("{told}\n{text}"),
        }
        // A permit that permits nothing of a tool does no harm.
        let text = text.replace("forbid", "permit");
        assert!(load(&text, wire).is_ok(), "{text}");
    }
}

#[test]
fn what_names_many_tools_is_looked_at_for_each_or_refused_at_once() {
    let names: Vec<String> = (0..600).map(|n| format!("t{n}")).collect();
    let tools: Vec<Typed<'_>> = names
        .iter()
        .map(|name| {
            Typed::from(Tool {
                server: "l",
                name,
                class: Class::SideEffecting,
            })
        })
        .collect();
    let forbid = |named: usize| {
        let list: Vec<_> = names[..named]
            .iter()
            .map(|name| format!("Action::\"l/{name}\""))
            .collect();
        format!(
            "forbid (principal, action in [{}], resource) unless {{ action == Action::\"l/t7\" }};",
            list.join(",")
        )
    };
    let told = |named, times| {
        PolicySet::load_for(bundle(&forbid(named).repeat(times)), &tools)
            .unwrap_err()
            .to_string()
    };
    assert!(
        told(20, 1).contains("policy-impossible: of `l/t7`"),
        "{}",
        told(20, 1)
    );
    assert!(told(600, 12).contains("policy-syntax"), "{}", told(600, 12));
}
