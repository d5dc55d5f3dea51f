//! What a decision rests on, and what it says of itself.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::{Class, PolicyId, Reason, RefusalCode};
use support::{Call, Random, holds, policies};

const ALLOW: &str = "@id(\"all\") permit (principal, action, resource);\n";

#[test]
fn what_is_not_permitted_is_denied() {
    let set = policies("forbid (principal, action, resource) when { context.revision == \"x\" };");
    let decision = Call::of("{}").decide(&set);
    assert!(!decision.allow());
    assert_eq!(decision.reason(), Reason::NoPermit);
    assert_eq!(decision.as_str(), "deny");
    assert_eq!(decision.determining(), []);
    assert_eq!(decision.code().unwrap().as_str(), "policy-denied");
    assert_eq!(decision.evaluator(), "cedar-policy 4.14.1");
}

#[test]
fn determining_policies_are_named_and_sorted() {
    let set = policies(
        "permit (principal, action, resource);\n\
         @id(\"z\") permit (principal, action, resource);\n\
         @id(\"B\") permit (principal, action, resource);\n\
         permit (principal, action, resource);",
    );
    let decision = Call::of("{}").decide(&set);
    let names: Vec<&str> = decision
        .determining()
        .iter()
        .map(PolicyId::as_str)
        .collect();
    assert_eq!(names, ["B", "test.cedar#1", "test.cedar#4", "z"]);
    assert_eq!(decision.code(), None);
}

#[test]
fn a_policy_that_cannot_be_evaluated_denies_whatever_the_others_say() {
    // Adding to the largest Long overflows.
    for (effect, failing) in [("forbid", "B"), ("permit", "B")] {
        let set = policies(&format!(
            "{ALLOW}@id(\"B\") {effect} (principal, action, resource) when {{
                 context.at.hasTag(\"/arguments/n\") &&
                 context.at.getTag(\"/arguments/n\") has number &&
                 context.at.getTag(\"/arguments/n\").number.ceil + 1 > 10
             }};"
        ));
        assert_eq!(
            Call::of("{\"n\":1}").decide(&set).reason(),
            Reason::Permitted
        );
        let decision = Call::of("{\"n\":1e30}").decide(&set);
        assert!(!decision.allow(), "{effect}");
        assert_eq!(decision.reason(), Reason::EvaluationError);
        assert_eq!(decision.determining()[0].as_str(), failing);
        assert_eq!(decision.determining().len(), 1);
    }
}

#[test]
fn a_request_whose_facts_are_malformed_is_denied() {
    let set = policies(&format!(
        "{ALLOW}forbid (principal, action, resource) when {{
             context.client.hasTag(\"/io.modelcontextprotocol~1logLevel\") || (context has continuation && context.continuation.hasTag(\"/requestState\"))
         }};"
    ));
    assert!(Call::of("{}").decide(&set).allow());
    let change: [fn(&mut Call); 8] = [
        |call| call.server = "Ledger".to_owned(),
        |call| call.server = "a/b".to_owned(),
        |call| call.server = String::new(),
        |call| call.tool = String::new(),
        |call| call.tool = "é".repeat(129),
        |call| call.client = "{".to_owned(),
        |call| call.client = "[]".to_owned(),
        |call| call.continuation = Some("{\"a\":1,\"a\":2}".to_owned()),
    ];
    for (index, change) in change.into_iter().enumerate() {
        let mut call = Call::of("{}");
        change(&mut call);
        assert_eq!(
            call.decide(&set).reason(),
            Reason::InvalidRequest,
            "{index}"
        );
    }
}

#[test]
fn tools_of_like_names_never_share_an_action() {
    let set = policies("permit (principal, action == Action::\"ledger/send_email\", resource);");
    for (server, tool, allowed) in [
        ("ledger", "send_email", true),
        ("ledger", "send__email", false),
        ("ledger", "Send_email", false),
        ("ledger", "send_email ", false),
        ("ledger", "send_emai\u{200b}l", false),
        ("ledge", "r/send_email", false),
        ("ledger", "/send_email", false),
    ] {
        let mut call = Call::of("{}");
        call.server = server.to_owned();
        call.tool = tool.to_owned();
        assert_eq!(call.decide(&set).allow(), allowed, "{server} {tool}");
    }
}

