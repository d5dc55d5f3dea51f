//! What an operator sees of a running gateway: numbers and traces.
//!
//! `metrics` counts, `trace` follows one call, `export` brings traces to a
//! collector, `page` serves the numbers. None of them holds an argument, a
//! result or a credential, and no label is a text that a caller wrote. What
//! they say is beside the evidence and never in place of it.

mod export;
mod metrics;
mod page;
mod trace;

use std::sync::Arc;
use std::time::Duration;

use crate::config;
use crate::environment::Environment;
use crate::fetch::FetchError;

pub(crate) use metrics::{Levels, Metrics, Stage};
pub(crate) use page::{ready, serve};
pub(crate) use trace::{Parent, Trace};

use export::Exporter;

/// The numbers of one gateway, and where its traces go.
#[derive(Debug)]
pub(crate) struct Telemetry {
    pub(crate) metrics: Metrics,
    exporter: Option<Exporter>,
}

impl Telemetry {
    /// Nothing is counted yet. Without a collector no trace is kept.
    pub(crate) fn new(config: &config::Telemetry) -> Result<Self, FetchError> {
        let metrics = Metrics::new();
        let exporter = match &config.traces {
            None => None,
            Some(traces) => Some(Exporter::start(traces, metrics.lost())?),
        };
        Ok(Self { metrics, exporter })
    }

    /// Follows a call, as part of its caller's trace where there is one.
    pub(crate) fn follow(&self, parent: Option<Parent>, environment: &Environment) -> Arc<Trace> {
        let recorded = self.exporter.is_some();
        Arc::new(Trace::begin(parent, recorded, environment))
    }

    /// A stage that began at `begun` has ended now; both monotonic.
    pub(crate) fn passed(
        &self,
        trace: &Trace,
        stage: Stage,
        begun: Duration,
        environment: &Environment,
    ) {
        let now = environment.monotonic();
        self.metrics.stage(stage, now.saturating_sub(begun));
        trace.passed(stage, begun, now);
    }

    /// A call has ended.
    pub(crate) fn ended(&self, trace: &Trace, environment: &Environment) {
        if let Some(exporter) = &self.exporter
            && let Some(spans) = trace.end(environment.monotonic())
        {
            exporter.take(spans);
        }
    }

    /// Brings what is left to the collector, in bounded time.
    pub(crate) async fn flush(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.flush().await;
        }
    }
}
