//! What benchmarks measure with: samples taken in turns, their median and
//! spread, and the processor time of this process and of others.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Durations of one thing, measured many times.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Adds one.
    pub fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Duration> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The duration that a share of the samples, in percent, do not exceed.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(index).copied().unwrap_or_default()
    }

    /// The duration in the middle.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }
}

/// How long one thing takes, on the clock on the wall.
pub fn wall<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    let start = std::time::Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// How much processor time this process has used, all threads together.
#[must_use]
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}

/// How much processor time another process has used, all threads together; to
/// ten milliseconds. `None` where it is gone.
#[must_use]
pub fn processor_time_of(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name stands in brackets, and may hold anything.
    let fields = stat.rsplit_once(") ")?.1;
    let mut ticks = fields.split(' ').skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some(Duration::from_millis((user + system) * 10))
}

/// Microseconds, with two digits after the point.
#[must_use]
pub fn micros(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e6)
}

/// The median, and in brackets what a tenth stays under and a tenth exceeds.
#[must_use]
pub fn spread(samples: &Samples) -> String {
    let [low, high] = [samples.percentile(10), samples.percentile(90)].map(micros);
    format!("{:>10} ({low} to {high})", micros(samples.median()))
}