#[test]
fn groups_are_classes_and_servers_and_a_server_may_be_named_like_a_class() {
    for (scope, server, class, allowed) in [
        ("Action::\"read-only\"", "ledger", Class::ReadOnly, true),
        (
            "Action::\"read-only\"",
            "read-only",
            Class::Destructive,
            false,
        ),
        (
            "Action::\"side-effecting\"",
            "ledger",
            Class::Destructive,
            true,
        ),
        (
            "Action::\"destructive\"",
            "ledger",
            Class::Destructive,
            true,
        ),
        (
            "Action::\"destructive\"",
            "ledger",
            Class::SideEffecting,
            false,
        ),
        (
            "Action::\"server:read-only\"",
            "read-only",
            Class::Destructive,
            true,
        ),
        (
            "Action::\"server:read-only\"",
            "ledger",
            Class::ReadOnly,
            false,
        ),
        (
            "[Action::\"server:a\", Action::\"ledger/transfer\"]",
            "a",
            Class::ReadOnly,
            true,
        ),
        (
            "[Action::\"server:a\", Action::\"ledger/transfer\"]",
            "ledger",
            Class::ReadOnly,
            true,
        ),
    ] {
        let set = policies(&format!("permit (principal, action in {scope}, resource);"));
        let mut call = Call::of("{}");
        call.server = server.to_owned();
        call.class = class;
        assert_eq!(
            call.decide(&set).allow(),
            allowed,
            "{scope} {server} {class}"
        );
    }
}

#[test]
fn every_identity_fact_has_a_field_of_its_own() {
    let mut call = Call::of("{}");
    call.agent = ["jwt", "https://idp.example", "svc/one"].map(str::to_owned);
    call.user = Some("alice".to_owned());
    for (condition, expected) in [
        (
            "principal == Agent::\"jwt/https:%2F%2Fidp.example/svc%2Fone\"",
            true,
        ),
        (
            "principal.method == \"jwt\" && principal.issuer == \"https://idp.example\"",
            true,
        ),
        ("principal.subject == \"svc/one\"", true),
        (
            "context has represented_user && context.represented_user == \"alice\"",
            true,
        ),
        (
            "context has audience || context has proof_key || context has authority",
            false,
        ),
        ("resource == Server::\"ledger\"", true),
        (
            "context has execution_id && context.execution_id == \"e-1\"",
            true,
        ),
        ("context has workflow_id", false),
        ("context.revision == \"2025-11-25\"", true),
    ] {
        assert_eq!(holds(condition, &call), expected, "{condition}");
    }
}

#[test]
fn an_execution_id_is_asked_for_only_where_it_would_help() {
    let asks = "@id(\"a\") @code(\"execution-id-required\")
        forbid (principal, action, resource) unless { context has execution_id };";
    let other = "@id(\"b\") forbid (principal, action, resource)
        when { context.at.hasTag(\"/arguments/bad\") };";
    let set = policies(&format!("{ALLOW}{asks}{other}"));
    let mut call = Call::of("{}");
    call.execution_id = None;
    let code = |call: &Call| call.decide(&set).code().map(RefusalCode::as_str);
    assert_eq!(code(&call), Some("execution-id-required"));
    let mut bad = Call::of("{\"bad\":1}");
    assert_eq!(code(&bad), Some("policy-denied"));
    bad.execution_id = None;
    assert_eq!(code(&bad), Some("policy-denied"));
}

#[test]
fn decisions_hold_on_any_view_and_never_panic() {
    let set = policies(&format!(
        "{ALLOW}forbid (principal, action, resource) unless {{
             context.at.hasTag(\"/arguments\") && context.at.hasTag(\"/arguments/amount\") &&
             context.at.getTag(\"/arguments/amount\") has number &&
             context.at.getTag(\"/arguments/amount\").number.ceil <= 1000 &&
             !context.at.hasTag(\"/arguments/0/0\") && !context.client.hasTag(\"/io.modelcontextprotocol~1clientInfo/0\")
         }};
         forbid (principal, action, resource) when {{
             context has continuation && context.continuation.hasTag(\"/inputResponses/0/~01~1\")
         }};"
    ));
    let mut allowed = 0;
    for seed in 1..=4_000u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut call = Call::of(&random.json(4));
        call.client = format!(
            "{{\"io.modelcontextprotocol/clientInfo\":{}}}",
            random.json(3)
        );
        call.continuation =
            (random.below(2) == 0).then(|| format!("{{\"inputResponses\":{}}}", random.json(3)));
        let decision = call.decide(&set);
        assert!(
            matches!(decision.reason(), Reason::Permitted | Reason::Forbidden),
            "seed {seed}: {decision:?}"
        );
        assert_eq!(decision, call.decide(&set), "seed {seed}");
        allowed += usize::from(decision.allow());
    }
    assert!(allowed > 10, "{allowed}");
}

#[test]
fn a_large_action_is_looked_through_once() {
    let items = vec!["{\"a\":1}"; 50_000].join(",");
    let call = Call::of(&format!("{{\"list\":[{items}],\"z\":5}}"));
    assert!(holds(
        "context.at.hasTag(\"/arguments/list/49999/a\") && context.at.hasTag(\"/arguments/z\") &&
         context.at.hasTag(\"/arguments/list\") && context.at.getTag(\"/arguments/list\") has len &&
         context.at.getTag(\"/arguments/list\").len == 50000 &&
         !context.at.hasTag(\"/arguments/list/50000\")",
        &call
    ));
}
