//! How far one request came: whether a byte of it may have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersign_ledger::{GateClosed, SendGate};

/// How far one request came; shared with whoever writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Traced>);

#[derive(Debug, Default)]
struct Traced {
    left: AtomicBool,
    refused: AtomicBool,
    waited: AtomicBool,
    id: AtomicU64,
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

    pub(crate) fn set_id(&self, id: u64) {
        self.0.id.store(id, Ordering::SeqCst);
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id.load(Ordering::SeqCst)
    }
}
