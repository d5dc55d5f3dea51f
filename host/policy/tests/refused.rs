//! Bundles that are not loaded, and what they are told.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::{Class, PolicySet, Problem, Tool};
use support::bundle;

fn problems(text: &str) -> Vec<Problem> {
    match PolicySet::load(bundle(text)) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().to_vec(),
    }
}

fn when(effect: &str, condition: &str) -> String {
    format!("{effect} (principal, action, resource) when {{ {condition} }};")
}

/// The codes of what is found, once each.
fn codes(text: &str) -> Vec<&'static str> {
    let mut codes: Vec<&str> = problems(text)
        .iter()
        .map(|found| found.code().as_str())
        .collect();
    codes.dedup();
    codes
}

const X: &str = "context.at.getTag(\"/arguments/x\")";
const HAS_X: &str = "context.at.hasTag(\"/arguments/x\")";

fn x(condition: &str) -> String {
    condition.replace("$has", HAS_X).replace('$', X)
}

#[test]
fn a_problem_names_file_line_and_what_to_write() {
    let found = problems(
        "// a comment\n\npermit (principal, action, resource)\nwhen {\n  context.at.hasTag(context.revision)\n};\n",
    );
    let [problem] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(problem.file(), "test.cedar");
    assert_eq!(problem.line(), 3);
    assert_eq!(problem.code().as_str(), "policy-tag-key");
    assert!(problem.help().unwrap().contains("/arguments/amount"));
    assert!(
        problem
            .to_string()
            .starts_with("test.cedar:3: policy-tag-key: ")
    );

    let found =
        problems("permit (principal, action, resource)\nwhen {\n  context.nothing == 1\n};");
    assert_eq!(found[0].line(), 3, "{found:?}");
    let found = problems("permit (principal,\n  action,\n  resorce);");
    assert_eq!(found[0].code().as_str(), "policy-syntax");
    assert_eq!(found[0].line(), 3, "{found:?}");
}

#[test]
fn every_problem_of_every_file_is_told_at_once() {
    let files = [
        ("b.cedar".to_owned(), "permit (".to_owned()),
        (
            "a.cedar".to_owned(),
            "permit (principal, action, resource) when { context.x };\nfoo;".to_owned(),
        ),
    ];
    let bundle = countersign_policy::Bundle::of(files).unwrap();
    let error = PolicySet::load(bundle).unwrap_err();
    let places: Vec<String> = error
        .problems()
        .iter()
        .map(|found| format!("{}:{}", found.file(), found.line()))
        .collect();
    // What is not read can't be validated, so `context.x` waits.
    assert_eq!(places, ["a.cedar:2", "b.cedar:1"]);
}

#[test]
fn what_cannot_be_read_or_linked_is_refused() {
    for (text, code) in [
        ("permit (principal, action, resource)", "policy-syntax"),
        ("permit (principal, action, resource);;", "policy-syntax"),
        (
            "permit (principal == ?principal, action, resource);",
            "policy-template",
        ),
        (
            "@id(\"\") permit (principal, action, resource);",
            "policy-annotation",
        ),
        (
            "@id(\"a#1\") permit (principal, action, resource);",
            "policy-annotation",
        ),
        (
            "@code(\"execution-id-required\") permit (principal, action, resource);",
            "policy-annotation",
        ),
        (
            "@code(\"no\") forbid (principal, action, resource);",
            "policy-annotation",
        ),
        (
            "@id(\"a\") permit (principal, action, resource); @id(\"a\") permit (principal, action, resource);",
            "policy-duplicate-id",
        ),
    ] {
        assert_eq!(codes(text), [code], "{text}");
    }
    let deep = format!("{}true{}", "(".repeat(40), ")".repeat(40));
    assert_eq!(codes(&when("permit", &deep)), ["policy-syntax"]);
    let long = vec!["true"; 400].join(" && ");
    assert_eq!(codes(&when("permit", &long)), ["policy-syntax"]);
}

