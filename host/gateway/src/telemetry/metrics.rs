//! The numbers, in the form that Prometheus and OpenMetrics read.
//!
//! Each label has a closed list of values: codes, outcomes, stages, the servers
//! that are configured. What is counted by agent, tool or execution is counted
//! in the evidence.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_canon::Classification;
use countersign_identity::Refusal;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::readiness::Hindrance;
use crate::upstream::Condition;

/// One label with one of its values.
type Label = [(&'static str, &'static str); 1];
type Counts = Family<Label, Counter>;
type Levelled = Family<Label, Gauge>;
type Times = Family<Label, Histogram, fn() -> Histogram>;

/// A part of a call's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Admit,
    Interpret,
    Classify,
    Catalog,
    Decide,
    Reserve,
    Invoke,
    Settle,
}

impl Stage {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Interpret => "interpret",
            Self::Classify => "classify",
            Self::Catalog => "catalog",
            Self::Decide => "decide",
            Self::Reserve => "reserve",
            Self::Invoke => "invoke",
            Self::Settle => "settle",
        }
    }
}

/// What is looked at when it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) in_flight: usize,
    pub(crate) sessions: usize,
    pub(crate) queued: usize,
    /// Why nothing is admitted; none where calls are.
    pub(crate) hindrance: Option<Hindrance>,
    /// Whether the token file can be read; none where there is none.
    pub(crate) tokens_readable: Option<bool>,
    /// The servers by name, each with the condition of its breaker.
    pub(crate) upstreams: Vec<(String, Condition)>,
}

/// The numbers of one gateway.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    outcomes: Counts,
    classifications: Counts,
    refusals: Counts,
    decisions: Counts,
    suppressed: Counts,
    unauthenticated: Family<[(&'static str, String); 2], Counter>,
    stages: Times,
    lost: Counter,
    in_flight: Gauge,
    sessions: Gauge,
    queued: Gauge,
    ready: Gauge,
    hindrances: Levelled,
    tokens_readable: Gauge,
    upstreams: Family<[(&'static str, String); 2], Gauge>,
}

/// 20 µs, and 2.5 times as much fifteen times over: 18 s.
fn stage_times() -> Histogram {
    Histogram::new(exponential_buckets(0.000_02, 2.5, 16))
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("countersign")),
            outcomes: Counts::default(),
            classifications: Counts::default(),
            refusals: Counts::default(),
            decisions: Counts::default(),
            suppressed: Counts::default(),
            unauthenticated: Family::default(),
            stages: Family::new_with_constructor(stage_times),
            lost: Counter::default(),
            in_flight: Gauge::default(),
            sessions: Gauge::default(),
            queued: Gauge::default(),
            ready: Gauge::default(),
            hindrances: Levelled::default(),
            tokens_readable: Gauge::default(),
            upstreams: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&self) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let counts: [(&str, &str, &Counts); 5] = [
            (
                "calls",
                "Calls that were invoked, by outcome",
                &self.outcomes,
            ),
            (
                "attempts",
                "Attempts under an execution_id, by classification",
                &self.classifications,
            ),
            (
                "refusals",
                "Attempts that were refused, by code",
                &self.refusals,
            ),
            ("decisions", "Decisions of policy", &self.decisions),
            (
                "suppressed",
                "Attempts that were counted and not written one by one, by code",
                &self.suppressed,
            ),
        ];
        for (name, help, counts) in counts {
            registry.register(name, help, counts.clone());
        }
        registry.register(
            "unauthenticated",
            "Requests that nobody is known to have sent, by code and fault",
            self.unauthenticated.clone(),
        );
        registry.register(
            "spans_lost",
            "Spans that were not brought to the collector",
            self.lost.clone(),
        );
        registry.register_with_unit(
            "stage",
            "Time in each stage of a call's way",
            Unit::Seconds,
            self.stages.clone(),
        );
        let levels: [(&str, &str, &Gauge); 4] = [
            (
                "in_flight",
                "Calls between reservation and settlement",
                &self.in_flight,
            ),
            ("sessions", "Sessions that are open", &self.sessions),
            (
                "ledger_queue",
                "Requests that wait for the ledger's writer",
                &self.queued,
            ),
            ("ready", "1 while calls are admitted", &self.ready),
        ];
        for (name, help, gauge) in levels {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "hindrance",
            "1 for why nothing is admitted",
            self.hindrances.clone(),
        );
        registry.register(
            "token_file_readable",
            "1 while the token file can be read, or there is none",
            self.tokens_readable.clone(),
        );
        registry.register(
            "upstream",
            "1 for the condition in which a server's breaker is",
            self.upstreams.clone(),
        );
    }

    pub(crate) fn outcome(&self, outcome: &'static str) {
        self.outcomes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn classification(&self, classification: Classification) {
        let word = match classification {
            Classification::Fresh => "fresh",
            Classification::InFlight => "in-flight",
            Classification::Continuation => "continuation",
            Classification::ContinuationMismatch => "continuation-mismatch",
            Classification::RoundReplay => "round-replay",
            Classification::Replay(_) => "replay",
            Classification::Blocked => "blocked",
            Classification::Collision(_) => "collision",
            Classification::Incomparable => "incomparable",
        };
        let label = [("classification", word)];
        self.classifications.get_or_create(&label).inc();
    }

    pub(crate) fn refusal(&self, code: &'static str) {
        self.refusals.get_or_create(&[("code", code)]).inc();
    }

    pub(crate) fn decision(&self, allow: bool) {
        let word = if allow { "allow" } else { "deny" };
        self.decisions.get_or_create(&[("decision", word)]).inc();
    }

    pub(crate) fn suppressed(&self, code: &'static str) {
        self.suppressed.get_or_create(&[("code", code)]).inc();
    }

    pub(crate) fn unauthenticated(&self, refusal: Refusal) {
        let fault = refusal.fault().map(|fault| fault.to_string());
        let labels = [
            ("code", refusal.code().to_owned()),
            ("fault", fault.unwrap_or_default()),
        ];
        self.unauthenticated.get_or_create(&labels).inc();
    }

    pub(crate) fn stage(&self, stage: Stage, took: Duration) {
        let label = [("stage", stage.as_str())];
        self.stages
            .get_or_create(&label)
            .observe(took.as_secs_f64());
    }

    /// Where spans are counted that did not come through.
    pub(crate) fn lost(&self) -> Counter {
        self.lost.clone()
    }

    /// Everything, as text.
    pub(crate) fn text(&self, levels: &Levels) -> String {
        let level = |gauge: &Gauge, value: usize| {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        level(&self.in_flight, levels.in_flight);
        level(&self.sessions, levels.sessions);
        level(&self.queued, levels.queued);
        level(&self.ready, usize::from(levels.hindrance.is_none()));
        for hindrance in Hindrance::ALL {
            let gauge = self
                .hindrances
                .get_or_create(&[("reason", hindrance.as_str())]);
            gauge.set(i64::from(levels.hindrance == Some(hindrance)));
        }
        let readable = levels.tokens_readable.unwrap_or(true);
        level(&self.tokens_readable, usize::from(readable));
        for (server, is) in &levels.upstreams {
            for condition in Condition::ALL {
                let labels = [
                    ("server", server.clone()),
                    ("condition", condition.as_str().to_owned()),
                ];
                let gauge = self.upstreams.get_or_create(&labels);
                gauge.set(i64::from(*is == condition));
            }
        }
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        // INVARIANT: a String takes whatever is written to it.
        let _ = encode(&mut text, &registry);
        text
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
