//! A real TLS server in front of a plain one, under an authority of its own,
//! whose manners a test can change between connections.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;

/// How the next connection is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// With a certificate of the authority.
    Good,
    /// With a certificate that nobody vouches for.
    SelfSigned,
    /// Closed after its first bytes.
    Cut,
    /// Not at all: it stays open, and nothing is said on it.
    Silent,
    /// TLS 1.3, and a certificate is asked of the client: that it has none is
    /// found out after it has begun to send.
    AsksForCertificate,
}

pub struct Tls {
    address: SocketAddr,
    /// Where the authority's certificate stands.
    pub authority: PathBuf,
    _folder: tempfile::TempDir,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

struct Shared {
    manner: Mutex<Manner>,
    good: Arc<ServerConfig>,
    self_signed: Arc<ServerConfig>,
    asks: Arc<ServerConfig>,
    shaken: AtomicUsize,
    refused: AtomicUsize,
}

impl Tls {
    /// Stands in front of the server at `behind`.
    pub async fn before(behind: SocketAddr) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let params = || CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params().signed_by(&key, &issuer).unwrap();
        let stranger = KeyPair::generate().unwrap();
        let by_itself = params().self_signed(&stranger).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(issuer.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
            .build()
            .unwrap();
        let shared = Arc::new(Shared {
            manner: Mutex::new(Manner::Good),
            good: config(certificate.der(), &key, None),
            self_signed: config(by_itself.der(), &stranger, None),
            asks: config(certificate.der(), &key, Some(verifier)),
            shaken: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(meet(stream, Arc::clone(&serving), behind));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let authority = folder.path().join("ca.pem");
        std::fs::write(&authority, issuer.pem()).unwrap();
        Self {
            address,
            authority,
            _folder: folder,
            shared,
            accepting,
        }
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/mcp", self.address.port())
    }

    pub fn meet(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    /// Connections whose handshake came to its end.
    pub fn shaken(&self) -> usize {
        self.shared.shaken.load(Ordering::SeqCst)
    }

    /// Connections that were cut, on which nothing was said, or whose handshake failed.
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }

    /// Listens no more: further connections are refused.
    pub async fn close(&mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }
}

fn config(
    certificate: &CertificateDer<'static>,
    key: &KeyPair,
    client: Option<Arc<dyn rustls::server::danger::ClientCertVerifier>>,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap();
    let builder = match client {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Arc::new(
        builder
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap(),
    )
}

async fn meet(mut stream: TcpStream, shared: Arc<Shared>, behind: SocketAddr) {
    let manner = *shared.manner.lock().unwrap();
    let config = match manner {
        Manner::Good => &shared.good,
        Manner::SelfSigned => &shared.self_signed,
        Manner::AsksForCertificate => &shared.asks,
        Manner::Cut => {
            let _ = stream.read(&mut [0; 64]).await;
            shared.refused.fetch_add(1, Ordering::SeqCst);
            return;
        }
        Manner::Silent => {
            shared.refused.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().await;
        }
    };
    // By the time that it is refused the client has sent its request.
    let late = manner == Manner::AsksForCertificate;
    let stream = Late {
        stream,
        wait: late.then(|| Box::pin(tokio::time::sleep(LATE))),
        greeted: false,
    };
    let acceptor = TlsAcceptor::from(Arc::clone(config));
    let Ok(mut stream) = acceptor.accept(stream).await else {
        shared.refused.fetch_add(1, Ordering::SeqCst);
        return;
    };
    shared.shaken.fetch_add(1, Ordering::SeqCst);
    let mut plain = TcpStream::connect(behind).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut plain).await;
    let _ = stream.shutdown().await;
}

/// How long a client that is refused may send before.
const LATE: Duration = Duration::from_millis(300);

/// A stream that reads the client's greeting at once, and what follows late.
struct Late {
    stream: TcpStream,
    wait: Option<Pin<Box<Sleep>>>,
    greeted: bool,
}

impl AsyncRead for Late {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.greeted
            && let Some(wait) = &mut self.wait
        {
            ready!(wait.as_mut().poll(cx));
            self.wait = None;
        }
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.greeted = true;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Late {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
