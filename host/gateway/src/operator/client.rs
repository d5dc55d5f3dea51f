//! Asks a running gateway, as its operator.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use countersign_ledger::Selection;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::UnixStream;

use super::{SOCKET, to_text};

/// Why a running gateway did not answer its operator.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// No gateway listens there, or this user may not open its socket.
    #[error("no gateway answers at `{}`: {source}", socket.display())]
    NotRunning {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The selection cannot be asked for.
    #[error("a name in the selection holds a line end")]
    Selection,
    /// The gateway refused.
    #[error("the gateway refused: {0}")]
    Refused(String),
    /// The answer broke off.
    #[error("the gateway's answer broke off: {0}")]
    Broken(String),
    /// What came cannot be written.
    #[error("the bundle cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Exports a bundle from the gateway whose operator's folder is `folder`.
/// Blocks until all of it is written to `out`.
///
/// # Errors
/// [`OperatorError`]; then what was written is not a bundle.
pub fn export(
    folder: &Path,
    selection: &Selection,
    out: &mut dyn Write,
) -> Result<(), OperatorError> {
    let text = to_text(selection).ok_or(OperatorError::Selection)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(OperatorError::Write)?;
    runtime.block_on(ask(&folder.join(SOCKET), text, out))
}

async fn ask(socket: &Path, text: String, out: &mut dyn Write) -> Result<(), OperatorError> {
    let broken = |error: hyper::Error| OperatorError::Broken(error.to_string());
    let stream = UnixStream::connect(socket)
        .await
        .map_err(|source| OperatorError::NotRunning {
            socket: socket.to_owned(),
            source,
        })?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri("/export")
        .header(header::HOST, "operator")
        .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .body(Full::new(Bytes::from(text)))
        .map_err(|error| OperatorError::Broken(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(broken)?;
    if response.status() != StatusCode::OK {
        let said = Limited::new(response.into_body(), 4_096).collect().await;
        let said = said.map(|said| String::from_utf8_lossy(&said.to_bytes()).into_owned());
        return Err(OperatorError::Refused(said.unwrap_or_default()));
    }
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let data = frame.map_err(broken)?.into_data().unwrap_or_default();
        out.write_all(&data).map_err(OperatorError::Write)?;
    }
    out.flush().map_err(OperatorError::Write)
}
