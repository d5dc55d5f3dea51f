//! How far long work has come, on a terminal's standard error.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a terminal is drawn to, per second.
const HERTZ: u8 = 8;

fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(HERTZ);
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A writer that shows how much went through it.
pub(crate) struct Counted<W> {
    out: W,
    bar: ProgressBar,
}

impl<W: Write> Counted<W> {
    /// Counts what goes to `out`, as `done`.
    pub(crate) fn new(out: W, done: &'static str) -> Self {
        let bar = bar(None, "{bytes} {msg}, {bytes_per_sec}, {elapsed}");
        bar.set_message(done);
        Self { out, bar }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bar.inc(u64::try_from(written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> Drop for Counted<W> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over entries.
pub(crate) struct Entries(ProgressBar);

impl Entries {
    /// An empty bar.
    pub(crate) fn new() -> Self {
        let template = "{bar:40} {human_pos} of {human_len} entries, {per_sec}, {eta} left";
        let bar = bar(Some(0), template);
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }

    /// Shows that so many of all are done.
    pub(crate) fn show(&self, done: u64, all: u64) {
        self.0.set_length(all.max(done));
        self.0.set_position(done);
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar over the steps of a check.
pub(crate) struct Steps(ProgressBar);

impl Steps {
    /// An empty bar.
    pub(crate) fn new() -> Self {
        let template = "{msg:10} {bar:40} {human_pos} of {human_len}, {eta} left";
        let bar = bar(Some(0), template);
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }

    /// Shows that so many of all are done in a step.
    pub(crate) fn show(&self, step: &'static str, done: u64, all: u64) {
        self.0.set_message(step);
        self.0.set_length(all.max(done));
        self.0.set_position(done);
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
