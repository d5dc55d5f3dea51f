//! The keys of one issuer: from a file, or from its URL with a cache.
//!
//! A URL is asked from time to time, and sooner when a token names a key that
//! is not known, but not more often than every ten seconds: who sends names of
//! keys must not be able to make the gateway flood an issuer. What was good
//! last stays in use while an issuer cannot be reached, for a bounded time.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use countersign_identity::{KeySet, MalformedKeySet};
use thiserror::Error;

use super::file::stamp;
use crate::config;
use crate::environment::Environment;
use crate::fetch::{FetchError, Fetcher};

/// How long after one try the next one may follow.
const TRY_EVERY: Duration = Duration::from_secs(10);

/// Why there are no keys.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The file cannot be read.
    #[error("the keys `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// They are none.
    #[error("the keys `{from}` cannot be used: {source}")]
    Malformed {
        /// The file or URL.
        from: String,
        /// Why.
        source: MalformedKeySet,
    },
    /// They cannot be fetched.
    #[error("the keys `{from}` cannot be fetched: {source}")]
    Fetch {
        /// The URL.
        from: String,
        /// Why.
        source: FetchError,
    },
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct Keys {
    source: Source,
    held: RwLock<Option<Held>>,
    // When was tried last; held while trying, so that nobody tries beside.
    tried: tokio::sync::Mutex<Option<Duration>>,
}

#[derive(Debug)]
enum Source {
    File {
        path: PathBuf,
        changed: RwLock<Option<(SystemTime, u64)>>,
    },
    Url {
        fetcher: Box<Fetcher>,
        refresh: Duration,
        keep: Duration,
    },
}

#[derive(Clone, Debug)]
struct Held {
    set: Arc<KeySet>,
    since: Duration,
}

impl Keys {
    pub(super) async fn open(config: &config::Keys, now: Duration) -> Result<Self, KeysError> {
        let (source, held) = match config {
            config::Keys::File(path) => {
                let changed = stamp(path);
                let set = Arc::new(read(path)?);
                let source = Source::File {
                    path: path.clone(),
                    changed: RwLock::new(changed),
                };
                (source, Some(Held { set, since: now }))
            }
            config::Keys::Url {
                url,
                roots,
                refresh,
                keep,
            } => {
                let fetcher =
                    Fetcher::new(url, roots.as_deref()).map_err(|source| KeysError::Fetch {
                        from: url.to_string(),
                        source,
                    })?;
                let source = Source::Url {
                    fetcher: Box::new(fetcher),
                    refresh: *refresh,
                    keep: *keep,
                };
                (source, None)
            }
        };
        let keys = Self {
            source,
            held: RwLock::new(held),
            tried: tokio::sync::Mutex::new(None),
        };
        if let Source::Url { fetcher, .. } = &keys.source {
            *keys.tried.lock().await = Some(now);
            keys.fetched(fetcher, now).await;
        }
        Ok(keys)
    }

    /// The keys that may still be used.
    pub(super) fn held(&self, now: Duration) -> Option<Arc<KeySet>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let held = held.as_ref()?;
        match &self.source {
            Source::Url { keep, .. } if now.saturating_sub(held.since) > *keep => None,
            _ => Some(Arc::clone(&held.set)),
        }
    }

    /// Keys that are newer than those that were `seen`, where there are any.
    pub(super) async fn newer(
        &self,
        seen: Option<&Arc<KeySet>>,
        environment: &Environment,
    ) -> Option<Arc<KeySet>> {
        if let Source::Url { fetcher, .. } = &self.source {
            let mut tried = self.tried.lock().await;
            let now = environment.monotonic();
            let held = self.held(now);
            // Somebody else may have fetched them while we waited.
            let same = match (&held, seen) {
                (Some(held), Some(seen)) => Arc::ptr_eq(held, seen),
                (None, _) => true,
                (Some(_), None) => false,
            };
            if same && tried.is_none_or(|at| now.saturating_sub(at) >= TRY_EVERY) {
                *tried = Some(now);
                self.fetched(fetcher, now).await;
            }
        }
        self.held(environment.monotonic())
    }

    /// Reads or fetches them again where that is due.
    pub(super) async fn refresh(&self, environment: &Environment) {
        let now = environment.monotonic();
        match &self.source {
            Source::File { path, changed } => {
                let current = stamp(path);
                let known = *changed.read().unwrap_or_else(PoisonError::into_inner);
                if current.is_some() && current == known {
                    return;
                }
                match read(path) {
                    Ok(set) => {
                        self.hold(set, now);
                        *changed.write().unwrap_or_else(PoisonError::into_inner) = current;
                        tracing::info!("an issuer's keys were read again");
                    }
                    Err(error) => tracing::error!("{error}; the keys stay as they were"),
                }
            }
            Source::Url {
                fetcher, refresh, ..
            } => {
                let Ok(mut tried) = self.tried.try_lock() else {
                    return;
                };
                let since = {
                    let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
                    held.as_ref().map(|held| held.since)
                };
                let due = since.is_none_or(|since| now.saturating_sub(since) >= *refresh);
                let may = tried.is_none_or(|at| now.saturating_sub(at) >= TRY_EVERY);
                if due && may {
                    *tried = Some(now);
                    self.fetched(fetcher, now).await;
                }
            }
        }
    }

    async fn fetched(&self, fetcher: &Fetcher, now: Duration) {
        let from = || fetcher.url().to_string();
        let fetched = match fetcher.get(KeySet::MAX_BYTES).await {
            Ok(bytes) => KeySet::parse(&bytes).map_err(|source| KeysError::Malformed {
                from: from(),
                source,
            }),
            Err(source) => Err(KeysError::Fetch {
                from: from(),
                source,
            }),
        };
        match fetched {
            Ok(set) => self.hold(set, now),
            Err(error) => tracing::warn!("{error}; the keys stay as they were"),
        }
    }

    fn hold(&self, set: KeySet, now: Duration) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let set = match held.take() {
            // The same pointer, so that who waits sees that nothing is new.
            Some(before) if *before.set == set => before.set,
            _ => Arc::new(set),
        };
        *held = Some(Held { set, since: now });
    }
}

fn read(path: &std::path::Path) -> Result<KeySet, KeysError> {
    let bytes = std::fs::read(path).map_err(|source| KeysError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    KeySet::parse(&bytes).map_err(|source| KeysError::Malformed {
        from: path.display().to_string(),
        source,
    })
}
