//! An MCP client of single bytes: what is sent is exactly what a test wrote.
//!
//! One connection for each request, no retry and no redirect, so that a test
//! knows what was sent and how often.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::answer::Answer;

/// The name under which the tests configure the server behind the gateway.
pub const SERVER: &str = "ledger";

/// A protocol revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2025-03-26, with sessions.
    March2025,
    /// 2025-06-18, with sessions.
    June2025,
    /// 2025-11-25, with sessions.
    November2025,
    /// 2026-07-28, stateless.
    July2026,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 4] = [
        Self::March2025,
        Self::June2025,
        Self::November2025,
        Self::July2026,
    ];

    /// As the protocol writes it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// Whether it begins with a handshake and has sessions.
    #[must_use]
    pub fn has_sessions(self) -> bool {
        self < Self::July2026
    }
}

/// A `tools/call` to send; arguments are text, so that spelling is the test's.
#[derive(Debug, Clone, Default)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The text of `arguments`; absent when empty.
    pub arguments: &'a str,
    /// The execution id, sent in `_meta`.
    pub execution_id: Option<&'a str>,
    /// More members of `_meta`, as text with a leading comma when not empty.
    pub meta: &'a str,
}

impl<'a> Call<'a> {
    /// A call with arguments as written.
    #[must_use]
    pub fn new(tool: &'a str, arguments: &'a str) -> Self {
        Self {
            tool,
            arguments,
            ..Self::default()
        }
    }

    /// The same call under an execution id.
    #[must_use]
    pub fn under(self, execution_id: &'a str) -> Self {
        Self {
            execution_id: Some(execution_id),
            ..self
        }
    }
}

/// A client of one gateway or server, in one revision.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    path: String,
    revision: Revision,
    token: Option<String>,
    session: Option<String>,
    next_id: AtomicU64,
}

