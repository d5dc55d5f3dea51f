//! Answers the operator of a running gateway.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use http::{StatusCode, header};
use hyper::body::Frame;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};

use super::api::{
    Abandon, AcceptRollback, Approve, Backup, Discover, List, Refused, Resolve, Which,
};
use super::desk::Desk;
use super::{MOST_BYTES, SOCKET, by_uid, from_text};
use crate::environment::Environment;
use crate::export::{self, Source};
use crate::state::Gateway;

/// Chunks of a bundle that wait for a slow reader.
const MOST_CHUNKS: usize = 16;
const CHUNK_BYTES: usize = 64 * 1024;

/// Why there is no way in.
#[derive(Debug, Error)]
pub(crate) enum SocketError {
    /// The file system does not let it be made.
    #[error("the operator's socket in `{}` cannot be made: {source}", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others than its owner may enter the folder.
    #[error("the operator's folder `{}` is open to others than its owner (mode {mode:04o})", folder.display())]
    Permissions {
        /// The folder.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// A socket that is listened on; its file goes away with it.
pub(crate) struct Listening {
    listener: UnixListener,
    path: PathBuf,
}

impl Listening {
    /// Makes the folder and the socket. Call it with the ledger's lock in hand:
    /// a socket that is there already is then a dead gateway's.
    pub(crate) fn open(folder: &Path) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Io {
            folder: folder.to_owned(),
            source,
        };
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        let mode = fs::metadata(folder).map_err(failed)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(SocketError::Permissions {
                folder: folder.to_owned(),
                mode,
            });
        }
        let path = folder.join(SOCKET);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        Ok(Self { listener, path })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What every question is answered from.
#[derive(Clone)]
struct Serving {
    source: Source,
    environment: Environment,
    gateway: Arc<Gateway>,
}

/// Who asks, as the kernel vouches for it.
#[derive(Clone)]
struct Peer(String);

/// Whether a user is an operator of a gateway that `owner` runs.
const fn may_ask(uid: u32, owner: u32) -> bool {
    uid == owner || uid == 0
}

/// Answers until `draining` says otherwise.
pub(crate) async fn serve(
    listening: Listening,
    source: Source,
    gateway: Arc<Gateway>,
    mut draining: watch::Receiver<bool>,
) {
    let environment = gateway.environment.clone();
    let owner = environment.user;
    let router = router(Serving {
        source,
        environment,
        gateway,
    });
    loop {
        let stream = tokio::select! {
            () = async { drop(draining.wait_for(|draining| *draining).await) } => return,
            accepted = listening.listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("the operator's socket: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        // The folder lets in its owner and root alone; what the kernel says of
        // the other end is asked all the same, since it stands in the log.
        let peer = match stream.peer_cred() {
            Ok(peer) if may_ask(peer.uid(), owner) => Peer(by_uid(peer.uid())),
            Ok(peer) => {
                tracing::warn!(uid = peer.uid(), "a stranger at the operator's socket");
                continue;
            }
            Err(error) => {
                tracing::warn!("the operator's socket: {error}");
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone().layer(Extension(peer)));
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            let _: Result<(), hyper::Error> = connection.await;
        });
    }
}

/// Makes a route of each question: its path, what it is asked with, and who
/// answers it.
macro_rules! questions {
    ($($path:literal $asked:ty => $name:ident,)+) => {
        fn questions() -> Router<Serving> {
            Router::new()$(.route(
                $path,
                post(
                    async |State(serving): State<Serving>, Extension(peer): Extension<Peer>, body: Bytes| {
                        let asked: $asked = match read(&body) {
                            Ok(asked) => asked,
                            Err(refused) => return refusal(refused),
                        };
                        let desk = serving.desk(peer);
                        tell(desk.$name(asked).await)
                    },
                ),
            ))+
        }
    };
}

questions! {
    "/v1/ledger/status" () => status,
    "/v1/ledger/backup" Backup => backup,
    "/v1/ledger/rollback/accept" AcceptRollback => accept_rollback,
    "/v1/executions/list" List => list,
    "/v1/executions/show" Which => show,
    "/v1/executions/explain" Which => explain,
    "/v1/executions/resolve" Resolve => resolve,
    "/v1/executions/abandon" Abandon => abandon,
    "/v1/catalog/discover" Discover => discover,
    "/v1/catalog/approve" Approve => approve,
    "/v1/reload" () => reload,
}

fn router(serving: Serving) -> Router {
    questions()
        .route("/export", post(export))
        .fallback(async || refusal(Refused::malformed("no such question")))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(serving)
}

impl Serving {
    fn desk(&self, peer: Peer) -> Desk {
        Desk {
            ledger: self.source.ledger.clone(),
            environment: self.environment.clone(),
            operator: peer.0,
            gateway: Some(Arc::clone(&self.gateway)),
        }
    }
}

/// How a refusal travels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) error: Refused,
}

fn read<Q: DeserializeOwned>(body: &[u8]) -> Result<Q, Refused> {
    serde_json::from_slice(body).map_err(Refused::malformed)
}

fn tell<A: Serialize>(answer: Result<A, Refused>) -> Response {
    match answer {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(refused) => refusal(refused),
    }
}

fn refusal(error: Refused) -> Response {
    let status = match error.code.as_str() {
        Refused::CODE | Refused::RELOAD => StatusCode::BAD_REQUEST,
        "execution-unknown" => StatusCode::NOT_FOUND,
        "execution-state" | "execution-fenced" | "ledger-not-rolled-back" | "ledger-backup" => {
            StatusCode::CONFLICT
        }
        "overloaded" => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    json(status, &Failure { error })
}

fn json<A: Serialize>(status: StatusCode, answer: &A) -> Response {
    match serde_json::to_vec(answer) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn export(
    State(Serving {
        source,
        environment,
        ..
    }): State<Serving>,
    body: String,
) -> Response {
    let Some(wanted) = from_text(&body) else {
        return refusal(Refused::malformed("no such selection"));
    };
    if let Err(error) = source.ledger.checkpoint().await {
        return refusal(error.into());
    }
    let (sender, chunks) = mpsc::channel(MOST_CHUNKS);
    tokio::task::spawn_blocking(move || {
        let pipe = Pipe {
            sender: sender.clone(),
            held: Vec::with_capacity(CHUNK_BYTES),
        };
        let written = export::write(&source, &wanted, environment.now(), pipe)
            .map_err(|error| error.to_string())
            .and_then(|mut pipe| pipe.flush().map_err(|error| error.to_string()));
        if let Err(error) = written {
            tracing::error!("an export broke off: {error}");
            let _ = sender.blocking_send(Err(io::Error::other(error)));
        }
    });
    Response::new(Body::new(Chunks(chunks)))
}

/// Hands what is written on to the response.
struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
    held: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.held);
        if chunk.is_empty() {
            return Ok(());
        }
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.blocking_send(Ok(chunk.into())).map_err(gone)
    }
}

/// A response's body, as chunks arrive. An error breaks the response off, so
/// that a reader can tell half a bundle from a whole one.
struct Chunks(mpsc::Receiver<io::Result<Bytes>>);

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0
            .poll_recv(cx)
            .map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_runs_the_gateway_and_root_are_its_operators() {
        for (uid, owner, may) in [(7, 7, true), (0, 7, true), (8, 7, false), (7, 0, false)] {
            assert_eq!(may_ask(uid, owner), may, "{uid} of {owner}");
        }
    }

    #[tokio::test]
    async fn the_socket_is_in_a_folder_of_its_owner_alone_and_goes_away_with_who_listens() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("operator");
        let socket = folder.join(SOCKET);
        let listening = Listening::open(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        drop(listening);
        assert!(!socket.exists());
        // What a gateway that was killed left behind is in nobody's way.
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        assert!(socket.exists());
        drop(Listening::open(&folder).unwrap());
        for open in [0o750, 0o705, 0o701, 0o770] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(open)).unwrap();
            let refused = Listening::open(&folder);
            assert!(
                matches!(refused, Err(SocketError::Permissions { mode, .. }) if mode == open),
                "{open:04o}"
            );
        }
    }
}
