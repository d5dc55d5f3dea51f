//! A settled answer can be fetched again by its owner, for a while, and by
//! nobody else (`docs/operators/answers.md`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::client::Answer;
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream};

const SECRET: &str = r#"{"content":[{"type":"text","text":"hush-hush"}],"n":1.0,"big":123456789012345678901234567890}"#;

async fn fetch(client: &Client, params: &str) -> Answer {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"countersign.dev/answer","params":{params}}}"#
    );
    client.post(body).await
}

async fn start(more: &str) -> (Upstream, Gateway, Client) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    (upstream, gateway, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_fetched_number_for_number_with_its_receipt_and_after_a_restart() {
    let (upstream, gateway, session) = start("").await;
    upstream.behave(Behaviour::Result(SECRET.to_owned()));
    let first = session.call("pay", "{}", Some("e1")).await;
    let given = first.text().replace(r#""id":1"#, r#""id":9"#);
    assert!(given.contains(r#""n":1.0"#) && given.contains("countersign.dev/receipt"));
    let by_name = fetch(&session, r#"{"execution_id":"e1"}"#).await;
    assert_eq!(by_name.text(), given);
    let receipt = &first.json()["result"]["_meta"]["countersign.dev/receipt"];
    let call = receipt["call_id"].as_str().unwrap().to_owned();
    let by_call = fetch(&session, &format!(r#"{{"call_id":"{call}"}}"#)).await;
    assert_eq!(by_call.text(), given);
    let replay = session.call("pay", "{}", Some("e1")).await.data();
    assert!(replay["answer_until"].is_string(), "{replay}");

    let (_, folder) = gateway.stop().await;
    for name in ["countersign.db", "countersign.db-wal"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hush-hush"), "`{name}` holds it sealed");
    }
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    assert_eq!(
        fetch(&session, r#"{"execution_id":"e1"}"#).await.text(),
        given
    );
    assert_eq!(upstream.effects(), 1, "nothing was sent for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_fetched_as_an_error_and_a_call_without_a_name_by_its_call() {
    let (upstream, _gateway, session) = start("").await;
    upstream.behave(Behaviour::Raw(
        200,
        "application/json",
        br#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no","data":{"k":1.0}}}"#
            .to_vec(),
    ));
    let first = session.call("pay", "{}", None).await;
    let receipt = &first.json()["error"]["data"]["countersign.dev/receipt"];
    let call = receipt["call_id"].as_str().unwrap();
    let again = fetch(&session, &format!(r#"{{"call_id":"{call}"}}"#)).await;
    assert_eq!(again.text(), first.text().replace(r#""id":1"#, r#""id":9"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_not_settled_or_not_asked_rightly_is_told_apart() {
    let (upstream, gateway, session) = start("").await;
    for (params, code) in [
        (r#"{"execution_id":"none"}"#, "execution-unknown"),
        (r#"{"call_id":"none"}"#, "execution-unknown"),
        ("{}", "params"),
        (r#"{"execution_id":"a","call_id":"b"}"#, "params"),
        (r#"{"execution_id":7}"#, "params"),
        (r#"{"execution_id":"a b"}"#, "params"),
    ] {
        let said = fetch(&session, params).await;
        assert_eq!(
            said.code().as_deref(),
            Some(code),
            "{params}: {}",
            said.text()
        );
    }
    upstream.behave(Behaviour::Never);
    let calling = session.clone();
    let call = tokio::spawn(async move { calling.call("pay", "{}", Some("open")).await });
    while upstream.effects() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let open = fetch(&session, r#"{"execution_id":"open"}"#).await.data();
    assert_eq!(
        (&open["code"], &open["state"]),
        (&"in-flight".into(), &"in-flight".into())
    );
    call.abort();
    let (_, folder) = gateway.stop().await;
    let refused = support::entries(folder.path());
    let refused = refused.iter().filter(|entry| entry["kind"] == "refusal");
    assert_eq!(refused.count(), 7, "each refusal is in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_when_its_time_is_up_and_none_is_kept_where_that_is_said() {
    for (more, wait) in [
        ("[executions]\nretain_answers = 1\n", 1_100),
        ("[executions]\nretain_answers = 0\n", 0),
        ("[limits]\nanswer_bytes = 10\n", 0),
        ("[limits]\nanswers = 0\n", 0),
    ] {
        let (upstream, _gateway, session) = start(more).await;
        upstream.behave(Behaviour::Result(SECRET.to_owned()));
        let first = session.call("pay", "{}", Some("e1")).await;
        assert!(
            first.json()["result"].is_object(),
            "{more}: settled all the same"
        );
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let data = fetch(&session, r#"{"execution_id":"e1"}"#).await.data();
        assert_eq!(data["code"], "answer-not-retained", "{more}: {data}");
        assert_eq!(data["outcome"], "succeeded", "{more}: {data}");
        let replay = session.call("pay", "{}", Some("e1")).await.data();
        assert_eq!(replay["answer_until"], Value::Null, "{more}: {replay}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_answer_does_not_exist() {
    let upstream = Upstream::start().await;
    upstream.behave(Behaviour::Result(SECRET.to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = countersign_gateway::identity::TokenFile::default();
    let mut secrets = Vec::new();
    for (byte, name) in [(1, "a"), (2, "b")] {
        let token = countersign_gateway::identity::Token::from_random([byte; 32]);
        tokens.add(name, &token, "now").unwrap();
        secrets.push(format!("Bearer {}", token.reveal()));
    }
    std::fs::write(folder.path().join("tokens.toml"), tokens.to_text()).unwrap();
    std::fs::create_dir(folder.path().join("p")).unwrap();
    std::fs::write(folder.path().join("p/a.cedar"), PERMIT_ALL).unwrap();
    let url = upstream.url();
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"\n\
         [policy]\nfolder = \"p\"\n[[server]]\nname = \"up\"\nurl = \"{url}\"\n\
         [[server]]\nname = \"other\"\nurl = \"{url}\"\n"
    );
    std::fs::write(folder.path().join("countersign.toml"), config).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let client = gateway.client();
    let a = client.with("authorization", &secrets[0]).session().await;
    let b = client.with("authorization", &secrets[1]).session().await;
    let first = a.call("pay", "{}", Some("e1")).await.json();
    let receipt = &first["result"]["_meta"]["countersign.dev/receipt"];
    let by_call = format!(r#"{{"call_id":{}}}"#, receipt["call_id"]);
    for params in [r#"{"execution_id":"e1"}"#, by_call.as_str()] {
        let said = fetch(&b, params).await;
        assert_eq!(
            said.code().as_deref(),
            Some("execution-unknown"),
            "{params}"
        );
        assert!(
            fetch(&a, params).await.json()["result"].is_object(),
            "{params}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_one_server_does_not_exist_at_another() {
    let upstream = Upstream::start().await;
    let table = |name: &str| {
        format!(
            "[[server]]\nname = \"{name}\"\nurl = \"{}\"\n",
            upstream.url()
        )
    };
    let servers = table("up") + &table("other");
    let gateway = Gateway::start_with(&servers, PERMIT_ALL, "").await;
    let client = gateway.client();
    let modern = client.modern("tools/call", Some("pay"));
    let called = support::client::modern_call(1, "pay", "{}", Some("e1"));
    let receipt =
        modern.post(called).await.json()["result"]["_meta"]["countersign.dev/receipt"].clone();
    let call_id = receipt["call_id"].as_str().unwrap();
    for name in [
        r#""execution_id":"e1""#.to_owned(),
        format!(r#""call_id":"{call_id}""#),
    ] {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let asked = format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"countersign.dev/answer","params":{{{name},{meta}}}}}"#
        );
        let asking = client.modern("countersign.dev/answer", None);
        for (server, code) in [("up", None), ("other", Some("execution-unknown"))] {
            let body = bytes::Bytes::from(asked.clone());
            let path = format!("/mcp/{server}");
            let told = asking.send(http::Method::POST, &path, body).await;
            assert_eq!(told.code().as_deref(), code, "{server} {name}");
        }
    }
}
