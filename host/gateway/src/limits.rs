//! Bounds on what runs at once and how often, each refused with a code.
//!
//! A call counts from its reservation to its settlement, so that repeats are
//! classified and not turned away: attempts at one execution share one place,
//! since at most one of them is ever reserved. Where an agent's clients leave too
//! many answers untaken there is no place for it: what it has in flight would add
//! to them, however early it was sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use countersign_evidence::{Agent, ExecutionId, ServerName};

use crate::bodies::Bodies;
use crate::config;
use crate::counts::release;

/// The counters of one gateway.
#[derive(Debug)]
pub(crate) struct Limits {
    bounds: config::Limits,
    /// What goes out and was not taken yet.
    untaken: Arc<Bodies>,
    running: Mutex<Running>,
    rates: Mutex<HashMap<Agent, Bucket>>,
}

#[derive(Debug, Default)]
struct Running {
    all: usize,
    servers: HashMap<ServerName, usize>,
    agents: HashMap<Agent, usize>,
    executions: HashMap<Key, Weak<Place>>,
}

/// Whose execution it is, where.
type Key = (Agent, ServerName, ExecutionId);

/// A place among the calls in flight; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    limits: Arc<Limits>,
    agent: Agent,
    server: ServerName,
    execution: Option<ExecutionId>,
}

/// Thousandths of a request, and when they were counted.
#[derive(Debug)]
struct Bucket {
    tokens_milli: u64,
    at: Duration,
}

/// Buckets of agents that were idle are forgotten when there are this many.
const MOST_BUCKETS: usize = 10_000;

impl Limits {
    /// Counters at rest; `untaken` is what goes out and was not taken yet.
    #[must_use]
    pub(crate) fn new(bounds: config::Limits, untaken: Arc<Bodies>) -> Self {
        Self {
            bounds,
            untaken,
            running: Mutex::default(),
            rates: Mutex::default(),
        }
    }

    /// Takes one request off an agent's rate; answers whether there was one
    /// left. `now` is monotonic.
    pub(crate) fn within_rate(&self, agent: &Agent, now: Duration) -> bool {
        let full = u64::from(self.bounds.burst) * 1_000;
        let per_ms = u64::from(self.bounds.requests_per_second);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let ms_since = |bucket: &Bucket| {
            let since = now.saturating_sub(bucket.at);
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        let filled = |bucket: &Bucket| {
            bucket
                .tokens_milli
                .saturating_add(ms_since(bucket).saturating_mul(per_ms))
                .min(full)
        };
        if rates.len() >= MOST_BUCKETS && !rates.contains_key(agent) {
            rates.retain(|_, bucket| filled(bucket) < full);
        }
        let bucket = rates.entry(agent.clone()).or_insert(Bucket {
            tokens_milli: full,
            at: now,
        });
        let tokens = filled(bucket);
        // Whole milliseconds only, so that what is left of one is not lost.
        bucket.at += Duration::from_millis(ms_since(bucket));
        let left = tokens.checked_sub(1_000);
        bucket.tokens_milli = left.unwrap_or(tokens);
        left.is_some()
    }

    /// Calls in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all
    }

