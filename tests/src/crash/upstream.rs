//! An upstream that counts what reaches it, and acts at moments of its own.
//!
//! Whatever arrives whole is counted before anything else happens: a call that
//! reached it may have had its effect. A script says, for a key that a call
//! carries in its arguments, how it is answered and what is done meanwhile: before
//! the body is read, after that, after the effect, after half of the answer,
//! after the whole of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::environment;

/// How a call is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// With a result.
    Result,
    /// With a result that says that the tool failed.
    ToolError,
    /// With a JSON-RPC error.
    Error,
    /// With a question, and this state.
    Ask(String),
    /// With something that is no answer.
    Garbage,
    /// By hanging up before there was any effect.
    Refuse,
    /// By hanging up after the effect.
    HangUp,
    /// With half of a result, and then by hanging up.
    HalfResult,
}

/// A moment of a call, as the upstream lives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Moment {
    /// The head has come; the body has not been read.
    Arriving,
    /// The call was read, and has had no effect yet.
    Read,
    /// The effect has happened; nothing was answered.
    Effect,
    /// Half of the answer was sent.
    Half,
    /// All of the answer was sent.
    Answered,
}

/// What one call meets.
pub struct Script {
    /// How it is answered.
    pub reply: Reply,
    /// What is done, when; it is finished before the upstream goes on.
    pub(super) at: Option<(Moment, Act)>,
}

/// Something to do at a moment.
pub(super) type Act = Box<dyn Fn() + Send + Sync>;

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let moment = self.at.as_ref().map(|(moment, _)| moment);
        write!(f, "{:?} at {moment:?}", self.reply)
    }
}

/// A call that reached the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The key that its arguments carry.
    pub key: String,
    /// What it asks for.
    pub action: i64,
    /// The state that it continues from.
    pub state: Option<String>,
    /// The attempt that sent it.
    pub call_id: String,
    /// How it was answered; none where it was cut off before.
    pub answered: Option<Reply>,
    /// When, in microseconds since the upstream started.
    pub at_us: u128,
}

/// A running upstream.
#[derive(Debug)]
pub struct Counting {
    state: Arc<State>,
    port: u16,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    began: std::time::Instant,
    arrivals: Mutex<Vec<Arrival>>,
    scripts: Mutex<BTreeMap<String, VecDeque<Script>>>,
    acted: Mutex<Vec<(String, Moment)>>,
}

impl Counting {
    /// Starts one on a free port of loopback.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            began: environment::now(),
            arrivals: Mutex::default(),
            scripts: Mutex::default(),
            acted: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self { state, port, task }
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the next call under a key meets; calls without a script get a result.
    ///
    /// # Panics
    ///
    /// Never, unless an act panicked.
    pub fn script(&self, key: &str, script: Script) {
        let mut scripts = self.state.scripts.lock().unwrap();
        scripts.entry(key.to_owned()).or_default().push_back(script);
    }

    /// Forgets the scripts that nothing met.
    ///
    /// # Panics
    ///
    /// Never, unless an act panicked.
    pub fn forget_scripts(&self) {
        self.state.scripts.lock().unwrap().clear();
    }

    /// Everything that arrived so far.
    ///
    /// # Panics
    ///
    /// Never, unless an act panicked.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.state.arrivals.lock().unwrap().clone()
    }

    /// Whether something was done for a key at a moment.
    ///
    /// # Panics
    ///
    /// Never, unless an act panicked.
    #[must_use]
    pub fn acted(&self, key: &str, moment: Moment) -> bool {
        let acted = self.state.acted.lock().unwrap();
        acted.iter().any(|(of, at)| of == key && *at == moment)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        connections.spawn(async move { while_open(stream, &state).await });
        while connections.try_join_next().is_some() {}
    }
}

