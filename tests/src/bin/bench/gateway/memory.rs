//! What a gateway holds in memory: at rest, with a thousand sessions, and after
//! it was busy.

use bytes::Bytes;
use countersign_tests::{Client, Gateway, Revision};
use http::Request;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sessions that are open at once.
pub(super) const SESSIONS: usize = 1_000;

/// Resident memory of a gateway, in MiB.
pub(super) fn resident(gateway: &Gateway) -> f64 {
    let id = gateway.process().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1_024.0
}

/// Opens sessions, each with a stream of its own that stays open.
pub(super) async fn sessions(gateway: &Gateway) -> Vec<(SendRequest<Empty<Bytes>>, Incoming)> {
    let mut streams = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        let client = Client::connect(&gateway.url(), Revision::November2025, None).await;
        let stream = TcpStream::connect(gateway.address()).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let path = gateway.url();
        let path = path.splitn(4, '/').nth(3).unwrap_or_default();
        let mut request = Request::get(format!("/{path}"))
            .header("host", gateway.address())
            .body(Empty::new())
            .unwrap();
        request.headers_mut().extend(client.headers());
        let accept = "text/event-stream".parse().unwrap();
        request.headers_mut().insert("accept", accept);
        let response = sender.send_request(request).await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        streams.push((sender, response.into_body()));
    }
    streams
}
