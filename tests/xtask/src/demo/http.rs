//! One MCP message over HTTP, the way `curl` sends it.
//!
//! Revision 2026-07-28 needs no handshake, so one POST is a whole call.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::chore::{Failure, Outcome};

/// The revision that the demo speaks.
pub(crate) const REVISION: &str = "2026-07-28";

/// A tool call, as text.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The text of its arguments.
    pub(crate) arguments: String,
    /// The execution id.
    pub(crate) execution_id: String,
}

impl Call {
    /// The whole JSON-RPC message.
    pub(crate) fn message(&self) -> String {
        let Self {
            tool,
            arguments,
            execution_id,
        } = self;
        let meta = [
            format!(r#""countersign.dev/execution_id":"{execution_id}""#),
            format!(r#""io.modelcontextprotocol/protocolVersion":"{REVISION}""#),
            r#""io.modelcontextprotocol/clientInfo":{"name":"demo","version":"1"}"#.to_owned(),
            r#""io.modelcontextprotocol/clientCapabilities":{}"#.to_owned(),
        ]
        .join(",");
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{{meta}}}}}}}"#
        )
    }

    /// The headers of the message, as `Name: value`.
    pub(crate) fn headers(&self) -> [String; 5] {
        [
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
            format!("MCP-Protocol-Version: {REVISION}"),
            "Mcp-Method: tools/call".to_owned(),
            format!("Mcp-Name: {}", self.tool),
        ]
    }

    /// Sends it and waits for the JSON-RPC answer.
    pub(crate) fn send(&self, to: SocketAddr, path: &str) -> Outcome<Value> {
        let body = self.message();
        let mut stream = TcpStream::connect(to)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n"
        )?;
        for header in self.headers() {
            write!(stream, "{header}\r\n")?;
        }
        write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        read(BufReader::new(stream))
    }
}

/// Reads an HTTP answer; its body is JSON, or a stream whose last event is.
fn read(mut stream: BufReader<TcpStream>) -> Outcome<Value> {
    let mut chunked = false;
    let mut head = String::new();
    loop {
        let start = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(Failure::new("the connection ended before an answer"));
        }
        let line = head
            .get(start..)
            .unwrap_or_default()
            .trim_end()
            .to_ascii_lowercase();
        chunked |= line == "transfer-encoding: chunked";
        if line.is_empty() {
            break;
        }
    }
    let mut body = Vec::new();
    if chunked {
        while let Some(chunk) = chunk(&mut stream)? {
            body.extend(chunk);
        }
    } else {
        stream.read_to_end(&mut body)?;
    }
    let body = String::from_utf8_lossy(&body);
    let event = body
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .next_back();
    let message = event.unwrap_or(&body);
    serde_json::from_str(message)
        .map_err(|error| Failure::new(format!("no JSON-RPC answer ({error}): {head}{body}")))
}

/// One chunk of a chunked body, or none at its end.
fn chunk(stream: &mut BufReader<TcpStream>) -> Outcome<Option<Vec<u8>>> {
    let mut size = String::new();
    stream.read_line(&mut size)?;
    let size = usize::from_str_radix(size.trim(), 16)?;
    let mut chunk = vec![0; size];
    stream.read_exact(&mut chunk)?;
    stream.read_exact(&mut [0; 2])?;
    Ok((size > 0).then_some(chunk))
}
