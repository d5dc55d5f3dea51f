//! A client cancels its call: what the upstream is told, and what became of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::relaying::{ALL, ask, start_with};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, client, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_goes_upstream_under_the_upstreams_own_id_and_is_never_reported_as_undone() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Never);
    let calling = session.clone();
    let call = tokio::spawn(async move {
        let message = client::call(77, "pay", "{}", Some("e1"));
        calling.post(message).await.data()
    });
    until("the call arrived", || upstream.effects() == 1).await;
    let cancel = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    };
    // Another session's request of that id, and an id that nobody has.
    let other = gateway.client().session().await;
    assert_eq!(other.post(cancel("77")).await.status, 202);
    assert_eq!(session.post(cancel("78")).await.status, 202);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(upstream.told("notifications/cancelled").is_empty());

    assert_eq!(session.post(cancel("77")).await.status, 202);
    let data = call.await.unwrap();
    assert_eq!(data["code"], "outcome-unknown", "{data}");
    assert_eq!(data["safe_with_new_id"], false, "{data}");
    let told = upstream.told("notifications/cancelled");
    let (_, sent) = upstream.last_call();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["params"]["requestId"], sent["id"]);
    assert_ne!(sent["id"], 77, "the id is the gateway's own");
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(again["outcome"], "outcome-unknown", "{again}");
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let terminal = entries.iter().find(|e| e["kind"] == "terminal").unwrap();
    assert_eq!(terminal["refusal"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_on_its_way_when_its_call_was_cancelled_still_settles_it() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Slow(Duration::from_millis(500)));
    let calling = session.clone();
    let call = tokio::spawn(async move {
        let message = client::call(5, "pay", "{}", Some("e1"));
        calling.post(message).await.json()
    });
    until("the call arrived", || upstream.effects() == 1).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    session.post(cancel).await;
    let answer = call.await.unwrap();
    assert!(answer["result"]["content"].is_array(), "{answer}");
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(again["outcome"], "succeeded", "{again}");
}

/// A request of each kind: a call, what is passed on, and what the gateway answers.
const KINDS: [(&str, &str); 5] = [
    ("tools/call", r#""name":"pay","arguments":{}"#),
    ("resources/read", r#""uri":"a""#),
    ("tools/list", ""),
    ("ping", ""),
    ("countersign.dev/answer", r#""execution_id":"e""#),
];

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_asked_its_id_is_in_flight_its_session_in_use_and_a_cancel_reaches_it() {
    // Those that wait for the server.
    for ((method, params), code) in KINDS.into_iter().zip([
        "outcome-unknown",
        "request-unanswered",
        "upstream-unavailable",
    ]) {
        let more = "[limits]\nsessions = 1\n";
        let (upstream, gateway) = start_with("2025-11-25", ALL, more).await;
        upstream.answer("resources/read", "{}");
        let session = gateway.client().session().await;
        upstream.hang(method);
        let open = tokio::spawn({
            let session = session.clone();
            async move { session.post(ask(method, params)).await }
        });
        let arrived = || upstream.asked(method).len() == 1;
        until("the request arrived", arrived).await;
        for (other, params) in KINDS {
            let said = session.post(ask(other, params)).await.code();
            let why = format!("{other} beside {method}");
            assert_eq!(said.as_deref(), Some("duplicate-id"), "{why}");
        }
        assert_eq!(upstream.asked(method).len(), 1, "{method}");
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
        let said = gateway.client().post(initialize).await.code();
        assert_eq!(said.as_deref(), Some("overloaded"), "{method}");

        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#;
        assert_eq!(session.post(cancel).await.status, 202, "{method}");
        let answer = tokio::time::timeout(Duration::from_secs(25), open).await;
        let answer = answer.expect(method).unwrap();
        assert_eq!(answer.code().as_deref(), Some(code), "{method}");
        // It may be used again at once, and the session may make room.
        upstream.hang_no_more();
        for (other, params) in KINDS {
            let said = session.post(ask(other, params)).await.code();
            assert_ne!(said.as_deref(), Some("duplicate-id"), "{other}");
        }
        assert_eq!(gateway.client().post(initialize).await.code(), None);
    }
}
