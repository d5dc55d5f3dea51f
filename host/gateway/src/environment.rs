//! The one place where time, randomness and the process environment come in.
//!
//! Everything else is given an [`Environment`], so that a test can replay it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_evidence::{CallId, SessionId, Time};
use countersign_ledger::{Clock, Probe};

/// Variables that spawned servers are given beside those that the operator
/// configured: what programs need to find themselves, and nothing that could
/// hold a secret.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR"];

/// Clock, randomness and process environment, as injected.
#[derive(Clone)]
pub struct Environment {
    /// The only source of time.
    pub clock: Arc<dyn Clock>,
    /// Fills a buffer with unpredictable bytes, or says that it cannot.
    pub random: fn(&mut [u8]) -> bool,
    /// Reads a variable that the operator's configuration names; for the one who
    /// needs it.
    pub variable: fn(&str) -> Option<String>,
    /// What spawned servers inherit.
    pub inherited: Arc<[(String, String)]>,
    /// The user that this process runs as, by number.
    pub user: u32,
    /// Called at named points of the ledger's way, where a test stops it or makes
    /// it fail; nobody, outside of tests.
    pub probe: Option<Arc<dyn Probe>>,
}

/// The system has no randomness to give; nothing can be named without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

impl Environment {
    /// The real ones.
    #[must_use]
    pub fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock::new()),
            random: system_random,
            variable,
            inherited: inherited(),
            user: rustix::process::geteuid().as_raw(),
            probe: None,
        }
    }

    /// Random bytes.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], NoRandomness> {
        let mut bytes = [0; N];
        if (self.random)(&mut bytes) {
            Ok(bytes)
        } else {
            Err(NoRandomness)
        }
    }

    /// A fresh name for an attempt.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn call_id(&self) -> Result<CallId, NoRandomness> {
        let random = self.bytes()?;
        Ok(CallId::minted(self.now(), random))
    }

    /// A fresh name for a session, as evidence has it.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn session_id(&self) -> Result<SessionId, NoRandomness> {
        self.bytes().map(SessionId::from_random)
    }

    /// A secret that names a session to its client: 256 bits as hex.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn session_secret(&self) -> Result<String, NoRandomness> {
        Ok(hex(&self.bytes::<32>()?))
    }

    /// Now, for entries.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_micros(self.clock.wall_us())
    }

    /// Time since some fixed instant.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
            text
        })
}

/// The clock that goes on while the machine is suspended.
#[cfg(target_os = "linux")]
const COUNTS_SUSPENSION: rustix::time::ClockId = rustix::time::ClockId::Boottime;
/// On Apple's systems the monotonic one does.
#[cfg(not(target_os = "linux"))]
const COUNTS_SUSPENSION: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

#[derive(Debug)]
struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place of the clock"
    )]
    fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place of the clock"
    )]
    fn wall_us(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn since_boot(&self) -> Duration {
        let now = rustix::time::clock_gettime(COUNTS_SUSPENSION);
        Duration::new(
            u64::try_from(now.tv_sec).unwrap_or(0),
            u32::try_from(now.tv_nsec).unwrap_or(0),
        )
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place of randomness"
)]
fn system_random(buffer: &mut [u8]) -> bool {
    getrandom::fill(buffer).is_ok()
}

#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place of the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place of the environment"
)]
fn inherited() -> Arc<[(String, String)]> {
    PASSED_ON
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .collect()
}
