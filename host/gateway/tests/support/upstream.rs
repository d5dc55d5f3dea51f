//! A small MCP server on Streamable HTTP that counts its effects, and answers
//! a call as a test tells it to.

mod behaviour;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::serve::ListenerExt as _;
use countersign_canon::{Document, Limits};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub use behaviour::Behaviour;
use behaviour::{Stream, call, json_response, response};

#[derive(Clone)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    tools: Mutex<Value>,
    effects: AtomicUsize,
    connections: AtomicUsize,
    initializes: AtomicUsize,
    greeting: Mutex<Duration>,
    /// In which revision `initialize` is answered, if not in the asked one.
    greets_in: Mutex<Option<String>>,
    /// The status under which notifications are taken.
    notes: Mutex<StatusCode>,
    /// How its own stream is opened: the status and the content type of a body
    /// that ends at once.
    streams: Mutex<Option<(u16, &'static str)>>,
    streams_asked: AtomicUsize,
    /// Whether it never answers that a session is over.
    clings: AtomicBool,
    /// What it says of the sessions up to that number, which it knows no more:
    /// the status and the body.
    forgotten: Mutex<Option<(usize, u16, String)>>,
    /// What came for a session that it knows no more.
    refused: Mutex<Vec<String>>,
    seen: Mutex<Vec<(HeaderMap, Bytes)>>,
    told: Mutex<Vec<(HeaderMap, Value)>>,
    about_task: Mutex<String>,
    asked_about_tasks: AtomicUsize,
    /// How long an answer about a task takes.
    pondering: Mutex<Duration>,
    pinged: tokio::sync::Notify,
    capabilities: Mutex<Value>,
    answers: Mutex<HashMap<String, String>>,
    /// Methods that are not answered for now.
    hung: Mutex<HashSet<String>>,
    asked: Mutex<Vec<(HeaderMap, String)>>,
    replies: Mutex<Vec<String>>,
    replied: tokio::sync::Notify,
    listeners: Mutex<Vec<tokio::sync::mpsc::Sender<Bytes>>>,
}

impl Upstream {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(Behaviour::Result(r#"{"content":[]}"#.to_owned())),
            tools: Mutex::new(json!([tool("pay"), tool("Pay"), tool("look")])),
            effects: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            initializes: AtomicUsize::new(0),
            greeting: Mutex::default(),
            greets_in: Mutex::default(),
            notes: Mutex::new(StatusCode::ACCEPTED),
            streams: Mutex::default(),
            streams_asked: AtomicUsize::new(0),
            clings: AtomicBool::new(false),
            forgotten: Mutex::default(),
            refused: Mutex::default(),
            seen: Mutex::default(),
            told: Mutex::default(),
            about_task: Mutex::default(),
            asked_about_tasks: AtomicUsize::new(0),
            pondering: Mutex::default(),
            pinged: tokio::sync::Notify::new(),
            capabilities: Mutex::new(json!({"tools": {}})),
            answers: Mutex::default(),
            hung: Mutex::default(),
            asked: Mutex::default(),
            replies: Mutex::default(),
            replied: tokio::sync::Notify::new(),
            listeners: Mutex::default(),
        });
        let router = Router::new()
            .route("/mcp", any(answer))
            .with_state(Arc::clone(&shared));
        let accepted = Arc::clone(&shared);
        let listener = listener.tap_io(move |_| {
            accepted.connections.fetch_add(1, Ordering::SeqCst);
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    pub fn offer(&self, tools: Value) {
        *self.shared.tools.lock().unwrap() = tools;
    }

    /// How many calls had their effect.
    pub fn effects(&self) -> usize {
        self.shared.effects.load(Ordering::SeqCst)
    }

    /// How many connections were opened to it.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub fn initializes(&self) -> usize {
        self.shared.initializes.load(Ordering::SeqCst)
    }

    /// Takes this long to answer `initialize`.
    pub fn greet_after(&self, time: Duration) {
        *self.shared.greeting.lock().unwrap() = time;
    }

    /// Answers `initialize` in this revision.
    pub fn greet_in(&self, revision: &str) {
        *self.shared.greets_in.lock().unwrap() = Some(revision.to_owned());
    }

    /// Answers notifications with this status.
    pub fn take_notes_with(&self, status: StatusCode) {
        *self.shared.notes.lock().unwrap() = status;
    }

    /// Answers who asks for its own stream so, with a body that ends at once.
    pub fn stream_with(&self, status: u16, kind: &'static str) {
        *self.shared.streams.lock().unwrap() = Some((status, kind));
    }

    /// How often its own stream was asked for.
    pub fn streams_asked(&self) -> usize {
        self.shared.streams_asked.load(Ordering::SeqCst)
    }

    /// Knows none of its sessions any more, and says so with this status and
    /// this body, in JSON where there is one; `ID` in it stands for the request's.
    pub fn forget(&self, status: u16, body: &str) {
        let greeted = self.initializes();
        *self.shared.forgotten.lock().unwrap() = Some((greeted, status, body.to_owned()));
    }

    /// The requests that came for a session that it knows no more, by method.
    pub fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().unwrap().clone()
    }

