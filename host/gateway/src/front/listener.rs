//! Connections of agents: accepted, bounded, and ended in good order.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(15);
/// The head of a request, in bytes.
const MOST_HEAD: usize = 65_536;
/// How long answers may take to reach their clients once all calls have ended.
const FLUSH: Duration = Duration::from_secs(2);
/// How long to wait after accepting has failed, for want of file handles say.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `draining` says otherwise; then each connection ends after the
/// request that it is at.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    draining: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(most));
    let mut stop = draining.clone();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let stream = tokio::select! {
            () = begun(&mut stop) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let (router, draining) = (router.clone(), draining.clone());
        tokio::spawn(async move {
            connection(stream, router, draining).await;
            drop(place);
        });
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    // Whoever keeps a connection open past this is not waited for.
    let _ = tokio::time::timeout(FLUSH, places.acquire_many(all)).await;
}

async fn connection(stream: TcpStream, router: Router, mut draining: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = begun(&mut draining) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection broke off: {error}");
    }
}

/// Resolves once draining has begun.
async fn begun(draining: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = draining.wait_for(|draining| *draining).await;
}