#[test]
fn hostile_text_is_refused_and_not_recursed_into() {
    let many = 75_000;
    for text in [
        "(".repeat(many),
        "[".repeat(many),
        "if true then ".repeat(many),
        "!".repeat(many),
        "-".repeat(many),
        format!(
            "permit (principal, action, resource) when {{ {} }};",
            vec!["true"; many].join("&&")
        ),
        format!(
            "permit (principal, action, resource) when {{ context{} }};",
            ".a".repeat(many)
        ),
        "\"".to_owned() + &"\\".repeat(many),
        "@a".repeat(many),
    ] {
        assert_eq!(codes(&text), ["policy-syntax"], "{}", &text[..40]);
    }
}

#[test]
fn what_names_nothing_is_refused() {
    for condition in [
        "principal == Agent::\"ci\"",
        "resource == Server::\"Ledger\"",
        "action == Action::\"transfer\"",
        "action == Action::\"any:read-only\"",
        "action in Action::\"server:\"",
        "View::\"at\".hasTag(\"/x\")",
        "context.att.hasTag(\"/x\")",
        "principal == User::\"alice\"",
        "principal.name == \"x\"",
        "context.args.x == 1",
    ] {
        assert_eq!(
            codes(&when("permit", condition)),
            ["policy-invalid"],
            "{condition}"
        );
    }
}

#[test]
fn an_access_that_is_not_guarded_is_refused() {
    for condition in [
        "$.kind == \"null\"",
        "$has && $.text == \"a\"",
        "$has && $.number.ceil > 1",
        "$has && $ has number && $.number.decimal.greaterThan(decimal(\"1.0\"))",
        "context.execution_id == \"a\"",
        "context.continuation.hasTag(\"/requestState\")",
        "$has && $ has number && $.number > 5",
        "$has && $ has text && $.text > 5",
    ] {
        assert_eq!(
            codes(&when("permit", &x(condition))),
            ["policy-invalid"],
            "{condition}"
        );
    }
}

#[test]
fn a_tag_key_is_a_literal_pointer() {
    for condition in [
        "context.at.hasTag(context.revision)",
        "context.at.hasTag(principal.subject)",
        "context.at.hasTag(if context has execution_id then \"/a\" else \"/b\")",
        "context.at.hasTag(\"arguments\")",
        "context.at.hasTag(\"/a~\")",
        "context.client.hasTag(\"$.a\")",
    ] {
        assert_eq!(
            codes(&when("permit", condition)),
            ["policy-tag-key"],
            "{condition}"
        );
    }
}

#[test]
fn a_policy_that_can_never_apply_is_refused() {
    for text in [
        when("forbid", "false"),
        when("forbid", "context has nothing"),
        when("forbid", "principal is Server"),
        when("forbid", "context.at is Agent"),
        "forbid (principal is Server, action, resource);".to_owned(),
        "forbid (principal, action == Action::\"read-only\", resource);".to_owned(),
        "forbid (principal, action == Action::\"server:ledger\", resource);".to_owned(),
        "forbid (principal, action == Action::\"a/b\", resource) when { action == Action::\"a/c\" };".to_owned(),
        "forbid (principal, action in Action::\"server:a\", resource) when { action in Action::\"server:b\" };".to_owned(),
        "forbid (principal, action in Action::\"read-only\", resource) when { action in Action::\"destructive\" };".to_owned(),
    ] {
        assert_eq!(codes(&text), ["policy-impossible"], "{text}");
    }
    for text in [
        "forbid (principal, action == Action::\"a/b\", resource) when { action in Action::\"read-only\" };",
        "forbid (principal, action in Action::\"server:a\", resource) unless { action in Action::\"read-only\" };",
        "forbid (principal, action in Action::\"side-effecting\", resource) when { action in Action::\"destructive\" };",
        "forbid (principal, action in [Action::\"a/b\", Action::\"c/d\"], resource) when { action == Action::\"c/d\" };",
    ] {
        assert_eq!(problems(text), [], "{text}");
    }
}

