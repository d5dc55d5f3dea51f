//! The system's clock, moved on or held by a test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
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

/// The system's clock, which keeps the ledger's writer waiting for the time
/// while a test holds it: then what is queued meanwhile is carried out in the
/// order in which it came, all at once.
#[derive(Clone)]
pub struct Held {
    held: Arc<(Mutex<Hold>, Condvar)>,
    system: Arc<dyn Clock>,
}

#[derive(Default)]
struct Hold {
    wanted: bool,
    waits: bool,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

impl Held {
    pub fn environment() -> (Self, Environment) {
        let mut environment = Environment::system();
        let held = Self {
            held: Arc::default(),
            system: Arc::clone(&environment.clock),
        };
        environment.clock = Arc::new(held.clone());
        (held, environment)
    }

    pub fn hold(&self) {
        self.held.0.lock().unwrap().wanted = true;
    }

    /// Whether the writer waits.
    pub fn waits(&self) -> bool {
        self.held.0.lock().unwrap().waits
    }

    pub fn release(&self) {
        self.held.0.lock().unwrap().wanted = false;
        self.held.1.notify_all();
    }
}

impl Clock for Held {
    fn wall_us(&self) -> i64 {
        if std::thread::current().name() == Some("ledger-writer") {
            let (hold, released) = &*self.held;
            let mut hold = hold.lock().unwrap();
            while hold.wanted {
                hold.waits = true;
                hold = released.wait(hold).unwrap();
            }
            hold.waits = false;
        }
        self.system.wall_us()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    fn since_boot(&self) -> Duration {
        self.system.since_boot()
    }
}
