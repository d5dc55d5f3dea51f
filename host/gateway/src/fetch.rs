//! One request to one URL of an operator's own: bounded in time and size, no
//! redirect followed, no credential sent. For issuers' keys and for traces;
//! calls go their own way, in `upstream`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::{tls, whole};

/// From the first byte of the connection to the last of the document.
const TIME: Duration = Duration::from_secs(5);

/// What a collector may say to spans, in bytes.
const MOST_ANSWER: usize = 65_536;

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

/// Asks one URL.
pub(crate) struct Fetcher {
    url: Uri,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Fetcher {
    /// Without `roots` the certificate must go back to one that the system
    /// trusts.
    pub(crate) fn new(
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

    pub(crate) fn url(&self) -> &Uri {
        &self.url
    }

    /// The document there, of at most so many bytes.
    pub(crate) async fn get(&self, most: usize) -> Result<Bytes, FetchError> {
        let mut request = Request::new(Full::default());
        let accept = HeaderValue::from_static("application/jwk-set+json, application/json");
        request.headers_mut().insert(header::ACCEPT, accept);
        self.send(request, most).await
    }

    /// Brings a JSON document there.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<(), FetchError> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        self.send(request, MOST_ANSWER).await.map(drop)
    }

    async fn send(&self, request: Request<Full<Bytes>>, most: usize) -> Result<Bytes, FetchError> {
        let sent = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            match &self.tls {
                None => self.ask(stream, request, most).await,
                Some((tls, name)) => {
                    let stream = tls.connect(name.clone(), stream).await?;
                    self.ask(stream, request, most).await
                }
            }
        };
        tokio::time::timeout(TIME, sent)
            .await
            .unwrap_or(Err(FetchError::Time))
    }

    async fn ask<S>(
        &self,
        stream: S,
        mut request: Request<Full<Bytes>>,
        most: usize,
    ) -> Result<Bytes, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // What ends it is told to whoever waits for the answer.
            let _: Result<(), hyper::Error> = connection.await;
        });
        let path = self.url.path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        let host = self.url.authority().map(http::uri::Authority::as_str);
        if let Ok(host) = HeaderValue::from_str(host.unwrap_or_default()) {
            request.headers_mut().insert(header::HOST, host);
        }
        let response = sender.send_request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let body = whole::read(response.into_body(), most).await;
        connection.abort();
        body.map_err(|_| FetchError::Body)
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("url", &self.url).finish()
    }
}
