//! A store that is behind its anchor: nothing is done on it, until an operator
//! accepts that.

use countersign_evidence::Draft;

use super::{Writer, answers};
use crate::attempt::{Epochs, Position};
use crate::error::LedgerError;
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
        let accepted = recovery::accept(store, &self.options.anchor, clock, draft, then);
        let (place, epochs) = accepted.map_err(|error| {
            tracing::error!(%error, "the rollback was not accepted");
            self.connected = false;
            LedgerError::Unavailable
        })?;
        tracing::warn!("an operator accepted that the ledger was rolled back");
        if let Ok(head) = self.store.head() {
            self.signed.log_size = head.size();
        }
        self.anchored = self.store.others().to_vec();
        self.queue.enlist(self.store.incarnation());
        self.queue.set_rolled_back(false);
        Ok((place, epochs))
    }
}