    /// Never answers that a session is over.
    pub fn cling(&self) {
        self.shared.clings.store(true, Ordering::SeqCst);
    }

    /// Answers every question about a task with this raw JSON; as an error
    /// where it has a `code`.
    pub fn about_task(&self, answer: &str) {
        answer.clone_into(&mut self.shared.about_task.lock().unwrap());
    }

    /// Takes this long to answer about a task.
    pub fn ponder(&self, time: Duration) {
        *self.shared.pondering.lock().unwrap() = time;
    }

    /// How many questions about tasks arrived.
    pub fn asked_about_tasks(&self) -> usize {
        self.shared.asked_about_tasks.load(Ordering::SeqCst)
    }

    /// Announces these capabilities.
    pub fn announce(&self, capabilities: Value) {
        *self.shared.capabilities.lock().unwrap() = capabilities;
    }

    /// Answers requests of a method with this raw result; as an error where it
    /// has a `code`. `COUNT` in it stands for how many there were.
    pub fn answer(&self, method: &str, raw: &str) {
        let mut answers = self.shared.answers.lock().unwrap();
        answers.insert(method.to_owned(), raw.to_owned());
    }

    /// Answers requests of a method not before [`Upstream::hang_no_more`].
    pub fn hang(&self, method: &str) {
        self.shared.hung.lock().unwrap().insert(method.to_owned());
    }

    pub fn hang_no_more(&self) {
        self.shared.hung.lock().unwrap().clear();
    }

    /// The requests of a method that [`Upstream::answer`] answered, or that hung.
    pub fn asked(&self, method: &str) -> Vec<(HeaderMap, String)> {
        let asked = self.shared.asked.lock().unwrap();
        let of = format!("\"method\":\"{method}\"");
        let asked = asked.iter().filter(|(_, body)| body.contains(&of));
        asked.cloned().collect()
    }

    /// The replies to what it asked, as they arrived.
    pub fn replies(&self) -> Vec<String> {
        self.shared.replies.lock().unwrap().clone()
    }

    /// How many streams of its own are open, and of those that linger.
    pub fn listeners(&self) -> usize {
        let mut listeners = self.shared.listeners.lock().unwrap();
        listeners.retain(|listener| !listener.is_closed());
        listeners.len()
    }

    /// Ends its own streams.
    pub fn hang_up(&self) {
        self.shared.listeners.lock().unwrap().clear();
    }

    /// Opens its own streams again as it did at first.
    pub fn stream(&self) {
        *self.shared.streams.lock().unwrap() = None;
    }

    /// Says something on its own streams.
    pub async fn tell(&self, message: &str) {
        let listeners = self.shared.listeners.lock().unwrap().clone();
        for listener in listeners {
            let _ = listener
                .send(Bytes::from(format!("data: {message}\n\n")))
                .await;
        }
    }

    /// The notifications of that method so far.
    pub fn told(&self, method: &str) -> Vec<Value> {
        self.told_in(method)
            .into_iter()
            .map(|(_, note)| note)
            .collect()
    }

    /// The same, each with the session in which it was told.
    pub fn told_in(&self, method: &str) -> Vec<(String, Value)> {
        let told = self.shared.told.lock().unwrap();
        let told = told.iter().filter(|(_, note)| note["method"] == method);
        told.map(|(headers, note)| (session(headers), note.clone()))
            .collect()
    }

    /// The session and the id of the last call.
    pub fn last_call_in(&self) -> (String, Value) {
        let (headers, body) = self.last_call();
        let body: Value = serde_json::from_str(&body).unwrap();
        (session(&headers), body["id"].clone())
    }

    /// The headers and the body of the last call.
    pub fn last_call(&self) -> (HeaderMap, String) {
        let seen = self.shared.seen.lock().unwrap();
        let (headers, body) = seen.last().cloned().unwrap();
        (headers, String::from_utf8(body.to_vec()).unwrap())
    }
}

