//! One way to a server, and what its turns came to.

use countersign_tests::measure::processor_time_of;

use super::load::{Load, Turn};
use super::rules::{self, TOOL};
use super::{CONCURRENCY, TURN};
use crate::report::Turns;

/// What clients call.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) load: Load,
    /// The process that stands between, where one does.
    pub(super) process: Option<u32>,
    /// One for each concurrency.
    pub(super) seen: [Seen; CONCURRENCY.len()],
}

/// What the turns at one concurrency came to.
#[derive(Default)]
pub(super) struct Seen {
    /// Calls in a second.
    pub(super) rate: Turns,
    /// In microseconds, as all of these.
    pub(super) p50: Turns,
    pub(super) p99: Turns,
    /// What the process between used for a call.
    pub(super) used: Turns,
}

impl Side {
    pub(super) fn new(name: &'static str, url: String, process: Option<u32>) -> Self {
        let load = Load {
            url,
            tool: TOOL,
            arguments: rules::arguments(),
        };
        Self {
            name,
            load,
            process,
            seen: Default::default(),
        }
    }

    /// Lets so many clients call as the place in [`CONCURRENCY`] says.
    pub(super) async fn turn(&mut self, place: usize, name: &str) {
        let used = || self.process.and_then(processor_time_of);
        let before = used();
        let done = self.load.run(name, CONCURRENCY[place], TURN).await;
        let used = used().zip(before).map(|(after, before)| after - before);
        let seen = &mut self.seen[place];
        seen.add(&done);
        if let Some(used) = used {
            let calls = done.took.count().max(1) as f64;
            seen.used.add(used.as_secs_f64() * 1e6 / calls);
        }
    }
}

impl Seen {
    fn add(&mut self, turn: &Turn) {
        let micros = |percent| turn.took.percentile(percent).as_secs_f64() * 1e6;
        self.rate.add(turn.rate);
        self.p50.add(micros(50));
        self.p99.add(micros(99));
    }
}
