//! Rounds of 2026-07-28: an execution that awaits input goes on with the state
//! that was issued, once, and is asked again without being run again.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::operator::{Office, api};
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream};

/// An answer that asks for another round.
const ASKED: &str = r#"{"resultType":"input_required","requestState":"s1","inputRequests":{"q":{"method":"elicitation/create","params":{}}}}"#;

/// A call of 2026-07-28 under `e1`, with more members of `params`.
fn call(more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"pay","arguments":{{}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"countersign.dev/execution_id":"e1"}}{more}}}}}"#
    )
}

async fn start() -> (Upstream, Gateway, Client) {
    start_with("").await
}

async fn start_with(more: &str) -> (Upstream, Gateway, Client) {
    let upstream = Upstream::start().await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nrevision = \"2026-07-28\"\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, more).await;
    let client = gateway.client().modern("tools/call", Some("pay"));
    (upstream, gateway, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_is_asked_answered_once_and_never_run_twice() {
    let (upstream, gateway, client) = start().await;
    upstream.behave(Behaviour::Result(ASKED.to_owned()));
    let first = client.post(call("")).await.json();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert_eq!(first["result"]["requestState"], "s1");
    let again = client.post(call("")).await.json();
    assert_eq!(
        again["result"]["requestState"], "s1",
        "the round is asked again: {again}"
    );
    assert_eq!(upstream.effects(), 1, "and nothing is sent");

    let answers = r#","inputResponses":{"q":{"action":"accept","content":{"n":1.0}}}"#;
    let wrong = client
        .post(call(&format!(r#"{answers},"requestState":"s2""#)))
        .await;
    assert_eq!(wrong.code().as_deref(), Some("continuation-mismatch"));

    upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
    let right = call(&format!(r#"{answers},"requestState":"s1""#));
    let done = client.post(&right).await;
    assert_eq!(done.code(), None, "{}", done.text());
    let (headers, body) = upstream.last_call();
    assert!(
        body.contains(r#""inputResponses":{"q":{"action":"accept","content":{"n":1.0}}}"#),
        "{body}"
    );
    assert!(body.contains(r#""requestState":"s1""#), "{body}");
    assert_eq!(headers["mcp-name"], "pay");
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert!(!headers.contains_key("mcp-session-id"));
    assert_eq!(upstream.initializes(), 0, "no session where there are none");

    assert_eq!(client.post(&right).await.code().as_deref(), Some("replay"));
    assert_eq!(upstream.effects(), 2);

    // Fetched again it has the receipt that was given: of the attempt that
    // claimed the last round.
    let fetch = r#"{"jsonrpc":"2.0","id":9,"method":"countersign.dev/answer","params":{"execution_id":"e1","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let fetcher = gateway.client().modern("countersign.dev/answer", None);
    let fetched = fetcher.post(fetch).await.json();
    let receipt = |answer: &serde_json::Value| {
        let receipt = answer["result"]["_meta"]["countersign.dev/receipt"].clone();
        assert!(receipt.is_object(), "{answer}");
        receipt
    };
    assert_eq!(receipt(&fetched), receipt(&done.json()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_of_nothing_is_refused_and_nothing_is_sent() {
    let (upstream, _gateway, client) = start().await;
    let answer = client.post(call(r#","requestState":"s1""#)).await;
    assert_eq!(answer.code().as_deref(), Some("continuation-mismatch"));
    let without =
        call(r#","requestState":"s1""#).replace(r#","countersign.dev/execution_id":"e1""#, "");
    let answer = client.post(without).await;
    assert_eq!(
        answer.code().as_deref(),
        Some("request-state-unknown"),
        "{}",
        answer.text()
    );
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_parameter_headers_are_checked_and_derived_anew() {
    let (upstream, _gateway, client) = start().await;
    upstream.offer(serde_json::json!([{
        "name": "pay",
        "inputSchema": {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        },
    }]));
    let message = call("").replace(r#""arguments":{}"#, r#""arguments":{"region":"eu"}"#);
    let missing = client.post(&message).await;
    assert_eq!(
        (missing.status.as_u16(), missing.code().as_deref()),
        (400, Some("header-mismatch"))
    );
    assert_eq!(missing.data()["safe_with_new_id"], true);
    let other = client.with("mcp-param-region", "us").post(&message).await;
    assert_eq!(other.code().as_deref(), Some("header-mismatch"));
    let right = client.with("mcp-param-region", "eu").post(&message).await;
    assert_eq!(right.code(), None, "{}", right.text());
    assert_eq!(upstream.last_call().0["mcp-param-region"], "eu");
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_nobody_answers_is_given_up_by_an_operator_and_never_answered_after() {
    let (upstream, gateway, client) = start().await;
    upstream.behave(Behaviour::Result(ASKED.to_owned()));
    client.post(call("")).await;
    let config = Config::read(&gateway.path().join("countersign.toml")).unwrap();
    let asked = move || {
        let office = Office::open(&config.store, &Environment::system()).unwrap();
        let open = office.list(api::List::default()).unwrap().executions;
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].state, "awaiting-input");
        let which = api::Which::Call {
            call_id: open[0].call_id.clone(),
        };
        let abandon = |reason: &str| {
            office.abandon(api::Abandon {
                which: which.clone(),
                reason: reason.into(),
                evidence: None,
            })
        };
        let done = abandon("the caller is gone").unwrap();
        assert_eq!(done.outcome.as_deref(), Some("outcome-unknown"));
        assert!(abandon("again").is_err(), "once");
    };
    tokio::task::spawn_blocking(asked).await.unwrap();
    let answers = r#","inputResponses":{"q":{"action":"accept"}},"requestState":"s1""#;
    let data = client.post(call(answers)).await.data();
    assert_eq!(data["code"], "replay", "{data}");
    assert_eq!(data["outcome"], "outcome-unknown", "{data}");
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let terminal = entries
        .iter()
        .find(|entry| entry["kind"] == "terminal")
        .unwrap();
    assert_eq!(terminal["refusal"], "abandoned");
    assert_eq!(terminal["resolution"]["reason"], "the caller is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_was_never_issued_to_this_agent_is_unknown_and_nothing_is_sent() {
    let (upstream, _gateway, client) = start().await;
    let more = r#","inputResponses":{"q":{"action":"accept"}},"requestState":"theirs""#;
    let without_id = call(more).replace(r#","countersign.dev/execution_id":"e1""#, "");
    let said = client.post(without_id).await;
    assert_eq!(said.code().as_deref(), Some("request-state-unknown"));
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_of_a_round_is_kept_sealed_and_within_the_bounds_of_answers() {
    for (why, more, bytes, kept) in [
        ("a short one", "", 10, true),
        (
            "as long as it may be",
            "[limits]\nanswer_bytes = 4000\n",
            3_000,
            true,
        ),
        (
            "a longer one",
            "[limits]\nanswer_bytes = 4000\n",
            5_000,
            false,
        ),
        (
            "none is kept",
            "[executions]\nretain_answers = 0\n",
            10,
            false,
        ),
    ] {
        let (upstream, gateway, client) = start_with(more).await;
        let secret = format!("hush-hush{}", "x".repeat(bytes));
        let asked = ASKED.replace(
            r#""params":{}"#,
            &format!(r#""params":{{"message":"{secret}"}}"#),
        );
        upstream.behave(Behaviour::Result(asked));
        let first = client.post(call("")).await;
        assert!(first.text().contains(&secret), "{why}: {}", first.text());
        let (_, folder) = gateway.stop().await;
        for name in ["countersign.db", "countersign.db-wal"] {
            let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains("hush-hush"),
                "{why}: `{name}` holds it in clear"
            );
        }
        let gateway = Gateway::start_in(folder).await;
        let client = gateway.client().modern("tools/call", Some("pay"));
        let again = client.post(call("")).await;
        let code = (!kept).then_some("round-replay");
        assert_eq!(again.code().as_deref(), code, "{why}: {}", again.text());
        assert_eq!(again.text().contains(&secret), kept, "{why}");
        // It goes on all the same.
        upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
        let answers = r#","inputResponses":{"q":{"action":"accept"}},"requestState":"s1""#;
        let done = client.post(call(answers)).await;
        assert_eq!(done.code(), None, "{why}: {}", done.text());
        assert_eq!(upstream.effects(), 2, "{why}");
    }
}
