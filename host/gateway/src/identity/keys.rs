//! The keys of one issuer: from a file, or from its URL with a cache.
//!
//! A URL is asked from time to time, and sooner when a token names a key that
//! is not known, but not more often than every ten seconds: who sends names of
//! keys must not be able to make the gateway flood an issuer. What was good
//! last stays in use while an issuer cannot be reached, for a bounded time; a set
//! without keys that can be used is an answer too, and withdraws all.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use countersign_identity::{KeySet, MalformedKeySet};
use thiserror::Error;

use super::key_file::{KeyFile, News};
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
    /// There is none that could be used, when the gateway starts.
    #[error("the keys `{from}` hold none that signatures are checked with")]
    Empty {
        /// The file.
        from: String,
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
    tried: Arc<tokio::sync::Mutex<Option<Duration>>>,
}

#[derive(Debug)]
enum Source {
    File(KeyFile),
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
                let (file, set) = KeyFile::open(path.clone())?;
                let set = Arc::new(set);
                (Source::File(file), Some(Held { set, since: now }))
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
            tried: Arc::default(),
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

    /// Keys that are newer than those that were `seen`, where there are any. They
    /// are fetched to the end though whoever asks goes away: a try counts for all.
    pub(super) async fn newer(
        self: &Arc<Self>,
        seen: Option<&Arc<KeySet>>,
        environment: &Environment,
    ) -> Option<Arc<KeySet>> {
        if matches!(self.source, Source::Url { .. }) {
            let mut tried = Arc::clone(&self.tried).lock_owned().await;
            let now = environment.monotonic();
            let held = self.held(now);
            // Somebody else may have fetched them while we waited.
            let same = match (&held, seen) {
                (Some(held), Some(seen)) => Arc::ptr_eq(held, seen),
                (None, _) => true,
                (Some(_), None) => false,
            };
            if same && tried.is_none_or(|at| now.saturating_sub(at) >= TRY_EVERY) {
                let keys = Arc::clone(self);
                let fetching = tokio::spawn(async move {
                    *tried = Some(now);
                    if let Source::Url { fetcher, .. } = &keys.source {
                        keys.fetched(fetcher, now).await;
                    }
                });
                // Where it broke off there is nothing newer.
                let _ = fetching.await;
            }
        }
        self.held(environment.monotonic())
    }

    /// Reads or fetches them again where that is due.
    pub(super) async fn refresh(&self, environment: &Environment) {
        let now = environment.monotonic();
        match &self.source {
            Source::File(file) => match file.refresh(now) {
                Some(News::Read(set)) => {
                    tracing::info!("an issuer's keys were read again");
                    self.hold(set, now, &file.name());
                }
                Some(News::Unread(why)) => {
                    tracing::error!("{why}; the keys stay as they were for a few seconds");
                }
                Some(News::Closed) => {
                    *self.held.write().unwrap_or_else(PoisonError::into_inner) = None;
                    let name = file.name();
                    tracing::error!("no key of `{name}` is in use until it can be read");
                }
                None => {}
            },
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
            Ok(set) => self.hold(set, now, &from()),
            Err(error) => tracing::warn!("{error}; the keys stay as they were"),
        }
    }

    fn hold(&self, set: KeySet, now: Duration, from: &str) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let set = match held.take() {
            // The same pointer, so that who waits sees that nothing is new.
            Some(before) if *before.set == set => before.set,
            _ => {
                if set.is_empty() {
                    // Said once: the same set again is nothing new.
                    tracing::error!(
                        "`{from}` holds no key that can be used: no token of its issuer is accepted"
                    );
                }
                Arc::new(set)
            }
        };
        *held = Some(Held { set, since: now });
    }
}
