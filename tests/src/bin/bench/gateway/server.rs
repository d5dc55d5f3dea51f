//! The server behind everything: it answers a call at once, without reading
//! more of it than it must, so that what is measured stands before it.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::rules::{self, TOOLS};

/// A running server; ends when it is dropped.
pub(super) struct Server {
    address: String,
    task: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(accept(listener));
        Self { address, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            let _ = http
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
    let answer = match called(&body) {
        Some(id) => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#
        ),
        None => plain(&body),
    };
    let status = if answer.is_empty() { 202 } else { 200 };
    Ok(Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(answer)))
        .unwrap())
}

/// The id of a tool call that begins as clients and the gateway begin it.
fn called(body: &[u8]) -> Option<&str> {
    let head = std::str::from_utf8(body.get(..body.len().min(80))?).ok()?;
    let (id, rest) = head.split_once(r#""id":"#)?.1.split_once(',')?;
    rest.starts_with(r#""method":"tools/call""#).then_some(id)
}

/// What isn't a call: a greeting, and the list of tools.
fn plain(body: &[u8]) -> String {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(id) = message.get("id") else {
        return String::new();
    };
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "bench", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": TOOLS.map(tool) }),
        _ => json!({}),
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "A tool of the benchmark.",
        "inputSchema": rules::schema(),
    })
}
