//! A clock that tests move.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use countersign_ledger::Clock;

/// A clock that moves by a microsecond at each look, and as tests say. That of a
/// store that others share moves by itself too, since its leases do.
#[derive(Default)]
pub struct TestClock {
    moved_us: AtomicI64,
    /// Moves the clock that counts suspension, and no other.
    slept_us: AtomicI64,
    began: Option<Instant>,
}

impl TestClock {
    #[allow(clippy::disallowed_methods, reason = "leases run by themselves")]
    pub fn that_runs() -> Self {
        Self {
            began: Some(Instant::now()),
            ..Self::default()
        }
    }

    pub fn advance(&self, by: Duration) {
        let by_us = i64::try_from(by.as_micros()).unwrap();
        self.moved_us.fetch_add(by_us, Ordering::SeqCst);
    }

    /// As if the machine had been suspended.
    pub fn sleep(&self, by: Duration) {
        let by_us = i64::try_from(by.as_micros()).unwrap();
        self.slept_us.fetch_add(by_us, Ordering::SeqCst);
    }

    fn ran(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}

impl Clock for TestClock {
    fn wall_us(&self) -> i64 {
        let moved_us = self.moved_us.fetch_add(1, Ordering::SeqCst);
        let ran_us = i64::try_from(self.ran().as_micros()).unwrap();
        1_700_000_000_000_000 + moved_us + ran_us
    }

    fn monotonic(&self) -> Duration {
        let moved_us = self.moved_us.load(Ordering::SeqCst).unsigned_abs();
        self.ran() + Duration::from_micros(moved_us)
    }

    fn since_boot(&self) -> Duration {
        let slept_us = self.slept_us.load(Ordering::SeqCst).unsigned_abs();
        match self.began {
            // Its leases run with the database's own clock.
            Some(_) => self.ran() + Duration::from_micros(slept_us),
            None => self.monotonic() + Duration::from_micros(slept_us),
        }
    }
}
