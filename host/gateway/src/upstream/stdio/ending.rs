//! How a process ends, with all that it has started.
//!
//! It has ended once it is no more, though a helper of its may still hold its
//! output: what was read of it by then, and in a short while after, is what it
//! said. A process that is to end is asked to by the end of its input, then by a
//! signal, and is killed at last. Signals go to its group, so that a process
//! behind a wrapper, and a helper, end too; who leaves the group is on its own.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::process::Process;

/// How long a process may take to end after its input was closed, and then
/// after it was asked to by a signal.
const GRACE: Duration = Duration::from_secs(2);
/// How long what a process wrote before it ended may take to be read, where its
/// output does not end with it.
const DRAIN: Duration = Duration::from_secs(1);
/// How often a group is looked at: nothing tells when its last process ends.
const LOOK: Duration = Duration::from_millis(20);
/// How long all processes together may take to end: each of them the grace for
/// its input, for a signal and for being killed, and what is read after that.
const CLOSING: Duration = Duration::from_secs(10);

/// The processes that have not ended yet, which it tells to end.
#[derive(Debug)]
pub(super) struct Living(watch::Sender<bool>);

/// Held until a process and all that it started have ended; says when all are
/// to end.
pub(super) struct Alive(watch::Receiver<bool>);

impl Default for Living {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Living {
    /// Counts one in; none once no more are started.
    pub(super) fn enter(&self) -> Option<Alive> {
        let alive = self.0.subscribe();
        let closing = *alive.borrow();
        (!closing).then_some(Alive(alive))
    }

    /// How many have not ended yet.
    pub(super) fn count(&self) -> usize {
        self.0.receiver_count()
    }

    /// Ends all of them and those that are being started, and waits for that.
    pub(super) async fn end(&self) {
        self.0.send_replace(true);
        let _ = tokio::time::timeout(CLOSING, self.0.closed()).await;
    }
}

/// The processes that were started together; killed where nobody sees to their
/// end any more.
struct Group(Option<Pid>);

impl Group {
    /// That of a process that was started as the first of it.
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // There may be none any more.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Resolves when none of them is left. A number is given to no other
    /// process while one of its group is there.
    async fn empty(&self) {
        while self
            .0
            .is_some_and(|group| test_kill_process_group(group).is_ok())
        {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Sees to the end of a process: waits until it ends by itself or is to end,
/// and then until nothing of it is left. `heard` reads its output.
pub(super) async fn watch(
    process: Arc<Process>,
    mut child: Child,
    mut heard: JoinHandle<()>,
    mut alive: Alive,
) {
    let mut group = Group::of(&child);
    let by_itself = tokio::select! {
        _ = child.wait() => true,
        () = process.over() => false,
        _ = alive.0.wait_for(|closing| *closing) => false,
    };
    process.end();
    if by_itself {
        let _ = tokio::time::timeout(DRAIN, &mut heard).await;
        process.desk().close();
    }
    process.close_input(GRACE).await;
    let _ = tokio::time::timeout(GRACE, child.wait()).await;
    group.send(Signal::TERM);
    let ending = async {
        let _ = child.wait().await;
        group.empty().await;
    };
    if tokio::time::timeout(GRACE, ending).await.is_err() {
        group.send(Signal::KILL);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
    }
    group.0 = None;
    let _ = tokio::time::timeout(DRAIN, &mut heard).await;
    heard.abort();
    process.desk().close();
    tracing::info!(server = %process.server(), "the server's process has ended");
}