#[test]
fn a_guard_that_lets_the_rest_pass_is_refused() {
    let over = "$.number.decimal.greaterThan(decimal(\"1000.0\"))";
    let within = "$.number.decimal.lessThanOrEqual(decimal(\"1000.0\"))";
    let number = "$has && $ has number";
    for (effect, clause, fine) in [
        // The mistake, and its spellings.
        (
            "forbid",
            format!("when {{ {number} && $.number has decimal && {over} }}"),
            false,
        ),
        (
            "forbid",
            format!("when {{ $has && $ has number.decimal && {over} }}"),
            false,
        ),
        (
            "forbid",
            format!("when {{ {number} }} when {{ {number} && $.number has decimal && {over} }}"),
            false,
        ),
        (
            "forbid",
            format!("when {{ {number} && (if $.number has decimal then {over} else false) }}"),
            false,
        ),
        (
            "forbid",
            format!(
                "when {{ {number} && ($.number has decimal && {over} || context has workflow_id) }}"
            ),
            false,
        ),
        (
            "forbid",
            format!("unless {{ !({number}) || !($.number has decimal) || {within} }}"),
            false,
        ),
        (
            "forbid",
            format!("unless {{ {number} && (if $.number has decimal then {within} else true) }}"),
            false,
        ),
        (
            "forbid",
            "when { $has && $ has long && $.long > 1000 }".to_owned(),
            false,
        ),
        (
            "forbid",
            "when { ($has && $ has long && $.long > 1000) == true }".to_owned(),
            false,
        ),
        (
            "forbid",
            "when { false != ($has && $ has long && $.long > 1000) }".to_owned(),
            false,
        ),
        (
            "forbid",
            "unless { ($has && $ has long && $.long > 1000) == false }".to_owned(),
            false,
        ),
        (
            "permit",
            format!("unless {{ {number} && $.number has decimal && {over} }}"),
            false,
        ),
        (
            "permit",
            format!("when {{ {number} && (!($.number has decimal) || {within}) }}"),
            false,
        ),
        // The safe forms.
        (
            "forbid",
            format!("unless {{ {number} && $.number has decimal && {within} }}"),
            true,
        ),
        (
            "forbid",
            format!("when {{ {number} && !($.number has decimal && {within}) }}"),
            true,
        ),
        (
            "forbid",
            format!("when {{ {number} && (if $.number has decimal then {over} else true) }}"),
            true,
        ),
        (
            "forbid",
            format!(
                "when {{ {number} && (if $.number has decimal then {over} else $.number.ceil > 1000) }}"
            ),
            true,
        ),
        (
            "forbid",
            format!(
                "when {{ {number} && ($.number has decimal && {over} || $.number.ceil > 1000) }}"
            ),
            true,
        ),
        (
            "forbid",
            format!("when {{ {number} && $.number.ceil > 1000 }}"),
            true,
        ),
        (
            "forbid",
            "unless { $has && $ has long && $.long <= 1000 }".to_owned(),
            true,
        ),
        (
            "forbid",
            "when { true != ($has && $ has long && $.long <= 1000) }".to_owned(),
            true,
        ),
        (
            "permit",
            format!("when {{ {number} && $.number has decimal && {within} }}"),
            true,
        ),
        (
            "permit",
            "when { $has && $ has long && $.long <= 1000 }".to_owned(),
            true,
        ),
    ] {
        let text = x(&format!("{effect} (principal, action, resource) {clause};"));
        let expected: &[&str] = if fine { &[] } else { &["policy-guard"] };
        assert_eq!(codes(&text), expected, "{text}");
    }
    let found = problems(&x(&when(
        "forbid",
        &format!("{number} && $.number has decimal && {over}"),
    )));
    assert!(found[0].help().unwrap().contains("unless { x has decimal"));
    let found = problems(&x(&when("forbid", "$has && $ has long && $.long > 1000")));
    assert!(found[0].help().unwrap().contains("x.number.ceil"));
}

