//! What goes up and what comes back, byte by byte, and which outcome it is.
//!
//! The upstream here answers exactly what a test wrote. The rules are
//! `docs/spec/protocol.md` §1 and `docs/spec/executions.md` §2.

use countersign_tests::{Call, Plan, Reaction, Revision, Server, Upstream};

const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

#[tokio::test]
async fn the_upstream_receives_the_canonical_action_and_nothing_else_of_the_caller() {
    let upstream = Upstream::start(Reaction::Result(RESULT.to_owned())).await;
    let gateway = Plan::new(Server::bytes(&upstream))
        .permit_everything()
        .start()
        .await;
    let client = gateway.client(Revision::November2025).await;
    let call = Call {
        tool: "anything",
        arguments: r#"{ "z":1.0, "a":[1e400, -0, 12345678901234567890123], "\u00e9":"\u0001é" }"#,
        execution_id: Some("one"),
        meta: concat!(
            r#","progressToken":"mine","traceparent":"00-1-2-3","baggage":"secret","#,
            r#""example.com/note":{"b":2,"a":1}"#
        ),
    };
    assert_eq!(client.call(&call).await.verdict(), "ok");
    let calls = upstream.calls();
    assert_eq!(calls.len(), 1);
    let sent = calls[0].text();
    for canonical in [
        r#""name":"anything""#,
        r#""arguments":{"a":[1e400,-0,12345678901234567890123],"z":1.0,"é":"\u0001é"}"#,
        r#""example.com/note":{"a":1,"b":2}"#,
    ] {
        assert!(sent.contains(canonical), "{canonical} is missing in {sent}");
    }
    for foreign in ["execution_id", "mine", "00-1-2-3", "secret", "clientInfo"] {
        assert!(!sent.contains(foreign), "{foreign} was passed on in {sent}");
    }
}

#[tokio::test]
async fn a_result_comes_back_as_it_was_written_with_a_receipt() {
    let blocks = r#"[{"type":"text","text":"a\u00e9b"},{"type":"new-kind","x":[1.0,1e300,-0]}]"#;
    let structure = r#"{"n":12345678901234567890123,"f":1.50,"nested":{"null":null}}"#;
    let result = format!(
        r#"{{"content":{blocks},"structuredContent":{structure},"isError":false,"_meta":{{"example.com/x":1.0,"countersign.dev/receipt":"forged"}},"unknown":{{"k":0.10}}}}"#
    );
    for reaction in [
        Reaction::Result(result.clone()),
        Reaction::Streamed(result.clone()),
    ] {
        let upstream = Upstream::start(reaction).await;
        let gateway = Plan::new(Server::bytes(&upstream))
            .permit_everything()
            .start()
            .await;
        for revision in Revision::ALL {
            let client = gateway.client(revision).await;
            let call = Call::new("anything", "{}").under(revision.text());
            let answer = client.call(&call).await;
            let text = answer.text();
            for kept in [
                blocks,
                structure,
                r#""example.com/x":1.0"#,
                r#""unknown":{"k":0.10}"#,
            ] {
                assert!(text.contains(kept), "{kept} is missing in {text}");
            }
            assert!(!text.contains("forged"), "{text}");
            let receipt = &answer.result()["_meta"]["countersign.dev/receipt"];
            assert_eq!(receipt["execution_id"], revision.text(), "{text}");
        }
    }
}

/// A JSON answer with this status and body.
fn json(status: u16, body: &str) -> Reaction {
    Reaction::Raw(status, "application/json", body.to_owned())
}

