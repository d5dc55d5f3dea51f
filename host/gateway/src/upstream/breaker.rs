//! Whether an upstream is tried at all: its circuit breaker.
//!
//! Counted is only what happens before a byte of a call: that it could not be
//! connected to, started or greeted. What it answers, errors among it, and that
//! it does not answer never count. After enough failures in a row it is open,
//! and whoever comes is refused before anything is reserved. When its time is up
//! the next one probes: connects, or starts and greets, still before anything is
//! reserved. All others are refused until the probe knows; it alone closes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::request::Reason;
use crate::config::Patience;

/// Why an upstream cannot be spoken to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unready {
    /// What went wrong.
    pub(crate) reason: Reason,
    /// When it is tried again, where it was not tried at all.
    pub(crate) again_in: Option<Duration>,
    /// Whether it was somebody else who tried, and this one only waited.
    another: bool,
}

impl Unready {
    /// It was not tried, and is again after so long.
    pub(super) fn left_alone(wait: Duration) -> Self {
        Self {
            reason: Reason::Unreachable,
            again_in: Some(wait),
            another: false,
        }
    }

    /// The same, for whoever only waited for it.
    pub(crate) fn of_another(self) -> Self {
        Self {
            another: true,
            ..self
        }
    }

    /// Whether somebody else tried, who tells of it.
    pub(super) fn is_of_another(self) -> bool {
        self.another
    }

    /// Whether it speaks against the upstream: what was not tried says nothing,
    /// what another tried is that one's to say, that too many use it says that
    /// it is used, and an upstream that answers, whatever it says, is there.
    pub(super) fn counts(self) -> bool {
        let says_so = !matches!(self.reason, Reason::Ungreeted | Reason::Crowded);
        self.again_in.is_none() && !self.another && says_so
    }
}

impl From<Reason> for Unready {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            again_in: None,
            another: false,
        }
    }
}

/// What an operator sees of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It is tried.
    Closed,
    /// It is left alone.
    Open,
    /// Its time is up: the next one, or one at this moment, probes.
    HalfOpen,
}

impl Condition {
    pub(crate) const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// One upstream's breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    server: String,
    patience: Patience,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row, while it is closed.
    failures: u32,
    /// How often it opened since it was closed last.
    opened: u32,
    /// Until when it is left alone; none while it is closed.
    until: Option<Instant>,
    probing: bool,
}

/// Leave to try. It is to be told what came of it; given up, it leaves
/// everything as it was.
#[derive(Debug)]
pub(super) struct Pass<'b> {
    breaker: &'b Breaker,
    probe: bool,
    suspicious: bool,
}

impl Patience {
    /// How long one waits the `n`-th time: not at all for 0.
    pub(super) fn wait(&self, n: u32) -> Duration {
        let Some(doublings) = n.checked_sub(1) else {
            return Duration::ZERO;
        };
        let times = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.first.saturating_mul(times).min(self.longest)
    }
}

impl Breaker {
    /// Closed, of the server with that name.
    pub(super) fn new(server: &str, patience: Patience) -> Self {
        Self {
            server: server.to_owned(),
            patience,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leave to try the upstream now.
    ///
    /// # Errors
    /// [`Unready`] with the time that is left, while it is open and while
    /// another probes.
    pub(super) fn ask(&self, now: Instant) -> Result<Pass<'_>, Unready> {
        let mut state = self.state();
        let left = Unready::left_alone;
        match state.until {
            Some(until) if now < until => return Err(left(until.saturating_duration_since(now))),
            Some(_) if state.probing => return Err(left(self.patience.first)),
            Some(_) => state.probing = true,
            None => {}
        }
        Ok(Pass {
            breaker: self,
            probe: state.probing,
            suspicious: state.probing || state.failures > 0,
        })
    }

    /// It was reached beside any probe.
    pub(super) fn reached(&self) {
        let mut state = self.state();
        if state.until.is_none() {
            state.failures = 0;
        }
    }

    /// It could not be reached beside any probe.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.state();
        if state.until.is_some() {
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.patience.failures {
            self.open(&mut state, now);
        }
    }

    fn open(&self, state: &mut State, now: Instant) {
        state.opened = state.opened.saturating_add(1);
        let wait = self.patience.wait(state.opened);
        state.until = Some(now + wait);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(server = self.server, wait_ms, "the server is left alone");
    }

    /// As an operator sees it.
    pub(super) fn condition(&self, now: Instant) -> Condition {
        match self.state().until {
            None => Condition::Closed,
            Some(until) if now < until => Condition::Open,
            Some(_) => Condition::HalfOpen,
        }
    }
}

impl Pass<'_> {
    /// Whether it must be shown that the upstream is there, since that is in
    /// doubt.
    pub(super) fn is_suspicious(&self) -> bool {
        self.suspicious
    }

