//! TLS to the database, by rustls.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::postgres::address::Tls;

/// Makes connections private.
#[derive(Clone)]
pub(super) struct Verified(Arc<ClientConfig>);

impl Verified {
    /// With the roots that were asked for; `None` where no TLS is.
    pub(super) fn by(tls: &Tls) -> Result<Option<Self>, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match tls {
            Tls::Off => return Ok(None),
            Tls::System => builder
                .with_platform_verifier()
                .map_err(|error| error.to_string())?
                .with_no_client_auth(),
            Tls::File(path) => builder
                .with_root_certificates(roots(path)?)
                .with_no_client_auth(),
        };
        Ok(Some(Self(Arc::new(config))))
    }
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let unreadable = |detail: String| format!("`{}`: {detail}", path.display());
    let mut roots = RootCertStore::empty();
    let found =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("holds no certificate".into()));
    }
    Ok(roots)
}

/// One connection that is becoming private.
pub(super) struct Connecting {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// A private connection.
pub(super) struct Private<S>(tokio_rustls::client::TlsStream<S>);

impl<S> MakeTlsConnect<S> for Verified
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Private<S>;
    type TlsConnect = Connecting;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connecting> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Connecting {
            config: Arc::clone(&self.0),
            name,
        })
    }
}

impl<S> TlsConnect<S> for Connecting
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Private<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Private<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async move { connecting.await.map(Private) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Private<S> {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate is verified for its name, always.
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Private<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Private<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
