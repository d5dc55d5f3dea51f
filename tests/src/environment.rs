//! What the tests take from outside: two environment variables, the time and
//! where random choices start from. Nothing else reads these.

use std::{
    path::PathBuf,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// `COUNTERSIGN_BINARIES`: the folder with the built binaries; when absent the
/// tests build them first.
#[must_use]
pub fn binaries() -> Option<PathBuf> {
    variable("COUNTERSIGN_BINARIES").map(PathBuf::from)
}

/// `COUNTERSIGN_SEED`: where random choices start from; the time when absent.
/// Tests print it.
///
/// # Panics
///
/// When it is no number.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time"
)]
pub fn seed() -> u64 {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .subsec_nanos()
    };
    variable("COUNTERSIGN_SEED").map_or_else(|| now().into(), |seed| seed.parse().unwrap())
}

/// A point in time to measure from.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time"
)]
pub fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
