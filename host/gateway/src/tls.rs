//! TLS: the certificate that agents see, what they must show, and whom we trust
//! when we are the client.
//!
//! The front's files are looked at from time to time and read again when they
//! have changed, so that certificates can be rotated without a restart; what
//! cannot be read leaves the ones that were in use. Where an authority was taken
//! out, no certificate counts any more that was verified before: whether its own is
//! still there, a new connection shows.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_platform_verifier::BuilderVerifierExt as _;
use thiserror::Error;
use tokio::sync::watch;

use crate::config;

/// Why TLS cannot be offered.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// What is in them does not fit together.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The authorities of clients cannot be used.
    #[error("`tls.client_ca` cannot be used: {0}")]
    Authorities(#[from] rustls::server::VerifierBuilderError),
}

/// When each of the files was written last, and its length.
type Stamps = Vec<Option<(SystemTime, u64)>>;

/// TLS towards agents.
#[derive(Debug)]
pub(crate) struct Front {
    files: config::Tls,
    current: RwLock<Current>,
    /// How often an authority was taken out; changed together with `current`.
    taken_out: watch::Sender<u64>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    /// Whose certificates clients may show.
    authorities: Vec<CertificateDer<'static>>,
    stamps: Stamps,
}

/// The authorities under which a connection was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    under: u64,
    taken_out: watch::Receiver<u64>,
}

impl Accepted {
    /// Whether all of them are still there.
    pub(crate) fn holds(&self) -> bool {
        *self.taken_out.borrow() == self.under
    }

    /// Resolves once one of them is not there any more.
    pub(crate) async fn ended(mut self) {
        let under = self.under;
        let ended = self.taken_out.wait_for(|now| *now != under).await.is_ok();
        if !ended {
            // Nobody looks at them any more: the gateway ends.
            pending::<()>().await;
        }
    }
}

impl Front {
    pub(crate) fn open(files: config::Tls) -> Result<Self, TlsError> {
        Ok(Self {
            current: RwLock::new(Current::read(&files)?),
            files,
            taken_out: watch::Sender::default(),
        })
    }

    /// What new connections are met with.
    pub(crate) fn current(&self) -> (Arc<ServerConfig>, Accepted) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let taken_out = self.taken_out.subscribe();
        let under = *taken_out.borrow();
        (Arc::clone(&current.config), Accepted { under, taken_out })
    }

    /// Reads the files again where one has changed.
    pub(crate) fn refresh(&self) {
        let now = stamps(&self.files);
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if current.stamps == now {
                return;
            }
        }
        match Current::read(&self.files) {
            Ok(read) => {
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                let gone = |one: &CertificateDer<'_>| !read.authorities.contains(one);
                let taken_out = current.authorities.iter().any(gone);
                *current = read;
                tracing::info!("the certificate was read again");
                if taken_out {
                    self.taken_out.send_modify(|times| *times += 1);
                    tracing::info!("an authority was taken out: connections with certificates end");
                }
            }
            Err(error) => tracing::error!("{error}; the certificate stays as it was"),
        }
    }
}

impl Current {
    fn read(files: &config::Tls) -> Result<Self, TlsError> {
        // Taken before the content, so that a change in between is seen later.
        let stamps = stamps(files);
        let authorities = match &files.client_ca {
            Some(path) => certificates(path)?,
            None => Vec::new(),
        };
        let config = Arc::new(server(files, &authorities)?);
        Ok(Self {
            config,
            authorities,
            stamps,
        })
    }
}

fn stamps(files: &config::Tls) -> Stamps {
    [
        Some(&files.certificate),
        Some(&files.key),
        files.client_ca.as_ref(),
    ]
    .into_iter()
    .flatten()
    .map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
    .collect()
}

fn server(
    files: &config::Tls,
    authorities: &[CertificateDer<'static>],
) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(_) => {
            let mut roots = RootCertStore::empty();
            for root in authorities {
                roots.add(root.clone())?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if files.client_required {
                verifier
            } else {
                verifier.allow_unauthenticated()
            };
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::Unreadable {
        path: files.key.clone(),
        reason: error.to_string(),
    })?;
    let mut config = builder.with_single_cert(certificates(&files.certificate)?, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A session that is taken up again would carry a certificate that has
    // expired since, or whose authority is trusted no more.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |reason: String| TlsError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let read = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(error.to_string()))?;
    if read.is_empty() {
        return Err(unreadable("it holds no certificate".to_owned()));
    }
    Ok(read)
}

/// TLS towards a server whose certificate must go back to one of `roots` or,
/// without them, to one that the system trusts.
pub(crate) fn client(
    roots: Option<&[CertificateDer<'static>]>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = match roots {
        None => config.with_platform_verifier()?,
        Some(roots) => {
            let mut trusted = RootCertStore::empty();
            for root in roots {
                trusted.add(root.clone())?;
            }
            config.with_root_certificates(trusted)
        }
    };
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
