//! The system's clock, moved on by a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_gateway::environment::Environment;
use countersign_ledger::Clock;

#[derive(Clone)]
pub struct Moved {
    by_ms: Arc<AtomicU64>,
    system: Arc<dyn Clock>,
}

impl std::fmt::Debug for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Moved")
    }
}

impl Moved {
    pub fn environment() -> (Self, Environment) {
        let mut environment = Environment::system();
        let moved = Self {
            by_ms: Arc::default(),
            system: Arc::clone(&environment.clock),
        };
        environment.clock = Arc::new(moved.clone());
        (moved, environment)
    }

    pub fn on(&self, seconds: u64) {
        self.by_ms.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    fn by(&self) -> Duration {
        Duration::from_millis(self.by_ms.load(Ordering::SeqCst))
    }
}

impl Clock for Moved {
    fn wall_us(&self) -> i64 {
        self.system.wall_us() + i64::try_from(self.by().as_micros()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic() + self.by()
    }

    fn since_boot(&self) -> Duration {
        self.system.since_boot() + self.by()
    }
}
