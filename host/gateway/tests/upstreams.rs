//! What hostile and broken upstreams come to: once bytes have left, only an
//! authoritative answer is one, and nothing is ever sent again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, client};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn raw(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Behaviour {
    Behaviour::Raw(status, kind, body.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_authoritative_answer_says_what_became_of_a_call() {
    let result = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no"}}"#;
    let event = |data: &str| format!("data: {data}\n\n");
    let large = {
        let mut text = r#"{"jsonrpc":"2.0","id":ID,"result":{"a":""#.to_owned();
        text.push_str(&"x".repeat(10_485_761));
        text.push_str("\"}}");
        text
    };
    let cases: Vec<(&str, Behaviour, &str)> = vec![
        ("a result", raw(200, JSON, result), "succeeded"),
        (
            "a result as an event",
            raw(200, EVENTS, event(result)),
            "succeeded",
        ),
        (
            "a charset beside the type",
            raw(200, "application/json; charset=utf-8", result),
            "succeeded",
        ),
        (
            "a result with isError",
            raw(
                200,
                JSON,
                result.replace("\"content\"", "\"isError\":true,\"content\""),
            ),
            "tool-error",
        ),
        ("an error", raw(200, JSON, error), "upstream-error"),
        (
            "an error under 400",
            raw(400, JSON, error),
            "upstream-error",
        ),
        (
            "an error under 404",
            raw(404, JSON, error),
            "upstream-error",
        ),
        (
            "an error under 503",
            raw(503, JSON, error),
            "upstream-error",
        ),
        (
            "a result under 500",
            raw(500, JSON, result),
            "outcome-unknown",
        ),
        (
            "a result under 201",
            raw(201, JSON, result),
            "outcome-unknown",
        ),
        ("202", raw(202, "", ""), "outcome-unknown"),
        ("204", raw(204, "", ""), "outcome-unknown"),
        ("a redirect", raw(307, "", ""), "outcome-unknown"),
        (
            "404 after it ran",
            raw(404, "text/plain", "gone"),
            "outcome-unknown",
        ),
        ("429", raw(429, "text/plain", "later"), "outcome-unknown"),
        (
            "another content type",
            raw(200, "text/html", result),
            "outcome-unknown",
        ),
        ("no JSON", raw(200, JSON, "{"), "outcome-unknown"),
        (
            "no UTF-8",
            raw(200, JSON, b"{\"a\":\"\xff\"}".to_vec()),
            "outcome-unknown",
        ),
        (
            "a duplicate member",
            raw(200, JSON, result.replace("[]", "[{\"a\":1,\"a\":2}]")),
            "outcome-unknown",
        ),
        (
            "both result and error",
            raw(
                200,
                JSON,
                error.replace("\"error\"", "\"result\":{},\"error\""),
            ),
            "outcome-unknown",
        ),
        (
            "another id",
            raw(200, JSON, result.replace("ID", "987654")),
            "outcome-unknown",
        ),
        (
            "the id as a text",
            raw(200, JSON, result.replace("ID", "\"ID\"")),
            "outcome-unknown",
        ),
        (
            "a batch",
            raw(200, JSON, format!("[{result}]")),
            "outcome-unknown",
        ),
        (
            "an unknown resultType",
            raw(
                200,
                JSON,
                result.replace("\"content\"", "\"resultType\":\"task\",\"content\""),
            ),
            "outcome-unknown",
        ),
        (
            "a result that is no object",
            raw(200, JSON, result.replace(r#"{"content":[]}"#, "[]")),
            "outcome-unknown",
        ),
        (
            "a stream without an answer",
            raw(200, EVENTS, ": hello\n\n"),
            "outcome-unknown",
        ),
        (
            "a stream that is cut off",
            raw(200, EVENTS, format!("data: {result}\n")),
            "outcome-unknown",
        ),
        (
            "a stream that is no JSON",
            raw(200, EVENTS, event("x")),
            "outcome-unknown",
        ),
        (
            "a stream under 500",
            raw(500, EVENTS, event(result)),
            "outcome-unknown",
        ),
        (
            "a stream that is no JSON first, and then a result",
            raw(200, EVENTS, event("x") + &event(result)),
            "outcome-unknown",
        ),
        (
            "a stream that is no message first, and then a result",
            raw(200, EVENTS, event("[]") + &event(result)),
            "outcome-unknown",
        ),
        (
            "a result of no known form, and then one that has it",
            raw(
                200,
                EVENTS,
                event(&result.replace(r#"{"content":[]}"#, "[]")) + &event(result),
            ),
            "outcome-unknown",
        ),
        (
            "an event of another name that is no JSON, and then a result",
            raw(
                200,
                EVENTS,
                format!("event: ping\ndata: x\n\n{}", event(result)),
            ),
            "succeeded",
        ),
        (
            "an error under another name, and then a result",
            raw(
                200,
                EVENTS,
                format!("event: other\n{}{}", event(error), event(result)),
            ),
            "succeeded",
        ),
        (
            "a result under the name of messages",
            raw(200, EVENTS, format!("event: message\n{}", event(result))),
            "succeeded",
        ),
        (
            "a result under another name",
            raw(200, EVENTS, format!("event: other\n{}", event(result))),
            "outcome-unknown",
        ),
        ("an encoded result", Behaviour::Encoded, "outcome-unknown"),
        (
            "a broken connection",
            Behaviour::BreakOff,
            "outcome-unknown",
        ),
        (
            "one byte more than 10 MiB",
            raw(200, JSON, large),
            "outcome-unknown",
        ),
    ];
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    for (index, (name, behaviour, outcome)) in cases.into_iter().enumerate() {
        upstream.behave(behaviour);
        let session = gateway.client().session().await;
        let (before, id) = (upstream.effects(), format!("e{index}"));
        let first = session.call("pay", "{}", Some(&id)).await;
        let unknown = outcome == "outcome-unknown";
        assert_eq!(
            first.code().as_deref(),
            unknown.then_some("outcome-unknown"),
            "{name}"
        );
        let data = session.call("pay", "{}", Some(&id)).await.data();
        assert_eq!(data["outcome"], outcome, "{name}: {data}");
        assert_eq!(
            upstream.effects(),
            before + 1,
            "{name}: nothing is sent again"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_comes_is_unknown_when_its_time_is_up() {
    let upstream = Upstream::start().await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\ncall_timeout_ms = 300\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
    upstream.behave(Behaviour::Never);
    let session = gateway.client().session().await;
    let answer = session.call("pay", "{}", Some("e1")).await;
    assert_eq!(answer.code().as_deref(), Some("outcome-unknown"));
    assert!(answer.data()["countersign.dev/receipt"]["sequence"].is_number());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_is_not_read_for_ever() {
    let upstream = Upstream::start().await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\ncall_timeout_ms = 5000\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
    upstream.behave(Behaviour::Endless);
    let session = gateway.client().session().await;
    let answer = session.call("pay", "{}", Some("e1")).await;
    assert_eq!(answer.code().as_deref(), Some("outcome-unknown"));
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let terminal = entries.iter().find(|e| e["kind"] == "terminal").unwrap();
    assert_eq!(terminal["refusal"], "upstream-status");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_that_leads_to_no_session_costs_no_identifier() {
    for (why, revision, notes, greeted) in [
        ("as it should be", "2025-06-18", 202, true),
        ("a revision without sessions", "2026-07-28", 202, false),
        ("a revision that nobody knows", "2031-01-01", 202, false),
        (
            "it does not take that it is greeted",
            "2025-11-25",
            400,
            false,
        ),
    ] {
        let upstream = Upstream::start().await;
        upstream.greet_in(revision);
        upstream.take_notes_with(http::StatusCode::from_u16(notes).unwrap());
        let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let answer = session.call("pay", "{}", Some("e1")).await;
        let code = (!greeted).then_some("upstream-unavailable");
        assert_eq!(answer.code().as_deref(), code, "{why}");
        if !greeted {
            assert_eq!(answer.data()["safe_with_new_id"], true, "{why}");
            assert_eq!(answer.data()["state"], Value::Null, "{why}");
        }
        assert_eq!(upstream.effects(), usize::from(greeted), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_costs_no_identifier() {
    let server = "[[server]]\nname = \"up\"\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let gateway = Gateway::start_with(server, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "upstream-unavailable");
    assert_eq!(data["safe_with_new_id"], true);
    assert_eq!(data["state"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_reaches_the_client_with_every_digit_and_no_forged_receipt() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let numbers = r#"{"a":123456789012345678901234567890,"b":1.0,"c":-0,"d":1e400,"e":5E-7}"#;
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"\u00e9"}}],"structuredContent":{numbers},"_meta":{{"k":1.50,"countersign.dev/receipt":{{"forged":true}}}}}}"#
    );
    for behaviour in [
        Behaviour::Result(result.clone()),
        raw(
            200,
            EVENTS,
            format!("data: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\"result\":{result}}}\n\n"),
        ),
    ] {
        upstream.behave(behaviour);
        let text = session.call("pay", "{}", None).await.text();
        assert!(
            text.contains(&format!(r#""structuredContent":{numbers}"#)),
            "{text}"
        );
        assert!(text.contains(r#""text":"\u00e9""#), "{text}");
        assert!(text.contains(r#""k":1.50"#), "{text}");
        assert!(!text.contains("forged"), "{text}");
        assert!(text.contains("countersign.dev/receipt"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_gets_the_canonical_action_and_nothing_of_the_callers_headers() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway
        .client()
        .session()
        .await
        .with("x-secret", "s")
        .with("cookie", "c");
    let arguments = r#"{ "b" : 1.0 , "a":[ -0, 1e400 ] }"#;
    session
        .post(client::call(77, "pay", arguments, Some("e1")))
        .await;
    let (headers, body) = upstream.last_call();
    assert!(
        body.contains(r#""arguments":{"a":[-0,1e400],"b":1.0},"name":"pay""#),
        "{body}"
    );
    assert!(body.contains(r#""countersign.dev/call_id":""#), "{body}");
    assert!(
        !body.contains("execution_id") && !body.contains(r#""id":77"#),
        "{body}"
    );
    assert!(!headers.contains_key("x-secret") && !headers.contains_key("cookie"));
    assert_eq!(headers["mcp-session-id"], "s1");
    assert_eq!(headers["mcp-protocol-version"], "2025-11-25");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_under_the_clients_token_and_a_servers_ping_is_answered() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Progress);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{"progressToken":"mine"}}}"#;
    let answer = session.post(message).await;
    let text = answer.text();
    // The call may be over before its progress is read; then JSON is enough.
    if answer.headers["content-type"] == "text/event-stream" {
        assert!(
            text.contains(r#""progressToken":"mine","progress":1.0,"total":2"#),
            "{text}"
        );
    }
    assert_eq!(answer.code(), None, "{text}");
    upstream.behave(Behaviour::Ping);
    assert_eq!(session.call("pay", "{}", Some("p")).await.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_upstream_session_is_opened_again_for_the_next_call_and_not_for_this_one() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    session.call("pay", "{}", None).await;
    upstream.behave(raw(404, "text/plain", "no such session"));
    assert_eq!(
        session
            .call("pay", "{}", Some("e1"))
            .await
            .code()
            .as_deref(),
        Some("outcome-unknown")
    );
    assert_eq!((upstream.effects(), upstream.initializes()), (2, 1));
    upstream.behave(Behaviour::Result("{}".to_owned()));
    assert_eq!(session.call("pay", "{}", Some("e2")).await.code(), None);
    assert_eq!(upstream.initializes(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_lets_calls_end_and_then_settles_what_still_runs() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "[limits]\ndrain_ms = 200").await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Never);
    let waiting = tokio::spawn(async move { session.call("pay", "{}", Some("e1")).await });
    while upstream.effects() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (ended, _folder) = gateway.stop().await;
    assert_eq!(ended, countersign_gateway::Ended::Settled);
    let answer = waiting.await.unwrap();
    assert_eq!(answer.code().as_deref(), Some("outcome-unknown"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_tools_that_has_no_end_or_is_too_long_is_none() {
    let many: Vec<Value> = (0..10_001)
        .map(|n| json!({"name": format!("t{n}")}))
        .collect();
    for (why, page, asked) in [
        (
            "it leads back",
            r#"{"tools":[],"nextCursor":"1"}"#.to_owned(),
            2,
        ),
        (
            "it goes on",
            r#"{"tools":[],"nextCursor":"COUNT"}"#.to_owned(),
            1_000,
        ),
        ("too many", json!({"tools": many}).to_string(), 1),
    ] {
        let upstream = Upstream::start().await;
        upstream.answer("tools/list", &page);
        let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let answer = session.call("t1", "{}", Some("e1")).await;
        let code = answer.code();
        assert_eq!(code.as_deref(), Some("upstream-unavailable"), "{why}");
        assert_eq!(upstream.asked("tools/list").len(), asked, "{why}");
    }
}
