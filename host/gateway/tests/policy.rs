//! Policy through the whole gateway: who is denied is told so, sends nothing,
//! and reserves nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::future::Future as _;
use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::json;
use support::{Gateway, PERMIT_ALL, Upstream};

const OVER: &str = r#"
permit (principal, action, resource);
@id("no-large-amounts")
forbid (principal, action == Action::"up/pay", resource)
unless {
  context.at.hasTag("/arguments/amount") &&
  context.at.getTag("/arguments/amount") has number &&
  context.at.getTag("/arguments/amount").number.ceil <= 1000
};
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_amount_over_the_limit_does_not_pass_in_any_spelling() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, OVER, "").await;
    let session = gateway.client().session().await;
    for amount in [
        "5000",
        "5000.0",
        "5e3",
        "1e30",
        "1000.5",
        "\"5000\"",
        r#"{"__extn":{"fn":"decimal","arg":"5000.0"}}"#,
        r#"{"__entity":{"type":"Agent","id":"x"}}"#,
        "null",
    ] {
        let arguments = format!(r#"{{"amount":{amount}}}"#);
        let answer = session.call("pay", &arguments, Some("e1")).await;
        assert_eq!(
            answer.code().as_deref(),
            Some("policy-denied"),
            "{amount}: {}",
            answer.text()
        );
        assert_eq!(answer.data()["safe_with_new_id"], true);
    }
    assert_eq!(upstream.effects(), 0);
    let allowed = session.call("pay", r#"{"amount":1e3}"#, Some("e1")).await;
    assert_eq!(allowed.code(), None, "{}", allowed.text());
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let denial = entries
        .iter()
        .find(|entry| entry["refusal"] == "policy-denied")
        .unwrap();
    assert_eq!(
        denial["decision"]["determining"],
        json!(["no-large-amounts"]),
        "{denial}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_a_side_effect_needs_an_execution_id_and_destruction_an_operator() {
    let upstream = Upstream::start().await;
    let schema = json!({"type": "object"});
    upstream.offer(json!([
        {"name": "look", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "pay", "inputSchema": schema},
        {"name": "drop", "inputSchema": schema, "annotations": {"destructiveHint": true}},
    ]));
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[identity]\nmode = \"open\"\n[[server]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url()
    );
    std::fs::write(folder.path().join("countersign.toml"), config).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    for (tool, id, code) in [
        ("look", None, None),
        ("pay", None, Some("execution-id-required")),
        ("pay", Some("e1"), None),
        ("drop", Some("e2"), Some("policy-denied")),
    ] {
        assert_eq!(
            session.call(tool, "{}", id).await.code().as_deref(),
            code,
            "{tool} {id:?}"
        );
    }
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_is_broken_off_anywhere_decides_as_the_log_says_or_not_at_all() {
    let mut seen = std::collections::BTreeSet::new();
    for polls in 1..12 {
        let upstream = Upstream::start().await;
        let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let policies = gateway.path().join("policies/test.cedar");
        std::fs::write(policies, "forbid (principal, action, resource);").unwrap();
        {
            let mut reload = Box::pin(gateway.reloader.reload());
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..polls {
                if reload.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                // Whatever it waits for has come by then.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let code = session.call("pay", "{}", Some("e1")).await.code();
        let (_, folder) = gateway.stop().await;
        let entries = support::entries(folder.path());
        let loaded = entries.iter().filter(|e| e["kind"] == "policy-loaded");
        let stands = loaded.count() > 1;
        assert!(!stands || code.is_some(), "{polls}: {code:?}");
        assert!(
            stands || code.as_deref() != Some("policy-denied"),
            "{polls}"
        );
        seen.insert((stands, code));
    }
    let ended = (true, Some("policy-denied".to_owned()));
    assert!(seen.contains(&ended), "{seen:?}");
    assert!(seen.iter().any(|(_, code)| *code != ended.1), "{seen:?}");
}
