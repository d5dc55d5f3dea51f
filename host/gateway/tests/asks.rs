//! What a server over stdio asks of its clients: it has one stream for all its
//! requests, so a client is asked only where all that are open are of one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use http::Method;
use serde_json::json;
use support::stdio::Stdio;
use support::{Client, Gateway, PERMIT_ALL, client, until};

const PERMIT: &str = "client_requests = [\"sampling/createMessage\"]\n";

async fn start(more: &str) -> (Stdio, Gateway) {
    let stdio = Stdio::new();
    let gateway = Gateway::start_with(&(stdio.table() + more), PERMIT_ALL, "").await;
    (stdio, gateway)
}

async fn willing(gateway: &Gateway) -> Client {
    let client = gateway.client();
    client
        .session_with("2025-11-25", r#"{"sampling":{}}"#)
        .await
}

const REPLY: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_one_open_call_is_asked_and_its_reply_goes_back_as_it_was_written() {
    let (stdio, gateway) = start(PERMIT).await;
    let session = willing(&gateway).await;
    let message = client::call(7, "ask", "{}", Some("e1"));
    let mut events = session.stream(Method::POST, &message).await;
    assert_eq!(
        events.next().await.unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":1}}"#
    );
    // Somebody else's reply under the same id reaches nobody.
    let other = willing(&gateway).await;
    assert_eq!(
        other.post(REPLY).await.code().as_deref(),
        Some("unsolicited-reply")
    );
    assert_eq!(session.post(REPLY).await.status, 202);
    let answer = events.json().await;
    assert_eq!((&answer["id"], &answer["error"]), (&json!(7), &json!(null)));
    let replies = stdio.noted("replies");
    assert_eq!(replies.len(), 1);
    assert!(replies[0].starts_with(r#"{"jsonrpc":"2.0","id":"up-"#));
    assert!(
        replies[0].ends_with(r#","result":{"n":1.0}}"#),
        "{replies:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_where_it_is_not_permitted_or_not_negotiated() {
    for (more, capabilities) in [("", r#"{"sampling":{}}"#), (PERMIT, "{}")] {
        let (stdio, gateway) = start(more).await;
        let client = gateway.client();
        let session = client.session_with("2025-11-25", capabilities).await;
        let answer = session.call("ask", "{}", None).await;
        assert_eq!(answer.code(), None);
        let replies = stdio.noted("replies");
        assert!(replies[0].contains("-32601"), "{replies:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_calls_of_two_clients_are_open_neither_is_asked_and_while_two_of_one_are_it_is() {
    let (stdio, gateway) = start(PERMIT).await;
    let (mine, other) = (willing(&gateway).await, willing(&gateway).await);
    let waiting = client::call(1, "wait", "{}", None);
    let open = {
        let (other, waiting) = (other.clone(), waiting.clone());
        tokio::spawn(async move { other.post(waiting).await })
    };
    until("the call arrived", || stdio.noted("effects").len() == 1).await;
    assert_eq!(mine.call("ask", "{}", None).await.code(), None);
    let replies = stdio.noted("replies");
    assert!(replies[0].contains("-32601"), "{replies:?}");
    let mut events = other
        .stream(Method::POST, &client::call(2, "ask", "{}", None))
        .await;
    assert_eq!(events.json().await["method"], "sampling/createMessage");
    assert_eq!(other.post(REPLY).await.status, 202);
    assert_eq!(events.json().await["id"], 2);
    open.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_waits_for_any_more_is_asked_of_no_other_client() {
    let (stdio, gateway) = start(PERMIT).await;
    let (mine, other) = (willing(&gateway).await, willing(&gateway).await);
    let waiting = client::call(1, "wait", "{}", None);
    let open = {
        let other = other.clone();
        tokio::spawn(async move { other.post(waiting).await })
    };
    until("the call arrived", || stdio.noted("effects").len() == 1).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(other.post(cancel).await.status, 202);
    open.await.unwrap();
    // The server may still be at it, and ask for it.
    assert_eq!(mine.call("ask", "{}", None).await.code(), None);
    let replies = stdio.noted("replies");
    assert!(replies[0].contains("-32601"), "{replies:?}");
    let question = client::call(2, "ask", "{}", None);
    let mut events = other.stream(Method::POST, &question).await;
    assert_eq!(events.json().await["method"], "sampling/createMessage");
    assert_eq!(other.post(REPLY).await.status, 202);
    assert_eq!(events.json().await["id"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_takes_back_or_does_not_wait_for_is_given_up() {
    let (stdio, gateway) = start(PERMIT).await;
    let session = willing(&gateway).await;
    let mut events = session
        .stream(Method::POST, &client::call(1, "takeback", "{}", None))
        .await;
    assert_eq!(events.json().await["id"], 1, "the question");
    let withdrawn = events.json().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], 1);
    assert!(events.json().await["result"].is_object());
    assert_eq!(
        session.post(REPLY).await.code().as_deref(),
        Some("unsolicited-reply")
    );
    assert!(stdio.noted("replies").is_empty());
    // Its call has its answer: there is no stream any more to ask on.
    session.call("leave", "{}", None).await;
    until("the reply arrived", || !stdio.noted("replies").is_empty()).await;
    assert!(stdio.noted("replies")[0].contains("-32601"));
}