    /// It was reached.
    pub(super) fn reached(self) {
        if !self.probe {
            self.breaker.reached();
            return;
        }
        *self.breaker.state() = State::default();
        tracing::info!(server = self.breaker.server, "the server is there again");
    }

    /// It was not.
    pub(super) fn failed(self, now: Instant) {
        if self.probe {
            let mut state = self.breaker.state();
            self.breaker.open(&mut state, now);
        } else {
            self.breaker.failed(now);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.probe {
            self.breaker.state().probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PATIENCE: Patience = Patience {
        failures: 2,
        first: SECOND,
        longest: Duration::from_secs(5),
    };

    fn open(breaker: &Breaker, now: Instant) {
        breaker.ask(now).unwrap().failed(now);
        breaker.ask(now).unwrap().failed(now);
        assert_eq!(breaker.condition(now), Condition::Open);
    }

    fn left(breaker: &Breaker, now: Instant) -> Duration {
        breaker.ask(now).unwrap_err().again_in.unwrap()
    }

    #[test]
    fn one_waits_twice_as_long_each_time_and_never_longer_than_the_longest() {
        let waits: Vec<_> = [0, 1, 2, 3, 4, 40, u32::MAX]
            .map(|n| PATIENCE.wait(n).as_secs())
            .into();
        assert_eq!(waits, [0, 1, 2, 4, 5, 5, 5]);
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_success_among_them_does_not() {
        let (breaker, now) = (Breaker::new("up", PATIENCE), Instant::now());
        breaker.ask(now).unwrap().failed(now);
        assert!(breaker.ask(now).unwrap().is_suspicious());
        breaker.ask(now).unwrap().reached();
        breaker.ask(now).unwrap().failed(now);
        assert_eq!(breaker.condition(now), Condition::Closed);
        breaker.failed(now);
        assert_eq!(breaker.condition(now), Condition::Open);
        assert_eq!(left(&breaker, now), SECOND);
        assert_eq!(left(&breaker, now + SECOND / 2), SECOND / 2);
    }

    #[test]
    fn when_its_time_is_up_one_probes_and_all_others_are_refused_until_it_knows() {
        let (breaker, now) = (Breaker::new("up", PATIENCE), Instant::now());
        open(&breaker, now);
        let later = now + SECOND;
        assert_eq!(breaker.condition(later), Condition::HalfOpen);
        let probe = breaker.ask(later).unwrap();
        assert!(probe.is_suspicious());
        assert_eq!(left(&breaker, later), SECOND);
        probe.reached();
        assert_eq!(breaker.condition(later), Condition::Closed);
        assert!(!breaker.ask(later).unwrap().is_suspicious());
    }

    #[test]
    fn a_probe_that_fails_opens_it_for_longer_and_one_that_is_given_up_for_nobody() {
        let (breaker, now) = (Breaker::new("up", PATIENCE), Instant::now());
        open(&breaker, now);
        let later = now + SECOND;
        breaker.ask(later).unwrap().failed(later);
        assert_eq!(left(&breaker, later), 2 * SECOND);
        let later = later + 2 * SECOND;
        drop(breaker.ask(later).unwrap());
        breaker.ask(later).unwrap().failed(later);
        assert_eq!(left(&breaker, later), 4 * SECOND);
        let later = later + 4 * SECOND;
        breaker.ask(later).unwrap().reached();
        open(&breaker, later);
        assert_eq!(left(&breaker, later), SECOND, "it begins anew");
    }

    #[test]
    fn what_was_under_way_when_it_opened_neither_closes_nor_prolongs_it() {
        let (breaker, now) = (Breaker::new("up", PATIENCE), Instant::now());
        let earlier = [(); 2].map(|()| breaker.ask(now).unwrap());
        open(&breaker, now);
        let [one, two] = earlier;
        one.reached();
        two.failed(now + SECOND / 2);
        breaker.reached();
        assert_eq!(left(&breaker, now), SECOND);
    }
}
