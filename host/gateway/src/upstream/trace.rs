//! How far one request came, and by which way: whether a byte of it may have left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use countersign_ledger::{GateClosed, SendGate};

use super::http::Session;
use super::stdio::Process;

/// How far one request came; shared with whoever writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Traced>);

#[derive(Debug, Default)]
struct Traced {
    left: AtomicBool,
    refused: AtomicBool,
    waited: AtomicBool,
    way: OnceLock<(Way, u64)>,
}

/// Where a request goes. Its id means nothing anywhere else: each session, and
/// each process, has ids of its own from 1 on.
#[derive(Debug)]
pub(super) enum Way {
    Session(Arc<Session>),
    Process(Arc<Process>),
}

impl Trace {
    /// Asks the gate, directly before the first byte; then bytes may leave.
    pub(crate) fn pass(&self, gate: Option<&SendGate>) -> Result<(), GateClosed> {
        if let Some(Err(closed)) = gate.map(SendGate::pass) {
            self.0.refused.store(true, Ordering::SeqCst);
            return Err(closed);
        }
        self.0.left.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Whether bytes may have left.
    pub(crate) fn left(&self) -> bool {
        self.0.left.load(Ordering::SeqCst)
    }

    /// Whether the gate was closed, so that none did.
    pub(crate) fn refused(&self) -> bool {
        self.0.refused.load(Ordering::SeqCst)
    }

    /// Notes that it ended with somebody else's attempt to open the session.
    pub(super) fn waits(&self) {
        self.0.waited.store(true, Ordering::SeqCst);
    }

    /// Whether it did.
    pub(super) fn waited(&self) -> bool {
        self.0.waited.load(Ordering::SeqCst)
    }

    /// Notes where the request goes, and under which id.
    pub(super) fn goes(&self, way: Way, id: u64) {
        let _ = self.0.way.set((way, id));
    }

    /// Where it goes, and under which id; none where it did not come so far.
    pub(super) fn way(&self) -> Option<&(Way, u64)> {
        self.0.way.get()
    }
}
