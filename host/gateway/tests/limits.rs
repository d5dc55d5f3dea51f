//! Bounds and abuse, byte for byte: what is too much, too slow, or meant to be
//! read in two ways.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use std::time::Duration;

use support::client::{call, modern_call};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, entries, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const HEAD: &str = "POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
    Accept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
    Mcp-Name: pay\r\n";

/// Sends bytes, and reads until the gateway closes or says nothing for a while.
async fn raw(gateway: &Gateway, bytes: &[u8]) -> (String, bool) {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    // The gateway may close before it has read all.
    let _ = stream.write_all(bytes).await;
    read(&mut stream, Duration::from_millis(1_500)).await
}

/// What comes, and whether the connection was closed.
async fn read(stream: &mut TcpStream, patience: Duration) -> (String, bool) {
    let mut all = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        match timeout(patience, stream.read(&mut buffer)).await {
            Err(_) => return (String::from_utf8_lossy(&all).into_owned(), false),
            Ok(Ok(0) | Err(_)) => return (String::from_utf8_lossy(&all).into_owned(), true),
            Ok(Ok(read)) => all.extend_from_slice(&buffer[..read]),
        }
    }
}

fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_readers_could_cut_differently_is_refused_or_is_the_last_of_its_connection() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let body = modern_call(1, "pay", "{}", None);
    let length = format!("Content-Length: {}\r\n", body.len());
    let hidden = format!("{HEAD}{length}\r\n{body}");
    for (why, headers, body, status) in [
        (
            "two lengths",
            format!("{length}Content-Length: 1\r\n"),
            body.clone(),
            "400",
        ),
        (
            "a length with a sign",
            format!("Content-Length: +{}\r\n", body.len()),
            body.clone(),
            "400",
        ),
        (
            "a list of lengths",
            format!("Content-Length: {0}, {0}\r\n", body.len()),
            body.clone(),
            "400",
        ),
        (
            "another coding",
            "Transfer-Encoding: gzip, chunked\r\n".to_owned(),
            chunked(&body),
            "400",
        ),
        (
            "no known coding",
            "Transfer-Encoding: xchunked\r\n".to_owned(),
            chunked(&body),
            "400",
        ),
        (
            "a folded line",
            format!("{length}X: a\r\n b\r\n"),
            body.clone(),
            "400",
        ),
        (
            "a space before the colon",
            format!("Content-Length : {}\r\n", body.len()),
            body.clone(),
            "400",
        ),
        (
            "a control character",
            format!("{length}X: a\u{1}b\r\n"),
            body.clone(),
            "400",
        ),
    ] {
        let effects = upstream.effects();
        let request = format!("{HEAD}{headers}\r\n{body}{hidden}");
        let (answers, closed) = raw(&gateway, request.as_bytes()).await;
        assert_eq!(answers.get(9..12), Some(status), "{why}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{why}: {answers}");
        assert!(closed, "{why}");
        assert_eq!(upstream.effects(), effects, "{why}");
    }
    // The chunks count, whatever a length says, and nothing after them is read.
    for (why, headers) in [
        (
            "a length and chunks",
            format!("{length}Transfer-Encoding: chunked\r\n"),
        ),
        (
            "chunks and a length",
            format!("Transfer-Encoding: chunked\r\n{length}"),
        ),
        ("chunks", "Transfer-Encoding: chunked\r\n".to_owned()),
    ] {
        let effects = upstream.effects();
        let request = format!("{HEAD}{headers}\r\n{}{hidden}", chunked(&body));
        let (answers, closed) = raw(&gateway, request.as_bytes()).await;
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{why}: {answers}");
        assert!(closed, "{why}");
        assert!(upstream.effects() <= effects + 1, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_too_large_or_too_many_lines_are_refused() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let lines: String = (0..101).map(|n| format!("X-{n}: a\r\n")).collect();
    for (why, request) in [
        ("many lines", format!("{HEAD}{lines}\r\n")),
        (
            "a long line",
            format!("{HEAD}X: {}\r\n\r\n", "a".repeat(300_000)),
        ),
        (
            "a long path",
            format!(
                "POST /mcp/{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "a".repeat(300_000)
            ),
        ),
    ] {
        let (answer, closed) = raw(&gateway, request.as_bytes()).await;
        assert!(
            matches!(answer.get(9..12), Some("431" | "414")),
            "{why}: {answer}"
        );
        assert!(closed, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_a_byte_at_a_time_is_not_waited_for() {
    let upstream = Upstream::start().await;
    let more = "[limits]\nhead_timeout_ms = 400\nbody_timeout_ms = 400";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let mut head = TcpStream::connect(gateway.address).await.unwrap();
    let drip = async {
        for byte in HEAD.bytes() {
            if head.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        read(&mut head, Duration::from_secs(3)).await
    };
    let (answer, closed) = timeout(Duration::from_secs(9), drip).await.unwrap();
    assert!(closed && !answer.contains(" 200 "), "{answer}");

    let mut silent = TcpStream::connect(gateway.address).await.unwrap();
    assert!(
        read(&mut silent, Duration::from_secs(3)).await.1,
        "not even a head"
    );

    let mut body = TcpStream::connect(gateway.address).await.unwrap();
    let begun = format!("{HEAD}Content-Length: 1000\r\n\r\n{{");
    body.write_all(begun.as_bytes()).await.unwrap();
    let (answer, _) = read(&mut body, Duration::from_secs(3)).await;
    assert!(answer.contains("\"body-unreadable\""), "{answer}");
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let refused = entries
        .iter()
        .filter(|entry| entry["refusal"] == "body-unreadable");
    assert_eq!(
        refused.count(),
        1,
        "the one that was authenticated is in the log"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_bounded_for_each_peer_and_in_all() {
    let upstream = Upstream::start().await;
    let more = "[limits]\nconnections_per_peer = 2";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let open = async || TcpStream::connect(gateway.address).await.unwrap();
    let (first, _second) = (open().await, open().await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut third = open().await;
    let (said, closed) = read(&mut third, Duration::from_secs(2)).await;
    assert!(closed && said.is_empty(), "{said}");
    drop(first);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (answer, _) = raw(
        &gateway,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let more = "[limits]\nconnections = 1\nconnections_per_peer = 9";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let first = TcpStream::connect(gateway.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut waiting = TcpStream::connect(gateway.address).await.unwrap();
    let ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    waiting.write_all(ask).await.unwrap();
    let (answer, closed) = read(&mut waiting, Duration::from_millis(500)).await;
    assert!(answer.is_empty() && !closed, "one at a time: {answer}");
    drop(first);
    let (answer, _) = read(&mut waiting, Duration::from_secs(5)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_all_its_calls_in_flight_is_told_so_in_band_and_in_the_log() {
    let upstream = Upstream::start().await;
    let more = "[limits]\ncalls_per_agent = 1";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    upstream.behave(Behaviour::Slow(Duration::from_millis(800)));
    let (a, b) = (
        gateway.client().session().await,
        gateway.client().session().await,
    );
    let (first, second) = tokio::join!(a.post(call(1, "pay", "{}", Some("x"))), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        b.post(call(1, "pay", "{}", Some("y"))).await
    });
    assert_eq!(first.code(), None);
    assert_eq!(
        (second.status.as_u16(), second.code().as_deref()),
        (200, Some("overloaded"))
    );
    assert_eq!(second.data()["safe_with_new_id"], true);
    assert!(second.data()["retry_after_ms"].is_number());
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    assert!(entries.iter().any(|entry| entry["refusal"] == "overloaded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_rate_attempts_are_counted_and_written_as_one() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let upstream = Upstream::start().await;
    let more = "[limits]\nrequests_per_second = 1\nburst = 2";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    assert_eq!(session.post(ping).await.status, 200);
    for _ in 0..3 {
        let answer = session.post(ping).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_deref()),
            (429, Some("rate-limited"))
        );
        assert_eq!(answer.headers["retry-after"], "1");
    }
    for method in [http::Method::GET, http::Method::DELETE] {
        let other = session.send(method, "/mcp/up", bytes::Bytes::new());
        assert_eq!(other.await.status, 429, "whatever it asks for");
    }
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let counted = entries
        .iter()
        .find(|entry| entry["kind"] == "suppressed")
        .unwrap();
    assert_eq!(counted["suppressed"]["count"], 5, "{counted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_bounded_together_for_as_long_as_their_calls_last() {
    let upstream = Upstream::start().await;
    let more = "[limits]\nbodies_bytes = 12000000";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    upstream.behave(Behaviour::Slow(Duration::from_secs(4)));
    let session = gateway.client().session().await;
    let large = |id: u64| {
        let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_900_000));
        let (session, body) = (session.clone(), call(id, "pay", &arguments, None));
        tokio::spawn(async move { session.post(body).await })
    };
    let first: Vec<_> = (1..=5).map(large).collect();
    until("they were sent", || upstream.effects() == 5).await;
    let more = large(6).await.unwrap();
    assert_eq!(more.code().as_deref(), Some("overloaded"));
    assert_eq!(more.status, 200, "it was classified, and is told in band");
    assert!(more.data()["retry_after_ms"].is_u64(), "{}", more.text());
    upstream.behave(Behaviour::Result(r#"{"content":[]}"#.to_owned()));
    let small = session.post(call(7, "pay", "{}", None)).await;
    assert_eq!(small.code(), None, "there is room for it");
    for call in first {
        assert_eq!(call.await.unwrap().code(), None);
    }
    // Their room is given back with them.
    assert_eq!(large(8).await.unwrap().code(), None);
    assert_eq!(upstream.effects(), 7);
}
