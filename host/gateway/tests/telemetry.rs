//! Numbers, health and traces of a real gateway, with a real collector.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use serde_json::Value;
use support::client::{call, modern_call};
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, entries};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

const WATCHED: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = Client::new(address)
        .send(Method::GET, path, bytes::Bytes::new())
        .await;
    (answer.status.as_u16(), answer.text())
}

/// Lets the gateway find the tools, so that the first call is decided once.
async fn warm(gateway: &Gateway) {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let list = gateway.client().modern("tools/list", None).post(body).await;
    assert_eq!(list.code(), None);
}

/// A collector that keeps what it is brought.
struct Collector {
    address: SocketAddr,
    brought: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self {
            address: listener.local_addr().unwrap(),
            brought: Arc::default(),
        };
        let brought = Arc::clone(&collector.brought);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut all = Vec::new();
                let body = loop {
                    let mut buffer = [0; 65_536];
                    let read = stream.read(&mut buffer).await.unwrap();
                    all.extend_from_slice(&buffer[..read]);
                    let text = String::from_utf8_lossy(&all).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
                    let length = head
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length: "))
                        .unwrap();
                    if body.len() >= length.parse::<usize>().unwrap() {
                        break body.to_owned();
                    }
                };
                brought
                    .lock()
                    .unwrap()
                    .push(serde_json::from_str(&body).unwrap());
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
            }
        });
        collector
    }

    fn spans(&self) -> Vec<Value> {
        let brought = self.brought.lock().unwrap();
        let all = brought.iter().flat_map(|one| {
            one["resourceSpans"][0]["scopeSpans"][0]["spans"]
                .as_array()
                .unwrap()
                .clone()
        });
        all.collect()
    }
}

