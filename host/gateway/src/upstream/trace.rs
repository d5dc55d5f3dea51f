//! How far one request came, and by which way: whether a byte of it may have left.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use countersign_ledger::{GateClosed, SendGate};

use super::http::Session;
use super::stdio::Process;

/// How far one request came; shared with whoever writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Traced>);

#[derive(Debug, Default)]
struct Traced {
    /// 0 while neither.
    state: AtomicU8,
    refused: AtomicBool,
    waited: AtomicBool,
    way: OnceLock<(Way, u64)>,
}

const LEFT: u8 = 1;
const CLOSED: u8 = 2;

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
        if self.is(CLOSED) {
            return Err(GateClosed);
        }
        if let Some(Err(closed)) = gate.map(SendGate::pass) {
            self.0.refused.store(true, Ordering::SeqCst);
            return Err(closed);
        }
        if matches!(self.change(LEFT), Ok(_) | Err(LEFT)) {
            Ok(())
        } else {
            Err(GateClosed)
        }
    }

    /// Whether bytes may have left.
    pub(crate) fn left(&self) -> bool {
        self.is(LEFT)
    }

    /// Lets no byte leave from now on where none may have left; says whether some
    /// may have. Whoever writes the request may be elsewhere, about to begin.
    pub(crate) fn close(&self) -> bool {
        self.change(CLOSED) == Err(LEFT)
    }

    fn is(&self, state: u8) -> bool {
        self.0.state.load(Ordering::SeqCst) == state
    }

    /// The first change is the only one.
    fn change(&self, to: u8) -> Result<u8, u8> {
        let (order, state) = (Ordering::SeqCst, &self.0.state);
        state.compare_exchange(0, to, order, order)
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn of_passing_and_closing_the_first_one_counts() {
        let first = Trace::default();
        assert!(!first.left());
        assert_eq!(first.pass(None), Ok(()));
        assert!(first.left() && first.close() && first.left());
        let first = Trace::default();
        assert!(!first.close() && !first.close());
        assert_eq!(first.pass(None), Err(GateClosed));
        assert!(!first.left() && !first.close());
    }

    #[test]
    fn what_was_said_not_to_have_left_does_not_leave() {
        let mut ways = [0; 2];
        for _ in 0..2_000 {
            let (trace, both) = (Trace::default(), Barrier::new(2));
            let (passed, left) = std::thread::scope(|scope| {
                let passing = scope.spawn(|| {
                    both.wait();
                    trace.pass(None).is_ok()
                });
                both.wait();
                let left = trace.close();
                (passing.join().unwrap(), left)
            });
            assert_eq!(passed, left);
            ways[usize::from(left)] += 1;
        }
        assert_eq!(ways[0] + ways[1], 2_000);
    }
}
