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
use support::relaying::{ALL, META, ask, start};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, client, until};

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
async fn a_meta_that_is_no_object_is_refused_as_it_is_in_a_call() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let (upstream, gateway) = start(revision, ALL, "").await;
        upstream.answer("resources/read", "{}");
        let session = gateway.client().session().await;
        for meta in ["null", "[]", "\"progressToken\"", "7", "true"] {
            for (method, members) in [
                ("resources/read", r#""uri":"a""#),
                ("tools/call", r#""name":"echo""#),
            ] {
                let sent = ask(method, &format!(r#"{members},"_meta":{meta}"#));
                let length = sent.len();
                let said = session.post(sent).await;
                assert_eq!(said.code().as_deref(), Some("params"), "{method} {meta}");
                let data = said.json()["error"]["data"].clone();
                assert_eq!(data["pointer"], "/params/_meta", "{method} {meta}");
                assert_eq!(data["offset"], length, "{method} {meta}");
            }
        }
        assert!(upstream.asked("resources/read").is_empty(), "{revision}");
    }
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
async fn the_log_level_that_was_set_last_is_part_of_the_client_context() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    let (session, other) = (
        gateway.client().session().await,
        gateway.client().session().await,
    );
    session.call("pay", "{}", Some("e0")).await;
    for (number, (level, answer)) in [
        ("info", "{}"),
        ("debug", "{}"),
        ("error", r#"{"code":-32602,"message":"no"}"#),
    ]
    .into_iter()
    .enumerate()
    {
        upstream.answer("logging/setLevel", answer);
        let set = ask("logging/setLevel", &format!(r#""level":"{level}""#));
        session.post(set).await;
        let id = format!("e{}", number + 1);
        session.call("pay", "{}", Some(&id)).await;
    }
    other.call("pay", "{}", Some("e4")).await;
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let level = |id: &str| {
        let admitted = entries
            .iter()
            .find(|entry| entry["kind"] == "admission" && entry["execution_id"] == id);
        let text = admitted.unwrap()["client"].as_str().unwrap();
        let context: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            context["io.modelcontextprotocol/protocolVersion"],
            "2025-11-25"
        );
        context["io.modelcontextprotocol/logLevel"]
            .as_str()
            .map(str::to_owned)
    };
    for (id, expected) in [
        ("e0", None),
        ("e1", Some("info")),
        ("e2", Some("debug")),
        ("e3", Some("debug")),
        ("e4", None),
    ] {
        assert_eq!(level(id).as_deref(), expected, "{id}");
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
            until("the server was told", || upstream.told(method).len() == 1).await;
        } else {
            // What is sent after it has come long since.
            session.call("pay", "{}", None).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert!(upstream.told(method).is_empty());
        }
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
async fn a_server_is_asked_for_no_events_that_its_client_does_not_take() {
    let (upstream, gateway) = start("2025-11-25", ALL, "").await;
    upstream.answer("resources/read", "{}");
    upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
    let session = gateway.client().session().await;
    let plain = session.without("accept").with("accept", "application/json");
    for (client, token) in [(&session, true), (&plain, false)] {
        let meta = r#""_meta":{"progressToken":"mine"}"#;
        let read = ask("resources/read", &format!(r#""uri":"a",{meta}"#));
        assert_eq!(client.post(read).await.status, 200);
        let (_, sent) = upstream.asked("resources/read").pop().unwrap();
        assert_eq!(sent.contains("progressToken"), token, "{sent}");
        let call = ask("tools/call", &format!(r#""name":"pay",{meta}"#));
        assert_eq!(client.post(call).await.code(), None);
        let (_, sent) = upstream.last_call();
        assert_eq!(sent.contains("progressToken"), token, "{sent}");
    }
}
