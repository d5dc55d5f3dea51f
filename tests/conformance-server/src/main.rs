//! An MCP server that offers whatever the official conformance suite asks of
//! one, on the official SDK, over Streamable HTTP on loopback.
//!
//! It exists so that one and the same server can be judged directly and through
//! the gateway: every check must come out alike. What it offers, and under which
//! names, is what the suite's scenarios describe.

#![allow(
    clippy::indexing_slicing,
    reason = "what a JSON value has not reads as null"
)]

mod asked;
mod prompts;
mod resources;
mod rounds;
mod server;
mod tools;

use std::{io::Write as _, net::SocketAddr, time::Duration};

use clap::Parser;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use crate::server::Server;

/// The MCP server that the official conformance suite asks for.
#[derive(Debug, Parser)]
#[command(name = "countersign-conformance-server")]
struct Arguments {
    /// The address to listen on; port 0 takes a free one. The address in use
    /// is printed as the only line on standard output.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let server = Server::default();
    let config = StreamableHttpServerConfig::default()
        .enforce_origin_validation()
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"])
        .with_sse_retry(Some(Duration::from_secs(1)));
    let service: StreamableHttpService<Server, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(server.clone()),
        std::sync::Arc::default(),
        config,
    );
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
