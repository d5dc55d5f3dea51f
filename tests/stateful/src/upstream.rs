//! The two servers behind the gateway, in one: what they offer is the plan's to
//! say, each call is counted before anything else, and how it is answered was
//! said before it was sent.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::plan::{Reply, Server, Status};
use crate::stage::Ends;

/// A call that reached it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The gateway's name of the attempt.
    pub(crate) call_id: String,
    /// The state that it presents, with the answer.
    pub(crate) round: Option<(Option<String>, u64)>,
}

/// How the next call is answered.
pub(crate) struct Script {
    pub(crate) reply: Reply,
    /// Ends the gateway, where the reply says so.
    pub(crate) ends: Ends,
    /// Told when it arrives, and waited for before it is answered.
    pub(crate) held: Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>,
}

struct State {
    script: Option<Script>,
    arrivals: Vec<Arrival>,
    offered: [u8; 2],
    task: Status,
    /// Requests that no plan accounts for.
    strange: Vec<String>,
}

/// The servers, running.
pub(crate) struct Upstream {
    url: String,
    state: Arc<Mutex<State>>,
    _alive: mpsc::Sender<()>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            script: None,
            arrivals: Vec::new(),
            offered: [0, 0],
            task: Status::Working,
            strange: Vec::new(),
        }));
        let (alive, mut gone) = mpsc::channel::<()>(1);
        let theirs = Arc::clone(&state);
        tokio::spawn(async move {
            tokio::select! {
                () = accept(listener, theirs) => {}
                _ = gone.recv() => {}
            }
        });
        Self {
            url,
            state,
            _alive: alive,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn script(&self, script: Script) {
        self.state.lock().unwrap().script = Some(script);
    }

    pub(crate) fn offer(&self, server: Server, version: u8) {
        self.state.lock().unwrap().offered[server as usize] = version;
    }

    pub(crate) fn task_is(&self, status: Status) {
        self.state.lock().unwrap().task = status;
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.state.lock().unwrap().arrivals.clone()
    }

    pub(crate) fn strange(&self) -> Vec<String> {
        self.state.lock().unwrap().strange.clone()
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, Arc::clone(&state)));
            let http = hyper::server::conn::http1::Builder::new();
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Stands for "end the connection without an answer".
#[derive(Debug)]
struct HungUp;

impl std::fmt::Display for HungUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hung up")
    }
}

impl std::error::Error for HungUp {}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<Full<Bytes>>, HungUp> {
    let server = match request.uri().path() {
        "/tasks" => Server::Tasks,
        _ => Server::Rounds,
    };
    let body = request.into_body().collect().await.map_err(|_| HungUp)?;
    let message: Value = serde_json::from_slice(&body.to_bytes()).map_err(|_| HungUp)?;
    let Some(id) = message.get("id").cloned() else {
        return Ok(respond(202, String::new()));
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let method = text(&message["method"]);
    let whole = |result: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        Ok(respond(200, body.to_string()))
    };
    if method == "tools/call" {
        return called(&id, &message, &state).await;
    }
    if method.starts_with("tasks/") {
        let status = match (method.as_str(), state.lock().unwrap().task) {
            ("tasks/cancel", _) | (_, Status::Cancelled) => "cancelled",
            (_, Status::Working) => "working",
            (_, Status::Completed) => "completed",
            (_, Status::Failed) => "failed",
        };
        return whole(match method.as_str() {
            "tasks/result" => json!({ "content": [] }),
            _ => task(&text(&message["params"]["taskId"]), status),
        });
    }
    let version = text(&message["params"]["protocolVersion"]);
    let offered = state.lock().unwrap().offered[server as usize];
    let Some(result) = plain(&method, &version, offered) else {
        state.lock().unwrap().strange.push(method);
        return Err(HungUp);
    };
    whole(result)
}

async fn called(
    id: &Value,
    message: &Value,
    state: &Mutex<State>,
) -> Result<Response<Full<Bytes>>, HungUp> {
    let params = &message["params"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let round = params.get("inputResponses").map(|answers| {
        let answer = answers["q"]["content"]["n"].as_u64().unwrap_or_default();
        (text(&params["requestState"]), answer)
    });
    let (number, script) = {
        let mut state = state.lock().unwrap();
        state.arrivals.push(Arrival {
            call_id: text(&params["_meta"]["countersign.dev/call_id"]).unwrap_or_default(),
            round,
        });
        (state.arrivals.len() - 1, state.script.take())
    };
    let Some(Script { reply, ends, held }) = script else {
        state
            .lock()
            .unwrap()
            .strange
            .push(format!("a call that nobody sent: {message}"));
        return Err(HungUp);
    };
    if let Some((arrived, go_on)) = held {
        let _ = arrived.send(());
        let _ = go_on.await;
    }
    let content = json!([{ "type": "text", "text": format!("a{number}") }]);
    let result = match reply {
        Reply::Result => json!({ "content": content, "resultType": "complete" }),
        Reply::ToolError => {
            json!({ "content": content, "resultType": "complete", "isError": true })
        }
        Reply::Ask(state) => json!({
            "resultType": "input_required",
            "requestState": state,
            "inputRequests": { "q": { "method": "elicitation/create", "params": {} } },
            "content": content,
        }),
        Reply::Task(name) => json!({ "task": task(&name, "working"), "content": content }),
        Reply::Error => {
            let error = json!({ "code": 7, "message": format!("a{number}") });
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            return Ok(respond(200, body.to_string()));
        }
        Reply::Garbage => {
            return Ok(respond(
                200,
                r#"{"jsonrpc":"2.0","id":1,"id":2}"#.to_owned(),
            ));
        }
        Reply::HangUp => return Err(HungUp),
        Reply::DiesOnArrival | Reply::DiesAfterEffect => {
            ends();
            std::future::pending::<Infallible>().await;
            return Err(HungUp);
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    Ok(respond(200, body.to_string()))
}

fn task(id: &str, status: &str) -> Value {
    json!({ "taskId": id, "status": status, "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000 })
}

/// The result of what is no call; the versions of the tools differ in `pay`.
fn plain(method: &str, version: &str, offered: u8) -> Option<Value> {
    let most = if offered % 2 == 1 { 50 } else { 1_000_000 };
    Some(match method {
        "initialize" => json!({
            "protocolVersion": version,
            "capabilities": { "tools": {}, "resources": {} },
            "serverInfo": { "name": "stateful", "version": "1" },
        }),
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "resources": {} },
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        "tools/list" => json!({
            "resultType": "complete",
            "tools": [
                {
                    "name": "pay",
                    "description": format!("version {offered}"),
                    "inputSchema": {
                        "type": "object",
                        "required": ["key", "n"],
                        "properties": {
                            "key": { "type": "string" },
                            "n": { "type": "number", "maximum": most },
                        },
                    },
                },
                {
                    "name": "look",
                    "inputSchema": { "type": "object" },
                    "annotations": { "readOnlyHint": true },
                },
            ],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        "resources/list" => json!({
            "resultType": "complete", "resources": [], "ttlMs": 0, "cacheScope": "private",
        }),
        "ping" => json!({}),
        _ => return None,
    })
}

fn respond(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    let kind = "application/json".parse().unwrap();
    response.headers_mut().insert("content-type", kind);
    response
}
