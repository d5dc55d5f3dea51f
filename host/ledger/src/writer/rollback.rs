//! A store that went back in time: nothing is done on it, until an operator
//! accepts that.

use countersign_evidence::Draft;
use countersign_evidence::key::VerifyingKey;

use super::{Writer, answers};
use crate::attempt::{Epochs, Position};
use crate::error::{LedgerError, OpenError};
use crate::in_force;
use crate::reading::Reads;
use crate::recovery;
use crate::request::{InForce, Request};
use crate::store::Store;

/// How often it is looked which key is in force.
const LOOKS: u32 = 8;

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
        let (reads, key) = (self.reads.as_ref(), self.key.verifying_key());
        let check = || key_is_in_force(reads, &key);
        let accepted = recovery::accept(store, &self.options.anchor, clock, (draft, then), check);
        let (place, epochs) = accepted.map_err(|error| {
            tracing::error!(%error, "the rollback was not accepted");
            self.connected = false;
            match error {
                OpenError::OtherKey { .. } => LedgerError::OtherKey,
                _ => LedgerError::Unavailable,
            }
        })?;
        tracing::warn!("an operator accepted that the ledger was rolled back");
        if let Ok(head) = self.store.head() {
            self.signed.log_size = head.size();
        }
        self.anchored = self.store.known().others().to_vec();
        self.queue.enlist(self.store.incarnation());
        self.queue.set_rolled_back(false);
        Ok((place, epochs))
    }
}

/// Refuses to go on under a key that the older log knows nothing of.
fn key_is_in_force(reads: &dyn Reads, key: &VerifyingKey) -> Result<(), OpenError> {
    let mut looks = 1;
    loop {
        match in_force::check(reads, key) {
            // Connections of readers break with the database that is gone.
            Err(OpenError::Damaged(_)) if looks < LOOKS => looks += 1,
            said => return said,
        }
    }
}
