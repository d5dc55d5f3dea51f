//! What agents send, byte by byte, and what they are told.

use std::collections::HashMap;
use std::net::SocketAddr;

use countersign_tests::{Answer, Client, Revision};
use serde_json::Value;
use tokio::sync::watch;

use crate::model::Told;
use crate::plan::{Call, Server};
use crate::stage::TOKENS;

/// Where the receipt is, in `_meta` and in an error's `data`.
const RECEIPT: &str = "countersign.dev/receipt";

/// The answer to one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) word: String,
    pub(crate) safe: bool,
    /// The text of the upstream's answer, if it holds one.
    pub(crate) text: Option<String>,
    pub(crate) receipt: Option<Value>,
    /// Whether the ledger that knew of it is gone.
    pub(crate) lost: bool,
}

impl Received {
    pub(crate) fn told(&self) -> Told {
        Told {
            word: self.word.clone(),
            safe: self.safe,
        }
    }
}

/// The agents' clients; sessions end with the gateway that opened them.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    sessions: HashMap<usize, String>,
    requests: u64,
}

/// One request that is ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) body: String,
    address: SocketAddr,
    server: Server,
    method: String,
    name: Option<String>,
    token: &'static str,
    session: Option<String>,
}

impl Clients {
    /// Everything ended with the gateway.
    pub(crate) fn forget(&mut self) {
        self.sessions.clear();
    }

