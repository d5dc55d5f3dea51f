//! Traces on their way to a collector: OTLP over HTTP, in its JSON form.
//!
//! A call never waits for it: what does not fit into the queue, or cannot be
//! brought, is lost and counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::config;
use crate::fetch::{FetchError, Fetcher};

/// How often spans are brought.
const EVERY: Duration = Duration::from_secs(2);
/// Spans that may wait.
const MOST: usize = 4_096;
/// How long the last ones may take at shutdown.
const LAST: Duration = Duration::from_secs(2);

/// Brings spans to one collector.
#[derive(Debug)]
pub(super) struct Exporter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    fetcher: Fetcher,
    service: String,
    waiting: Mutex<Vec<Value>>,
    full: Notify,
    lost: Counter,
}

impl Exporter {
    pub(super) fn start(config: &config::Traces, lost: Counter) -> Result<Self, FetchError> {
        let shared = Arc::new(Shared {
            fetcher: Fetcher::new(&config.url, config.roots.as_deref())?,
            service: config.service.clone(),
            waiting: Mutex::default(),
            full: Notify::new(),
            lost,
        });
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            // Ends with the gateway that it belongs to.
            while let Some(shared) = weak.upgrade() {
                tokio::select! {
                    () = tokio::time::sleep(EVERY) => {}
                    () = shared.full.notified() => {}
                }
                shared.bring().await;
            }
        });
        Ok(Self { shared })
    }

    /// Takes the spans of one call.
    pub(super) fn take(&self, spans: Vec<Value>) {
        let mut waiting = self.shared.waiting();
        if waiting.len() + spans.len() > MOST {
            self.shared.lost.inc_by(spans.len() as u64);
            return;
        }
        waiting.extend(spans);
        if waiting.len() > MOST / 2 {
            self.shared.full.notify_one();
        }
    }

    /// Brings what is left.
    pub(super) async fn flush(&self) {
        let _ = tokio::time::timeout(LAST, self.shared.bring()).await;
    }
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn bring(&self) {
        let spans = std::mem::take(&mut *self.waiting());
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let service = json!({"key": "service.name", "value": {"stringValue": self.service}});
        let scope = json!({"name": "countersign", "version": env!("CARGO_PKG_VERSION")});
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [service]},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }]});
        if let Err(error) = self.fetcher.post(body.to_string().into_bytes()).await {
            self.lost.inc_by(count);
            tracing::warn!("{count} spans were not taken by the collector: {error}");
        }
    }
}
