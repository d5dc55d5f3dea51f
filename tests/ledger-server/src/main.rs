//! An MCP server whose side effects can be counted: each transfer is one line
//! of a journal file, which a test or a reader counts from outside.
//!
//! It is a real server on the official SDK, over Streamable HTTP on loopback
//! or over stdio. It is lax on purpose, as real servers are: it takes any
//! value as an amount, so that whatever a gateway lets through leaves a line.
//! The whole-system tests and the demo start it as a process of its own.

mod journal;
mod tools;

use std::{io::Write as _, net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Parser;
use rmcp::{
    ServiceExt as _,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};

use crate::{journal::Journal, tools::LedgerServer};

/// An MCP server with a side effect one can count.
#[derive(Debug, Parser)]
#[command(name = "countersign-ledger-server")]
struct Arguments {
    /// The file that gets one line for each effect; made when missing.
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// Speak over standard input and output instead of HTTP.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// The address to listen on; port 0 takes a free one. The address in use
    /// is printed as the only line on standard output.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let server = LedgerServer::new(Arc::new(Journal::open(&arguments.journal)?));
    if arguments.stdio {
        server
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    }
    let service: StreamableHttpService<LedgerServer, LocalSessionManager> =
        StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::default(),
            StreamableHttpServerConfig::default(),
        );
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
