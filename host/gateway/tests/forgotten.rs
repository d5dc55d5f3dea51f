//! Upstreams that know a session no more, and whose own streams end: the next
//! request opens a new one, and no request is sent twice.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use http::Method;
use support::door::Door;
use support::relaying::{ALL, ask, start};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_upstream_knows_no_more_is_opened_anew_by_the_next_request() {
    let error = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"unknown session"}}}}"#
        )
    };
    let (nobodys, ours) = (error("null"), error("ID"));
    for status in [404, 400] {
        for said in ["", &nobodys, &ours] {
            for what in ["tools/call", "resources/read", "tasks/get"] {
                let why = format!("{what}: {status} {said}");
                let (upstream, gateway) = start("2025-11-25", ALL, "").await;
                upstream.answer("resources/read", r#"{"contents":[]}"#);
                upstream.about_task(r#"{"taskId":"t-1","status":"working"}"#);
                let session = gateway.client().session().await;
                let task = r#"{"task":{"taskId":"t-1","status":"working","ttl":60000}}"#;
                upstream.behave(Behaviour::Result(task.to_owned()));
                let begin = ask("tools/call", r#""name":"pay","arguments":{},"task":{}"#);
                let begun = session.post(begin).await;
                assert_eq!(begun.code(), None, "{why}: {}", begun.text());
                upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
                let request = match what {
                    "tools/call" => ask(what, r#""name":"pay","arguments":{}"#),
                    "resources/read" => ask(what, r#""uri":"test://a""#),
                    _ => ask(what, r#""taskId":"t-1""#),
                };
                let served = || match what {
                    "tools/call" => upstream.effects() - 1,
                    _ => upstream.asked(what).len(),
                };
                assert_eq!(upstream.initializes(), 1, "{why}");
                upstream.forget(status, said);
                let lost = session.post(request.clone()).await;
                assert!(lost.json()["result"].is_null(), "{why}: {}", lost.text());
                assert_eq!(
                    (served(), upstream.refused()),
                    (0, vec![what.to_owned()]),
                    "{why}"
                );
                let next = session.post(request).await;
                assert!(next.json()["result"].is_object(), "{why}: {}", next.text());
                assert_eq!(upstream.initializes(), 2, "{why}");
                assert_eq!((served(), upstream.refused().len()), (1, 1), "{why}: once");
            }
        }
    }
}

const EVENTS: &str = "text/event-stream";

#[tokio::test(flavor = "multi_thread")]
async fn an_upstreams_own_stream_is_opened_again_whatever_kept_it_from_being_open() {
    for (why, greeted) in [
        ("nobody listens for a while", 1),
        ("404 for a while", 2),
        ("400 for a while", 2),
        ("503 for a while", 1),
        ("the session is not known any more, 404", 2),
        ("the session is not known any more, 400", 2),
    ] {
        let upstream = Upstream::start().await;
        let mut door = Door::before(upstream.address()).await;
        let url = door.url();
        let server = format!("[[server]]\nname = \"up\"\nurl = \"{url}\"\nmethods = {ALL}\n");
        let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
        upstream.announce(serde_json::json!({"tools": {}, "resources": {"subscribe": true}}));
        upstream.answer("resources/subscribe", "{}");
        let session = gateway.client().session().await;
        let subscribe = ask("resources/subscribe", r#""uri":"test://a""#);
        assert_eq!(session.post(subscribe).await.code(), None, "{why}");
        let mut stream = session.stream(Method::GET, "").await;
        until("the gateway listens", || upstream.listeners() == 1).await;
        let asked = upstream.streams_asked();
        match why.split_once(' ').unwrap() {
            ("nobody", _) => {
                door.shut().await;
                tokio::time::sleep(Duration::from_secs(2)).await;
                door.open().await;
            }
            ("the", _) => {
                let status = why[why.len() - 3..].parse().unwrap();
                upstream.forget(status, "");
                upstream.hang_up();
            }
            (status, _) => {
                upstream.stream_with(status.parse().unwrap(), EVENTS);
                upstream.hang_up();
                until(why, || upstream.streams_asked() >= asked + 2).await;
                upstream.stream();
            }
        }
        until(why, || upstream.listeners() == 1).await;
        let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a"}}"#;
        upstream.tell(updated).await;
        assert_eq!(stream.json().await["params"]["uri"], "test://a", "{why}");
        assert_eq!(upstream.initializes(), greeted, "{why}");
        assert_eq!(upstream.asked("resources/subscribe").len(), 1, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_offers_no_stream_any_more_is_asked_again_for_a_client_that_opens_one() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    let session = gateway.client().session().await;
    let held = session.stream(Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() == 1).await;
    upstream.stream_with(405, "");
    upstream.hang_up();
    until("it is asked again", || upstream.streams_asked() == 2).await;
    // Longer than it would take to be asked once more.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(upstream.streams_asked(), 2);
    upstream.stream();
    let other = gateway.client().session().await;
    let others = other.stream(Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() == 1).await;
    drop((held, others));
}