/// The session that a request names.
fn session(headers: &HeaderMap) -> String {
    let named = headers.get("mcp-session-id");
    named.map_or_else(String::new, |id| id.to_str().unwrap().to_owned())
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let forgotten = shared.forgotten.lock().unwrap().clone();
    if let Some((last, status, said)) = &forgotten
        && let Some(session) = headers.get("mcp-session-id")
        && session.to_str().unwrap()[1..].parse::<usize>().unwrap() <= *last
    {
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let asked = message["method"].as_str().unwrap_or(method.as_str());
        shared.refused.lock().unwrap().push(asked.to_owned());
        let said = said.replace("ID", &message["id"].to_string());
        let kind = if said.is_empty() {
            ""
        } else {
            "application/json"
        };
        return response(*status, kind, Body::from(said));
    }
    if method == Method::GET {
        shared.streams_asked.fetch_add(1, Ordering::SeqCst);
        if let Some((status, kind)) = *shared.streams.lock().unwrap() {
            return response(status, kind, Body::empty());
        }
        let (sender, receiver) = tokio::sync::mpsc::channel(8);
        shared.listeners.lock().unwrap().push(sender);
        return response(200, "text/event-stream", Body::new(Stream(receiver)));
    }
    if method == Method::DELETE && shared.clings.load(Ordering::SeqCst) {
        return std::future::pending().await;
    }
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    // Not with a general JSON library: it has no number for 1e400.
    let document = Document::read(&body, Limits::STANDARD).unwrap();
    let message = document.root();
    let text = |pointer: &str| Some(document.find(pointer)?.text()?.into_owned());
    let id = message
        .get("id")
        .map_or("null", |id| std::str::from_utf8(id.raw()).unwrap());
    let reply = |result: Value| {
        json_response(
            200,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        )
    };
    let hangs = |method: &str| shared.hung.lock().unwrap().contains(method);
    if let Some(method) = text("/method").filter(|method| hangs(method)) {
        let text = String::from_utf8(body.to_vec()).unwrap();
        shared.asked.lock().unwrap().push((headers.clone(), text));
        while hangs(&method) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    match text("/method").as_deref() {
        Some("initialize") => {
            let number = shared.initializes.fetch_add(1, Ordering::SeqCst) + 1;
            let greeting = *shared.greeting.lock().unwrap();
            tokio::time::sleep(greeting).await;
            let other = shared.greets_in.lock().unwrap().clone();
            let mut response = reply(json!({
                "protocolVersion": other.or_else(|| text("/params/protocolVersion")),
                "capabilities": *shared.capabilities.lock().unwrap(),
                "serverInfo": {"name": "up", "version": "1"},
            }));
            response
                .headers_mut()
                .insert("mcp-session-id", format!("s{number}").parse().unwrap());
            response
        }
        Some("tools/list") if !shared.answers.lock().unwrap().contains_key("tools/list") => {
            let pondering = *shared.pondering.lock().unwrap();
            tokio::time::sleep(pondering).await;
            reply(json!({"tools": *shared.tools.lock().unwrap()}))
        }
        Some("tools/call") => {
            shared.effects.fetch_add(1, Ordering::SeqCst);
            shared.seen.lock().unwrap().push((headers, body.clone()));
            let behaviour = shared.behaviour.lock().unwrap().clone();
            call(&shared, behaviour, id).await
        }
        Some(method) if method.starts_with("tasks/") => {
            shared.asked_about_tasks.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8(body.to_vec()).unwrap();
            shared.asked.lock().unwrap().push((headers, text));
            let answer = shared.about_task.lock().unwrap().clone();
            let pondering = *shared.pondering.lock().unwrap();
            tokio::time::sleep(pondering).await;
            let read: Value = serde_json::from_str(&answer).unwrap();
            let member = if read["code"].is_null() {
                "result"
            } else {
                "error"
            };
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{answer}}}"#);
            json_response(200, &body)
        }
        None if message.get("result").is_some() || message.get("error").is_some() => {
            let text = String::from_utf8(body.to_vec()).unwrap();
            shared.replies.lock().unwrap().push(text);
            shared.pinged.notify_one();
            shared.replied.notify_one();
            StatusCode::ACCEPTED.into_response()
        }
        Some(method) if shared.answers.lock().unwrap().contains_key(method) => {
            if method == "tools/list" {
                let pondering = *shared.pondering.lock().unwrap();
                tokio::time::sleep(pondering).await;
            }
            let answer = shared.answers.lock().unwrap()[method].clone();
            let text = String::from_utf8(body.to_vec()).unwrap();
            let of = format!("\"method\":\"{method}\"");
            let mut asked = shared.asked.lock().unwrap();
            asked.push((headers, text));
            let count = asked.iter().filter(|(_, body)| body.contains(&of)).count();
            drop(asked);
            let answer = answer.replace("COUNT", &count.to_string());
            let member = if answer.starts_with("{\"code\"") {
                "error"
            } else {
                "result"
            };
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{answer}}}"#);
            json_response(200, &body.replace("ID", id))
        }
        _ => {
            let note = serde_json::from_slice(&body).unwrap();
            shared.told.lock().unwrap().push((headers, note));
            shared.notes.lock().unwrap().into_response()
        }
    }
}
