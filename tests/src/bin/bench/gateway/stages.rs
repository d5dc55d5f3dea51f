//! Where the time of a call goes: what the gateway's own histograms say of each
//! stage, while one client calls.

use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use countersign_tests::Gateway;

/// Everything that has a histogram, in the order of the way.
pub(super) const STAGES: [&str; 8] = [
    "admit",
    "interpret",
    "classify",
    "catalog",
    "decide",
    "reserve",
    "invoke",
    "settle",
];

/// Seconds that each stage took in all, and how often it was passed.
pub(super) struct Passed([(f64, f64); STAGES.len()]);

impl Passed {
    /// Of a gateway that has run for a while.
    pub(super) async fn of(gateway: &Gateway) -> Self {
        let numbers = numbers(&gateway.numbers().unwrap()).await;
        let read = |what: &str, stage: &str| {
            let name = format!("countersign_stage_seconds_{what}{{stage=\"{stage}\"}} ");
            let mut found = numbers.lines().filter_map(|line| line.strip_prefix(&name));
            found.next().map_or(0.0, |value| value.parse().unwrap())
        };
        Self(STAGES.map(|stage| (read("sum", stage), read("count", stage))))
    }

    /// Microseconds of each stage of a call, since `before`.
    pub(super) fn since(&self, before: &Self) -> [f64; STAGES.len()] {
        std::array::from_fn(|stage| {
            let ((sum, count), (was, were)) = (self.0[stage], before.0[stage]);
            (sum - was) * 1e6 / (count - were).max(1.0)
        })
    }
}

async fn numbers(address: &str) -> String {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::get("/metrics")
        .header("host", address)
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}
