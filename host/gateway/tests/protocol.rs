//! The front: revisions, headers, sessions, methods, and what is refused before
//! anything is read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use bytes::Bytes;
use http::Method;
use support::{Client, Gateway, PERMIT_ALL, Upstream, client};

async fn start() -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    (upstream, gateway)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn each_revision_with_sessions_calls_a_tool() {
    let (upstream, gateway) = start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = gateway.client().session_of(revision).await;
        assert_eq!(
            session.post(PING).await.json()["result"],
            serde_json::json!({})
        );
        let said = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(session.post(said).await.status, 202);
        let list = session
            .post(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
            .await
            .json();
        assert_eq!(
            list["result"]["tools"].as_array().unwrap().len(),
            3,
            "{list}"
        );
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
    }
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_revision_without_sessions_calls_a_tool_and_is_told_that_it_is_complete() {
    let (upstream, gateway) = start().await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let ask = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{meta}}}}}"#)
    };
    let client = gateway.client();
    let found = client
        .modern("server/discover", None)
        .post(ask("server/discover"))
        .await
        .json();
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .len()
            == 4,
        "{found}"
    );
    let list = client
        .modern("tools/list", None)
        .post(ask("tools/list"))
        .await
        .json();
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!(list["result"]["cacheScope"], "private");
    let call = client.modern("tools/call", Some("pay"));
    let first = call
        .post(client::modern_call(1, "pay", "{}", Some("e1")))
        .await
        .json();
    assert_eq!(first["result"]["resultType"], "complete", "{first}");
    let again = call
        .post(client::modern_call(1, "pay", "{}", Some("e1")))
        .await;
    assert_eq!(again.code().as_deref(), Some("replay"));
    let ping = client.modern("ping", None).post(ask("ping")).await;
    assert_eq!(
        (ping.status.as_u16(), &ping.json()["error"]["code"]),
        (404, &(-32601).into())
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_tell_another_story_than_the_message_are_refused() {
    let (upstream, gateway) = start().await;
    let plain = gateway.client();
    let session = plain.session().await;
    let legacy = client::call(1, "pay", "{}", None);
    let modern = client::modern_call(1, "pay", "{}", None);
    let right = || plain.modern("tools/call", Some("pay"));
    let version = |client: &Client, version: &str| {
        client
            .without("mcp-protocol-version")
            .with("mcp-protocol-version", version)
    };
    let cases: Vec<(&str, Client, &str, u16, i32)> = vec![
        (
            "another tool in Mcp-Name",
            plain.modern("tools/call", Some("Pay")),
            &modern,
            400,
            -32020,
        ),
        (
            "no Mcp-Name",
            plain.modern("tools/call", None),
            &modern,
            400,
            -32020,
        ),
        (
            "another Mcp-Method",
            plain.modern("tools/list", Some("pay")),
            &modern,
            400,
            -32020,
        ),
        (
            "Mcp-Method twice",
            right().with("mcp-method", "tools/call"),
            &modern,
            400,
            -32020,
        ),
        (
            "a version of another day",
            version(&right(), "2031-01-01"),
            &modern,
            400,
            -32022,
        ),
        (
            "modern headers, legacy message",
            right(),
            &legacy,
            400,
            -32602,
        ),
        (
            "legacy version, modern message",
            version(&right(), "2025-11-25"),
            &modern,
            400,
            -32020,
        ),
        (
            "no version, modern message",
            plain.clone(),
            &modern,
            400,
            -32020,
        ),
        (
            "legacy with Mcp-Method",
            session.with("mcp-method", "tools/call"),
            &legacy,
            400,
            -32020,
        ),
        (
            "a version that is not the session's",
            version(&session, "2025-06-18"),
            &legacy,
            400,
            -32020,
        ),
        (
            "no version in a session",
            session.without("mcp-protocol-version"),
            &legacy,
            400,
            -32020,
        ),
        (
            "the version twice",
            session.with("mcp-protocol-version", "2025-11-25"),
            &legacy,
            400,
            -32020,
        ),
        (
            "a header that the tool does not declare",
            right().with("mcp-param-x", "1"),
            &modern,
            400,
            -32020,
        ),
    ];
    for (name, client, body, status, number) in cases {
        let answer = client.post(body).await;
        let got = (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_i64(),
        );
        assert_eq!(
            got,
            (status, Some(number.into())),
            "{name}: {}",
            answer.text()
        );
        assert_eq!(answer.json()["id"], 1, "{name}");
    }
    assert_eq!(upstream.effects(), 0);
    let encoded = plain.modern("tools/call", Some("=?base64?cGF5?="));
    assert_eq!(
        encoded.post(modern).await.code(),
        None,
        "the base64 form of the name"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_and_is_unknown_from_then_on() {
    let (_upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    assert_eq!(
        gateway.client().post(PING).await.code().as_deref(),
        Some("session-required")
    );
    let ended = session.send(Method::DELETE, "/mcp/up", Bytes::new()).await;
    assert_eq!(ended.status, 204);
    let answer = session.post(PING).await;
    assert_eq!(
        (answer.status.as_u16(), answer.code().as_deref()),
        (404, Some("unknown-session"))
    );
    let again = session.send(Method::DELETE, "/mcp/up", Bytes::new()).await;
    assert_eq!(again.status, 404);
    let stream = session.send(Method::GET, "/mcp/up", Bytes::new()).await;
    assert_eq!(
        (stream.status.as_u16(), stream.code().as_deref()),
        (404, Some("unknown-session"))
    );
    let modern = gateway.client().with("mcp-protocol-version", "2026-07-28");
    for method in [Method::GET, Method::DELETE] {
        let answer = modern.send(method, "/mcp/up", Bytes::new()).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["allow"]),
            (405, &"POST".parse().unwrap())
        );
    }
    let put = session.send(Method::PUT, "/mcp/up", Bytes::new()).await;
    assert_eq!(
        (put.status.as_u16(), &put.headers["allow"]),
        (405, &"GET, POST, DELETE".parse().unwrap())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_supported_is_said_to_be_so() {
    let (_upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    for method in [
        "resources/list",
        "prompts/get",
        "logging/setLevel",
        "server/discover",
        "x",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{method}","params":{{}}}}"#);
        let answer = session.post(body).await;
        assert_eq!(answer.status, 200, "{method}");
        assert_eq!(answer.json()["error"]["code"], -32601, "{method}");
    }
    let reply = session
        .post(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#)
        .await;
    assert_eq!(reply.code().as_deref(), Some("unsolicited-reply"));
    let task = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pay","requestState":"s"}}"#;
    assert_eq!(session.post(task).await.code().as_deref(), Some("params"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_refused_with_its_code_and_is_in_the_log() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    let deep = "[".repeat(100_000);
    let large = format!("\"{}\"", "x".repeat(10_485_760));
    for (name, body, status, code) in [
        ("no JSON", "{".to_owned(), 400, "syntax"),
        ("a batch", format!("[{PING}]"), 400, "envelope"),
        (
            "a duplicate",
            PING.replace("\"id\":1", "\"id\":1,\"id\":2"),
            400,
            "duplicate-member",
        ),
        (
            "a lone surrogate",
            PING.replace("ping", "\\ud800"),
            400,
            "surrogate",
        ),
        ("deep", deep, 400, "limit"),
        ("large", large, 413, "limit"),
        ("params", client::call(1, "pay", "[]", None), 200, "params"),
        (
            "a case variant",
            client::call(1, "pay", "{}", None).replace("\"name\"", "\"Name\""),
            200,
            "params",
        ),
    ] {
        let answer = session.post(body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_deref()),
            (status, Some(code)),
            "{name}"
        );
        assert!(
            answer.data()["log_position"]["sequence"].is_number(),
            "{name}"
        );
    }
    let text = session
        .without("content-type")
        .with("content-type", "text/plain")
        .post(PING)
        .await;
    assert_eq!(
        (text.status.as_u16(), text.code().as_deref()),
        (415, Some("unsupported-media-type"))
    );
    let zipped = session.with("content-encoding", "gzip").post(PING).await;
    assert_eq!(zipped.status, 415);
    let html = session
        .without("accept")
        .with("accept", "text/html")
        .post(PING)
        .await;
    assert_eq!(html.status, 406);
    let elsewhere = session
        .send(Method::POST, "/mcp/other", Bytes::from(PING))
        .await;
    assert_eq!(
        (elsewhere.status.as_u16(), elsewhere.code().as_deref()),
        (404, Some("unknown-server"))
    );
    let evil = session.with("host", "evil.example").post(PING).await;
    assert_eq!(
        (evil.status.as_u16(), evil.code().as_deref()),
        (403, Some("host-not-allowed"))
    );
    let evil = session
        .with("origin", "http://evil.example")
        .post(PING)
        .await;
    assert_eq!(
        (evil.status.as_u16(), evil.code().as_deref()),
        (403, Some("origin-not-allowed"))
    );
    assert_eq!(upstream.effects(), 0);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let refusals = entries
        .iter()
        .filter(|entry| entry["kind"] == "refusal")
        .count();
    assert_eq!(
        refusals, 12,
        "each authenticated attempt that got as far as a server or a path"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_id_is_in_flight_once_in_a_session_and_two_sessions_do_not_meet() {
    let (upstream, gateway) = start().await;
    upstream.behave(support::upstream::Behaviour::Slow(
        std::time::Duration::from_millis(300),
    ));
    let (a, b) = (
        gateway.client().session().await,
        gateway.client().session().await,
    );
    let (first, second, other) = tokio::join!(
        a.post(client::call(1, "pay", "{}", Some("x"))),
        async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            a.post(client::call(1, "look", "{}", Some("y"))).await
        },
        b.post(client::call(1, "look", "{}", Some("z"))),
    );
    assert_eq!(first.code(), None);
    assert_eq!(second.code().as_deref(), Some("duplicate-id"));
    assert_eq!(other.code(), None);
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_tools_that_nobody_was_pointed_to_is_refused() {
    let (_upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    for (params, code) in [("{}", None), (r#"{"cursor":"2"}"#, Some("params"))] {
        let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        let answer = session.post(list).await;
        assert_eq!(answer.code().as_deref(), code, "{params}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_says_too_much_of_itself_gets_no_session() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let initialize = |length: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"experimental":{{"x":"{}"}}}},"clientInfo":{{"name":"test","version":"1"}}}}}}"#,
            "x".repeat(length)
        )
    };
    for (length, opens) in [(8_192, true), (16_384, false), (1 << 20, false)] {
        let answer = gateway.client().post(initialize(length)).await;
        let code = answer.code();
        assert_eq!(code.as_deref(), (!opens).then_some("params"), "{length}");
        let session = answer.headers.get("mcp-session-id");
        assert_eq!(session.is_some(), opens, "{length}");
    }
}
