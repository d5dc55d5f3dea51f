//! What is always false whatever is called, and would be taken for a rule.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::{PolicySet, Problem};
use support::{Call, bundle};

fn problems(text: &str) -> Vec<Problem> {
    match PolicySet::load(bundle(text)) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().to_vec(),
    }
}

fn codes(text: &str) -> Vec<&'static str> {
    let mut codes: Vec<_> = problems(text)
        .iter()
        .map(|found| found.code().as_str())
        .collect();
    codes.dedup();
    codes
}

#[test]
fn a_group_of_actions_is_not_compared_as_if_it_were_one() {
    let groups = [
        "read-only",
        "side-effecting",
        "destructive",
        "server:ledger",
    ];
    for group in groups.map(|group| format!("Action::\"{group}\"")) {
        for condition in [
            format!("action == {group}"),
            format!("{group} == action"),
            format!("action != {group}"),
            format!("[{group}].contains(action)"),
            format!("[Action::\"ledger/pay\", {group}].contains(action)"),
            format!("[action].contains({group})"),
            format!("[{group}].containsAny([action])"),
            format!("[action].containsAny([Action::\"ledger/pay\", {group}])"),
            format!("[action].containsAll([{group}])"),
            format!("[action] == [{group}]"),
            format!("{{ a: action }} != {{ a: {group} }}"),
            format!("(if context has execution_id then action else {group}) == {group}"),
            format!("{group} in action"),
            format!("context has execution_id && !(action == {group})"),
        ] {
            for clause in ["when", "unless"] {
                let text =
                    format!("permit (principal, action, resource) {clause} {{ {condition} }};");
                let found = problems(&text);
                assert!(
                    found
                        .iter()
                        .any(|one| one.code().as_str() == "policy-impossible"
                            && one.help().is_some_and(|help| help.contains("`action in"))),
                    "{text}: {found:?}"
                );
                // Somebody may have decided by it.
                assert!(PolicySet::recorded(bundle(&text)).is_ok(), "{text}");
            }
        }
        for condition in [
            format!("action in {group}"),
            format!("action in [Action::\"ledger/pay\", {group}]"),
            "action == Action::\"ledger/pay\"".to_owned(),
            "[Action::\"ledger/pay\", Action::\"ledger/list\"].contains(action)".to_owned(),
            format!("action in {group} && action != Action::\"ledger/pay\""),
        ] {
            let text = format!("permit (principal, action, resource) when {{ {condition} }};");
            assert_eq!(codes(&text), [""; 0], "{text}");
        }
    }
}

/// The values of the views that there are, and of which no other can be.
#[test]
fn a_tag_key_begins_at_something_that_its_view_can_hold() {
    let prefix = "/io.modelcontextprotocol~1";
    let mut keys = Vec::new();
    for (view, key, fits) in [
        ("at", "", true),
        ("at", "/method", true),
        ("at", "/name", true),
        ("at", "/arguments", true),
        ("at", "/arguments/amount", true),
        ("at", "/task/ttl", true),
        ("at", "/_meta/example.org~1a", true),
        ("at", "/amount", false),
        ("at", "/params/arguments/amount", false),
        ("at", "/argument/amount", false),
        ("at", "/Arguments", false),
        ("at", "/", false),
        ("at", "/meta", false),
        ("at", "/requestState", false),
        ("client", "", true),
        ("client", "/clientInfo/name", false),
        ("client", "/io.modelcontextprotocol/clientInfo", false),
        ("client", "/arguments", false),
        ("continuation", "", true),
        ("continuation", "/requestState", true),
        ("continuation", "/inputResponses/a", true),
        ("continuation", "/arguments", false),
        ("continuation", "/inputRequests", false),
    ] {
        keys.push((view, key.to_owned(), fits));
    }
    for (name, fits) in [
        ("protocolVersion", true),
        ("clientInfo", true),
        ("clientCapabilities", true),
        ("logLevel", true),
        ("other", false),
    ] {
        keys.push(("client", format!("{prefix}{name}"), fits));
        keys.push(("client", format!("{prefix}{name}/name"), fits));
    }
    for (view, key, fits) in keys {
        let has = format!("context.{view}.hasTag(\"{key}\")");
        let guard = if view == "continuation" {
            "context has continuation && "
        } else {
            ""
        };
        for condition in [
            format!("{guard}{has}"),
            format!("{guard}{has} && context.{view}.getTag(\"{key}\").kind == \"null\""),
        ] {
            let text = format!("forbid (principal, action, resource) when {{ {condition} }};");
            let expected: &[&str] = if fits { &[] } else { &["policy-tag-key"] };
            assert_eq!(codes(&text), expected, "{text}");
            assert!(PolicySet::recorded(bundle(&text)).is_ok(), "{text}");
        }
        if view == "at" && !fits {
            // It would have been a rule that never applies.
            let text = format!("permit (principal, action, resource) unless {{ {has} }};");
            let set = PolicySet::recorded(bundle(&text)).unwrap();
            assert!(Call::of("{\"amount\":5}").decide(&set).allow(), "{text}");
        }
    }
}
