//! How long an incarnation may send.
//!
//! A store that others share gives an incarnation up once its lease has run
//! out. Whether enough of it is left is asked immediately before the first byte
//! (`docs/spec/executions.md` §4), on a clock that counts suspension: a process
//! that slept does not know by any other how late it is. The lease is counted
//! from before it was asked for, so it never ends later here than there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::options::Clock;

/// The lease of one incarnation.
pub(crate) enum Lease {
    /// Until it is ended.
    Endless(AtomicBool),
    Limited(Limited),
}

pub(crate) struct Limited {
    clock: Arc<dyn Clock>,
    length: Duration,
    /// Microseconds of the clock that counts suspension; 0 once it is over.
    ends_us: AtomicU64,
}

impl Lease {
    /// That of an incarnation that no other can give up while it lives.
    pub(crate) fn endless() -> Self {
        Self::Endless(AtomicBool::new(false))
    }

    /// One that has not begun.
    pub(crate) fn of(length: Duration, clock: Arc<dyn Clock>) -> Self {
        Self::Limited(Limited {
            clock,
            length,
            ends_us: AtomicU64::new(0),
        })
    }

    /// It was renewed, by a statement that was sent at `asked` or later.
    pub(crate) fn renewed(&self, asked: Duration) {
        if let Self::Limited(limited) = self {
            let ends = asked.saturating_add(limited.length);
            let ends_us = u64::try_from(ends.as_micros()).unwrap_or(u64::MAX);
            limited.ends_us.store(ends_us, Ordering::SeqCst);
        }
    }

    /// It is over.
    pub(crate) fn end(&self) {
        match self {
            Self::Endless(over) => over.store(true, Ordering::SeqCst),
            Self::Limited(limited) => limited.ends_us.store(0, Ordering::SeqCst),
        }
    }

    /// Whether at least a third of it is left.
    pub(crate) fn allows_sending(&self) -> bool {
        let limited = match self {
            Self::Endless(over) => return !over.load(Ordering::SeqCst),
            Self::Limited(limited) => limited,
        };
        let ends = Duration::from_micros(limited.ends_us.load(Ordering::SeqCst));
        ends.saturating_sub(limited.clock.since_boot()) >= limited.length / 3
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let length = match self {
            Self::Endless(_) => None,
            Self::Limited(limited) => Some(limited.length),
        };
        f.debug_tuple("Lease").field(&length).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Hands(AtomicU64);

    impl Clock for Hands {
        fn wall_us(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Duration {
            // It stood still while the machine was suspended.
            Duration::ZERO
        }

        fn since_boot(&self) -> Duration {
            Duration::from_millis(self.0.load(Ordering::SeqCst))
        }
    }

    #[test]
    fn a_lease_allows_sending_while_a_third_of_it_is_left_and_counts_suspension() {
        let clock = Arc::<Hands>::default();
        let lease = Lease::of(Duration::from_secs(15), Arc::<Hands>::clone(&clock));
        assert!(!lease.allows_sending(), "it has not begun");
        lease.renewed(Duration::ZERO);
        for (at_ms, allowed) in [(0, true), (10_000, true), (10_001, false), (60_000, false)] {
            clock.0.store(at_ms, Ordering::SeqCst);
            assert_eq!(lease.allows_sending(), allowed, "at {at_ms} ms");
        }
        lease.renewed(Duration::from_secs(60));
        assert!(lease.allows_sending());
        lease.end();
        assert!(!lease.allows_sending());
        let endless = Lease::endless();
        assert!(endless.allows_sending());
        endless.end();
        assert!(!endless.allows_sending());
    }
}
