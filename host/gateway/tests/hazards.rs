//! Hazards of the protocol and of upstreams that no other file shows; the whole
//! list is in `docs/hazards.md`.
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
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, client, until};

async fn start() -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    (upstream, gateway)
}

/// What is recorded of `e1` once it is settled.
async fn outcome(client: &Client, message: &str) -> Value {
    // The call itself may still be open under its own id.
    let message = &message.replace("\"id\":1,", "\"id\":2,");
    for _ in 0..200 {
        let answer = client.post(message).await;
        if answer.code().as_deref() != Some("in-flight") {
            return answer.data()["outcome"].clone();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it never settled");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_answers_the_first_counts_and_the_second_reaches_nobody() {
    let (upstream, gateway) = start().await;
    let answer =
        |n: u8| format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":[],"n":{n}}}}}"#);
    upstream.behave(Behaviour::Say(vec![answer(1), answer(2)]));
    let session = gateway.client().session().await;
    let first = session.call("pay", "{}", Some("e1")).await;
    assert_eq!(first.json()["result"]["n"], 1);
    assert!(!first.text().contains("\"n\":2"), "{}", first.text());
    let next = session.call("pay", "{}", Some("e2")).await;
    assert_eq!(
        next.json()["result"]["n"],
        1,
        "nor does the next call get it"
    );
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(again["outcome"], "succeeded");
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_line_of_two_mebibytes_and_an_answer_of_ten_are_whole_and_one_byte_more_is_not_known()
 {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    let whole = |bytes: usize| {
        let frame = r#"{"jsonrpc":"2.0","id":2,"result":{"a":""}}"#.len();
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"result":{{"a":"{}"}}}}"#,
            "x".repeat(bytes - frame)
        )
    };
    // The ids upstream have one digit: the greeting has the first.
    let event =
        |text: String| Behaviour::Raw(200, "text/event-stream", format!("data: {text}\n\n").into());
    let json = |text: String| Behaviour::Raw(200, "application/json", text.into());
    for (number, (behaviour, arrives)) in [
        (event(whole(2 << 20)), Some(2 << 20)),
        (event(whole(10_485_760)), Some(10_485_760)),
        (json(whole(10_485_760)), Some(10_485_760)),
        (json(whole(10_485_761)), None),
        (event(whole(10_485_761)), None),
    ]
    .into_iter()
    .enumerate()
    {
        upstream.behave(behaviour);
        let answer = session.call("pay", "{}", Some(&format!("e{number}"))).await;
        match arrives {
            Some(bytes) => {
                let text = answer.json()["result"]["a"].as_str().unwrap().len();
                assert!(bytes - text < 64, "{number}: {text}");
            }
            None => assert_eq!(
                answer.code().as_deref(),
                Some("outcome-unknown"),
                "{number}"
            ),
        }
    }
    assert_eq!(upstream.effects(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_priming_event_without_data_is_no_answer_and_disturbs_none() {
    let (upstream, gateway) = start().await;
    let answer = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let primed = format!("id: 1\nretry: 100\ndata:\n\ndata: \n\n: hello\n\ndata: {answer}\n\n");
    upstream.behave(Behaviour::Raw(200, "text/event-stream", primed.into()));
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", "{}", None).await.code(), None);
    upstream.behave(Behaviour::Raw(
        200,
        "text/event-stream",
        "id: 1\ndata:\n\n".into(),
    ));
    let alone = session.call("pay", "{}", None).await;
    assert_eq!(alone.code().as_deref(), Some("outcome-unknown"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_cancels_only_where_its_revision_says_so_and_the_tool_allows() {
    let read_only = json!({"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    let writing = json!({"name": "pay", "inputSchema": {"type": "object"}});
    for (revision, tool, more, expected) in [
        ("2025-03-26", "look", "", "succeeded"),
        ("2025-06-18", "look", "", "succeeded"),
        ("2025-11-25", "look", "", "succeeded"),
        ("2026-07-28", "look", "", "outcome-unknown"),
        ("2026-07-28", "pay", "", "succeeded"),
        (
            "2026-07-28",
            "pay",
            "on_disconnect = { pay = \"forward\" }\n",
            "outcome-unknown",
        ),
        (
            "2026-07-28",
            "look",
            "on_disconnect = { look = \"finish\" }\n",
            "succeeded",
        ),
    ] {
        let case = format!("{revision} {tool} {more}");
        let upstream = Upstream::start().await;
        upstream.offer(json!([read_only, writing]));
        let server = format!(
            "[[server]]\nname = \"up\"\nurl = \"{}\"\nrevision = \"2026-07-28\"\n{more}",
            upstream.url()
        );
        let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
        let (client, message) = if revision == "2026-07-28" {
            let client = gateway.client().modern("tools/call", Some(tool));
            (client, client::modern_call(1, tool, "{}", Some("e1")))
        } else {
            let client = gateway.client().session_of(revision).await;
            (client, client::call(1, tool, "{}", Some("e1")))
        };
        upstream.behave(Behaviour::Slow(Duration::from_secs(2)));
        let leaving = client.stream(Method::POST, &message).await;
        until("the call arrived", || upstream.effects() == 1).await;
        drop(leaving);
        assert_eq!(outcome(&client, &message).await, expected, "{case}");
        assert_eq!(upstream.effects(), 1, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_before_and_after_a_call_means_nothing_to_it() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(session.post(cancel).await.status, 202);
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    assert_eq!(session.post(cancel).await.status, 202);
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(again["outcome"], "succeeded");
    assert_eq!(upstream.told("notifications/cancelled").len(), 0);
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_differ_by_a_letter_a_case_or_an_underscore_are_different_tools() {
    let upstream = Upstream::start().await;
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    upstream.offer(json!([
        tool("send_email"),
        tool("send__email"),
        tool("Send_Email")
    ]));
    let only = "permit (principal, action == Action::\"up/send_email\", resource);\n";
    let gateway = Gateway::start(&upstream, only, "").await;
    let session = gateway.client().session().await;
    for (name, code) in [
        ("send_email", None),
        ("send__email", Some("policy-denied")),
        ("Send_Email", Some("policy-denied")),
        ("sendemail", Some("unknown-tool")),
        ("SEND_EMAIL", Some("unknown-tool")),
    ] {
        assert_eq!(
            session.call(name, "{}", None).await.code().as_deref(),
            code,
            "{name}"
        );
    }
    assert_eq!(upstream.effects(), 1);
    let (headers, sent) = upstream.last_call();
    assert!(
        sent.contains(r#""name":"send_email""#),
        "{sent} {headers:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_repointed_under_the_same_name_is_another_target() {
    let (first, gateway) = start().await;
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    let (_, folder) = gateway.stop().await;
    let second = Upstream::start().await;
    let path = folder.path().join("countersign.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&first.url(), &second.url())).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    let again = session.call("pay", "{}", Some("e1")).await;
    assert_eq!(again.code().as_deref(), Some("collision"));
    assert_eq!(again.data()["difference"], json!(["target"]));
    assert_eq!((first.effects(), second.effects()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_id_resumes_nothing_whoever_presents_it() {
    let (upstream, gateway) = start().await;
    upstream.behave(Behaviour::Progress);
    let mine = gateway.client().session().await;
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{"progressToken":"t"}}}"#;
    let answer = mine.post(message).await;
    assert!(!answer.text().contains("id: "), "no event has an id");
    for client in [mine, gateway.client().session().await] {
        let mut stream = client
            .with("last-event-id", "0")
            .stream(Method::GET, "")
            .await;
        let waiting = tokio::time::timeout(Duration::from_millis(300), stream.next());
        assert!(waiting.await.is_err(), "nothing is sent again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_cancel_cancels_whatever_else_names_a_request() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Slow(Duration::from_secs(1)));
    let calling = tokio::spawn({
        let session = session.clone();
        async move { session.call("pay", "{}", Some("e1")).await.code() }
    });
    until("the call arrived", || upstream.effects() == 1).await;
    let other = r#"{"jsonrpc":"2.0","method":"notifications/other","params":{"requestId":1}}"#;
    assert_eq!(session.post(other).await.status, 202);
    assert_eq!(calling.await.unwrap(), None);
    assert!(upstream.told("notifications/cancelled").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_a_session_that_has_ended_is_refused_and_its_call_settles() {
    for (method, capability) in [
        ("sampling/createMessage", "sampling"),
        ("elicitation/create", "elicitation"),
        ("roots/list", "roots"),
    ] {
        let permit = format!("client_requests = [\"{method}\"]");
        let (upstream, gateway) = support::relaying::start("2025-11-25", "[]", &permit).await;
        let request = format!(r#"{{"jsonrpc":"2.0","id":"up-1","method":"{method}"}}"#);
        upstream.behave(Behaviour::Ask(request));
        upstream.hang("tools/call");
        let client = gateway.client();
        let capabilities = format!(r#"{{"{capability}":{{}}}}"#);
        let session = client.session_with("2025-11-25", &capabilities).await;
        let message = client::call(1, "pay", "{}", Some("e1"));
        let mut events = session.stream(Method::POST, &message).await;
        let arrived = || upstream.asked("tools/call").len() == 1;
        until("the call arrived", arrived).await;
        let ended = session.send(Method::DELETE, "/mcp/up", bytes::Bytes::new());
        assert_eq!(ended.await.status, 204, "{method}");
        upstream.hang_no_more();
        let answer = events.json().await;
        assert!(answer["result"].is_object(), "{method}: {answer}");
        let replies = upstream.replies();
        assert!(replies[0].contains("-32601"), "{method}: {replies:?}");
        let other = client.session().await;
        let again = other.call("pay", "{}", Some("e1")).await.data();
        assert_eq!(again["outcome"], "succeeded", "{method}: {again}");
    }
}
