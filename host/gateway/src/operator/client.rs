//! Asks a running gateway, as its operator.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::net::UnixStream;

use super::api::Refused;
use super::{MOST_BYTES, SOCKET, to_text};
use crate::config::Store;
use crate::export::{ExportError, Wanted};

/// Why an operator was not answered.
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
    /// It was understood, and not done.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The answer broke off.
    #[error("the gateway's answer broke off: {0}")]
    Broken(String),
    /// What came cannot be written.
    #[error("the bundle cannot be written: {0}")]
    Write(#[source] io::Error),
    /// The store of a stopped gateway cannot be opened.
    #[error(transparent)]
    Store(#[from] Box<ExportError>),
}

/// Exports a bundle from the gateway whose operator's folder is `folder`.
/// Blocks until all of it is written to `out`.
///
/// # Errors
/// [`OperatorError`]; then what was written is not a bundle.
pub fn export(folder: &Path, wanted: &Wanted, out: &mut dyn Write) -> Result<(), OperatorError> {
    let text = to_text(wanted).ok_or(OperatorError::Selection)?;
    runtime()?.block_on(async {
        let kind = "text/plain; charset=utf-8";
        let mut body = send(&folder.join(SOCKET), "/export", kind, text.into()).await?;
        while let Some(frame) = body.frame().await {
            let data = frame
                .map_err(|error| broken(&error))?
                .into_data()
                .unwrap_or_default();
            out.write_all(&data).map_err(OperatorError::Write)?;
        }
        out.flush().map_err(OperatorError::Write)
    })
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, OperatorError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| OperatorError::Broken(error.to_string()))
}

/// Asks the gateway that runs on a store one question. Blocks.
pub(crate) fn ask_running<Q: Serialize, A: DeserializeOwned>(
    store: &Store,
    path: &str,
    question: &Q,
) -> Result<A, OperatorError> {
    let socket = store.operator.join(SOCKET);
    runtime()?.block_on(ask(&socket, path, question))
}

/// Asks one question, and reads the whole answer.
pub(super) async fn ask<Q: Serialize, A: DeserializeOwned>(
    socket: &Path,
    path: &str,
    question: &Q,
) -> Result<A, OperatorError> {
    let text = serde_json::to_vec(question).map_err(|error| broken(&error))?;
    let body = send(socket, path, "application/json", text.into()).await?;
    let answer = Limited::new(body, MOST_BYTES).collect().await;
    let answer = answer.map_err(|error| broken(&error))?.to_bytes();
    serde_json::from_slice(&answer).map_err(|error| broken(&error))
}

/// Whether a gateway listens there.
pub(super) async fn reach(socket: &Path) -> Result<UnixStream, OperatorError> {
    UnixStream::connect(socket)
        .await
        .map_err(|source| OperatorError::NotRunning {
            socket: socket.to_owned(),
            source,
        })
}

/// Sends one question; the body of the answer, where it was not refused.
async fn send(
    socket: &Path,
    path: &str,
    kind: &str,
    question: Bytes,
) -> Result<Incoming, OperatorError> {
    let stream = reach(socket).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(&error))?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, "operator")
        .header(header::CONTENT_TYPE, kind)
        .body(Full::new(question))
        .map_err(|error| broken(&error))?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| broken(&error))?;
    if response.status() == StatusCode::OK {
        return Ok(response.into_body());
    }
    let status = response.status();
    let said = Limited::new(response.into_body(), MOST_BYTES)
        .collect()
        .await;
    let said = said.map_err(|error| broken(&error))?.to_bytes();
    match serde_json::from_slice::<super::server::Failure>(&said) {
        Ok(failure) => Err(failure.error.into()),
        Err(_) => Err(OperatorError::Broken(format!("status {status}"))),
    }
}

fn broken(error: &dyn std::fmt::Display) -> OperatorError {
    OperatorError::Broken(error.to_string())
}
