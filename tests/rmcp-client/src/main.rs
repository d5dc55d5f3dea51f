//! The official Rust client, driven line by line as `tests/clients` says.
//!
//! Of its HTTP clients the one for Unix sockets is built on the HTTP stack that
//! the workspace has already; `way` carries its bytes to the gateway's port
//! and back, and looks at none of them.

mod way;

use std::error::Error;

use clap::Parser;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, Peer, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use rmcp::{ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::way::Way;

/// Connects, answers one line, and then one for each line that it reads.
#[derive(Parser)]
struct Options {
    /// The server's URL.
    #[arg(long)]
    url: String,
    /// The revision that is asked for.
    #[arg(long)]
    revision: String,
    /// A bearer token.
    #[arg(long)]
    token: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let version: ProtocolVersion = serde_json::from_value(json!(options.revision))?;
    let way = Way::open(&options.url)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(options.url.as_str());
    config.auth_header = options.token;
    // What it sends again by itself is what the gateway is there to see through.
    let transport = StreamableHttpClientTransport::with_client(
        UnixSocketHttpClient::new(way.socket(), &options.url),
        config,
    );
    let lifecycle = if version.has_initialize() {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![version.clone()],
        }
    };
    let us = Implementation::new("countersign-tests", "1.0.0");
    let client = ClientConfig::new(ClientCapabilities::default(), us);
    let client = client.with_protocol_version(version);
    let running = client.serve_with_lifecycle(transport, lifecycle).await?;
    let info = running.peer_info();
    println!(
        "{}",
        json!({
            "negotiated": info.as_ref().map(|info| info.protocol_version.to_string()),
            "server": info.as_ref().and_then(|info| Some(info.server_info.as_ref()?.name.clone())),
        })
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        println!("{}", step(&running, &serde_json::from_str(&line)?).await?);
    }
    running.cancel().await?;
    Ok(())
}

/// Carries out one step.
async fn step(client: &Peer<RoleClient>, asked: &Value) -> Result<Value, Box<dyn Error>> {
    let told = match asked.get("call").and_then(Value::as_str) {
        None => list(client).await,
        Some(tool) => call(client, tool, asked).await,
    };
    match told {
        Ok(told) => Ok(told),
        Err(ServiceError::McpError(ErrorData {
            code,
            message,
            data,
            ..
        })) => Ok(json!({ "error": { "code": code, "message": message, "data": data } })),
        Err(error) => Err(error.into()),
    }
}

async fn list(client: &Peer<RoleClient>) -> Result<Value, ServiceError> {
    let tools = client.list_all_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| &tool.name).collect();
    Ok(json!({ "tools": names }))
}

async fn call(client: &Peer<RoleClient>, tool: &str, asked: &Value) -> Result<Value, ServiceError> {
    let object = |name: &str| asked.get(name).and_then(Value::as_object).cloned();
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = object("arguments");
    params.meta = object("meta").map(Into::into);
    Ok(json!({ "result": client.call_tool(params).await? }))
}
