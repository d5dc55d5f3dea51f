//! Limits that numbers of another spelling would pass.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::PolicySet;
use support::{Call, bundle};

const X: &str = "context.at.getTag(\"/arguments/x\")";
const HAS_X: &str = "context.at.hasTag(\"/arguments/x\")";

/// `$` is the value, `$has` that there is one.
fn policy(policy: &str) -> String {
    let policy = policy.replace("$has", HAS_X).replace('$', X);
    policy.replacen(' ', " (principal, action, resource) ", 1) + ";"
}

fn codes(text: &str) -> Vec<&'static str> {
    let Err(error) = PolicySet::load(bundle(text)) else {
        return Vec::new();
    };
    let problems = error.problems().iter();
    let mut codes: Vec<_> = problems.map(|found| found.code().as_str()).collect();
    codes.dedup();
    codes
}

/// Whether a number passes, decided as if the policy had been loaded.
fn passes(text: &str, number: &str) -> bool {
    let text = format!("permit (principal, action, resource);\n{text}");
    let set = PolicySet::recorded(bundle(&text)).unwrap();
    Call::of(&format!("{{\"x\":{number}}}"))
        .decide(&set)
        .allow()
}

const LONG: &str = "$ has long && $.long > 1000";
const CEIL: &str = "$ has number && $.number.ceil > 1000";
const DECIMAL: &str =
    "$ has number && $.number has decimal && $.number.decimal.greaterThan(decimal(\"1000.0\"))";

#[test]
fn a_branch_that_says_nothing_of_the_numbers_without_the_part_covers_no_guard() {
    for beside in [
        "!($ has number)",
        "$ has text",
        "$ has bool",
        "$ has len",
        "$ has len && $.len > 3",
        "$ has text && $.text == \"much\"",
        "$.kind == \"null\"",
        "\"boolean\" == $.kind",
        "[\"null\", \"text\"].contains($.kind)",
        "!($.kind != \"array\")",
        "$.kind != \"number\" && $.kind != \"integer\"",
        "!([\"integer\", \"number\"].contains($.kind))",
        "($ has text) == true",
        "if $ has number then false else true",
        "!$has || $ has text",
    ] {
        for (guarded, over) in [(LONG, "5000.0"), (DECIMAL, "1e30")] {
            for text in [
                format!("forbid when {{ $has && (({guarded}) || ({beside})) }}"),
                format!("forbid when {{ $has && (({beside}) || ({guarded})) }}"),
                format!("forbid unless {{ !$has || (!({guarded}) && !({beside})) }}"),
            ] {
                let text = policy(&text);
                assert!(passes(&text, over), "{text}");
                assert_eq!(codes(&text), ["policy-guard"], "{text}");
            }
            let text = policy(&format!(
                "permit unless {{ $has && (({guarded}) || ({beside})) }}"
            ));
            assert_eq!(codes(&text), ["policy-guard"], "{text}");
        }
        let text = policy(&format!(
            "forbid when {{ $has && (if $ has long then $.long > 1000 else ({beside})) }}"
        ));
        assert_eq!(codes(&text), ["policy-guard"], "{text}");
    }
    for beside in [
        CEIL,
        "$ has number",
        "!($ has long)",
        "!($ has text)",
        "$.kind == \"number\"",
        "$.kind != \"integer\"",
        "[\"number\", \"text\"].contains($.kind)",
        "$ has text || $ has number",
    ] {
        let text = policy(&format!(
            "forbid when {{ $has && (({LONG}) || ({beside})) }}"
        ));
        assert!(!passes(&text, "5000.0"), "{text}");
        assert_eq!(codes(&text), [""; 0], "{text}");
    }
    for beside in [
        CEIL,
        "$ has number",
        "$ has number && !($.number has decimal)",
        // `1e30` is a number, and what is an integer and no decimal is one too.
        "[\"number\", \"integer\"].contains($.kind)",
        "!($ has text)",
    ] {
        let text = policy(&format!(
            "forbid when {{ $has && (({DECIMAL}) || ({beside})) }}"
        ));
        assert!(!passes(&text, "1e30"), "{text}");
        assert_eq!(codes(&text), [""; 0], "{text}");
    }
}

#[test]
fn the_kind_of_an_integer_is_a_guard_by_another_name() {
    for kind in [
        "$.kind == \"integer\"",
        "\"integer\" == $.kind",
        "!($.kind != \"integer\")",
        "$.kind != \"number\"",
        "!($.kind == \"number\")",
        "[\"integer\", \"text\"].contains($.kind)",
        "($.kind == \"integer\") == true",
    ] {
        for text in [
            format!("forbid when {{ $has && {kind} && {CEIL} }}"),
            format!("forbid when {{ $has && (if {kind} then {CEIL} else false) }}"),
            format!("forbid when {{ $has && (({kind} && {CEIL}) || $ has text) }}"),
            format!("forbid unless {{ !$has || !({kind}) || !({CEIL}) }}"),
        ] {
            let text = policy(&text);
            assert!(passes(&text, "5000.0"), "{text}");
            assert_eq!(codes(&text), ["policy-guard"], "{text}");
        }
        let text = policy(&format!("permit unless {{ $has && {kind} && {CEIL} }}"));
        assert_eq!(codes(&text), ["policy-guard"], "{text}");
    }
    for text in [
        // A kind and no word of its number.
        "forbid when { $has && $.kind == \"integer\" }",
        "forbid when { $has && $.kind != \"integer\" }",
        "forbid when { $has && [\"integer\", \"null\"].contains($.kind) }",
        "forbid unless { $has && $.kind == \"integer\" }",
        // What is forbidden is the rest.
        "forbid unless { $has && $.kind == \"integer\" && $ has number && $.number.ceil <= 1000 }",
        "forbid when { $has && ($.kind != \"integer\" || $ has number && $.number.ceil > 1000) }",
        "permit when { $has && $.kind == \"integer\" && $ has number && $.number.ceil <= 1000 }",
        // Both kinds are spoken of.
        "forbid when { $has && [\"integer\", \"number\"].contains($.kind) && $ has number && $.number.ceil > 1000 }",
        "forbid when { $has && $ has number && ($.kind == \"integer\" && $.number.ceil > 1000 || $.kind == \"number\" && $.number.ceil > 500) }",
        "forbid when { $has && $ has number && (if $.kind == \"integer\" then $.number.ceil > 1000 else $.number.ceil > 500) }",
    ] {
        assert_eq!(codes(&policy(text)), [""; 0], "{text}");
    }
}

/// It ends at all: each branch is looked into once, and not once for each other.
#[test]
fn many_guards_beside_a_long_list_are_judged() {
    let branches: Vec<String> = (0..110)
        .map(|n| format!("context.at.getTag(\"/arguments/{n}\") has long"))
        .collect();
    let list = vec!["1"; 450_000].join(",");
    let text = format!(
        "forbid (principal, action, resource) when {{ [{list}].contains(1) || {} }};",
        branches.join(" || ")
    );
    let error = PolicySet::load(bundle(&text)).unwrap_err();
    assert!(
        error
            .problems()
            .iter()
            .any(|found| found.code().as_str() == "policy-guard"),
        "{}",
        error.problems()[0]
    );
}