fn attribute<'s>(span: &'s Value, name: &str) -> Option<&'s str> {
    let attributes = span["attributes"].as_array()?;
    let found = attributes.iter().find(|one| one["key"] == name)?;
    found["value"]["stringValue"]
        .as_str()
        .or_else(|| found["value"]["intValue"].as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_count_by_closed_lists_and_hold_nothing_that_a_caller_wrote() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, WATCHED).await;
    let watched = gateway.telemetry.unwrap();
    warm(&gateway).await;
    let session = gateway.client().session().await;
    let secret = "{\"note\":\"hunter2-in-an-argument\"}";
    assert_eq!(
        session.call("pay", secret, Some("order-4711")).await.code(),
        None
    );
    assert_eq!(
        session
            .call("pay", secret, Some("order-4711"))
            .await
            .code()
            .as_deref(),
        Some("replay")
    );
    assert_eq!(
        session
            .call("pay", "{}", Some("order-4711"))
            .await
            .code()
            .as_deref(),
        Some("collision")
    );
    assert_eq!(
        session
            .call("no-such-tool", "{}", None)
            .await
            .code()
            .as_deref(),
        Some("unknown-tool")
    );
    session.post("{").await;
    let (status, text) = get(watched, "/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "countersign_calls_total{outcome=\"succeeded\"} 1",
        "countersign_attempts_total{classification=\"fresh\"} 1",
        "countersign_attempts_total{classification=\"replay\"} 1",
        "countersign_attempts_total{classification=\"collision\"} 1",
        "countersign_refusals_total{code=\"replay\"} 1",
        "countersign_refusals_total{code=\"unknown-tool\"} 1",
        "countersign_refusals_total{code=\"syntax\"} 1",
        "countersign_decisions_total{decision=\"allow\"} 1",
        "countersign_sessions 1",
        "countersign_in_flight 0",
        "countersign_ready 1",
        "countersign_ledger_queue",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for stage in [
        "admit",
        "interpret",
        "classify",
        "catalog",
        "decide",
        "reserve",
        "invoke",
        "settle",
    ] {
        assert!(
            text.contains(&format!(
                "countersign_stage_seconds_count{{stage=\"{stage}\"}}"
            )),
            "{stage}"
        );
    }
    for written in ["hunter2", "order-4711", "no-such-tool", "pay", "anonymous"] {
        assert!(!text.contains(written), "{written}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_nobody_and_attempts_over_the_rate_are_counted() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokens.toml"), "").unwrap();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{WATCHED}[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"\n\
         [[server]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url()
    );
    std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let stranger = gateway.client().with("authorization", "Bearer csgn_secret");
    for _ in 0..3 {
        assert_eq!(stranger.post("{}").await.status, 401);
    }
    let (_, text) = get(gateway.telemetry.unwrap(), "/metrics").await;
    let line = "countersign_unauthenticated_total{code=\"unauthenticated\",fault=\"\"} 3";
    assert!(text.contains(line), "{text}");

    let more = format!("{WATCHED}[limits]\nrequests_per_second = 1\nburst = 1");
    let gateway = Gateway::start(&upstream, PERMIT_ALL, &more).await;
    gateway.client().post("{").await;
    gateway.client().post("{").await;
    let (_, text) = get(gateway.telemetry.unwrap(), "/metrics").await;
    assert!(
        text.contains("countersign_suppressed_total{code=\"rate-limited\"} 1"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_drains_is_not_ready_and_lets_what_runs_settle() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, WATCHED).await;
    let watched = gateway.telemetry.unwrap();
    assert_eq!(get(watched, "/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(get(watched, "/readyz").await, (200, "ready\n".to_owned()));
    upstream.behave(Behaviour::Slow(Duration::from_millis(1_500)));
    let session = gateway.client().session().await;
    let running = tokio::spawn(async move { session.post(call(1, "pay", "{}", Some("x"))).await });
    tokio::time::sleep(Duration::from_millis(400)).await;
    let stopping = tokio::spawn(gateway.stop());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(get(watched, "/healthz").await.0, 200, "it runs");
    assert_eq!(
        get(watched, "/readyz").await,
        (503, "not ready\n".to_owned())
    );
    let answer = running.await.unwrap();
    assert_eq!(answer.code(), None, "{}", answer.text());
    let (ended, folder) = stopping.await.unwrap();
    assert_eq!(ended, countersign_gateway::Ended::Settled);
    let entries = entries(folder.path());
    let last = entries
        .iter()
        .rfind(|entry| entry["kind"] == "terminal")
        .unwrap();
    assert_eq!(last["outcome"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_span_of_its_callers_trace_and_joins_the_log() {
    let collector = Collector::start().await;
    let upstream = Upstream::start().await;
    let traces = format!(
        "[telemetry]\ntraces_url = \"http://{}/v1/traces\"",
        collector.address
    );
    let gateway = Gateway::start(&upstream, PERMIT_ALL, &traces).await;
    warm(&gateway).await;
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let given = format!("00-{trace}-{parent}-01");
    let client = gateway.client().modern("tools/call", Some("pay"));
    let body = modern_call(1, "pay", "{\"note\":\"hunter2\"}", Some("order-1"));
    let in_message = body.replacen(
        "\"_meta\":{",
        &format!("\"_meta\":{{\"traceparent\":\"{given}\","),
        1,
    );
    assert_eq!(client.post(in_message).await.code(), None);
    let (_, sent) = upstream.last_call();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let onward = sent["params"]["_meta"]["traceparent"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        onward.starts_with(&format!("00-{trace}-")) && !onward.contains(parent),
        "{onward}"
    );
    let repeat = client.with("traceparent", &given).post(&body).await;
    assert_eq!(repeat.code().as_deref(), Some("replay"));
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());

    let spans = collector.spans();
    let roots: Vec<_> = spans
        .iter()
        .filter(|span| span["name"] == "tools/call")
        .collect();
    assert_eq!(roots.len(), 2, "{spans:?}");
    for root in &roots {
        assert_eq!(
            (&root["traceId"], &root["parentSpanId"]),
            (&trace.into(), &parent.into())
        );
        assert_eq!(attribute(root, "countersign.execution_id"), Some("order-1"));
        let sequence: u64 = attribute(root, "countersign.log_sequence")
            .unwrap()
            .parse()
            .unwrap();
        let entry = entries
            .iter()
            .find(|entry| entry["sequence"] == sequence)
            .unwrap();
        assert_eq!(
            attribute(root, "countersign.call_id"),
            entry["call_id"].as_str()
        );
        assert_eq!(
            attribute(root, "countersign.log_id"),
            entry["log_id"].as_str()
        );
    }
    let (done, refused) = (roots[0], roots[1]);
    assert_eq!(done["spanId"], onward[36..52]);
    assert_eq!(attribute(done, "countersign.outcome"), Some("succeeded"));
    assert_eq!(attribute(refused, "countersign.refusal"), Some("replay"));
    assert_eq!(refused["status"]["code"], 2);
    let stages: Vec<_> = spans
        .iter()
        .filter(|span| span["parentSpanId"] == done["spanId"])
        .map(|span| span["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        stages,
        [
            "classify", "catalog", "decide", "reserve", "invoke", "settle"
        ]
    );
    for span in &spans {
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
    }
    assert!(!format!("{spans:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_a_trace_goes_through_and_a_lost_one_holds_nobody_up() {
    let upstream = Upstream::start().await;
    let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let onward = |upstream: &Upstream| {
        let (_, sent) = upstream.last_call();
        let sent: Value = serde_json::from_str(&sent).unwrap();
        sent["params"]["_meta"]["traceparent"].clone()
    };
    let plain = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let client = |gateway: &Gateway| gateway.client().modern("tools/call", Some("pay"));
    let body = |id| modern_call(1, "pay", "{}", Some(id));
    client(&plain)
        .with("traceparent", given)
        .post(body("a"))
        .await;
    assert_eq!(onward(&upstream), given);
    client(&plain)
        .with("traceparent", "nonsense")
        .post(body("b"))
        .await;
    assert_eq!(onward(&upstream), Value::Null);

    let away = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let lost = format!("{WATCHED}traces_url = \"http://{away}/v1/traces\"");
    let gateway = Gateway::start(&upstream, PERMIT_ALL, &lost).await;
    warm(&gateway).await;
    assert_eq!(client(&gateway).post(body("c")).await.code(), None);
    for _ in 0..60 {
        let (_, text) = get(gateway.telemetry.unwrap(), "/metrics").await;
        if text.contains("countersign_spans_lost_total 7") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("lost spans are not counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_numbers_and_takes_none_keeps_nobody_from_them() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, WATCHED).await;
    let watched = gateway.telemetry.unwrap();
    // As many as there are places, each with more answers than its buffers hold.
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let requests = request.repeat(2_000);
    let mut silent = Vec::new();
    for _ in 0..64 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(watched).await.unwrap();
        let written = stream.write_all(requests.as_bytes());
        // What does not find room any more stays unsaid.
        let _ = tokio::time::timeout(Duration::from_millis(100), written).await;
        silent.push(stream);
    }
    let served = async {
        loop {
            let mut stream = tokio::net::TcpStream::connect(watched).await.unwrap();
            let head = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer).await;
            if read.is_ok() && answer.starts_with("HTTP/1.1 200") {
                return;
            }
        }
    };
    let served = tokio::time::timeout(Duration::from_secs(90), served).await;
    assert!(served.is_ok(), "nobody is served any more");
    drop(silent);
}