impl Client {
    /// Connects: shakes hands in revisions that begin so, else nothing.
    ///
    /// # Panics
    ///
    /// When the server does not agree to the revision.
    pub async fn connect(url: &str, revision: Revision, token: Option<&str>) -> Self {
        let mut client = Self::unconnected(url, revision, token);
        if revision.has_sessions() {
            let asked = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"countersign-tests","version":"1"}}}}}}"#,
                revision.text()
            );
            let answer = client.post(asked.as_bytes()).await;
            assert_eq!(
                answer.result()["protocolVersion"],
                revision.text(),
                "{answer:?}"
            );
            let session = answer.headers.get("mcp-session-id");
            client.session = session.map(|session| session.to_str().unwrap().to_owned());
            let told = client
                .post(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
                .await;
            assert!(told.status.is_success(), "{told:?}");
        }
        client
    }

    /// A client that has not shaken hands.
    ///
    /// # Panics
    ///
    /// When `url` isn't `http://ADDRESS:PORT/PATH`.
    #[must_use]
    pub fn unconnected(url: &str, revision: Revision, token: Option<&str>) -> Self {
        let (address, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            address: address.parse().unwrap(),
            path: format!("/{path}"),
            revision,
            token: token.map(str::to_owned),
            session: None,
            next_id: AtomicU64::new(1),
        }
    }

    /// Calls a tool.
    pub async fn call(&self, call: &Call<'_>) -> Answer {
        let message = self.message(call);
        self.post_as("tools/call", Some(call.tool), message.as_bytes())
            .await
    }

    /// The message that [`Client::call`] sends, with an id of its own.
    #[must_use]
    pub fn message(&self, call: &Call<'_>) -> String {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let name = serde_json::Value::from(call.tool);
        let arguments = match call.arguments {
            "" => String::new(),
            text => format!(r#","arguments":{text}"#),
        };
        let execution_id = call.execution_id.map(|id| {
            format!(
                r#""countersign.dev/execution_id":{}"#,
                serde_json::Value::from(id)
            )
        });
        let envelope = (!self.revision.has_sessions()).then(|| self.envelope());
        let members: Vec<String> = execution_id.into_iter().chain(envelope).collect();
        let meta = format!("{}{}", members.join(","), call.meta);
        let meta = match meta.trim_start_matches(',') {
            "" => String::new(),
            text => format!(r#","_meta":{{{text}}}"#),
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{name}{arguments}{meta}}}}}"#
        )
    }

    /// Asks for anything but a tool call; `params` is text without `_meta`.
    pub async fn request(&self, method: &str, params: &str) -> Answer {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let envelope = if self.revision.has_sessions() {
            String::new()
        } else {
            format!(r#""_meta":{{{}}}"#, self.envelope())
        };
        let members: Vec<&str> = [envelope.as_str(), params]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let params = members.join(",");
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#);
        self.post_as(method, None, message.as_bytes()).await
    }

    /// Sends any bytes with the headers of the revision; those that mirror a
    /// body are left out.
    pub async fn post(&self, body: &[u8]) -> Answer {
        self.send(self.headers(), body).await
    }

    /// Sends any bytes with the headers that mirror a body of that method.
    pub async fn post_as(&self, method: &str, name: Option<&str>, body: &[u8]) -> Answer {
        let mut headers = self.headers();
        if !self.revision.has_sessions() {
            headers.insert("mcp-method", method.parse().unwrap());
            if let Some(name) = name {
                headers.insert("mcp-name", name.parse().unwrap());
            }
        }
        self.send(headers, body).await
    }

    /// The headers that every message of the revision has.
    ///
    /// # Panics
    ///
    /// When the token is no header value.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        headers.insert(
            "accept",
            "application/json, text/event-stream".parse().unwrap(),
        );
        if self.session.is_some() || !self.revision.has_sessions() {
            headers.insert(
                "mcp-protocol-version",
                self.revision.text().parse().unwrap(),
            );
        }
        if let Some(session) = &self.session {
            headers.insert("mcp-session-id", session.parse().unwrap());
        }
        if let Some(token) = &self.token {
            headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        headers
    }

    /// Sends exactly these headers (and `Host`) and bytes.
    ///
    /// # Panics
    ///
    /// When no whole answer arrives.
    pub async fn send(&self, headers: HeaderMap, body: &[u8]) -> Answer {
        self.try_send(headers, body).await.expect("an answer")
    }

    /// Sends, where the other side may be killed meanwhile: `None` when no
    /// whole answer arrives.
    pub async fn try_call(&self, call: &Call<'_>) -> Option<Answer> {
        let message = self.message(call);
        let mut headers = self.headers();
        if !self.revision.has_sessions() {
            headers.insert("mcp-method", "tools/call".parse().unwrap());
            headers.insert("mcp-name", call.tool.parse().unwrap());
        }
        self.try_send(headers, message.as_bytes()).await
    }

    /// Sends any bytes with the headers that mirror a body of that method, where
    /// the other side may be killed meanwhile.
    ///
    /// # Panics
    ///
    /// When the name is no header value.
    pub async fn try_post_as(&self, method: &str, name: &str, body: &[u8]) -> Option<Answer> {
        let mut headers = self.headers();
        if !self.revision.has_sessions() {
            headers.insert("mcp-method", method.parse().unwrap());
            headers.insert("mcp-name", name.parse().unwrap());
        }
        self.try_send(headers, body).await
    }

    /// Sends exactly these headers (and `Host`) and bytes, where the other side may
    /// be killed meanwhile.
    ///
    /// # Panics
    ///
    /// When a header is none.
    pub async fn try_send(&self, headers: HeaderMap, body: &[u8]) -> Option<Answer> {
        let stream = TcpStream::connect(self.address).await.ok()?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .ok()?;
        let driver = tokio::spawn(connection);
        let mut request = Request::post(&self.path)
            .header("host", self.address.to_string())
            .body(Full::new(Bytes::copy_from_slice(body)))
            .unwrap();
        request.headers_mut().extend(headers);
        let response = sender.send_request(request).await.ok()?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        driver.abort();
        Some(Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    /// The members of `_meta` that a stateless revision asks for.
    fn envelope(&self) -> String {
        let revision = self.revision.text();
        [
            format!(r#""io.modelcontextprotocol/protocolVersion":"{revision}""#),
            r#""io.modelcontextprotocol/clientInfo":{"name":"countersign-tests","version":"1"}"#
                .to_owned(),
            r#""io.modelcontextprotocol/clientCapabilities":{}"#.to_owned(),
        ]
        .join(",")
    }
}
