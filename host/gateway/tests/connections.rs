//! Connections to servers: which one carries another call, and which one ends.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::sync::Arc;

use support::client::call;
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, until};

/// Ways of answering whose response ends.
fn that_end() -> Vec<(&'static str, Behaviour)> {
    let result = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let twice = format!("data: {result}\n\ndata: {result}\n\n");
    vec![
        ("as JSON", Behaviour::Result(r#"{"content":[]}"#.to_owned())),
        ("as an event", Behaviour::Say(Vec::new())),
        ("as an event after others", Behaviour::Progress),
        (
            "twice",
            Behaviour::Raw(200, "text/event-stream", twice.into_bytes()),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_carries_the_next_call_once_its_response_has_ended() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let mut calls = 0;
    for (name, behaviour) in that_end() {
        upstream.behave(behaviour);
        let mut carried = false;
        // What follows an answer is read beside the next call, which may be faster.
        for _ in 0..200 {
            let before = upstream.connections();
            calls += 1;
            let answer = session.call("pay", "{}", Some(&format!("e-{calls}"))).await;
            assert!(answer.json()["result"].is_object(), "{name}: {answer:?}");
            carried = upstream.connections() == before;
            if carried {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(carried, "{name}");
    }
    assert_eq!(upstream.effects(), calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_does_not_wait_for_the_end_of_its_stream_and_no_stream_lingers_for_long() {
    let upstream = Upstream::start().await;
    let more = "[limits]\ncalls_per_agent = 128\ncalls_per_server = 128";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = Arc::new(gateway.client().session().await);
    upstream.behave(Behaviour::Linger);
    let mut calls = tokio::task::JoinSet::new();
    for id in 1..=80 {
        let session = Arc::clone(&session);
        calls.spawn(async move {
            let message = call(id, "pay", "{}", Some(&format!("e-{id}")));
            session.post(message).await
        });
    }
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.json()["result"].is_object(), "{answer:?}");
    }
    until("none lingers", || upstream.listeners() == 0).await;
    assert_eq!(upstream.effects(), 80);
}
