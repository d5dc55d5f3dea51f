//! Connections to one upstream: TCP, TLS where the URL says so, HTTP/1.1.
//!
//! A few idle ones are kept, for less time than servers keep them. Nothing is
//! sent twice: a connection is replaced only while no byte was written.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::meter::{Meter, Metered};
use super::receive::drain;
use crate::tls;
use crate::upstream::Reason;

/// Shorter than the five seconds after which common servers close.
const IDLE: Duration = Duration::from_secs(3);
const MOST_IDLE: usize = 64;
/// After how long without a word the peer is asked whether it is there, how long
/// it has to answer, and how often it is asked.
const QUIET: Duration = Duration::from_secs(60);
const PROBE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// How long a stream that has given its answer may take to end, and how many
/// are waited for at once; the connection of any other one ends with it.
const END: Duration = Duration::from_secs(1);
const MOST_ENDING: usize = 64;

/// Where connections come from.
pub(super) struct Connector {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: Mutex<Vec<(Instant, Connection)>>,
    ending: Arc<Semaphore>,
}

/// One open connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) meter: Meter,
}

impl Connector {
    /// Connects to where `url` is. Its certificate must go back to one of
    /// `roots` or, without them, to one that the system trusts.
    pub(super) fn new(
        url: &Uri,
        roots: Option<&[CertificateDer<'static>]>,
    ) -> Result<Self, rustls::Error> {
        let bare = url.host().unwrap_or_default();
        let host = bare
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let secure = url.scheme_str() == Some("https");
        let secured = if secure {
            let name = ServerName::try_from(host.clone())
                .map_err(|_| rustls::Error::General("no server name".to_owned()))?;
            let config = tls::client(roots)?;
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        let port = url.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self {
            host,
            port,
            tls: secured,
            idle: Mutex::default(),
            ending: Arc::new(Semaphore::new(MOST_ENDING)),
        })
    }

    /// An idle connection that seems open, the freshest first.
    pub(super) fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, connection)) = idle.pop() {
            if since.elapsed() < IDLE && !connection.sender.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose response was read to its end.
    pub(super) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(since, other)| since.elapsed() < IDLE && !other.sender.is_closed());
        if idle.len() < MOST_IDLE {
            idle.push((Instant::now(), connection));
        }
    }

    /// Keeps a connection once the rest of its response, which is for nobody,
    /// has been read; nobody waits for that.
    pub(super) fn keep_after(self: &Arc<Self>, connection: Connection, rest: Incoming) {
        let Ok(place) = Arc::clone(&self.ending).try_acquire_owned() else {
            return;
        };
        let connector = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok(true) = tokio::time::timeout(END, drain(rest)).await {
                connector.keep(connection);
            }
            drop(place);
        });
    }

    pub(super) fn forget(&self) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// A new connection. Nothing of a request is on it yet.
    pub(super) async fn open(&self) -> Result<Connection, Reason> {
        let unreachable = |what: &str, error: &dyn std::fmt::Display| {
            tracing::warn!(host = self.host, port = self.port, "cannot {what}: {error}");
            Reason::Unreachable
        };
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|error| unreachable("connect", &error))?;
        let _ = stream.set_nodelay(true);
        let _ = keep_alive(&stream);
        match &self.tls {
            None => speak(stream).await,
            Some((tls, name)) => {
                let stream = tls
                    .connect(name.clone(), stream)
                    .await
                    .map_err(|error| unreachable("set up TLS", &error))?;
                speak(stream).await
            }
        }
    }
}

/// Lets a connection end whose peer is gone without a word: nothing else would
/// tell while a stream is quiet.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_tcp_keepidle(stream, QUIET)?;
    sockopt::set_tcp_keepintvl(stream, PROBE)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    sockopt::set_socket_keepalive(stream, true)
}

async fn speak<S>(stream: S) -> Result<Connection, Reason>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let meter = Meter::default();
    let io = TokioIo::new(Metered::new(stream, meter.clone()));
    let (sender, connection) = handshake(io).await.map_err(|_| Reason::Unreachable)?;
    tokio::spawn(async move {
        // What ends a connection is told to whoever waits on it.
        let _: Result<(), hyper::Error> = connection.await;
    });
    Ok(Connection { sender, meter })
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish()
    }
}

/// A response whose body is still to be read.
pub(super) type Response = http::Response<Incoming>;

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn so_many_idle_connections_are_kept_and_none_that_has_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let connector = Connector::new(&url.parse().unwrap(), None).unwrap();
        let mut accepted = Vec::new();
        for _ in 0..=MOST_IDLE {
            let connection = connector.open().await.unwrap();
            accepted.push(listener.accept().await.unwrap());
            connector.keep(connection);
        }
        assert_eq!(connector.idle.lock().unwrap().len(), MOST_IDLE);
        drop(accepted);
        while connector
            .idle
            .lock()
            .unwrap()
            .iter()
            .any(|(_, c)| !c.sender.is_closed())
        {
            tokio::task::yield_now().await;
        }
        assert!(connector.idle().is_none());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_on_which_nothing_is_said_is_asked_whether_it_is_there() {
        for host in ["127.0.0.1", "[::1]"] {
            let listener = TcpListener::bind(format!("{host}:0")).await.unwrap();
            let address = listener.local_addr().unwrap();
            let connector = Connector::new(&format!("http://{address}/").parse().unwrap(), None);
            let connection = connector.unwrap().open().await.unwrap();
            let table = if address.is_ipv4() { "tcp" } else { "tcp6" };
            let sockets = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap();
            // Its peer, that it is established, and which timer runs: 2 is that of
            // keepalive.
            let peer = format!(":{:04X}", address.port());
            let ours = sockets
                .lines()
                .map(|line| line.split_whitespace().collect());
            let ours = ours.filter(|of: &Vec<&str>| of[2].ends_with(&peer) && of[3] == "01");
            let timers: Vec<String> = ours.map(|of| of[5][..2].to_owned()).collect();
            assert_eq!(timers, ["02"], "{host}");
            drop(connection);
        }
    }

    #[tokio::test]
    async fn an_end_is_waited_for_while_there_is_room_for_that() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}/", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        for (room, soon) in [(0, true), (1, false)] {
            let mut connector = Connector::new(&url, None).unwrap();
            connector.ending = Arc::new(Semaphore::new(room));
            let connector = Arc::new(connector);
            let mut connection = connector.open().await.unwrap();
            let mut accepted = listener.accept().await.unwrap().0;
            let request = http::Request::get("/").body(Full::default()).unwrap();
            let asking = connection.sender.send_request(request);
            let answering = async {
                // An answer that nobody asked for would end the connection.
                let _ = accepted.read(&mut [0; 1_024]).await.unwrap();
                let endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n";
                accepted.write_all(endless).await.unwrap();
            };
            let (response, ()) = tokio::join!(asking, answering);
            let response = response.unwrap();
            let mut body = response.into_body();
            body.frame().await.unwrap().unwrap();
            connector.keep_after(connection, body);
            let mut rest = Vec::new();
            let ended = tokio::time::timeout(END / 2, accepted.read_to_end(&mut rest)).await;
            assert_eq!(ended.is_ok(), soon, "room for {room}");
        }
    }
}