    /// A call as its attempt sends it.
    pub(crate) async fn call(&mut self, to: SocketAddr, call: &Call, number: usize) -> Ready {
        let session = self
            .session(to, call.server, call.session.unwrap_or(call.agent))
            .await;
        let mut meta = vec![format!(r#""countersign.dev/workflow_id":"w{number}""#)];
        if let Some(id) = call.id {
            meta.push(format!(r#""countersign.dev/execution_id":"e{id}""#));
        }
        meta.extend(envelope(call.server));
        let key = call.id.map_or("alone".to_owned(), |id| format!("e{id}"));
        let mut params = format!(
            r#""name":"{}","arguments":{{"key":"{key}","n":{}}},"_meta":{{{}}}"#,
            call.tool,
            call.number,
            meta.join(",")
        );
        if call.task {
            params.push_str(r#","task":{"ttl":60000}"#);
        }
        if let Some(round) = &call.round {
            let answers = format!(
                r#","inputResponses":{{"q":{{"action":"accept","content":{{"n":{}}}}}}}"#,
                round.answer
            );
            params.push_str(&answers);
            if let Some(state) = &round.state {
                params.push_str(&format!(r#","requestState":"{state}""#));
            }
        }
        let token = if call.stranger {
            TOKENS[2]
        } else {
            TOKENS[call.agent]
        };
        let (method, name) = ("tools/call", Some(call.tool.clone()));
        self.ready(to, call.server, (method, name, &params), (token, session))
    }

    /// A request that is no call.
    pub(crate) async fn request(
        &mut self,
        to: SocketAddr,
        (agent, server): (usize, Server),
        method: &str,
        params: &str,
    ) -> Ready {
        let session = self.session(to, server, agent).await;
        let mut members = vec![params.to_owned()];
        if server == Server::Rounds {
            members.push(format!(r#""_meta":{{{}}}"#, envelope(server).join(",")));
        }
        members.retain(|member| !member.is_empty());
        let params = members.join(",");
        let session = (TOKENS[agent], session);
        self.ready(to, server, (method, None, &params), session)
    }

    fn ready(
        &mut self,
        address: SocketAddr,
        server: Server,
        (method, name, params): (&str, Option<String>, &str),
        (token, session): (&'static str, Option<String>),
    ) -> Ready {
        self.requests += 1;
        let id = self.requests;
        Ready {
            body: format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#
            ),
            address,
            server,
            method: method.to_owned(),
            name,
            token,
            session,
        }
    }

    async fn session(&mut self, to: SocketAddr, server: Server, whose: usize) -> Option<String> {
        if server == Server::Rounds {
            return None;
        }
        if let Some(session) = self.sessions.get(&whose) {
            return Some(session.clone());
        }
        let params = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"stateful","version":"1"}"#;
        let (method, token) = (("initialize", None, params), (TOKENS[whose], None));
        let ready = self.ready(to, server, method, token);
        let answer = ready.send_plain().await?;
        let session = answer
            .headers
            .get("mcp-session-id")?
            .to_str()
            .ok()?
            .to_owned();
        self.sessions.insert(whose, session.clone());
        Some(session)
    }
}

/// What a message without sessions says of its client.
fn envelope(server: Server) -> Vec<String> {
    if server == Server::Tasks {
        return Vec::new();
    }
    vec![
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#.to_owned(),
        r#""io.modelcontextprotocol/clientInfo":{"name":"stateful","version":"1"}"#.to_owned(),
        r#""io.modelcontextprotocol/clientCapabilities":{}"#.to_owned(),
    ]
}

impl Ready {
    /// Sends it, once; `nothing` where the gateway dies before it answers.
    pub(crate) async fn send(self, mut died: watch::Receiver<bool>) -> Received {
        let answer = tokio::select! {
            biased;
            _ = died.wait_for(|died| *died) => None,
            answer = self.send_plain() => answer,
        };
        answer.map_or_else(
            || Received {
                word: "nothing".to_owned(),
                ..Received::default()
            },
            |answer| read(&answer),
        )
    }

    async fn send_plain(&self) -> Option<Answer> {
        let revision = match self.server {
            Server::Rounds => Revision::July2026,
            Server::Tasks => Revision::November2025,
        };
        let url = format!("http://{}/mcp/{}", self.address, self.server.name());
        let client = Client::unconnected(&url, revision, Some(self.token));
        let mut headers = client.headers();
        let mut put = |name: &'static str, value: &str| {
            headers.insert(name, value.parse().unwrap());
        };
        match (self.server, &self.session) {
            (Server::Rounds, _) => {
                put("mcp-method", &self.method);
                if let Some(name) = &self.name {
                    put("mcp-name", name);
                }
            }
            (Server::Tasks, Some(session)) => {
                put("mcp-session-id", session);
                put("mcp-protocol-version", revision.text());
            }
            (Server::Tasks, None) => {}
        }
        client.try_send(headers, self.body.as_bytes()).await
    }
}

/// An agent asks on the agents' address for what an operator may.
pub(crate) async fn intrude(to: SocketAddr, agent: usize) -> Received {
    let url = format!("http://{to}/v1/executions/resolve");
    let client = Client::unconnected(&url, Revision::July2026, Some(TOKENS[agent]));
    let body = br#"{"which":{"agent":{"method":"token","issuer":"","subject":"alice"},"execution_id":"e0"},"outcome":"succeeded","reason":"mine"}"#;
    let answer = client.try_send(client.headers(), body).await;
    answer.map_or_else(Received::default, |answer| read(&answer))
}

fn read(answer: &Answer) -> Received {
    let body = std::str::from_utf8(&answer.body).unwrap_or_default();
    let message = if body.is_empty() { "" } else { answer.text() };
    let Ok(message) = serde_json::from_str::<Value>(message) else {
        return Received {
            word: format!("http-{}", answer.status.as_u16()),
            ..Received::default()
        };
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let there = |value: &Value| (!value.is_null()).then(|| value.clone());
    if let Some(result) = message.get("result") {
        let word = if result["isError"] == true {
            "tool-error"
        } else if result["resultType"] == "input_required" {
            "asked"
        } else if result.get("task").is_some() {
            "task"
        } else {
            "result"
        };
        return Received {
            word: word.to_owned(),
            safe: false,
            text: text(&result["content"][0]["text"]),
            receipt: there(&result["_meta"][RECEIPT]),
            lost: false,
        };
    }
    let error = &message["error"];
    let data = &error["data"];
    let code = text(&data["code"]);
    Received {
        safe: data["safe_with_new_id"] == true,
        text: code.is_none().then(|| text(&error["message"])).flatten(),
        word: code.unwrap_or_else(|| "error".to_owned()),
        receipt: there(&data[RECEIPT]),
        lost: false,
    }
}
