//! Where numbers and health are asked for: a listener of their own, so that
//! neither agents nor who watches stand in each other's way.
//!
//! `/metrics` has the numbers, `/healthz` says that the process runs, `/readyz`
//! that calls are admitted, `/upstreams` which servers are there. None of them
//! says more, and none needs a credential; so it listens where the operator says,
//! and on loopback at best.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{StatusCode, header};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Levels;
use crate::front::taken::Taken;
use crate::state::Gateway;

/// How long whoever asks may take to do so, and take nothing of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at once.
const MOST: usize = 64;
/// How long to wait after accepting has failed.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves for as long as it is polled: while the gateway drains, too.
pub(crate) async fn serve(listener: TcpListener, gateway: Arc<Gateway>) {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/upstreams", get(upstreams))
        .with_state(gateway);
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(Taken::new(stream, PATIENCE)), service);
            // Who goes away has what they wanted, or does not want it any more.
            let _: Result<(), hyper::Error> = connection.await;
            drop(place);
        });
    }
}

async fn metrics(State(gateway): State<Arc<Gateway>>) -> Response {
    let levels = Levels {
        in_flight: gateway.limits.in_flight(),
        sessions: gateway.sessions.count(),
        queued: gateway.ledger.queued(),
        hindrance: gateway.hindrance().await,
        tokens_readable: gateway.identities.tokens_readable(),
        upstreams: gateway.upstreams().collect(),
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = gateway.telemetry.metrics.text(&levels);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// A line for each server. One that is away does not make the gateway unready:
/// the others are there, and so is what was settled.
async fn upstreams(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut text = String::new();
    for (server, condition) in gateway.upstreams() {
        text.push_str(&format!("{server} {}\n", condition.as_str()));
    }
    text.into_response()
}

pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Response {
    if gateway.is_ready().await {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}
