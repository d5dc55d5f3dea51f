//! What is approved, through the whole gateway: what differs is refused, what
//! does not fit its schema is refused, and what comes into force decides.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::approving::approve;
use support::{Client, Gateway, PERMIT_ALL, Upstream, relaying, until};

const LOCKED: &str = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 100\n";

fn tools() -> Value {
    json!([
        {"name": "send_email", "inputSchema": {"type": "object", "required": ["to"], "properties": {
            "to": {"type": "string"}, "amount": {"type": "number", "maximum": 5000},
            "count": {"type": "integer"}}}},
        {"name": "send__email", "inputSchema": {"type": "object"}},
        {"name": "Send_email", "inputSchema": {"type": "object"}},
    ])
}

async fn start(upstream: &Upstream, policies: &str, more: &str) -> (Gateway, Client) {
    let gateway = Gateway::start(upstream, policies, &format!("{more}{LOCKED}")).await;
    let session = gateway.client().session().await;
    (gateway, session)
}

async fn listed(session: &Client) -> Vec<String> {
    let list = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;
    let list = session.post(list).await.json();
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

async fn code(session: &Client, tool: &str, arguments: &str, id: &str) -> Option<String> {
    session.call(tool, arguments, Some(id)).await.code()
}

/// Calls until the answer has that code; the poll takes its time.
async fn becomes(session: &Client, tool: &str, arguments: &str, wanted: Option<&str>) {
    for attempt in 0..100 {
        let id = format!("becomes-{tool}-{attempt}");
        if code(session, tool, arguments, &id).await.as_deref() == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{tool} never became {wanted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_approved_is_shown_and_called_and_names_that_look_alike_are_apart() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    assert!(listed(&session).await.is_empty());
    let to = r#"{"to":"a"}"#;
    assert_eq!(
        code(&session, "send_email", to, "e0").await.as_deref(),
        Some("tool-not-approved")
    );
    approve(gateway.path(), &["send__email", "Send_email"]).await;
    assert_eq!(listed(&session).await, ["send_email"]);
    assert_eq!(code(&session, "send_email", to, "e1").await, None);
    for other in ["send__email", "Send_email"] {
        assert_eq!(
            code(&session, other, to, "e2").await.as_deref(),
            Some("tool-not-approved"),
            "{other}"
        );
    }
    assert_eq!(
        code(&session, "SEND_EMAIL", to, "e3").await.as_deref(),
        Some("unknown-tool")
    );
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let approved = entries
        .iter()
        .find(|e| e["kind"] == "catalog-approved")
        .unwrap();
    assert_eq!(approved["resolution"]["reason"], "reviewed");
    let checkpoint = &approved["catalog"]["approved"];
    let admitted = entries.iter().find(|e| e["kind"] == "admission").unwrap();
    assert_eq!(admitted["catalog"]["approved"], *checkpoint);
    assert_eq!(admitted["catalog"]["attributed"], *checkpoint);
    assert_ne!(admitted["catalog"]["discovered"], *checkpoint);
    // A start says again what is approved.
    let gateway = Gateway::start_in(folder).await;
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let approvals = entries.iter().filter(|e| e["kind"] == "catalog-approved");
    assert_eq!(approvals.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_swapped_under_its_name_is_refused_and_its_siblings_are_not() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    approve(gateway.path(), &[]).await;
    assert_eq!(code(&session, "send__email", "{}", "e1").await, None);
    let mut swapped = tools();
    swapped[1]["inputSchema"]["properties"] = json!({"bcc": {"type": "string"}});
    upstream.offer(swapped);
    // Nobody lists and nothing is said: the poll finds it.
    becomes(&session, "send__email", "{}", Some("catalog-drift")).await;
    assert_eq!(code(&session, "Send_email", "{}", "e2").await, None);
    upstream.offer(tools());
    becomes(&session, "send__email", "{}", None).await;
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let drift = entries
        .iter()
        .find(|e| e["kind"] == "catalog-drift")
        .unwrap();
    assert_eq!(drift["tool"], "send__email");
    assert_ne!(drift["catalog"]["approved"], drift["catalog"]["discovered"]);
    let refused = entries
        .iter()
        .find(|e| e["refusal"] == "catalog-drift")
        .unwrap();
    assert_ne!(
        refused["catalog"]["approved"],
        refused["catalog"]["discovered"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_that_is_only_recorded_goes_on_by_what_was_approved() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let more = LOCKED.replace("poll_ms", "on_drift = \"record\"\npoll_ms");
    let gateway = Gateway::start(&upstream, PERMIT_ALL, &more).await;
    let session = gateway.client().session().await;
    approve(gateway.path(), &["Send_email"]).await;
    let mut swapped = tools();
    swapped[0]["inputSchema"] = json!({"type": "object"});
    upstream.offer(swapped);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        code(&session, "send_email", "{}", "e1").await.as_deref(),
        Some("arguments-invalid")
    );
    assert_eq!(
        code(&session, "send_email", r#"{"to":"a"}"#, "e1").await,
        None
    );
    assert_eq!(code(&session, "Send_email", "{}", "e2").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_another_place_is_not_the_one_that_was_approved() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    approve(gateway.path(), &[]).await;
    assert_eq!(code(&session, "send__email", "{}", "e1").await, None);
    let (_, folder) = gateway.stop().await;
    let elsewhere = Upstream::start().await;
    elsewhere.offer(tools());
    let path = folder.path().join("countersign.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&upstream.url(), &elsewhere.url())).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    assert_eq!(
        code(&session, "send__email", "{}", "e2").await.as_deref(),
        Some("catalog-drift")
    );
    assert_eq!(elsewhere.effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_held_against_their_schema_before_policy_and_nothing_of_them_leaks() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let deny = "forbid (principal, action, resource);\n";
    let (gateway, session) = start(&upstream, deny, "").await;
    approve(gateway.path(), &[]).await;
    for (arguments, pointer, keyword) in [
        ("{}", "/arguments", "required"),
        (r#"{"to":7}"#, "/arguments/to", "type"),
        (
            r#"{"to":"hunter2","amount":5000.0000000000000000001}"#,
            "/arguments/amount",
            "maximum",
        ),
        (
            r#"{"to":"","amount":1e400}"#,
            "/arguments/amount",
            "maximum",
        ),
        (
            r#"{"to":"","amount":{"__extn":{"fn":"decimal","arg":"1.0"}}}"#,
            "/arguments/amount",
            "type",
        ),
        (r#"{"to":"","count":5000.0}"#, "/arguments/count", "type"),
        (
            r#"{"to":"","count":9223372036854775808}"#,
            "/arguments/count",
            "type",
        ),
    ] {
        let answer = session.call("send_email", arguments, Some("e1")).await;
        assert_eq!(
            answer.code().as_deref(),
            Some("arguments-invalid"),
            "{arguments}"
        );
        let data = answer.data();
        assert_eq!(data["pointer"], pointer, "{arguments}");
        assert_eq!(data["keyword"], keyword, "{arguments}");
        assert_eq!(data["safe_with_new_id"], true);
        assert!(!answer.text().contains("hunter2"));
    }
    let fits = code(&session, "send_email", r#"{"to":"a","amount":5e3}"#, "e1").await;
    assert_eq!(fits.as_deref(), Some("policy-denied"));
    let (_, folder) = gateway.stop().await;
    let refused = support::entries(folder.path())
        .into_iter()
        .find(|entry| entry["refusal"] == "arguments-invalid")
        .unwrap();
    assert!(!refused.to_string().contains("/arguments"), "{refused}");
}

const TYPED: &str = r#"
permit (principal, action, resource);
@id("limit")
forbid (principal, action == Action::"up/send_email", resource)
when { context.args has amount && context.args.amount.ceil > 1000 };
@id("one-at-a-time")
forbid (principal, action == Action::"up/send_email", resource)
when { context.args has count && context.args.count != 1 };
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_reads_typed_arguments_whatever_their_spelling() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    approve(gateway.path(), &[]).await;
    std::fs::write(gateway.path().join("policies/test.cedar"), TYPED).unwrap();
    gateway.reloader.reload().await.unwrap();
    for (number, (arguments, wanted)) in (0..).zip([
        (r#"{"to":"a"}"#, None),
        (r#"{"to":"a","amount":1000}"#, None),
        (r#"{"to":"a","amount":1e3}"#, None),
        (r#"{"to":"a","amount":1000.5}"#, Some("policy-denied")),
        (r#"{"to":"a","amount":5000}"#, Some("policy-denied")),
        (r#"{"to":"a","amount":5000.0}"#, Some("policy-denied")),
        (r#"{"to":"a","amount":-1e400}"#, None),
        (r#"{"to":"a","count":1}"#, None),
        (r#"{"to":"a","count":2}"#, Some("policy-denied")),
        (r#"{"to":"a","count":1.0}"#, Some("arguments-invalid")),
        (r#"{"to":"a","other":[1,null]}"#, None),
    ]) {
        let id = format!("e{number}");
        let found = code(&session, "send_email", arguments, &id).await;
        assert_eq!(found.as_deref(), wanted, "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_hold_does_not_come_into_force_and_what_did_stays() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    approve(gateway.path(), &[]).await;
    let policy = gateway.path().join("policies/test.cedar");
    let lock = gateway.path().join("catalog.json");
    let good = std::fs::read_to_string(&lock).unwrap();
    for (why, policies, locked) in [
        ("no Cedar", "permit (", good.clone()),
        (
            "a tool that nobody approved",
            "forbid (principal, action == Action::\"up/sendemail\", resource);",
            good.clone(),
        ),
        (
            "an argument that there is not",
            "forbid (principal, action == Action::\"up/send_email\", resource) when { context.args.sum > 1 };",
            good.clone(),
        ),
        (
            "an argument of another type",
            "forbid (principal, action == Action::\"up/send_email\", resource) when { context.args.to > 1 };",
            good.clone(),
        ),
        (
            "a number compared as a long",
            "forbid (principal, action == Action::\"up/send_email\", resource) when { context.args has amount && context.args.amount > 1000 };",
            good.clone(),
        ),
        (
            "an edited lock",
            PERMIT_ALL,
            good.replacen("\"string\"", "\"number\"", 1),
        ),
    ] {
        std::fs::write(&policy, policies).unwrap();
        std::fs::write(&lock, locked).unwrap();
        assert!(gateway.reloader.reload().await.is_err(), "{why}");
        let id = format!("e {why}").replace(' ', "-");
        assert_eq!(
            code(&session, "send__email", "{}", &id).await,
            None,
            "{why}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_reserved_that_what_is_in_force_did_not_decide() {
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "[limits]\ncalls_per_agent = 64\n").await;
    approve(gateway.path(), &[]).await;
    let policy = gateway.path().join("policies/test.cedar");
    let calls: Vec<_> = (0..8)
        .map(|caller| {
            let session = session.clone();
            tokio::spawn(async move {
                for number in 0..40 {
                    let id = format!("r-{caller}-{number}");
                    code(&session, "send__email", "{}", &id).await;
                }
            })
        })
        .collect();
    for round in 0..30 {
        let verb = if round % 2 == 0 { "forbid" } else { "permit" };
        let text = format!("@id(\"p{round}\") {verb} (principal, action, resource);\n");
        std::fs::write(&policy, text).unwrap();
        gateway.reloader.reload().await.unwrap();
    }
    for call in calls {
        call.await.unwrap();
    }
    let (_, folder) = gateway.stop().await;
    let (mut in_force, mut admitted) = (Value::Null, 0);
    for entry in support::entries(folder.path()) {
        match entry["kind"].as_str().unwrap() {
            "policy-loaded" => in_force = entry["policy_digest"].clone(),
            "admission" => {
                assert_eq!(entry["policy_digest"], in_force, "{entry}");
                admitted += 1;
            }
            _ => {}
        }
    }
    assert!(admitted > 0);
    assert_eq!(upstream.effects(), admitted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_that_is_observed_is_recorded_and_not_carried_out() {
    let upstream = Upstream::start().await;
    let deny = "@id(\"no\") forbid (principal, action, resource);\n";
    let folder = {
        let gateway = Gateway::start(&upstream, deny, "").await;
        let (_, folder) = gateway.stop().await;
        folder
    };
    let path = folder.path().join("countersign.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("[policy]\n", "[policy]\nenforcement = \"observe\"\n");
    std::fs::write(&path, text).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    assert_eq!(code(&session, "pay", "{}", "e1").await, None);
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let admitted = entries.iter().find(|e| e["kind"] == "admission").unwrap();
    assert_eq!(
        admitted["decision"],
        json!({"allow": false, "determining": ["no"], "reason": "observed-forbidden"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_hear_that_the_list_of_tools_has_changed_once_when_what_they_are_shown_has() {
    let changed = "notifications/tools/list_changed";
    // Where somebody approves, an approval changes it, and what the server does
    // changes nothing.
    let upstream = Upstream::start().await;
    upstream.offer(tools());
    let (gateway, session) = start(&upstream, PERMIT_ALL, "").await;
    assert!(listed(&session).await.is_empty());
    let mut events = session.stream(http::Method::GET, "").await;
    approve(gateway.path(), &["Send_email"]).await;
    assert_eq!(events.json().await["method"], changed);
    assert_eq!(listed(&session).await.len(), 2);
    upstream.offer(json!([{"name": "send_email", "inputSchema": {"type": "object"}}]));
    becomes(&session, "send_email", "{}", Some("catalog-drift")).await;
    // The same approval once more is none.
    gateway.reloader.reload().await.unwrap();
    approve(gateway.path(), &[]).await;
    assert_eq!(events.json().await["method"], changed);
    drop(gateway);
    assert_eq!(events.next().await, None, "and nothing else was said");

    // Without approvals the server's own list counts, once it is found to differ.
    let upstream = Upstream::start().await;
    let poll = "[catalog]\npoll_ms = 100\n";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, poll).await;
    let session = gateway.client().session().await;
    listed(&session).await;
    let mut events = session.stream(http::Method::GET, "").await;
    upstream.offer(tools());
    assert_eq!(events.json().await["method"], changed);
    assert_eq!(listed(&session).await.len(), 3);
    tokio::time::sleep(Duration::from_millis(300)).await;
    gateway.stop().await;
    assert_eq!(events.next().await, None, "and nothing else was said");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_while_it_lists_takes_no_news_of_the_list_with_it() {
    // What a server says beside its answers is heard where other methods pass.
    let locked = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 600000\n";
    let (upstream, gateway) = relaying::start("2025-11-25", relaying::ALL, locked).await;
    upstream.offer(tools());
    let session = gateway.client().session().await;
    approve(gateway.path(), &[]).await;
    assert_eq!(code(&session, "send__email", "{}", "e1").await, None);
    let _events = session.stream(http::Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() > 0).await;

    // Known to be asked anew, and asked by one who does not wait for it.
    let mut swapped = tools();
    swapped[1]["inputSchema"] = json!({"type": "object", "title": "swapped"});
    upstream.offer(swapped);
    upstream.ponder(Duration::from_millis(500));
    let other = gateway.client().session().await;
    upstream
        .tell(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    // Until that is heard.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let listing = tokio::spawn(async move { listed(&other).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    listing.abort();
    upstream.ponder(Duration::ZERO);
    tokio::time::sleep(Duration::from_millis(700)).await;
    let said = code(&session, "send__email", "{}", "e2").await;
    assert_eq!(said.as_deref(), Some("catalog-drift"));
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let drifted = entries.iter().filter(|e| e["kind"] == "catalog-drift");
    assert_eq!(drifted.count(), 1);
}

/// What stands in the log as approved of `up` at each admission, and what the
/// admission itself names.
fn approved_at_admissions(folder: &std::path::Path) -> Vec<(Value, Value)> {
    let mut approved = Value::Null;
    let mut at = Vec::new();
    for entry in support::entries(folder) {
        let named = entry["catalog"]["approved"].clone();
        match entry["kind"].as_str().unwrap() {
            "catalog-approved" => approved = named,
            "admission" => at.push((approved.clone(), named)),
            _ => {}
        }
    }
    at
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_no_more_when_a_gateway_starts_is_withdrawn_in_its_log() {
    let locked = format!("{LOCKED}on_drift = \"record\"\n");
    for (why, lose) in [
        ("the lock is configured no more", false),
        ("the lock is lost", true),
    ] {
        let upstream = Upstream::start().await;
        upstream.offer(tools());
        let gateway = Gateway::start(&upstream, PERMIT_ALL, &locked).await;
        approve(gateway.path(), &[]).await;
        let session = gateway.client().session().await;
        assert_eq!(
            code(&session, "send__email", "{}", "e1").await,
            None,
            "{why}"
        );
        let (_, folder) = gateway.stop().await;
        if lose {
            std::fs::remove_file(folder.path().join("catalog.json")).unwrap();
        } else {
            let path = folder.path().join("countersign.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(&locked, "")).unwrap();
        }
        let gateway = Gateway::start_in(folder).await;
        let session = gateway.client().session().await;
        assert_eq!(
            code(&session, "send__email", "{}", "e2").await,
            None,
            "{why}"
        );
        let (_, folder) = gateway.stop().await;
        let at = approved_at_admissions(folder.path());
        assert_eq!(at.len(), 2, "{why}");
        assert!(at[0].0.is_string(), "{why}: {at:?}");
        for (in_force, named) in at {
            assert_eq!(in_force, named, "{why}");
        }
    }
    // A log that begins has nothing to withdraw.
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    assert!(entries.iter().all(|e| e["kind"] != "catalog-approved"));
}
