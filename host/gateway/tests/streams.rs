//! The streams that a client opens by itself, and the one that a server is asked for.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use http::Method;
use serde_json::json;
use support::relaying::{ALL, META, ask, start, start_with};
use support::upstream::Behaviour;
use support::{Client, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_on_its_own_stream_of_what_it_subscribed_to_and_of_nothing_else() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    upstream.answer("resources/subscribe", "{}");
    upstream.answer("resources/unsubscribe", "{}");
    let session = gateway.client().session().await;
    session
        .post(ask("resources/subscribe", r#""uri":"test://a""#))
        .await;
    let mut first = session.stream(Method::GET, "").await;
    assert_eq!(first.status, 200);
    until("the gateway listens", || upstream.listeners() == 1).await;
    let updated = |uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#
        )
    };
    upstream.tell(&updated("test://b")).await;
    upstream.tell(&updated("test://a/part")).await;
    assert_eq!(first.json().await["params"]["uri"], "test://a/part");
    // A new stream takes over, and both sessions share the upstream's one.
    let mut second = session.stream(Method::GET, "").await;
    assert_eq!(first.next().await, None);
    let other = gateway.client().session().await;
    let mut others = other.stream(Method::GET, "").await;
    // Somebody was shown the list, and then it changed.
    session.post(ask("tools/list", "")).await;
    upstream.offer(json!([{"name": "new", "inputSchema": {"type": "object"}}]));
    upstream
        .tell(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    assert_eq!(
        second.json().await["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(
        others.json().await["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(upstream.listeners(), 1);
    // What another session still wants is not given up upstream.
    other
        .post(ask("resources/subscribe", r#""uri":"test://a""#))
        .await;
    session
        .post(ask("resources/unsubscribe", r#""uri":"test://a""#))
        .await;
    assert!(upstream.asked("resources/unsubscribe").is_empty());
    upstream.tell(&updated("test://a")).await;
    assert_eq!(others.json().await["params"]["uri"], "test://a");
    // A session that ends takes its stream with it, and the last one the upstream's.
    let gone = session
        .send(Method::DELETE, "/mcp/up", bytes::Bytes::new())
        .await;
    assert_eq!(gone.status, 204);
    assert_eq!(second.next().await, None);
    drop(others);
    until("the gateway listens no more", || upstream.listeners() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_needs_a_session_of_this_agent_and_the_revision_of_that_session() {
    let (_upstream, gateway) = start("2025-11-25", "[]", "").await;
    let plain = gateway.client();
    let session = plain.session().await;
    let version = |client: &Client, version: &str| {
        client
            .without("mcp-protocol-version")
            .with("mcp-protocol-version", version)
    };
    for (why, client, status) in [
        (
            "no session",
            plain.with("mcp-protocol-version", "2025-11-25"),
            400,
        ),
        (
            "an unknown one",
            plain.with("mcp-session-id", "nobody"),
            404,
        ),
        ("another revision", version(&session, "2025-06-18"), 400),
        (
            "a revision without streams",
            version(&session, "2026-07-28"),
            405,
        ),
        (
            "no event stream accepted",
            session.without("accept").with("accept", "application/json"),
            406,
        ),
    ] {
        let answer = client
            .send(Method::GET, "/mcp/up", bytes::Bytes::new())
            .await;
        assert_eq!(answer.status, status, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_ended_by_its_agent_in_its_own_revision_and_by_nothing_that_contradicts_it() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (_upstream, gateway) = start("2025-11-25", "[]", "").await;
        let plain = gateway.client();
        let session = plain.session_of(revision).await;
        let delete = async |client: &Client| {
            let answer = client.send(Method::DELETE, "/mcp/up", bytes::Bytes::new());
            let answer = answer.await;
            let code = (!answer.body.is_empty()).then(|| answer.code()).flatten();
            (answer.status.as_u16(), code)
        };
        let mismatch = (400, Some("header-mismatch".to_owned()));
        for other in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            if other != revision {
                let client = session
                    .without("mcp-protocol-version")
                    .with("mcp-protocol-version", other);
                assert_eq!(delete(&client).await, mismatch, "{revision} as {other}");
            }
        }
        for (name, value) in [
            ("mcp-method", "tools/call"),
            ("mcp-method", "initialize"),
            ("mcp-name", "pay"),
            ("mcp-param-amount", "1"),
        ] {
            let said = delete(&session.with(name, value)).await;
            assert_eq!(said, mismatch, "{revision} with {name}");
        }
        let unstated = session.without("mcp-protocol-version");
        if revision != "2025-03-26" {
            assert_eq!(delete(&unstated).await, mismatch, "{revision} unstated");
        }
        let modern = unstated.with("mcp-protocol-version", "2026-07-28");
        assert_eq!(delete(&modern).await.0, 405, "{revision}");
        let unknown = (404, Some("unknown-session".to_owned()));
        let other = plain
            .with("mcp-session-id", "nobody")
            .with("mcp-protocol-version", revision);
        assert_eq!(delete(&other).await, unknown, "{revision}");
        // It is there still, and ends once.
        assert_eq!(session.post(ask("ping", "")).await.status, 200);
        assert_eq!(delete(&session).await, (204, None), "{revision}");
        assert_eq!(delete(&session).await, unknown, "{revision}");
        let unstated = plain.session_of("2025-03-26").await;
        let unstated = unstated.without("mcp-protocol-version");
        assert_eq!(delete(&unstated).await, (204, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_end_ends_when_draining_begins_and_what_has_one_is_waited_for() {
    let more = "[limits]\ndrain_ms = 600000\n";
    let (upstream, gateway) = start_with("2026-07-28", ALL, more).await;
    upstream.answer("resources/read", "{}");
    upstream.hang("subscriptions/listen");
    upstream.hang("resources/read");
    let client = gateway.client();
    let listening = client.modern("subscriptions/listen", None);
    let params = format!(r#""notifications":{{}},{META}"#);
    let listen = ask("subscriptions/listen", &params);
    let mut listening = listening.stream(Method::POST, &listen).await;
    let reading = client.modern("resources/read", Some("a"));
    let read = ask("resources/read", &format!(r#""uri":"a",{META}"#));
    let reading = tokio::spawn(async move { reading.post(read).await });
    for method in ["subscriptions/listen", "resources/read"] {
        until(method, || upstream.asked(method).len() == 1).await;
    }
    let stopping = tokio::spawn(gateway.stop());
    // It is told why, and that is all.
    let last = listening.next().await;
    assert!(last.is_none_or(|last| last.contains("error")));
    assert_eq!(listening.next().await, None);
    assert!(!stopping.is_finished(), "a request still runs");
    upstream.hang_no_more();
    assert_eq!(reading.await.unwrap().code(), None);
    let stopped = tokio::time::timeout(Duration::from_secs(60), stopping).await;
    stopped.expect("nothing runs any more").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_of_lists_that_pass_alone_and_its_stream_ends_when_draining_begins() {
    let (upstream, gateway) = start("2025-11-25", r#"["prompts/*"]"#, "").await;
    let session = gateway.client().session().await;
    let mut stream = session.stream(Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() == 1).await;
    for list in ["resources", "prompts"] {
        let method = format!("notifications/{list}/list_changed");
        upstream
            .tell(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#))
            .await;
    }
    assert_eq!(
        stream.json().await["method"],
        "notifications/prompts/list_changed"
    );
    upstream.behave(Behaviour::Slow(Duration::from_secs(2)));
    let calling = tokio::spawn(async move { session.call("pay", "{}", None).await.code() });
    until("the call arrived", || upstream.effects() == 1).await;
    let stopping = tokio::spawn(gateway.stop());
    assert_eq!(stream.next().await, None);
    assert!(!stopping.is_finished(), "a call still runs");
    assert_eq!(calling.await.unwrap(), None);
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_for_its_own_stream_as_often_as_it_may_have_one() {
    for (why, revision, status, kind, most) in [
        ("it offers none", "2025-11-25", 405, "text/event-stream", 1),
        ("something else", "2025-11-25", 200, "application/json", 1),
        ("one that ends", "2025-11-25", 200, "text/event-stream", 2),
        ("no sessions", "2026-07-28", 200, "text/event-stream", 0),
    ] {
        let (upstream, gateway) = start(revision, ALL, "").await;
        upstream.stream_with(status, kind);
        let session = gateway.client().session().await;
        let mut stream = session.stream(Method::GET, "").await;
        assert_eq!(stream.status, 200, "{why}");
        tokio::time::sleep(Duration::from_millis(1_600)).await;
        assert!(upstream.streams_asked() <= most, "{why}");
        until("the stream was asked for", || {
            upstream.streams_asked() >= most
        })
        .await;
        // What the client hears of besides is no matter of that stream.
        session
            .send(Method::DELETE, "/mcp/up", bytes::Bytes::new())
            .await;
        assert_eq!(stream.next().await, None, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_subscribed_to_all_that_it_may_be_is_told_so_and_nothing_is_sent() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    upstream.answer("resources/subscribe", "{}");
    let session = gateway.client().session().await;
    let subscribe = |uri: &str| ask("resources/subscribe", &format!(r#""uri":"{uri}""#));
    for (uri, code) in [
        ("a".repeat(100_000), None),
        ("b".repeat(100_000), Some("overloaded")),
        ("a".repeat(100_000), None),
        ("c".to_owned(), None),
    ] {
        let said = session.post(subscribe(&uri)).await.code();
        assert_eq!(said.as_deref(), code, "{}", uri.len());
    }
    assert_eq!(upstream.asked("resources/subscribe").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_of_an_agent_are_subscribed_to_so_much_together_and_give_it_back() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    upstream.answer("resources/subscribe", "{}");
    upstream.answer("resources/unsubscribe", "{}");
    let name = |number: usize| format!("{number:02}{}", "x".repeat(131_070));
    let about = |method: &str, uri: &str| ask(method, &format!(r#""uri":"{uri}""#));
    let subscribe = async |session: &Client, uri: &str| {
        let said = session.post(about("resources/subscribe", uri)).await;
        said.code()
    };
    let mut sessions = Vec::new();
    for number in 0..16 {
        let session = gateway.client().session().await;
        assert_eq!(subscribe(&session, &name(number)).await, None, "{number}");
        sessions.push(session);
    }
    let more = gateway.client().session().await;
    let refused = Some("overloaded".to_owned());
    assert_eq!(subscribe(&more, "a").await, refused);
    assert_eq!(upstream.asked("resources/subscribe").len(), 16);
    // What it has it may ask for again.
    assert_eq!(subscribe(&sessions[1], &name(1)).await, None);
    let given_up = about("resources/unsubscribe", &name(0));
    assert_eq!(sessions[0].post(given_up).await.code(), None);
    assert_eq!(subscribe(&more, &name(0)).await, None);
    assert_eq!(subscribe(&sessions[0], "a").await, refused);
    let ended = sessions[1].send(Method::DELETE, "/mcp/up", bytes::Bytes::new());
    assert_eq!(ended.await.status, 204);
    assert_eq!(subscribe(&sessions[0], "a").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_other_session_is_subscribed_to_is_given_up_upstream() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    upstream.answer("resources/subscribe", "{}");
    upstream.answer("resources/unsubscribe", "{}");
    let about = |method: &str, uri: &str| ask(method, &format!(r#""uri":"{uri}""#));
    let (mine, other) = (
        gateway.client().session().await,
        gateway.client().session().await,
    );
    for (session, uri) in [
        (&mine, "test://a"),
        (&mine, "test://a/part"),
        (&other, "test://a"),
    ] {
        session.post(about("resources/subscribe", uri)).await;
    }
    // The other hears of the part by what it is subscribed to itself.
    for (session, uri, sent) in [
        (&mine, "test://a/part", 1),
        (&mine, "test://a", 1),
        (&mine, "test://nothing", 2),
        (&other, "test://a", 3),
    ] {
        let said = session.post(about("resources/unsubscribe", uri)).await;
        assert_eq!(said.code(), None, "{uri}");
        let asked = upstream.asked("resources/unsubscribe").len();
        assert_eq!(asked, sent, "{uri}");
    }
}
