//! A server that cannot be reached is left alone, and costs nobody an
//! identifier; one that can be is never, whatever it answers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use http::Method;
use serde_json::Value;
use support::door::Door;
use support::stdio::Stdio;
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, until};

const WATCHED: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

/// A little longer than a server is left alone the first time.
const PAUSE: Duration = Duration::from_millis(1_550);

/// What the gateway says of its one server.
async fn condition(gateway: &Gateway) -> String {
    let watched = Client::new(gateway.telemetry.unwrap());
    let get = |path| watched.send(Method::GET, path, bytes::Bytes::new());
    let said = get("/upstreams").await.text();
    let condition = said.trim().strip_prefix("up ").unwrap().to_owned();
    let metrics = get("/metrics").await.text();
    let label = format!("{{server=\"up\",condition=\"{condition}\"}} 1");
    assert!(metrics.contains(&label), "{label} is not in {metrics}");
    assert_eq!(
        get("/readyz").await.text(),
        "ready\n",
        "it is ready all the same"
    );
    condition
}

fn assert_left_alone(data: &Value) {
    assert_eq!(data["code"], "upstream-unavailable", "{data}");
    assert_eq!(data["safe_with_new_id"], true, "{data}");
    assert_eq!(data["state"], Value::Null, "nothing is reserved: {data}");
    let wait = data["retry_after_ms"].as_u64().unwrap();
    assert!((1..=1_500).contains(&wait), "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_left_alone_then_tried_by_one_and_taken_back() {
    let upstream = Upstream::start().await;
    let mut door = Door::before(upstream.address()).await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nunavailable_after = 3\nretry_ms = 1500\n\
         longest_retry_ms = 1500\n",
        door.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", "{}", Some("e0")).await.code(), None);
    assert_eq!(condition(&gateway).await, "closed");
    door.shut().await;
    tokio::time::sleep(Duration::from_millis(50)).await;

    // The first one finds out with its reservation in hand; from then on it is
    // looked first.
    let first = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(first["outcome"], "not-attempted", "{first}");
    for id in ["e2", "e2"] {
        let data = session.call("pay", "{}", Some(id)).await.data();
        assert_eq!(data["code"], "upstream-unavailable", "{data}");
        assert_eq!(data["state"], Value::Null, "{data}");
        assert_eq!(data["retry_after_ms"], Value::Null, "it was tried: {data}");
    }
    assert_eq!(condition(&gateway).await, "open");
    door.open().await;
    let answer = session.call("pay", "{}", Some("e2")).await;
    assert_left_alone(&answer.data());
    assert_eq!(answer.status, 200);
    let hint: u64 = answer.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=2).contains(&hint), "{hint}");

    tokio::time::sleep(PAUSE).await;
    assert_eq!(condition(&gateway).await, "half-open");
    assert_eq!(session.call("pay", "{}", Some("e2")).await.code(), None);
    assert_eq!(condition(&gateway).await, "closed");
    assert_eq!(upstream.effects(), 2);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let of = |kind: &str, id: &str| {
        let found = entries.iter();
        found
            .filter(|entry| entry["kind"] == kind && entry["execution_id"] == id)
            .count()
    };
    assert_eq!((of("refusal", "e2"), of("admission", "e2")), (3, 1));
    assert_eq!(of("terminal", "e2"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_fails_leaves_it_alone_for_longer() {
    let upstream = Upstream::start().await;
    let mut door = Door::before(upstream.address()).await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nunavailable_after = 1\nretry_ms = 1500\n\
         longest_retry_ms = 2500\n",
        door.url()
    );
    door.shut().await;
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let wait = async || {
        let data = session.call("pay", "{}", Some("e1")).await.data();
        data["retry_after_ms"].as_u64()
    };
    assert_eq!(wait().await, None);
    assert!(wait().await.unwrap() <= 1_500);
    tokio::time::sleep(PAUSE).await;
    assert_eq!(wait().await, None, "the probe");
    let longer = wait().await.unwrap();
    assert!((1_501..=2_500).contains(&longer), "{longer}");
    tokio::time::sleep(Duration::from_millis(2_550)).await;
    door.open().await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    assert_eq!(condition(&gateway).await, "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_probes_all_others_are_refused_and_nothing_of_theirs_is_reserved() {
    let upstream = Upstream::start().await;
    let mut door = Door::before(upstream.address()).await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nunavailable_after = 1\nretry_ms = 1500\n",
        door.url()
    );
    door.shut().await;
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    session.call("pay", "{}", Some("before")).await;
    assert_eq!(condition(&gateway).await, "open");
    door.open().await;
    upstream.greet_after(Duration::from_millis(1_000));
    tokio::time::sleep(PAUSE).await;
    let calls: Vec<_> = (0..12)
        .map(|number| {
            let session = session.clone();
            tokio::spawn(async move {
                let message =
                    support::client::call(number, "pay", "{}", Some(&format!("e{number}")));
                let answer = session.post(message).await.json();
                answer["error"]["data"].clone()
            })
        })
        .collect();
    let mut through = 0;
    for call in calls {
        let data = call.await.unwrap();
        if data == Value::Null {
            through += 1;
        } else {
            assert_left_alone(&data);
        }
    }
    assert_eq!(
        (through, upstream.effects(), upstream.initializes()),
        (1, 1, 1)
    );
    assert_eq!(condition(&gateway).await, "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_answers_and_that_it_does_not_never_count() {
    let upstream = Upstream::start().await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nunavailable_after = 1\ncall_timeout_ms = 200\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let raw =
        |status, body: &str| Behaviour::Raw(status, "application/json", body.as_bytes().to_vec());
    let failing = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}"#;
    for behaviour in [
        Behaviour::Result(r#"{"isError":true,"content":[]}"#.to_owned()),
        raw(200, failing),
        raw(503, failing),
        raw(500, ""),
        raw(429, ""),
        Behaviour::BreakOff,
        Behaviour::Never,
    ] {
        upstream.behave(behaviour.clone());
        for _ in 0..3 {
            let before = upstream.effects();
            session.call("pay", "{}", None).await;
            assert_eq!(upstream.effects(), before + 1, "{behaviour:?}");
        }
        assert_eq!(condition(&gateway).await, "closed", "{behaviour:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_keeps_dying_is_started_again_after_longer_and_longer() {
    let stdio = Stdio::new();
    let table = stdio.table() + "retry_ms = 1500\nunavailable_after = 1\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let die = async |id| session.call("die", "{}", Some(id)).await.code();
    let unknown = Some("outcome-unknown".to_owned());
    assert_eq!(die("d1").await, unknown);
    // At once the first time.
    assert_eq!(die("d2").await, unknown);
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_left_alone(&data);
    assert_eq!(stdio.noted("starts").len(), 2);
    // It was started and greeted each time: the server itself is not away.
    assert_eq!(condition(&gateway).await, "closed");
    tokio::time::sleep(PAUSE).await;
    assert_eq!(die("d3").await, unknown);
    let data = session.call("pay", "{}", Some("e1")).await.data();
    let wait = data["retry_after_ms"].as_u64().unwrap();
    assert!((1_501..=3_000).contains(&wait), "{data}");
    tokio::time::sleep(2 * PAUSE).await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    assert_eq!(stdio.noted("starts").len(), 4);
    assert_eq!(stdio.noted("effects"), ["die", "die", "die", "pay"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_come_up_is_not_started_for_every_call() {
    let stdio = Stdio::new();
    stdio.set("broken");
    let table = stdio.table() + "retry_ms = 1500\nunavailable_after = 2\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    for _ in 0..5 {
        let data = session.call("pay", "{}", Some("e1")).await.data();
        assert_eq!(data["code"], "upstream-unavailable", "{data}");
    }
    assert_eq!(stdio.noted("starts").len(), 2);
    assert_eq!(condition(&gateway).await, "open");
    stdio.unset("broken");
    tokio::time::sleep(PAUSE).await;
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
    assert_eq!(condition(&gateway).await, "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_never_greeted_does_not_live_on() {
    let stdio = Stdio::new();
    stdio.set("mute");
    let table = stdio.table() + "connect_timeout_ms = 3000\n";
    let gateway = Gateway::start_with(&table, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "upstream-unavailable", "{data}");
    until("it ended", || stdio.noted("ends").len() == 1).await;
    stdio.unset("mute");
    assert_eq!(session.call("pay", "{}", Some("e1")).await.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_that_takes_too_long_counts_once_however_many_wait_for_it() {
    let upstream = Upstream::start().await;
    upstream.greet_after(Duration::from_secs(60));
    let stdio = Stdio::new();
    stdio.set("mute");
    let http = format!("[[server]]\nname = \"up\"\nurl = \"{}\"\n", upstream.url());
    for (kind, table) in [("http", http), ("stdio", stdio.table())] {
        let more = "connect_timeout_ms = 700\nunavailable_after = 2\nretry_ms = 60000\n";
        let gateway = Gateway::start_with(&(table + more), PERMIT_ALL, WATCHED).await;
        let session = gateway.client().session().await;
        for condition_then in ["closed", "open"] {
            let calls: Vec<_> = (0..12)
                .map(|number| {
                    let session = session.clone();
                    tokio::spawn(async move {
                        let message = support::client::call(number, "pay", "{}", None);
                        session.post(message).await.code()
                    })
                })
                .collect();
            for call in calls {
                let code = call.await.unwrap();
                assert_eq!(code.as_deref(), Some("upstream-unavailable"), "{kind}");
            }
            assert_eq!(condition(&gateway).await, condition_then, "{kind}");
        }
        gateway.stop().await;
    }
    assert_eq!(
        (upstream.initializes(), stdio.noted("starts").len()),
        (2, 2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_asked_of_a_server_that_is_left_alone_is_told_so_and_when_to_ask_again() {
    let upstream = Upstream::start().await;
    let mut door = Door::before(upstream.address()).await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nunavailable_after = 1\nretry_ms = 60000\n\
         longest_retry_ms = 60000\nmethods = [\"resources/*\", \"prompts/*\"]\n",
        door.url()
    );
    // Before it was ever reached, nothing is known of its tools.
    door.shut().await;
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let left_alone = async |session: &Client, method: &str, params: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        let answer = session.post(message).await;
        let data = answer.data();
        assert_eq!(data["code"], "upstream-unavailable", "{method}: {data}");
        let wait = data["retry_after_ms"].as_u64();
        assert!(wait.is_some_and(|wait| wait <= 60_000), "{method}: {data}");
        assert!(answer.headers.contains_key("retry-after"), "{method}");
    };
    session.call("pay", "{}", None).await;
    assert_eq!(condition(&gateway).await, "open");
    for (method, params) in [
        ("tools/call", r#""name":"pay""#),
        ("tools/list", ""),
        ("tasks/list", ""),
        ("resources/list", ""),
        ("prompts/get", r#""name":"a""#),
    ] {
        left_alone(&session, method, params).await;
    }
    gateway.stop().await;

    // And once a task of its runs.
    door.open().await;
    let gateway = Gateway::start_with(&server, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Result(
        r#"{"task":{"taskId":"t-1","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":60000}}"#.to_owned(),
    ));
    let begun = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{},"task":{"ttl":60000}}}"#;
    let begun = session.post(begun).await.json();
    assert_eq!(begun["result"]["task"]["taskId"], "t-1", "{begun}");
    door.shut().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    session.call("pay", "{}", None).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        left_alone(&session, method, r#""taskId":"t-1""#).await;
    }
    gateway.stop().await;
}