#[tokio::test]
async fn every_answer_of_an_upstream_is_one_outcome_and_is_never_asked_for_again() {
    let with_id = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":ID,{rest}}}"#);
    let ok = with_id(&format!(r#""result":{RESULT}"#));
    let upstream = Upstream::start(Reaction::Result(RESULT.to_owned())).await;
    let plan = Plan::new(Server::bytes(&upstream)).permit_everything();
    let gateway = plan.server_also("call_timeout_ms = 1500").start().await;
    let client = gateway.client(Revision::November2025).await;
    for (number, (why, reaction, outcome)) in (0..).zip([
        ("a result", json(200, &ok), "succeeded"),
        (
            "a result that says it is an error",
            json(200, &with_id(r#""result":{"content":[],"isError":true}"#)),
            "tool-error",
        ),
        (
            "a JSON-RPC error",
            json(200, &with_id(r#""error":{"code":-32000,"message":"no"}"#)),
            "upstream-error",
        ),
        (
            "an error with a status to match",
            json(400, &with_id(r#""error":{"code":-32602,"message":"no"}"#)),
            "upstream-error",
        ),
        (
            "a result and an error",
            json(
                200,
                &with_id(r#""result":{},"error":{"code":1,"message":"no"}"#),
            ),
            "outcome-unknown",
        ),
        (
            "another id",
            json(200, r#"{"jsonrpc":"2.0","id":"x","result":{}}"#),
            "outcome-unknown",
        ),
        (
            "a member twice",
            json(200, &with_id(r#""result":{"content":[],"content":[]}"#)),
            "outcome-unknown",
        ),
        (
            "a text after the answer",
            json(200, &format!("{ok} x")),
            "outcome-unknown",
        ),
        (
            "half an answer",
            json(200, ok.get(..30).unwrap()),
            "outcome-unknown",
        ),
        (
            "accepted, and nothing more",
            json(202, ""),
            "outcome-unknown",
        ),
        (
            "a fault without an answer",
            json(500, ""),
            "outcome-unknown",
        ),
        (
            "a page",
            Reaction::Raw(200, "text/html", "<p>ok</p>".to_owned()),
            "outcome-unknown",
        ),
        (
            "a stream that ends early",
            Reaction::Raw(200, "text/event-stream", "event: message\n\n".to_owned()),
            "outcome-unknown",
        ),
        ("a closed connection", Reaction::Hangup, "outcome-unknown"),
        ("no answer in time", Reaction::Silence, "outcome-unknown"),
    ]) {
        upstream.react(reaction);
        let before = upstream.calls().len();
        let id = format!("execution-{number}");
        let call = Call::new("anything", "{}").under(&id);
        let first = client.call(&call).await;
        if outcome == "outcome-unknown" {
            assert_eq!(first.code(), "outcome-unknown", "{why}: {first:?}");
            assert_eq!(first.error()["data"]["safe_with_new_id"], false, "{why}");
        }
        let repeat = client.call(&call).await;
        assert_eq!(repeat.code(), "replay", "{why}: {repeat:?}");
        assert_eq!(repeat.error()["data"]["outcome"], outcome, "{why}");
        assert_eq!(upstream.calls().len() - before, 1, "{why}: asked once");
    }
}

#[tokio::test]
async fn an_upstream_that_is_not_there_was_sent_nothing_and_the_caller_is_told_so() {
    let upstream = Upstream::start(Reaction::Result(RESULT.to_owned())).await;
    let gateway = Plan::new(Server::bytes(&upstream))
        .permit_everything()
        .start()
        .await;
    let client = gateway.client(Revision::November2025).await;
    let known = client
        .call(&Call::new("anything", "{}").under("before"))
        .await;
    assert_eq!(known.verdict(), "ok", "{known:?}");
    drop(upstream);
    let answer = client
        .call(&Call::new("anything", "{}").under("gone"))
        .await;
    // The connection that is still pooled may look open until it is written to.
    let code = answer.code();
    assert!(
        ["upstream-unavailable", "outcome-unknown"].contains(&code.as_str()),
        "{answer:?}"
    );
    let safe = answer.error()["data"]["safe_with_new_id"] == true;
    assert_eq!(safe, code == "upstream-unavailable", "{answer:?}");
}