    /// Takes a place among the calls in flight, or joins the one that another
    /// attempt at the same execution has; none where all are taken, or where the
    /// agent's clients leave too many answers untaken.
    #[must_use]
    pub(crate) fn place(
        self: &Arc<Self>,
        agent: &Agent,
        server: &ServerName,
        execution: Option<&ExecutionId>,
    ) -> Option<Arc<Place>> {
        let key = execution.map(|id| (agent.clone(), server.clone(), id.clone()));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let joined = key.as_ref().and_then(|key| running.executions.get(key));
        if let Some(place) = joined.and_then(Weak::upgrade) {
            return Some(place);
        }
        let by_server = running.servers.get(server).copied().unwrap_or_default();
        let by_agent = running.agents.get(agent).copied().unwrap_or_default();
        if running.all >= self.bounds.calls
            || by_server >= self.bounds.calls_per_server
            || by_agent >= self.bounds.calls_per_agent
            || self.untaken.account(agent).is_full()
        {
            return None;
        }
        running.all += 1;
        *running.servers.entry(server.clone()).or_default() += 1;
        *running.agents.entry(agent.clone()).or_default() += 1;
        let place = Arc::new(Place {
            limits: Arc::clone(self),
            agent: agent.clone(),
            server: server.clone(),
            execution: execution.cloned(),
        });
        if let Some(key) = key {
            running.executions.insert(key, Arc::downgrade(&place));
        }
        Some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = self
            .limits
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        running.all = running.all.saturating_sub(1);
        release(&mut running.servers, &self.server, 1);
        release(&mut running.agents, &self.agent, 1);
        if let Some(id) = self.execution.take() {
            let key = (self.agent.clone(), self.server.clone(), id);
            // Another attempt may have taken a new place in between.
            let left = running.executions.get(&key);
            if left.is_some_and(|place| place.strong_count() == 0) {
                running.executions.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    fn limits() -> Arc<Limits> {
        with(&Bodies::new(1))
    }

    fn with(untaken: &Arc<Bodies>) -> Arc<Limits> {
        let bounds = config::Limits {
            task_timeout: Duration::from_secs(1),
            calls: 3,
            calls_per_server: 2,
            calls_per_agent: 2,
            requests_per_second: 10,
            burst: 2,
            sessions: 1,
            bodies_bytes: 1,
            connections: 1,
            connections_per_peer: 1,
            head_timeout: Duration::ZERO,
            body_timeout: Duration::ZERO,
            write_timeout: Duration::ZERO,
            drain: Duration::ZERO,
        };
        Arc::new(Limits::new(bounds, Arc::clone(untaken)))
    }

    #[test]
    fn a_place_is_bounded_in_all_for_each_server_and_for_each_agent_and_comes_back() {
        let limits = limits();
        let (x, y): (ServerName, ServerName) = ("x".parse().unwrap(), "y".parse().unwrap());
        let first = limits.place(&agent("a"), &x, None).unwrap();
        let _second = limits.place(&agent("a"), &y, None).unwrap();
        assert!(
            limits.place(&agent("a"), &y, None).is_none(),
            "two of one agent"
        );
        let _third = limits.place(&agent("b"), &x, None).unwrap();
        assert!(
            limits.place(&agent("c"), &y, None).is_none(),
            "three in all"
        );
        drop(first);
        assert!(limits.place(&agent("c"), &x, None).is_some());
    }

    #[test]
    fn who_leaves_too_much_untaken_has_no_place_for_more_until_it_is_less() {
        const MIB: usize = 1 << 20;
        let x: ServerName = "x".parse().unwrap();
        let id = "1".parse().unwrap();
        // An agent's share of it is a quarter.
        for execution in [None, Some(&id)] {
            let untaken = Bodies::new(48 * MIB);
            let limits = with(&untaken);
            let place = |name| limits.place(&agent(name), &x, execution);
            let left = untaken.account(&agent("a")).add(12 * MIB - 1);
            assert!(place("a").is_some(), "a byte is left");
            let more = untaken.account(&agent("a")).add(1);
            assert!(place("a").is_none() && place("b").is_some());
            let others = untaken.account(&agent("b")).add(36 * MIB);
            assert!(place("c").is_none(), "there is no more");
            drop(more);
            assert!(place("a").is_some() && place("b").is_none());
            drop((left, others));
            assert!(place("a").is_some() && place("b").is_some());
        }
    }

    #[test]
    fn attempts_at_one_execution_share_one_place() {
        let limits = limits();
        let x: ServerName = "x".parse().unwrap();
        let (one, two) = ("1".parse().unwrap(), "2".parse().unwrap());
        let first = limits.place(&agent("a"), &x, Some(&one)).unwrap();
        let repeat = limits.place(&agent("a"), &x, Some(&one)).unwrap();
        let other = limits.place(&agent("a"), &x, Some(&two)).unwrap();
        assert!(limits.place(&agent("a"), &x, None).is_none());
        assert!(
            limits.place(&agent("b"), &x, Some(&one)).is_none(),
            "another agent's execution is another one"
        );
        drop(first);
        assert!(limits.place(&agent("a"), &x, None).is_none());
        drop(repeat);
        assert!(limits.place(&agent("a"), &x, None).is_some());
        drop(other);
        let running = limits.running.lock().unwrap();
        assert!(running.executions.is_empty() && running.all == 0);
    }

    #[test]
    fn a_rate_lets_a_burst_pass_and_then_one_for_each_interval() {
        let limits = limits();
        let at = Duration::from_millis;
        let passed = |ms| limits.within_rate(&agent("a"), at(ms));
        assert!(passed(0) && passed(0));
        assert!(!passed(0));
        assert!(!passed(99));
        assert!(passed(100));
        assert!(!passed(101));
        assert!(
            limits.within_rate(&agent("b"), at(101)),
            "another agent has its own"
        );
        let hour = 3_600_000;
        assert!(
            passed(hour) && passed(hour) && !passed(hour),
            "a burst again"
        );
    }

    #[test]
    fn a_rate_is_what_it_says_however_often_it_is_asked() {
        for (every_us, asked, passes) in [(500, 2_000, 10), (1_900, 1_000, 19), (999, 1_000, 9)] {
            let limits = limits();
            let passed = |now| limits.within_rate(&agent("a"), now);
            assert!(
                passed(Duration::ZERO) && passed(Duration::ZERO),
                "the burst"
            );
            let at = |step| Duration::from_micros(every_us) * step;
            let counted = (1..=asked).filter(|step| passed(at(*step))).count();
            assert_eq!(
                counted, passes,
                "ten in a second, asked every {every_us} us"
            );
        }
    }

    #[test]
    fn an_old_place_of_an_execution_never_gives_back_a_newer_one() {
        let limits = limits();
        let (x, id): (ServerName, ExecutionId) = ("x".parse().unwrap(), "1".parse().unwrap());
        let place = || limits.place(&agent("a"), &x, Some(&id)).unwrap();
        let old = place();
        // As where another attempt comes while the old one is being given back.
        limits.running.lock().unwrap().executions.clear();
        let newer = place();
        drop(old);
        assert!(Arc::ptr_eq(&newer, &place()), "it is still the one to join");
    }

    #[test]
    fn agents_that_were_idle_are_forgotten_where_there_are_many_and_no_others() {
        let limits = limits();
        let at = Duration::from_millis;
        for number in 0..MOST_BUCKETS {
            assert!(limits.within_rate(&agent(&number.to_string()), at(0)));
        }
        // One of them has used up what it may have.
        assert!(limits.within_rate(&agent("0"), at(100)));
        assert!(limits.within_rate(&agent("0"), at(100)));
        assert!(limits.within_rate(&agent("new"), at(200)));
        assert_eq!(
            limits.rates.lock().unwrap().len(),
            2,
            "all others are full again"
        );
        assert!(limits.within_rate(&agent("0"), at(200)));
        assert!(!limits.within_rate(&agent("0"), at(200)), "as it was left");
    }
}
