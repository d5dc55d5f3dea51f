//! What is no tool call: which methods pass, and that they pass as they are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use support::stdio::Stdio;
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, client};

/// A gateway that speaks `revision` upstream and lets `methods` pass.
async fn start(revision: &str, methods: &str, more: &str) -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    upstream.announce(json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {},
        "completions": {}, "logging": {},
    }));
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nrevision = \"{revision}\"\nmethods = {methods}\n{more}\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
    (upstream, gateway)
}

const ALL: &str = r#"["resources/*", "prompts/*", "completion/*", "logging/*", "subscriptions/*"]"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}"#;

fn ask(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{{{params}}}}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_does_not_let_pass_is_neither_announced_nor_sent() {
    let (upstream, gateway) = start("2025-11-25", r#"["prompts/get"]"#, "").await;
    upstream.answer("resources/read", "{}");
    upstream.answer("prompts/get", r#"{"messages":[]}"#);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let plain = gateway.client();
        let begin = plain.post(format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        ));
        let capabilities = begin.await.json()["result"]["capabilities"].clone();
        assert_eq!(capabilities["prompts"], json!({}), "{revision}");
        assert_eq!(
            capabilities["tools"],
            json!({"listChanged": true}),
            "{revision}"
        );
        assert_eq!(capabilities["resources"], Value::Null, "{revision}");
        let session = gateway.client().session_of(revision).await;
        let read = session.post(ask("resources/read", r#""uri":"a""#)).await;
        assert_eq!(read.code().as_deref(), Some("method-not-supported"));
        assert_eq!(read.json()["error"]["code"], -32601);
        let get = session
            .post(ask("prompts/get", r#""name":"a""#))
            .await
            .json();
        assert_eq!(get["result"], json!({"messages": []}), "{get}");
    }
    assert!(upstream.asked("resources/read").is_empty());
    assert_eq!(upstream.asked("prompts/get").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_keeps_its_bytes_in_both_directions() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    let result = r#"{ "contents" : [ {"uri":"a", "n":[1.0,-0,1e400,12345678901234567890123]} ], "_meta":{"k":1.50} }"#;
    upstream.answer("resources/read", result);
    let session = gateway.client().session().await;
    let asked = r#"{"jsonrpc":"2.0","id":"q","method":"resources/read","params":{"uri":"a","z":1.0,"b":[-0,1e400],"_meta":{"progressToken":"mine","k":2.50,"traceparent":"00-x","countersign.dev/x":1}}}"#;
    let answer = session.post(asked).await;
    assert_eq!(
        answer.text(),
        format!(r#"{{"jsonrpc":"2.0","id":"q","result":{result}}}"#)
    );
    let (_, sent) = upstream.asked("resources/read").pop().unwrap();
    let (id, _) = sent.split_once(r#","method""#).unwrap();
    let id = id.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).unwrap();
    assert_eq!(
        sent,
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"a","z":1.0,"b":[-0,1e400],"_meta":{{"k":2.50,"progressToken":{id}}}}}}}"#
        )
    );
    upstream.answer(
        "resources/read",
        r#"{"code":-32002,"message":"no such","data":{"uri":"a","n":1.0}}"#,
    );
    let answer = session.post(asked).await;
    assert_eq!(
        answer.text(),
        r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32002,"message":"no such","data":{"uri":"a","n":1.0}}}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_passes_only_where_both_revisions_have_it() {
    let sessions = ["2025-03-26", "2025-06-18", "2025-11-25"];
    for (upstream_speaks, method, with_sessions, without) in [
        ("2025-11-25", "resources/list", true, true),
        ("2025-11-25", "logging/setLevel", true, false),
        ("2025-11-25", "subscriptions/listen", false, false),
        ("2026-07-28", "resources/list", true, true),
        ("2026-07-28", "logging/setLevel", false, false),
        ("2025-03-26", "resources/list", true, true),
    ] {
        let (upstream, gateway) = start(upstream_speaks, ALL, "").await;
        upstream.answer("server/discover", r#"{"capabilities":{"resources":{}}}"#);
        upstream.answer(method, r#"{"resources":[]}"#);
        for revision in sessions {
            let session = gateway.client().session_of(revision).await;
            let answer = session.post(ask(method, "")).await;
            assert_eq!(
                answer.code().is_none(),
                with_sessions,
                "{upstream_speaks} {revision} {method}"
            );
        }
        let modern = gateway.client().modern(method, None);
        let answer = modern.post(ask(method, META)).await;
        assert_eq!(
            answer.code().is_none(),
            without,
            "{upstream_speaks} {method}"
        );
        if without {
            let result = answer.json()["result"].clone();
            assert_eq!(
                result,
                json!({"resources": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
            );
        } else {
            assert_eq!(answer.status, 404);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_a_client_that_negotiated_it_where_the_operator_permits_it() {
    let permit = r#"client_requests = ["sampling/createMessage"]"#;
    let request = r#"{"jsonrpc":"2.0","id":"up-7","method":"sampling/createMessage","params":{"maxTokens":1.0}}"#;
    let (upstream, gateway) = start("2025-11-25", "[]", permit).await;
    upstream.behave(Behaviour::Ask(request.to_owned()));
    let client = gateway.client();
    let willing = client
        .session_with("2025-11-25", r#"{"sampling":{}}"#)
        .await;
    let mut events = willing
        .stream(Method::POST, &client::call(1, "pay", "{}", None))
        .await;
    let asked = events.next().await.unwrap();
    assert_eq!(
        asked,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":1.0}}"#
    );
    // Somebody else's reply under the same id reaches nobody.
    let other = client
        .session_with("2025-11-25", r#"{"sampling":{}}"#)
        .await;
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}"#;
    assert_eq!(
        other.post(reply).await.code().as_deref(),
        Some("unsolicited-reply")
    );
    assert_eq!(willing.post(reply).await.status, 202);
    assert_eq!(
        willing.post(reply).await.code().as_deref(),
        Some("unsolicited-reply")
    );
    assert_eq!(events.json().await["id"], 1);
    assert_eq!(
        upstream.replies(),
        [r#"{"jsonrpc":"2.0","id":"up-7","result":{"n":1.0}}"#]
    );

    // Neither a client that cannot, nor another request than is permitted.
    let unwilling = client.session().await;
    let refused = |upstream: &Upstream| {
        let last = upstream.replies().pop().unwrap();
        assert!(last.contains(r#""code":-32601"#), "{last}");
    };
    assert_eq!(unwilling.call("pay", "{}", None).await.code(), None);
    refused(&upstream);
    upstream.behave(Behaviour::Ask(
        request.replace("sampling/createMessage", "roots/list"),
    ));
    let both = client
        .session_with("2025-11-25", r#"{"sampling":{},"roots":{}}"#)
        .await;
    assert_eq!(both.call("pay", "{}", None).await.code(), None);
    refused(&upstream);
    assert_eq!(upstream.replies().len(), 3);
}

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
    until(|| upstream.listeners() == 1).await;
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
    until(|| upstream.listeners() == 0).await;
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
async fn log_messages_go_with_the_request_that_they_came_with_where_logging_passes() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}"#;
    for (methods, heard) in [(ALL, true), ("[]", false)] {
        let (upstream, gateway) = start("2025-11-25", methods, "").await;
        upstream.behave(Behaviour::Say(vec![log.to_owned()]));
        let session = gateway.client().session().await;
        let answer = session.call("pay", "{}", None).await;
        assert_eq!(answer.text().contains(log), heard, "{methods}");
        assert_eq!(answer.code(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_of_a_prompts_round_is_known_to_the_agent_that_received_it_alone() {
    let (upstream, gateway) = start("2026-07-28", ALL, "").await;
    upstream.answer(
        "prompts/get",
        r#"{"resultType":"input_required","requestState":"s1","inputRequests":{}}"#,
    );
    let modern = gateway.client().modern("prompts/get", Some("p"));
    let begin = ask("prompts/get", &format!(r#""name":"p",{META}"#));
    assert_eq!(
        modern.post(begin).await.json()["result"]["requestState"],
        "s1"
    );
    for (state, code) in [("s1", None), ("s2", Some("request-state-unknown"))] {
        let next = ask(
            "prompts/get",
            &format!(r#""name":"p","requestState":"{state}","inputResponses":{{}},{META}"#),
        );
        assert_eq!(modern.post(next).await.code().as_deref(), code, "{state}");
    }
    assert_eq!(upstream.asked("prompts/get").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_sessions_the_server_hears_of_the_clients_permitted_capabilities_alone() {
    for (permit, heard) in [
        ("", "{}"),
        (
            r#"client_requests = ["sampling/createMessage"]"#,
            r#"{"sampling":{}}"#,
        ),
    ] {
        let (upstream, gateway) = start("2026-07-28", ALL, permit).await;
        upstream.answer(
            "prompts/list",
            r#"{"prompts":[],"ttlMs":5,"cacheScope":"public"}"#,
        );
        let modern = gateway.client().modern("prompts/list", None);
        let answer = modern.post(ask("prompts/list", META)).await.json();
        assert_eq!(answer["result"]["ttlMs"], 5);
        assert_eq!(answer["result"]["cacheScope"], "public");
        let (headers, sent) = upstream.asked("prompts/list").pop().unwrap();
        assert!(
            sent.contains(&format!(
                r#""io.modelcontextprotocol/clientCapabilities":{heard}"#
            )),
            "{sent}"
        );
        assert_eq!(headers["mcp-method"], "prompts/list");
        let call = gateway.client().modern("tools/call", Some("pay"));
        call.post(client::modern_call(1, "pay", "{}", None)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_answered_is_told_so_and_a_dead_server_too() {
    let (upstream, gateway) = start("2025-11-25", ALL, "call_timeout_ms = 300").await;
    upstream.answer("prompts/list", r#"{"_meta":7}"#);
    let session = gateway.client().session().await;
    let answer = session.post(ask("prompts/list", "")).await;
    assert_eq!(answer.code().as_deref(), Some("request-unanswered"));
    let server =
        "[[server]]\nname = \"up\"\nurl = \"http://127.0.0.1:1/mcp\"\nmethods = [\"prompts/*\"]\n";
    let gateway = Gateway::start_with(server, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let answer = session.post(ask("prompts/list", "")).await;
    assert_eq!(answer.code().as_deref(), Some("upstream-unavailable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_hears_of_changed_roots_where_it_may_ask_for_them_alone() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let method = "notifications/roots/list_changed";
    for (permit, heard) in [(r#"client_requests = ["roots/list"]"#, 1), ("", 0)] {
        let (upstream, gateway) = start("2025-11-25", "[]", permit).await;
        let session = gateway
            .client()
            .session_with("2025-11-25", r#"{"roots":{"listChanged":true}}"#)
            .await;
        session.call("pay", "{}", None).await;
        assert_eq!(session.post(changed).await.status, 202);
        if heard == 1 {
            until(|| upstream.told(method).len() == 1).await;
        } else {
            // What is sent after it has come long since.
            session.call("pay", "{}", None).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert!(upstream.told(method).is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_of_lists_that_pass_alone_and_its_stream_ends_when_draining_begins() {
    let (upstream, gateway) = start("2025-11-25", r#"["prompts/*"]"#, "").await;
    let session = gateway.client().session().await;
    let mut stream = session.stream(Method::GET, "").await;
    until(|| upstream.listeners() == 1).await;
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
    until(|| upstream.effects() == 1).await;
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
        until(|| upstream.streams_asked() >= most).await;
        // What the client hears of besides is no matter of that stream.
        session
            .send(Method::DELETE, "/mcp/up", bytes::Bytes::new())
            .await;
        assert_eq!(stream.next().await, None, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_without_sessions_offers_is_asked_for_once_in_a_while() {
    let (upstream, gateway) = start("2026-07-28", ALL, "").await;
    let offer = r#"{"capabilities":{"tools":{},"prompts":{}},"supportedVersions":["2026-07-28"]}"#;
    upstream.answer("server/discover", offer);
    for _ in 0..3 {
        let modern = gateway.client().modern("server/discover", None);
        let said = modern.post(ask("server/discover", META)).await.json();
        let capabilities = &said["result"]["capabilities"];
        assert_eq!(capabilities["prompts"], json!({}), "{said}");
        assert_eq!(capabilities["resources"], Value::Null, "{said}");
    }
    assert_eq!(upstream.asked("server/discover").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_tells_of_a_subscription_reaches_whoever_subscribed() {
    let stdio = Stdio::new();
    let table = stdio.table() + "revision = \"2026-07-28\"\nmethods = [\"subscriptions/*\"]\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, "").await;
    let modern = gateway.client().modern("subscriptions/listen", None);
    let listen = ask("subscriptions/listen", META);
    let mut events = modern.stream(Method::POST, &listen).await;
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
    ] {
        let told = events.json().await;
        assert_eq!(told["method"], method);
        let whose = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(whose, "q", "under the client's own id: {told}");
    }
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..200 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it never held");
}
