//! Clients that ask and do not read: what it costs is bounded, and they are not
//! waited for.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use serde_json::json;
use support::client::{call, modern_call};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, relaying, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

const MIB: usize = 1 << 20;
/// More than anything here takes on a slow machine.
const LONG: Duration = Duration::from_secs(60);

/// A result with a text of that length.
fn result(bytes: usize) -> Behaviour {
    let text = "a".repeat(bytes);
    Behaviour::Result(format!(
        r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

/// Calls, from a socket that holds little, and reads nothing.
async fn ask(address: SocketAddr, accept: &str) -> TcpStream {
    let body = modern_call(1, "pay", "{}", None);
    send(address, &request("tools/call", "pay", accept, &body)).await
}

/// A request of 2026-07-28; an empty name is none.
fn request(method: &str, name: &str, accept: &str, body: &str) -> String {
    let name = match name {
        "" => String::new(),
        name => format!("Mcp-Name: {name}\r\n"),
    };
    format!(
        "POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: {accept}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         {name}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends bytes from a socket that holds little.
async fn send(address: SocketAddr, bytes: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// The beginning of an answer, by which it is known to be there.
async fn begun(stream: &mut TcpStream) -> String {
    let mut begun = [0; 512];
    let read = timeout(LONG, stream.read(&mut begun)).await;
    let read = read.unwrap().unwrap();
    String::from_utf8_lossy(&begun[..read]).into_owned()
}

/// Whether a connection is served at all.
async fn is_served(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return false;
    };
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes()).await;
    let mut answer = String::new();
    let read = timeout(LONG, stream.read_to_string(&mut answer)).await;
    read.is_ok() && answer.starts_with("HTTP/1.1 200")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_byte_of_an_answer_is_not_waited_for() {
    for accept in ["application/json", "text/event-stream"] {
        let upstream = Upstream::start().await;
        upstream.behave(result(9 * MIB));
        let more = "[limits]\nwrite_timeout_ms = 400\nconnections_per_peer = 1";
        let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
        let mut stream = ask(gateway.address, accept).await;
        // Its connection is the only one that there may be, until it ends.
        assert!(!is_served(gateway.address).await, "{accept}");
        let served = async {
            while !is_served(gateway.address).await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(LONG, served).await.expect(accept);
        assert_eq!(upstream.effects(), 1, "{accept}");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.len() < 9 * MIB, "{accept}: {}", rest.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_on_which_there_is_nothing_to_say_waits_for_nobody() {
    let more = "[limits]\nwrite_timeout_ms = 300\n";
    let (upstream, gateway) = relaying::start_with("2025-11-25", relaying::ALL, more).await;
    let session = gateway.client().session().await;
    let mut stream = session.stream(Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() == 1).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let news =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    upstream.tell(news).await;
    assert_eq!(stream.json().await["params"]["data"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_answers_where_they_are_gets_no_more_until_they_are_gone() {
    for accept in ["application/json", "text/event-stream"] {
        let upstream = Upstream::start().await;
        upstream.behave(result(6 * MIB));
        let more = "[limits]\nbodies_bytes = 41943040";
        let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
        let mut held = Vec::new();
        let refused = loop {
            let mut stream = ask(gateway.address, accept).await;
            let begun = begun(&mut stream).await;
            held.push(stream);
            if !begun.starts_with("HTTP/1.1 200") {
                break begun;
            }
            assert!(held.len() < 8, "{accept}");
        };
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        let answered = held.len() - 1;
        assert!((1..=3).contains(&answered), "{accept}: {answered}");
        assert_eq!(upstream.effects(), answered, "{accept}");
        drop(held);
        upstream.behave(result(1));
        let again = async {
            let client = gateway.client().modern("tools/call", Some("pay"));
            while client.post(modern_call(1, "pay", "{}", None)).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(LONG, again).await.expect(accept);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_answers_where_they_are_gets_no_more_for_what_had_begun_to_arrive_before() {
    let text = "a".repeat(6 * MIB);
    for (method, name, params) in [
        ("tools/call", "pay", r#""name":"pay","arguments":{}"#),
        ("tools/list", "", ""),
        ("resources/read", "a", r#""uri":"a""#),
    ] {
        for accept in ["application/json", "text/event-stream"] {
            let case = format!("{method} {accept}");
            let more = "[limits]\nbodies_bytes = 41943040";
            let (upstream, gateway) =
                relaying::start_with("2025-11-25", r#"["resources/*"]"#, more).await;
            upstream.behave(result(6 * MIB));
            let read = format!(r#"{{"contents":[{{"uri":"a","text":"{text}"}}]}}"#);
            upstream.answer("resources/read", &read);
            if method == "tools/list" {
                let schema = json!({"type": "object"});
                let tool = json!({"name": "pay", "description": text, "inputSchema": schema});
                upstream.offer(json!([tool]));
            }
            let comma = if params.is_empty() { "" } else { "," };
            let body = relaying::ask(method, &format!("{params}{comma}{}", relaying::META));
            let whole = request(method, name, accept, &body);
            let (most, last) = whole.split_at(whole.len() - 1);
            let mut begun_to_arrive = Vec::new();
            for _ in 0..8 {
                begun_to_arrive.push(send(gateway.address, most).await);
            }
            // The gateway waits for their last bytes.
            tokio::time::sleep(Duration::from_millis(500)).await;
            let mut answered = 0;
            let mut refused = None;
            for stream in &mut begun_to_arrive {
                stream.write_all(last.as_bytes()).await.unwrap();
                let begun = begun(stream).await;
                if !begun.starts_with("HTTP/1.1 200") {
                    refused = Some(begun);
                    break;
                }
                answered += 1;
            }
            assert!((1..=3).contains(&answered), "{case}: {answered}");
            let refused = refused.unwrap();
            assert!(refused.starts_with("HTTP/1.1 503"), "{case}: {refused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_time_to_reach_its_client_from_when_all_calls_have_ended() {
    for accept in ["application/json", "text/event-stream"] {
        for reads in [true, false] {
            let case = format!("{accept}, reads: {reads}");
            let upstream = Upstream::start().await;
            upstream.behave(result(9 * MIB));
            upstream.hang("tools/call");
            let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
            let mut stream = ask(gateway.address, accept).await;
            let arrived = || upstream.asked("tools/call").len() == 1;
            until("the call arrived", arrived).await;
            let stopping = tokio::spawn(gateway.stop());
            // Longer than an answer may take to reach its client.
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            assert!(!stopping.is_finished(), "{case}");
            let released = Instant::now();
            upstream.hang_no_more();
            let mut answer = begun(&mut stream).await.into_bytes();
            if reads {
                stream.read_to_end(&mut answer).await.unwrap();
                assert!(answer.len() > 9 * MIB, "{case}: {}", answer.len());
            }
            timeout(LONG, stopping).await.expect(&case).unwrap();
            if !reads {
                // Nobody is waited for for ever, nor let go before that time is up.
                assert!(released.elapsed() >= Duration::from_secs(2), "{case}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_all_connections_and_reads_nothing_keeps_no_gateway_from_ending() {
    for connections in [1, 3] {
        let upstream = Upstream::start().await;
        upstream.behave(result(9 * MIB));
        let more = format!(
            "[limits]\nwrite_timeout_ms = 600000\nconnections = {connections}\n\
             connections_per_peer = {connections}"
        );
        let gateway = Gateway::start(&upstream, PERMIT_ALL, &more).await;
        let mut held = Vec::new();
        for _ in 0..connections {
            let mut stream = ask(gateway.address, "application/json").await;
            assert!(begun(&mut stream).await.starts_with("HTTP/1.1 200"));
            held.push(stream);
        }
        let stopped = timeout(LONG, gateway.stop()).await;
        assert!(stopped.is_ok(), "{connections}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_before_an_answer_is_bounded_and_the_answer_is_not() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let progress = |bytes: usize| {
        let text = "a".repeat(bytes);
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":ID,"progress":1,"message":"{text}"}}}}"#
        )
    };
    upstream.behave(Behaviour::Say(vec![
        progress(1),
        progress(9 * MIB),
        progress(2),
    ]));
    let message = call(1, "pay", "{}", None).replace(
        "\"arguments\"",
        "\"_meta\":{\"progressToken\":\"p\"},\"arguments\"",
    );
    let answer = timeout(LONG, session.post(message)).await.unwrap();
    let text = answer.text();
    let events = text.lines().filter(|line| line.starts_with("data: "));
    let lengths: Vec<usize> = events.map(str::len).collect();
    assert_eq!(lengths.len(), 3, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length < 1_000), "{lengths:?}");
    assert!(answer.json()["result"].is_object());
}