#[test]
fn an_argument_of_the_name_of_a_part_is_no_guard() {
    for (condition, guard) in [
        (
            "context.args has decimal && context.args.decimal == \"x\"",
            false,
        ),
        (
            "context has args.decimal && context.args.decimal == \"x\"",
            false,
        ),
        (
            "context.args has decimal && context.args.decimal.greaterThan(decimal(\"1.0\"))",
            false,
        ),
        (
            "context.args.n has decimal && context.args.n.decimal.greaterThan(decimal(\"1.0\"))",
            true,
        ),
        (
            "context.args has n.decimal && context.args.n.decimal.greaterThan(decimal(\"1.0\"))",
            true,
        ),
    ] {
        let found = codes(&when("forbid", condition));
        assert_eq!(
            found.contains(&"policy-guard"),
            guard,
            "{condition}: {found:?}"
        );
    }
}

#[test]
fn text_that_does_not_read_as_it_is_shown_is_refused() {
    let text = when("forbid", "context.revision == \"a\u{202e}b\"");
    assert_eq!(codes(&text), ["policy-invalid"]);
    assert_eq!(
        codes(&when("forbid", "context.revision == \"übung\"")),
        [""; 0]
    );
    for c in ('\0'..=char::MAX).filter(|c| countersign_catalog::hidden(*c)) {
        let shown = matches!(c, '\t' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        // Tens of thousands of the same block are one case.
        if matches!(c, '\u{e0080}'..='\u{e0ff0}') {
            continue;
        }
        let text = format!("// a{c}b\npermit (principal, action, resource);\n// {c}");
        let found = problems(&text);
        let lines: Vec<usize> = found.iter().map(Problem::line).collect();
        let expected: &[usize] = if shown { &[] } else { &[1, 3] };
        let code = c.escape_unicode();
        if c == '\n' || c == '\r' {
            continue;
        }
        assert_eq!(lines, expected, "{code}: {found:?}");
        for problem in found {
            assert_eq!(problem.code().as_str(), "policy-invalid", "{code}");
            let named = format!("U+{:04X}", u32::from(c));
            assert!(problem.message().contains(&named), "{problem}");
        }
    }
    // A carriage return ends a comment, and may not be shown to.
    let text = "// a comment\rpermit (principal, action, resource);";
    assert_eq!(codes(text), ["policy-invalid"]);
    let text = "// a comment\r\npermit (principal, action, resource);\r\n";
    assert_eq!(codes(text), [""; 0]);
    // What decided before is decided again.
    let old = "// \u{202e}\npermit (principal, action, resource);";
    assert!(PolicySet::recorded(bundle(old)).is_ok());
}

#[test]
fn a_bundle_that_would_take_too_long_to_validate_is_refused_at_once() {
    let tools: Vec<String> = (0..400).map(|n| format!("Action::\"a/{n}\"")).collect();
    let mut text = format!(
        "permit (principal, action in [{}], resource);\n",
        tools.join(",")
    );
    text.push_str(&"permit (principal, action, resource);\n".repeat(1_000));
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message().contains("1000000"), "{found:?}");
}

#[test]
fn held_against_the_tools_that_there_are_a_misspelled_name_is_refused() {
    let tool = Tool {
        server: "ledger",
        name: "transfer",
        class: Class::SideEffecting,
    };
    for (scope, fine) in [
        ("principal, action, resource == Server::\"ledger\"", true),
        ("principal, action, resource == Server::\"ledgr\"", false),
        (
            "principal, action in Action::\"server:ledger\", resource",
            true,
        ),
        (
            "principal, action in Action::\"server:ledgr\", resource",
            false,
        ),
        (
            "principal, action == Action::\"ledger/transfer\", resource",
            true,
        ),
        (
            "principal, action == Action::\"ledger/transfr\", resource",
            false,
        ),
        (
            "principal, action in Action::\"destructive\", resource",
            true,
        ),
    ] {
        let set = support::policies(&format!("forbid ({scope});"));
        assert_eq!(set.check(&[tool]).is_ok(), fine, "{scope}");
    }
}
