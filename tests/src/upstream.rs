//! An upstream of single bytes: it answers a tool call with exactly what a
//! test wrote, and keeps exactly what arrived.
//!
//! Streamable HTTP on loopback, without sessions of its own. What isn't a tool
//! call it answers as a plain server of whatever revision it is asked in.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use countersign_canon::{
    Limits,
    document::{Document, Item},
};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// More than any test sends.
const LIMITS: Limits = Limits {
    message_bytes: 16 << 20,
    depth: 128,
    number_bytes: 4_096,
    nodes: 1 << 20,
};

/// What the upstream does with a tool call.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Answers with this text as `result`, in JSON.
    Result(String),
    /// Answers with this text as `result`, as the last event of a stream.
    Streamed(String),
    /// Answers with this status, content type and body; `ID` in the body
    /// stands for the request's id.
    Raw(u16, &'static str, String),
    /// Answers with this text as `result` once it is told to.
    Held(watch::Receiver<bool>, String),
    /// Keeps the connection open and never answers.
    Silence,
    /// Closes the connection instead of answering.
    Hangup,
}

/// One message that arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body, as it arrived.
    pub body: Bytes,
}

impl Received {
    /// The body as text.
    ///
    /// # Panics
    ///
    /// When it is no text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a message is text")
    }
}

/// A running upstream with one tool, `anything`, that takes any arguments.
#[derive(Debug)]
pub struct Upstream {
    url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    reaction: Mutex<Reaction>,
    calls: Mutex<Vec<Received>>,
}

impl Upstream {
    /// Starts one on a free port of loopback.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub async fn start(reaction: Reaction) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::new(State {
            reaction: Mutex::new(reaction),
            calls: Mutex::new(Vec::new()),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self { url, state, task }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Reacts so to every call from now on.
    ///
    /// # Panics
    ///
    /// Never, unless a reaction panicked.
    pub fn react(&self, reaction: Reaction) {
        *self.state.reaction.lock().unwrap() = reaction;
    }

    /// The tool calls that arrived, in order.
    ///
    /// # Panics
    ///
    /// Never, unless a reaction panicked.
    #[must_use]
    pub fn calls(&self) -> Vec<Received> {
        self.state.calls.lock().unwrap().clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves until it is dropped, which ends every connection too.
async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| answer(request, Arc::clone(&state)));
            let http = hyper::server::conn::http1::Builder::new();
            // A hangup ends the connection with an error, which is the point.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Stands for "end the connection without an answer".
#[derive(Debug)]
struct HungUp;

impl std::fmt::Display for HungUp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("hung up")
    }
}

impl std::error::Error for HungUp {}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Full<Bytes>>, HungUp> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    // A general reader would stumble over numbers that no float holds.
    let Ok(message) = Document::read(&body, LIMITS) else {
        return Ok(respond(405, "text/plain", String::new()));
    };
    let Some(id) = message.find("/id") else {
        return Ok(respond(202, "application/json", String::new()));
    };
    let id = String::from_utf8_lossy(id.raw()).into_owned();
    let text = |pointer| {
        message
            .find(pointer)
            .and_then(Item::text)
            .unwrap_or_default()
    };
    let method = text("/method");
    if method != "tools/call" {
        let result = plain(&method, &text("/params/protocolVersion"));
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        return Ok(respond(200, "application/json", body));
    }
    state.calls.lock().unwrap().push(Received {
        headers: parts.headers,
        body,
    });
    let reaction = state.reaction.lock().unwrap().clone();
    let enveloped = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    match reaction {
        Reaction::Result(result) => Ok(respond(200, "application/json", enveloped(&result))),
        Reaction::Streamed(result) => {
            let event = format!("event: message\ndata: {}\n\n", enveloped(&result));
            Ok(respond(200, "text/event-stream", event))
        }
        Reaction::Held(mut told, result) => {
            // Nobody who could tell any more is an end, too.
            let _ = told.wait_for(|told| *told).await;
            Ok(respond(200, "application/json", enveloped(&result)))
        }
        Reaction::Raw(status, kind, body) => Ok(respond(status, kind, body.replace("ID", &id))),
        Reaction::Silence => std::future::pending::<Result<_, Infallible>>()
            .await
            .or(Err(HungUp)),
        Reaction::Hangup => Err(HungUp),
    }
}

/// The result of what isn't a tool call.
pub(crate) fn plain(method: &str, version: &str) -> Value {
    match method {
        "initialize" => json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "bytes", "version": "1" },
        }),
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2025-06-18", "2025-11-25", "2026-07-28"],
            "capabilities": { "tools": {} },
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        "tools/list" => json!({
            "resultType": "complete",
            "tools": [{ "name": "anything", "inputSchema": { "type": "object" } }],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        _ => json!({}),
    }
}

fn respond(status: u16, kind: &str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
        .headers_mut()
        .insert("content-type", kind.parse().unwrap());
    response
}
