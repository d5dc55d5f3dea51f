//! A store that went back in time: nothing is done on it, until an operator
//! accepts that.

use countersign_evidence::Draft;

use super::upkeep::Signed;
use super::{Writer, answers};
use crate::attempt::{Epochs, Position};
use crate::error::{LedgerError, OpenError};
use crate::recovery;
use crate::request::{InForce, Request};
use crate::store::Store;

impl<S: Store> Writer<S> {
    /// Turns away everything but the acceptance; what waits behind that is
    /// served.
    pub(super) fn while_rolled_back(&mut self, requests: Vec<Request>) {
        let mut requests = requests.into_iter();
        while let Some(request) = requests.next() {
            let Request::AcceptRollback { draft, then, reply } = request else {
                self.fail_all(vec![request], &LedgerError::RolledBack);
                continue;
            };
            let accepted = self.accept_rollback(*draft, &then);
            let admits = accepted.is_ok();
            answers::send(reply, accepted);
            if admits {
                return self.serve(requests.collect());
            }
        }
    }

    fn accept_rollback(
        &mut self,
        draft: Draft,
        then: &[(Draft, InForce)],
    ) -> Result<(Position, Epochs), LedgerError> {
        if self.queue.failed() || !self.connect_to_accept() {
            return Err(LedgerError::Unavailable);
        }
        let (store, clock) = (&mut self.store, self.clock.as_ref());
        let key = self.key.verifying_key();
        let accepted = recovery::accept(store, &self.options.anchor, clock, (draft, then), &key);
        let (place, epochs) = accepted.map_err(|error| {
            tracing::error!(%error, "the rollback was not accepted");
            self.connected = false;
            match error {
                OpenError::OtherKey { .. } => LedgerError::OtherKey,
                _ => LedgerError::Unavailable,
            }
        })?;
        tracing::warn!("an operator accepted that the ledger was rolled back");
        // What was signed is lost: it says nothing of what follows.
        self.signed = Signed::nothing(self.clock.monotonic());
        let accepted = place.sequence.saturating_add(1);
        let size = self.store.head().map_or(accepted, |head| head.size());
        self.signed.log_size = size;
        self.anchor_failed = false;
        self.anchored = self.store.known().others().to_vec();
        self.queue.enlist(self.store.incarnation());
        self.queue.set_rolled_back(false);
        Ok((place, epochs))
    }
}
