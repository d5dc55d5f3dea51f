//! An agent's place for a process, and when one may be started in it again.
//!
//! A process that ended is started again at its next use: at once the first
//! time, and then after a while that doubles each time, so that a server which
//! dies of something does not do nothing but start. One that has run for as long
//! as the longest such while has redeemed itself. Another agent's process is not
//! held against this one.

use std::sync::Arc;

use countersign_evidence::ServerName;
use tokio::time::Instant;

use super::process::Process;
use crate::config::Patience;
use crate::upstream::breaker::Unready;

#[derive(Debug, Default)]
pub(super) struct Place {
    process: Option<Arc<Process>>,
    /// How often one ended before its time, in a row.
    deaths: u32,
    not_before: Option<Instant>,
}

impl Place {
    /// The process that runs.
    pub(super) fn running(&self) -> Option<Arc<Process>> {
        let running = self.process.as_ref();
        running.filter(|process| !process.has_ended()).cloned()
    }

    /// Whether one may be started now, where none runs.
    ///
    /// # Errors
    /// [`Unready`] with the time that is left.
    pub(super) fn may_start(
        &mut self,
        server: &ServerName,
        patience: Patience,
    ) -> Result<(), Unready> {
        if let Some((lived, ended)) = self.process.take().and_then(|process| process.life()) {
            if lived >= patience.longest {
                self.deaths = 0;
            }
            let wait = patience.wait(self.deaths);
            self.deaths = self.deaths.saturating_add(1);
            self.not_before = Some(ended + wait);
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(%server, wait_ms, "the server's process ended by itself");
        }
        let left = self
            .not_before
            .map(|at| at.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero());
        match left {
            Some(left) => Err(Unready::left_alone(left)),
            None => Ok(()),
        }
    }

    /// Takes a process that was started and greeted.
    pub(super) fn take(&mut self, process: Arc<Process>) -> Arc<Process> {
        self.process = Some(Arc::clone(&process));
        process
    }
}
