//! A client cancels its call: what the upstream is told, and what became of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::relaying::{ALL, ask, start_with};
use support::stdio::Stdio;
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, client, until};

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

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
    session.post(cancel("5")).await;
    let answer = call.await.unwrap();
    assert!(answer["result"]["content"].is_array(), "{answer}");
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(again["outcome"], "succeeded", "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_told_in_the_session_of_its_call_or_to_nobody() {
    for (status, end) in [
        (404, "cancelled"),
        (400, "cancelled"),
        (404, "its time is up"),
        (404, "the gateway stops"),
    ] {
        let why = format!("{status}, {end}");
        let upstream = Upstream::start().await;
        let timeout = if end == "its time is up" {
            3_000
        } else {
            60_000
        };
        let server = format!(
            "[[server]]\nname = \"up\"\nurl = \"{}\"\ncall_timeout_ms = {timeout}\n",
            upstream.url()
        );
        let more = "[limits]\ndrain_ms = 100";
        let gateway = Gateway::start_with(&server, PERMIT_ALL, more).await;
        let session = gateway.client().session().await;
        let call = |id: u64| {
            let session = session.clone();
            tokio::spawn(async move {
                let message = client::call(id, "pay", "{}", Some(&format!("e{id}")));
                session.post(message).await.data()
            })
        };
        upstream.behave(Behaviour::Never);
        let first = call(1);
        until("the first call arrived", || upstream.effects() == 1).await;
        let in_first = upstream.last_call_in();
        // Another call loses the session, and the next ones open a new one.
        upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
        upstream.forget(status, "");
        assert_eq!(call(2).await.unwrap()["code"], "outcome-unknown", "{why}");
        assert_eq!(call(3).await.unwrap(), Value::Null, "{why}");
        upstream.behave(Behaviour::Never);
        let second = call(4);
        until("the second call arrived", || upstream.effects() == 3).await;
        let in_second = upstream.last_call_in();
        assert_ne!(in_first.0, in_second.0, "{why}");
        assert_ne!(in_first.1, in_second.1, "{why}: each can be told");
        match end {
            "cancelled" => assert_eq!(session.post(cancel("1")).await.status, 202, "{why}"),
            "its time is up" => {}
            _ => drop(gateway.stop().await),
        }
        let data = first.await.unwrap();
        assert_eq!(data["code"], "outcome-unknown", "{why}: {data}");
        for (session, told) in upstream.told_in("notifications/cancelled") {
            let told = (session, told["params"]["requestId"].clone());
            assert_eq!(told, in_second, "{why}: and not that of {in_first:?}");
        }
        second.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_told_to_the_process_of_its_call_or_to_none() {
    let stdio = Stdio::new();
    let table = stdio.table() + "retry_ms = 10\nlongest_retry_ms = 10\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let call = |id: u64, tool: &'static str| {
        let session = session.clone();
        tokio::spawn(async move {
            let message = client::call(id, tool, "{}", None);
            session.post(message).await.code()
        })
    };
    let effects = |tool: &str| stdio.noted("effects").iter().filter(|e| *e == tool).count();
    let first = call(11, "wait");
    until("the first call arrived", || effects("wait") == 1).await;
    let text = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n";
    let deaf = json!({"text": text, "then": "deaf"}).to_string();
    assert_eq!(session.call("say", &deaf, None).await.code(), None);
    tokio::time::sleep(Duration::from_millis(200)).await;
    // What is written now finds out; the first call is still open at that process.
    let found = call(13, "pay").await.unwrap();
    assert_eq!(found.as_deref(), Some("outcome-unknown"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let second = call(15, "wait");
    until("the second call arrived", || effects("wait") == 2).await;
    assert_eq!(session.post(cancel("11")).await.status, 202);
    assert_eq!(first.await.unwrap().as_deref(), Some("outcome-unknown"));
    let told = stdio.noted("lines");
    let cancels = told
        .iter()
        .filter(|line| line.contains("notifications/cancelled"));
    assert_eq!(cancels.count(), 0, "the second process knows no such call");
    assert!(!second.is_finished());
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
