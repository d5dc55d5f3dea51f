//! A client that sends exactly the bytes and headers that a test gives it.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

#[derive(Clone, Debug)]
pub struct Client {
    address: SocketAddr,
    path: String,
    pub headers: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    /// The one JSON message, or the last one of an event stream.
    pub fn json(&self) -> Value {
        let text = self.text();
        let kind = self
            .headers
            .get("content-type")
            .map_or("", |kind| kind.to_str().unwrap());
        if kind == "text/event-stream" {
            let last = text
                .lines()
                .rfind(|line| line.starts_with("data: "))
                .unwrap();
            return serde_json::from_str(&last[6..]).unwrap();
        }
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// `error.data.code`, or nothing where it is a result.
    pub fn code(&self) -> Option<String> {
        let code = &self.json()["error"]["data"]["code"];
        code.as_str().map(str::to_owned)
    }

    pub fn data(&self) -> Value {
        self.json()["error"]["data"].clone()
    }
}

/// The events of one answer; the connection ends when it is dropped.
pub struct Events {
    pub status: StatusCode,
    body: hyper::body::Incoming,
    parser: countersign_mcp::sse::Parser,
    ready: Vec<countersign_mcp::sse::Event>,
    _connection: AbortOnDrop,
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Events {
    /// The next event's data; none once the stream has ended.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if !self.ready.is_empty() {
                return Some(String::from_utf8(self.ready.remove(0).data).unwrap());
            }
            let frame = tokio::time::timeout(std::time::Duration::from_secs(10), self.body.frame());
            let frame = frame.await.unwrap()?.unwrap();
            let chunk = frame.into_data().unwrap_or_default();
            self.parser.push(&chunk, &mut self.ready).unwrap();
        }
    }

    /// The same as JSON.
    pub async fn json(&mut self) -> Value {
        serde_json::from_str(&self.next().await.unwrap()).unwrap()
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let headers = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        let path = "/mcp/up".to_owned();
        Self {
            address,
            path,
            headers,
        }
    }

    /// The same at another server.
    pub fn at(&self, server: &str) -> Self {
        let mut client = self.clone();
        client.path = format!("/mcp/{server}");
        client
    }

    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    pub fn without(&self, name: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(other, _)| other != name);
        client
    }

    /// Sends a request and reads the events of its answer one by one.
    pub async fn stream(&self, method: Method, body: &str) -> Events {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(&self.path);
        request = request.header("host", self.address.to_string());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let response = sender
            .send_request(request.body(body).unwrap())
            .await
            .unwrap();
        Events {
            status: response.status(),
            body: response.into_body(),
            parser: countersign_mcp::sse::Parser::new(16 << 20),
            ready: Vec::new(),
            _connection: AbortOnDrop(connection.abort_handle()),
        }
    }

    /// A client in a session of 2025-11-25.
    pub async fn session(&self) -> Self {
        self.session_of("2025-11-25").await
    }

    pub async fn session_of(&self, revision: &str) -> Self {
        self.session_with(revision, "{}").await
    }

    /// The same with these capabilities, in JSON.
    pub async fn session_with(&self, revision: &str, capabilities: &str) -> Self {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        );
        let answer = self.post(&body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let session = answer
            .headers
            .get("mcp-session-id")
            .unwrap()
            .to_str()
            .unwrap();
        self.with("mcp-session-id", session)
            .with("mcp-protocol-version", revision)
    }

    /// A client of 2026-07-28 that calls `tool`.
    pub fn modern(&self, method: &str, name: Option<&str>) -> Self {
        let client = self
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", method);
        match name {
            Some(name) => client.with("mcp-name", name),
            None => client,
        }
    }

    pub async fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        let body = Bytes::copy_from_slice(body.as_ref());
        self.send(Method::POST, &self.path, body).await
    }

    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            request = request.header("host", self.address.to_string());
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = sender
            .send_request(request.body(Full::new(body)).unwrap())
            .await
            .unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: head.status,
            headers: head.headers,
            body,
        }
    }

    /// Calls a tool with raw arguments, under an `execution_id` if there is one.
    pub async fn call(&self, tool: &str, arguments: &str, execution_id: Option<&str>) -> Answer {
        self.post(call(1, tool, arguments, execution_id)).await
    }
}

/// A `tools/call` message.
pub fn call(id: u64, tool: &str, arguments: &str, execution_id: Option<&str>) -> String {
    let meta = execution_id.map_or(String::new(), |id| {
        format!(r#","_meta":{{"countersign.dev/execution_id":"{id}"}}"#)
    });
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{meta}}}}}"#
    )
}

/// A `tools/call` message of 2026-07-28.
pub fn modern_call(id: u64, tool: &str, arguments: &str, execution_id: Option<&str>) -> String {
    let own = execution_id.map_or(String::new(), |id| {
        format!(r#","countersign.dev/execution_id":"{id}""#)
    });
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{own}}}}}}}"#
    )
}
