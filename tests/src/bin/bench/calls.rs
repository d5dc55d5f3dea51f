//! Calls through the whole gateway, over loopback: admitted, decided, reserved,
//! invoked, settled and delivered, as fast as clients are answered.

use std::time::{Duration, Instant};

use bytes::Bytes;
use countersign_tests::{Call, Client, Plan, Reaction, Revision, Server, Upstream};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Builder;

const CLIENTS: usize = 64;
const TOOL: &str = "anything";
const ARGUMENTS: &str =
    r#"{"from":"alice","to":"bob","amount":10,"note":"for the books and the coffee"}"#;
const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;
/// One agent may have all of the calls in flight, as often as it can.
const LIMITS: &str = "[limits]\ncalls_per_server = 512\ncalls_per_agent = 512\n\
                      requests_per_second = 1000000\nburst = 1000000\n";

/// Calls in a second by 64 clients, each on a connection of its own.
pub(crate) fn turn(lasting: Duration) -> f64 {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let upstream = Upstream::start(Reaction::Result(RESULT.to_owned())).await;
        let plan = Plan::new(Server::bytes(&upstream)).permit_everything();
        let mut gateway = plan.also(LIMITS).start().await;
        let url = gateway.url();
        clients(&url, "warm", lasting / 8).await;
        let began = Instant::now();
        let calls = clients(&url, "e", lasting).await;
        let rate = calls as f64 / began.elapsed().as_secs_f64();
        assert!(gateway.stop().await, "{}", gateway.log());
        rate
    })
}

/// Lets clients call for so long; how many calls were answered.
async fn clients(url: &str, name: &str, lasting: Duration) -> usize {
    let ends = Instant::now() + lasting;
    let running: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (url, name) = (url.to_owned(), format!("{name}-{client}"));
            tokio::spawn(async move { client_of(&url, &name, ends).await })
        })
        .collect();
    let mut calls = 0;
    for client in running {
        calls += client.await.unwrap();
    }
    calls
}

async fn client_of(url: &str, name: &str, ends: Instant) -> usize {
    let client = Client::unconnected(url, Revision::July2026, None);
    let mut headers: HeaderMap = client.headers();
    headers.insert("mcp-method", "tools/call".parse().unwrap());
    headers.insert("mcp-name", TOOL.parse().unwrap());
    let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let driver = tokio::spawn(connection);
    let mut calls = 0;
    while Instant::now() < ends {
        let id = format!("{name}-{calls}");
        let message = client.message(&Call::new(TOOL, ARGUMENTS).under(&id));
        let mut request = Request::post(format!("/{path}"))
            .header("host", address)
            .body(Full::new(Bytes::from(message)))
            .unwrap();
        request.headers_mut().extend(headers.clone());
        let response = sender.send_request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let done = body.windows(6).any(|text| text == br#""done""#);
        assert!(done, "{}", String::from_utf8_lossy(&body));
        calls += 1;
    }
    driver.abort();
    calls
}
