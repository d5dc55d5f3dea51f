//! Connections of agents: accepted, bounded, and ended in good order.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::taken::Taken;
use crate::config;
use crate::counts::release;
use crate::identity::Peer;
use crate::tls;

/// The head of a request, in bytes.
const MOST_HEAD: usize = 65_536;
/// How many headers it may have.
const MOST_HEADERS: usize = 100;
/// How long answers may take to reach their clients once all calls have ended.
const FLUSH: Duration = Duration::from_secs(2);
/// How long to wait after accepting has failed, for want of file handles say.
const PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be, and how slow their clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    connections: usize,
    per_peer: usize,
    head: Duration,
    write: Duration,
}

impl Bounds {
    pub(crate) fn of(limits: &config::Limits) -> Self {
        Self {
            connections: limits.connections,
            per_peer: limits.connections_per_peer,
            head: limits.head_timeout,
            write: limits.write_timeout,
        }
    }
}

/// Connections by the address that they come from.
#[derive(Debug, Default)]
struct Peers(Mutex<HashMap<IpAddr, usize>>);

/// A connection's place, in all and among those of its peer.
struct Place {
    peers: Arc<Peers>,
    address: IpAddr,
    _all: OwnedSemaphorePermit,
}

impl Peers {
    /// Counts a connection in; none where its peer has all that it may have.
    fn enter(
        self: &Arc<Self>,
        address: IpAddr,
        most: usize,
        all: OwnedSemaphorePermit,
    ) -> Option<Place> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place {
            peers: Arc::clone(self),
            address,
            _all: all,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        release(&mut counts, &self.address, 1);
    }
}

/// Serves until `draining` says otherwise; then each connection ends after the
/// request that it is at. Returns once all have ended or, at the latest, [`FLUSH`]
/// after `ended` says that all calls have.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    front: Option<Arc<tls::Front>>,
    draining: watch::Receiver<bool>,
    mut ended: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(bounds.connections));
    let peers = Arc::new(Peers::default());
    let mut stop = draining.clone();
    let mut refused = 0_u64;
    loop {
        // There may be no place until long after it is to stop.
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = begun(&mut stop) => break,
            next = next => next,
        };
        let Ok(place) = place else { return };
        let (stream, address) = match accepted {
            Ok((stream, address)) => (stream, address.ip()),
            Err(error) => {
                refused = refused.saturating_add(1);
                // It may go on for long, twenty times a second.
                if refused.is_power_of_two() {
                    tracing::warn!(refused, "a connection could not be accepted: {error}");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(place) = peers.enter(address, bounds.per_peer, place) else {
            // Closed without a word: nothing was read that could be answered.
            tracing::debug!(%address, "too many connections of one peer");
            continue;
        };
        let (router, draining) = (router.clone(), draining.clone());
        let tls = front.as_ref().map(|front| front.current());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match tls {
                None => connection(stream, Peer::default(), router, bounds, draining).await,
                Some(met) => secured(stream, met, router, bounds, draining).await,
            }
            drop(place);
        });
    }
    drop(listener);
    let all = u32::try_from(bounds.connections).unwrap_or(u32::MAX);
    let late = async {
        begun(&mut ended).await;
        tokio::time::sleep(FLUSH).await;
    };
    tokio::select! {
        // Whoever keeps a connection open past this is not waited for.
        () = late => {}
        _ = places.acquire_many(all) => {}
    }
}

/// Shakes hands, in the time that a request's head may take.
async fn secured(
    stream: TcpStream,
    (config, accepted): (Arc<rustls::ServerConfig>, tls::Accepted),
    router: Router,
    bounds: Bounds,
    draining: watch::Receiver<bool>,
) {
    let shaken = TlsAcceptor::from(config).accept(stream);
    match tokio::time::timeout(bounds.head, shaken).await {
        Ok(Ok(stream)) => {
            let (_, session) = stream.get_ref();
            let leaf = session.peer_certificates().and_then(<[_]>::first);
            let peer = Peer {
                certificate: leaf.map(|leaf| Arc::from(leaf.as_ref())),
                accepted: leaf.map(|_| accepted),
            };
            connection(stream, peer, router, bounds, draining).await;
        }
        Ok(Err(error)) => tracing::debug!("a handshake failed: {error}"),
        Err(_) => tracing::debug!("a handshake took too long"),
    }
}

async fn connection<S>(
    stream: S,
    peer: Peer,
    router: Router,
    bounds: Bounds,
    mut draining: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let accepted = peer.accepted.clone();
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_buf_size(MOST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(Taken::new(stream, bounds.write)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = ends(&mut draining, accepted) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection broke off: {error}");
    }
}

/// Resolves once a connection is to end after the request that it is at: draining has
/// begun, or its certificate does not count any more.
async fn ends(draining: &mut watch::Receiver<bool>, accepted: Option<tls::Accepted>) {
    match accepted {
        None => begun(draining).await,
        Some(accepted) => tokio::select! {
            () = begun(draining) => {}
            () = accepted.ended() => {}
        },
    }
}

/// Resolves once it is told that something has begun.
async fn begun(told: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = told.wait_for(|told| *told).await;
}
