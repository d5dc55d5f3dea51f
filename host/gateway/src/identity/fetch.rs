//! One document from one URL: bounded in time and size, no redirect followed,
//! no credential sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::tls;

/// From the first byte of the connection to the last of the document.
const TIME: Duration = Duration::from_secs(5);

/// Why a document could not be had.
#[derive(Debug, Error)]
pub enum FetchError {
    /// It took too long.
    #[error("it took longer than five seconds")]
    Time,
    /// The connection failed.
    #[error("{0}")]
    Connection(#[from] std::io::Error),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    /// HTTP failed.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The answer is another one than the document.
    #[error("the answer has the status {0}")]
    Status(StatusCode),
    /// The document broke off, or is too large.
    #[error("the document broke off or is too large")]
    Body,
}

/// Gets one document.
pub(super) struct Fetcher {
    url: Uri,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Fetcher {
    /// Without `roots` the certificate must go back to one that the system
    /// trusts.
    pub(super) fn new(
        url: &Uri,
        roots: Option<&[CertificateDer<'static>]>,
    ) -> Result<Self, FetchError> {
        let host = url.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let secure = url.scheme_str() == Some("https");
        let tls = if secure {
            let name = ServerName::try_from(host.to_owned())
                .map_err(|_| rustls::Error::General("no server name".to_owned()))?;
            let config = tls::client(roots)?;
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        Ok(Self {
            host: host.to_owned(),
            port: url.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            url: url.clone(),
            tls,
        })
    }

    pub(super) fn url(&self) -> &Uri {
        &self.url
    }

    /// The document, of at most so many bytes.
    pub(super) async fn get(&self, most: usize) -> Result<Bytes, FetchError> {
        let got = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            match &self.tls {
                None => self.ask(stream, most).await,
                Some((tls, name)) => {
                    let stream = tls.connect(name.clone(), stream).await?;
                    self.ask(stream, most).await
                }
            }
        };
        tokio::time::timeout(TIME, got)
            .await
            .unwrap_or(Err(FetchError::Time))
    }

    async fn ask<S>(&self, stream: S, most: usize) -> Result<Bytes, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // What ends it is told to whoever waits for the answer.
            let _: Result<(), hyper::Error> = connection.await;
        });
        let mut request = Request::new(Empty::<Bytes>::new());
        let path = self.url.path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        let host = self.url.authority().map(http::uri::Authority::as_str);
        if let Ok(host) = HeaderValue::from_str(host.unwrap_or_default()) {
            request.headers_mut().insert(header::HOST, host);
        }
        let accept = HeaderValue::from_static("application/jwk-set+json, application/json");
        request.headers_mut().insert(header::ACCEPT, accept);
        let response = sender.send_request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), most).collect().await;
        connection.abort();
        body.map(http_body_util::Collected::to_bytes)
            .map_err(|_| FetchError::Body)
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("url", &self.url).finish()
    }
}