async fn while_open(mut stream: TcpStream, state: &State) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = find(&buffer, b"\r\n\r\n") {
                break buffer.drain(..end + 4).collect::<Vec<_>>();
            }
            more(&mut stream, &mut buffer).await?;
        };
        let head = String::from_utf8(head).ok()?.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .map_or(Some(0), |length| length.trim().parse::<usize>().ok())?;
        if head.contains("mcp-method: tools/call") {
            state.arriving();
        }
        while buffer.len() < length {
            more(&mut stream, &mut buffer).await?;
        }
        let body: Vec<u8> = buffer.drain(..length).collect();
        let message: Value = serde_json::from_slice(&body).ok()?;
        if message["method"] == "tools/call" {
            call(&mut stream, state, &message).await?;
        } else {
            plain(&mut stream, &message).await?;
        }
    }
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let read = stream.read_buf(buffer).await.ok()?;
    (read > 0).then_some(())
}

async fn call(stream: &mut TcpStream, state: &State, message: &Value) -> Option<()> {
    let params = &message["params"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let key = text(&params["arguments"]["key"]).unwrap_or_default();
    let number = {
        let mut arrivals = state.arrivals.lock().unwrap();
        arrivals.push(Arrival {
            key: key.clone(),
            action: params["arguments"]["action"].as_i64().unwrap_or(-1),
            state: text(&params["requestState"]),
            call_id: text(&params["_meta"]["countersign.dev/call_id"]).unwrap_or_default(),
            answered: None,
            at_us: state.began.elapsed().as_micros(),
        });
        arrivals.len() - 1
    };
    let script = state.script(&key);
    let act = |moment| state.act(&key, &script, moment);
    act(Moment::Read);
    if script.reply == Reply::Refuse {
        return None;
    }
    act(Moment::Effect);
    if script.reply == Reply::HangUp {
        return None;
    }
    let answer = answer(&message["id"], &script.reply);
    let (first, second) = answer.split_at(answer.len() / 2);
    stream.write_all(first).await.ok()?;
    act(Moment::Half);
    if script.reply == Reply::HalfResult {
        return None;
    }
    stream.write_all(second).await.ok()?;
    state.arrivals.lock().unwrap()[number].answered = Some(script.reply.clone());
    act(Moment::Answered);
    Some(())
}

fn answer(id: &Value, reply: &Reply) -> Vec<u8> {
    let result = match reply {
        Reply::ToolError => json!({ "content": [], "isError": true }),
        Reply::Ask(state) => json!({
            "resultType": "input_required",
            "requestState": state,
            "inputRequests": { "q": { "method": "elicitation/create", "params": {} } },
        }),
        _ => json!({ "content": [] }),
    };
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    if *reply == Reply::Error {
        message = json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": 7, "message": "the tool knows no such account" },
        });
    }
    if *reply == Reply::Garbage {
        return http(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2}");
    }
    http(message.to_string().as_bytes())
}

async fn plain(stream: &mut TcpStream, message: &Value) -> Option<()> {
    let Some(id) = message.get("id") else {
        let accepted = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(accepted).await.ok();
    };
    let result = crate::upstream::plain(
        message["method"].as_str().unwrap_or_default(),
        message["params"]["protocolVersion"]
            .as_str()
            .unwrap_or_default(),
    );
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    stream
        .write_all(&http(answer.to_string().as_bytes()))
        .await
        .ok()
}

fn http(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

impl State {
    fn script(&self, key: &str) -> Script {
        let mut scripts = self.scripts.lock().unwrap();
        let script = scripts.get_mut(key).and_then(VecDeque::pop_front);
        script.unwrap_or(Script {
            reply: Reply::Result,
            at: None,
        })
    }

    /// Before the body is read nobody knows whose call it is; whoever wants that
    /// moment gets the first one.
    fn arriving(&self) {
        let mut scripts = self.scripts.lock().unwrap();
        for (key, queue) in scripts.iter_mut() {
            let Some(script) = queue.front_mut() else {
                continue;
            };
            if let Some((Moment::Arriving, act)) = &script.at {
                act();
                script.at = None;
                let mut acted = self.acted.lock().unwrap();
                acted.push((key.clone(), Moment::Arriving));
                return;
            }
        }
    }

    fn act(&self, key: &str, script: &Script, moment: Moment) {
        if let Some((at, act)) = &script.at
            && *at == moment
        {
            act();
            self.acted.lock().unwrap().push((key.to_owned(), moment));
        }
    }
}
