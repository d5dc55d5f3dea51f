//! The permit to invoke.
//!
//! Only the writer makes a [`Token`], for the attempt whose reservation or
//! claim it has just made durable; it cannot be cloned, and settling uses it
//! up. A token that is dropped instead (its task was cancelled) settles the
//! execution by what its [`SendGate`] saw, so that no row stays open behind a
//! process that lives.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use countersign_canon::Digest;
use countersign_evidence::{CallId, Draft};

use crate::lease::Lease;
use crate::queue::Queue;
use crate::settlement::Kept;
use crate::step::Owner;

/// The permit to invoke once.
pub struct Token {
    inner: Option<Inner>,
    queue: Arc<Queue>,
    lease: Arc<Lease>,
}

/// The entry by which a permit was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// How many rollbacks had been accepted before.
    pub(crate) era: u64,
    /// Its place in this replica's log.
    pub(crate) sequence: u64,
    pub(crate) hash: Digest,
}

/// What a token that was used up, or dropped, leaves to settle.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    pub(crate) row: i64,
    pub(crate) owner: Owner,
    pub(crate) given: Box<Given>,
    /// Bytes may have left.
    pub(crate) passed: bool,
    pub(crate) draft: Box<Draft>,
    /// The answer that is kept with the settlement.
    pub(crate) keep: Option<Kept>,
    /// How often it was tried alone to make it durable, in vain.
    pub(crate) failed_alone: u8,
}

/// What the writer needs to find and settle the execution again.
#[derive(Clone, Debug)]
pub(crate) struct Inner {
    pub(crate) row: i64,
    pub(crate) owner: Owner,
    pub(crate) given: Box<Given>,
    pub(crate) gate: Arc<Gate>,
    /// The draft of the attempt's entry, which its terminal entry repeats.
    pub(crate) draft: Box<Draft>,
}

const PASSED: u8 = 1;
const CLOSED: u8 = 2;

/// Passing and closing exclude each other: a request that is still on its way
/// when its execution is settled as not sent does not leave any more.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicU8);

impl Gate {
    fn pass(&self) -> Result<(), GateClosed> {
        match self
            .0
            .compare_exchange(0, PASSED, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) | Err(PASSED) => Ok(()),
            Err(_) => Err(GateClosed),
        }
    }

    /// Closes the gate for good; says whether it was ever passed.
    pub(crate) fn close(&self) -> bool {
        self.0.fetch_or(CLOSED, Ordering::SeqCst) & PASSED != 0
    }
}

/// Passed directly before the first application byte is written.
#[derive(Clone)]
pub struct SendGate {
    gate: Arc<Gate>,
    queue: Arc<Queue>,
    lease: Arc<Lease>,
}

/// The owner may not send any more; it settles as not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reservation does not hold any more")]
pub struct GateClosed;

impl Inner {
    pub(crate) fn close(self) -> Closed {
        let Self {
            row,
            owner,
            given,
            gate,
            draft,
        } = self;
        Closed {
            row,
            owner,
            given,
            passed: gate.close(),
            draft,
            keep: None,
            failed_alone: 0,
        }
    }
}

impl Token {
    pub(crate) fn new(inner: Inner, queue: Arc<Queue>, lease: Arc<Lease>) -> Self {
        Self {
            inner: Some(inner),
            queue,
            lease,
        }
    }

    /// The attempt that may invoke.
    #[must_use]
    pub fn call_id(&self) -> Option<&CallId> {
        self.inner
            .as_ref()
            .and_then(|inner| inner.draft.call_id.as_ref())
    }

    /// The gate, for the transport that will write the request.
    #[must_use]
    pub fn gate(&self) -> SendGate {
        let gate = self
            .inner
            .as_ref()
            .map(|inner| Arc::clone(&inner.gate))
            .unwrap_or_default();
        SendGate {
            gate,
            queue: Arc::clone(&self.queue),
            lease: Arc::clone(&self.lease),
        }
    }

    /// Uses the token up: from now on its gate lets nothing pass.
    pub(crate) fn close(mut self) -> Option<Closed> {
        self.inner.take().map(Inner::close)
    }
}

impl SendGate {
    /// Asks to send, and marks that bytes may leave from now on. Call it
    /// directly before the first application byte of a round is written: from
    /// then on only a known answer or `outcome-unknown` is possible.
    ///
    /// # Errors
    ///
    /// [`GateClosed`] where the ledger failed or was found rolled back since,
    /// where less than a third of the owner's lease is left, and where the token
    /// was settled or dropped: nothing may be sent.
    pub fn pass(&self) -> Result<(), GateClosed> {
        let lost = self.queue.failed() || self.queue.rolled_back();
        // What has begun to leave is not held back half-way.
        if lost || !(self.passed() || self.lease.allows_sending()) {
            return Err(GateClosed);
        }
        self.gate.pass()
    }

    /// Whether bytes may have left.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.gate.0.load(Ordering::SeqCst) & PASSED != 0
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            self.queue.give_up(inner.close());
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("call_id", &self.call_id())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SendGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendGate")
            .field("passed", &self.passed())
            .finish_non_exhaustive()
    }
}
