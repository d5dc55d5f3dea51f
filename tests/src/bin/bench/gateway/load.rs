//! Clients that call as fast as they are answered, each on a connection of its
//! own.

use std::time::{Duration, Instant};

use bytes::Bytes;
use countersign_tests::measure::Samples;
use countersign_tests::{Call, Client, Revision};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What is called, and where.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// `http://HOST:PORT/PATH`
    pub(crate) url: String,
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
}

/// What clients came to in one turn.
pub(crate) struct Turn {
    /// Calls in a second.
    pub(crate) rate: f64,
    /// How long each one took.
    pub(crate) took: Samples,
}

impl Load {
    /// Lets so many clients call for so long, under identifiers that begin with
    /// `name`.
    pub(crate) async fn run(&self, name: &str, clients: usize, lasting: Duration) -> Turn {
        let began = Instant::now();
        let ends = began + lasting;
        let running: Vec<_> = (0..clients)
            .map(|client| {
                let (load, name) = (self.clone(), format!("{name}-{client}"));
                tokio::spawn(async move { load.client(&name, ends).await })
            })
            .collect();
        let mut took = Samples::default();
        for client in running {
            for sample in client.await.unwrap() {
                took.add(sample);
            }
        }
        Turn {
            rate: took.count() as f64 / began.elapsed().as_secs_f64(),
            took,
        }
    }

    async fn client(&self, name: &str, ends: Instant) -> Vec<Duration> {
        let client = Client::unconnected(&self.url, Revision::July2026, None);
        let mut headers: HeaderMap = client.headers();
        headers.insert("mcp-method", "tools/call".parse().unwrap());
        headers.insert("mcp-name", self.tool.parse().unwrap());
        let url = self.url.trim_start_matches("http://");
        let (address, path) = url.split_once('/').unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let driver = tokio::spawn(connection);
        let mut took = Vec::new();
        while Instant::now() < ends {
            let id = format!("{name}-{}", took.len());
            let message = client.message(&Call::new(self.tool, &self.arguments).under(&id));
            let mut request = Request::post(format!("/{path}"))
                .header("host", address)
                .body(Full::new(Bytes::from(message)))
                .unwrap();
            request.headers_mut().extend(headers.clone());
            let began = Instant::now();
            let response = sender.send_request(request).await.unwrap();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            took.push(began.elapsed());
            let done = body.windows(6).any(|text| text == br#""done""#);
            assert!(done, "{}", String::from_utf8_lossy(&body));
        }
        driver.abort();
        took
    }
}
