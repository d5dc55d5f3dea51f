//! What a server that is a process of the gateway's own says, and how it ends.
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
use support::relaying::{META, ask};
use support::stdio::Stdio;
use support::{Gateway, PERMIT_ALL, client};

/// A process that ended is started again almost at once.
const SOON: &str = "retry_ms = 10\nlongest_retry_ms = 10\n";

#[tokio::test(flavor = "multi_thread")]
async fn only_an_authoritative_answer_of_a_process_says_what_became_of_a_call() {
    let result = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no"}}"#;
    let line = |text: &str| format!("{text}\n");
    let stdio = Stdio::new();
    let gateway = Gateway::start_with(&(stdio.table() + SOON), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    for (index, (why, text, then, outcome)) in [
        ("a result", line(result), "", "succeeded"),
        (
            "a result with isError",
            line(&result.replace("\"content\"", "\"isError\":true,\"content\"")),
            "",
            "tool-error",
        ),
        ("an error", line(error), "", "upstream-error"),
        (
            "a result after what is no message",
            line("hello\n\n{\"a\":1,\"a\":2}\n[]") + &line(result),
            "",
            "succeeded",
        ),
        (
            "a result of no known form, and then one that has it",
            line(&result.replace(r#"{"content":[]}"#, "[]")) + &line(result),
            "",
            "outcome-unknown",
        ),
        (
            "another id, and then its end",
            line(&result.replace("ID", "987654")),
            "end",
            "outcome-unknown",
        ),
        (
            "the id as a text, and then its end",
            line(&result.replace("ID", "\"ID\"")),
            "end",
            "outcome-unknown",
        ),
        (
            "a line that is cut off",
            result.to_owned(),
            "end",
            "outcome-unknown",
        ),
        (
            "a line of more than 10 MiB, and then a result",
            line("PAD") + &line(result),
            "",
            "outcome-unknown",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = json!({"text": text, "then": then}).to_string();
        let id = format!("e{index}");
        let first = session.call("say", &arguments, Some(&id)).await;
        let unknown = outcome == "outcome-unknown";
        assert_eq!(
            first.code().as_deref(),
            unknown.then_some("outcome-unknown"),
            "{why}"
        );
        let data = session.call("say", &arguments, Some(&id)).await.data();
        assert_eq!(data["outcome"], outcome, "{why}: {data}");
        assert_eq!(stdio.noted("effects").len(), index + 1, "{why}: once");
        // Longer than one that ended is left alone.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_to_a_process_that_reads_no_more_may_have_reached_it_and_another_is_started()
 {
    let stdio = Stdio::new();
    let gateway = Gateway::start_with(&(stdio.table() + SOON), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let text = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n";
    let deaf = json!({"text": text, "then": "deaf"}).to_string();
    assert_eq!(session.call("say", &deaf, None).await.code(), None);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "outcome-unknown", "{data}");
    assert_eq!(data["safe_with_new_id"], false, "{data}");
    // It would have lived on for a minute, its output open.
    let mut tries = 0;
    while session.call("pay", "{}", None).await.code().is_some() {
        tries += 1;
        assert!(tries < 100, "{:?}", stdio.noted("processes"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(stdio.noted("processes").len(), 2);
    assert_eq!(
        stdio.noted("effects"),
        ["say", "pay"],
        "never the first again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_greets_in_a_revision_without_sessions_is_not_spoken_to_and_ended() {
    let stdio = Stdio::new();
    stdio.set("modern");
    let gateway = Gateway::start_with(&(stdio.table() + SOON), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "upstream-unavailable", "{data}");
    assert_eq!(data["safe_with_new_id"], true, "{data}");
    assert!(stdio.noted("effects").is_empty());
    stdio.unset("modern");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_end_with_its_input_is_ended() {
    let stdio = Stdio::new();
    stdio.set("stubborn");
    let gateway = Gateway::start_with(&stdio.table(), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    let process = stdio.noted("processes").pop().unwrap();
    let runs = || std::path::Path::new("/proc").join(&process).exists();
    assert!(runs());
    gateway.stop().await;
    assert!(!runs(), "it would have stayed for a minute");
    assert!(stdio.noted("ends").is_empty(), "it did not end by itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_has_the_environment_that_is_configured_and_nothing_of_the_gateways() {
    let folder = tempfile::tempdir().unwrap();
    let noted = folder.path().join("environment");
    let server = format!(
        "[[server]]\nname = \"up\"\ncommand = [\"/bin/sh\", \"-c\", \"env > {}\"]\n\
         env = {{ CONFIGURED = \"yes\" }}\n",
        noted.display()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    session.call("pay", "{}", None).await;
    let text = std::fs::read_to_string(&noted).unwrap();
    assert!(text.contains("CONFIGURED=yes\n"), "{text}");
    // What tests are run with.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
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

/// Line ends, as one program or another understands them.
const LINE_ENDS: [&str; 3] = ["\n", "\r", "\r\n"];

/// A value with white space around a call that nobody admitted.
fn smuggling(end: &str) -> String {
    format!(
        r#"[{end}{{"jsonrpc":"2.0","id":987654,"method":"tools/call","params":{{"name":"pay","arguments":{{}}}}}}{end}]"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_in_what_passes_make_no_second_message_of_it() {
    let stdio = Stdio::new();
    let table = stdio.table() + "methods = [\"resources/*\"]\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    for end in LINE_ENDS {
        let before = stdio.noted("lines").len();
        let value = smuggling(end);
        let params = format!(r#""uri":"a",{end}"x" :{end}{value}"#);
        let answer = session.post(ask("resources/read", &params)).await;
        assert!(stdio.noted("effects").is_empty(), "{end:?}");
        assert_eq!(answer.json()["result"], json!({"contents": []}), "{end:?}");
        let mut lines = stdio.noted("lines").split_off(before);
        // The end of the greeting may come late.
        lines.retain(|line| !line.contains("\"notifications/initialized\""));
        assert_eq!(lines.len(), 1, "{end:?}: {lines:?}");
        let sent: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&value).unwrap();
        assert_eq!(sent["params"], json!({"uri": "a", "x": value}), "{end:?}");
    }
    assert!(stdio.noted("effects").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_in_a_clients_reply_make_no_second_message_of_it() {
    let stdio = Stdio::new();
    let table = stdio.table() + "client_requests = [\"sampling/createMessage\"]\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, "").await;
    let session = gateway
        .client()
        .session_with("2025-11-25", r#"{"sampling":{}}"#)
        .await;
    for (index, end) in LINE_ENDS.into_iter().enumerate() {
        for (round, kind) in ["result", "error"].into_iter().enumerate() {
            let question = client::call(1, "ask", "{}", None);
            let mut events = session.stream(Method::POST, &question).await;
            let id = events.json().await["id"].clone();
            let value = smuggling(end);
            let said = match kind {
                "result" => format!(r#"{{"x":{value}}}"#),
                _ => format!(r#"{{"code":1,"message":"m","data":{value}}}"#),
            };
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"{kind}":{said}}}"#);
            assert_eq!(session.post(reply).await.status, 202, "{end:?}");
            assert!(events.json().await["result"].is_object(), "{end:?}");
            let replies = stdio.noted("replies");
            assert_eq!(replies.len(), 2 * index + round + 1, "{end:?}: {replies:?}");
            let sent = replies.last().unwrap();
            let sent: serde_json::Value = serde_json::from_str(sent).unwrap();
            let said: serde_json::Value = serde_json::from_str(&said).unwrap();
            assert_eq!(sent[kind], said, "{end:?}");
            assert_eq!(
                stdio.noted("effects").len(),
                2 * index + round + 1,
                "{end:?}"
            );
        }
    }
    assert!(stdio.noted("effects").iter().all(|effect| effect == "ask"));
}
