//! What the writer does when a group fails.
//!
//! Nothing of it counts, unless reading back shows that the commit took effect.
//! Settlements are kept and tried again; permits that nobody got are settled as
//! never sent.

use countersign_canon::Digest;
use countersign_evidence::RefusalCode;

use super::Writer;
use super::answers::{Said, refuse};
use crate::anchor::Anchor;
use crate::error::{LedgerError, OpenError};
use crate::plan::AttemptAnswer;
use crate::probe::Point;
use crate::recovery;
use crate::request::Request;
use crate::settlement::Settlement;
use crate::step::Owner;
use crate::store::{Lost, ReadBack, Store, StoreError};
use crate::token::{Closed, Inner};

/// What a group would have answered.
#[derive(Debug)]
pub(super) struct Doubt {
    sequence: u64,
    hash: Digest,
    permits: Vec<Inner>,
    settlements: Vec<(Closed, Settlement)>,
}

/// Where a group failed.
pub(super) enum Failed {
    /// It could not even begin: nothing was written.
    AtBegin(StoreError),
    /// Certainly not durable.
    Before(StoreError),
    /// Perhaps durable: everything that would have been said, and the last
    /// entry, by which it is read back.
    AtCommit(Box<AtCommit>),
}

pub(super) struct AtCommit {
    pub(super) error: StoreError,
    pub(super) said: Vec<Said>,
    pub(super) sequence: u64,
    pub(super) hash: Digest,
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Before(error)
    }
}

impl<S: Store> Writer<S> {
    /// Ends a group that failed.
    pub(super) fn recover(&mut self, requests: Vec<Request>, failed: Failed) {
        self.connected = false;
        // Before anybody is answered.
        self.queue.set_away(true);
        let (error, doubtful) = match failed {
            Failed::AtBegin(error) | Failed::Before(error) => (error, None),
            Failed::AtCommit(at_commit) => {
                let AtCommit {
                    error,
                    said,
                    sequence,
                    hash,
                } = *at_commit;
                (error, Some((said, sequence, hash)))
            }
        };
        tracing::error!(%error, requests = requests.len(), "a group of the ledger failed");
        if matches!(error, StoreError::Sync(_)) {
            // What the disk holds is not known, and reading it back would be
            // answered from memory.
            self.queue.fail();
            return self.fail_all(requests, &LedgerError::Unavailable);
        }
        if error == StoreError::RolledBack {
            self.found_rolled_back();
            return self.fail_all(requests, &LedgerError::RolledBack);
        }
        let Some((said, sequence, hash)) = doubtful else {
            return self.fail_all(requests, &LedgerError::Unavailable);
        };
        let permits: Vec<(i64, Owner)> = said.iter().filter_map(reserved).collect();
        let lost = Lost {
            sequence,
            hash,
            permits: &permits,
        };
        let read_back = self.open_again().and_then(|()| self.store.read_back(&lost));
        match read_back {
            Ok(ReadBack::Durable) => {
                self.connected = true;
                self.signed.log_size = sequence.saturating_add(1);
                self.answer_all(requests, said);
            }
            Ok(ReadBack::WithoutPermits) => {
                self.connected = true;
                self.signed.log_size = sequence.saturating_add(1);
                let said = said
                    .into_iter()
                    .map(|said| self.without_permit(said))
                    .collect();
                self.answer_all(requests, said);
            }
            Ok(ReadBack::Absent) => {
                self.connected = true;
                self.fail_all(requests, &LedgerError::Unavailable);
            }
            Err(error) => {
                if error == StoreError::RolledBack {
                    self.found_rolled_back();
                }
                tracing::error!(%error, "it is not known whether a group is durable");
                self.doubt = Some(Doubt {
                    sequence,
                    hash,
                    permits: said.into_iter().filter_map(permit).collect(),
                    settlements: requests.iter().filter_map(settlement).collect(),
                });
                for request in requests {
                    refuse(request, &LedgerError::Unavailable);
                }
            }
        }
    }

    /// Sees to it that there is a connection and no doubt, and that the store was
    /// not found rolled back.
    pub(super) fn connect(&mut self) -> bool {
        if self.queue.rolled_back() {
            return false;
        }
        if self.connected {
            return true;
        }
        if let Err(error) = self.open_again() {
            if error == StoreError::RolledBack {
                self.found_rolled_back();
            }
            tracing::error!(%error, "the ledger cannot be opened again");
            return false;
        }
        if let Some(doubt) = self.doubt.take() {
            let lost = Lost {
                sequence: doubt.sequence,
                hash: doubt.hash,
                permits: &[],
            };
            match self.store.read_back(&lost) {
                Err(error) => {
                    if error == StoreError::RolledBack {
                        self.found_rolled_back();
                    }
                    tracing::error!(%error, "the ledger cannot be read back");
                    self.doubt = Some(doubt);
                    return false;
                }
                // Nothing was sent under these permits: nobody got them.
                Ok(ReadBack::Durable | ReadBack::WithoutPermits) => {
                    self.signed.log_size = doubt.sequence.saturating_add(1);
                    self.kept
                        .extend(doubt.permits.into_iter().filter_map(unused));
                }
                Ok(ReadBack::Absent) => self.kept.extend(doubt.settlements),
            }
        }
        self.connected = true;
        // Where group after group fails, none of them renews the lease.
        self.keep_store();
        self.connected
    }

    /// Sees to it that there is a connection on which a rollback can be accepted.
    pub(super) fn connect_to_accept(&mut self) -> bool {
        if !self.connected {
            let opened = self.store.reopen();
            if let Err(error) = opened.and_then(|()| self.probe(Point::Reopened)) {
                tracing::error!(%error, "the ledger cannot be opened again");
                return false;
            }
            self.connected = true;
        }
        if let Some(mut doubt) = self.doubt.take() {
            // What was lost is not read back; nobody got its permits.
            self.kept.append(&mut doubt.settlements);
        }
        true
    }

    /// The store is not as it was left. What this process has seen of it may be more
    /// than the anchor names, so that goes there: another start must not take the
    /// older store for whole.
    pub(super) fn found_rolled_back(&mut self) {
        tracing::error!("the ledger is older than it was: nothing is admitted");
        self.queue.set_rolled_back(true);
        if let Some(seen) = Anchor::seen(self.store.known(), self.key.name())
            && let Err(error) = seen.write(&self.options.anchor)
        {
            tracing::error!(%error, "the anchor cannot be written: do not start again before the rollback is accepted");
        }
        // What had begun in it holds a lock. The connection is opened again before
        // an operator's word is carried out.
        drop(self.store.rollback());
        self.connected = false;
    }

    /// Opens the connection again, and sees that the store still holds what the
    /// anchor names: it may be another one by now.
    fn open_again(&mut self) -> Result<(), StoreError> {
        self.store.reopen()?;
        self.probe(Point::Reopened)?;
        let unreadable = |error: OpenError| StoreError::Failed(error.to_string());
        let anchor = recovery::anchor(&self.options.anchor).map_err(unreadable)?;
        // A running ledger whose anchor was taken away writes it again.
        let log_id = self.key.name().clone();
        if recovery::behind(&mut self.store, anchor.as_ref(), &log_id, false)? {
            return Err(StoreError::RolledBack);
        }
        Ok(())
    }

    /// Nobody may send under a permit that did not hold: it is settled so.
    fn without_permit(&mut self, said: Said) -> Said {
        if reserved(&said).is_none() {
            return said;
        }
        self.kept.extend(permit(said).and_then(unused));
        Said::Attempt(Err(LedgerError::Unavailable))
    }

    pub(super) fn fail_all(&mut self, requests: Vec<Request>, error: &LedgerError) {
        for request in requests {
            self.kept.extend(settlement(&request));
            refuse(request, error);
        }
    }
}

fn permit(said: Said) -> Option<Inner> {
    match said {
        Said::Attempt(Ok(AttemptAnswer::Reserved { permit, .. })) => Some(permit),
        _ => None,
    }
}

fn reserved(said: &Said) -> Option<(i64, Owner)> {
    match said {
        Said::Attempt(Ok(AttemptAnswer::Reserved { permit, .. })) => {
            Some((permit.row, permit.owner))
        }
        _ => None,
    }
}

fn unused(permit: Inner) -> Option<(Closed, Settlement)> {
    // INVARIANT: the code is made of letters and `-`.
    let reason = RefusalCode::new("ledger-unavailable").ok()?;
    Some((permit.close(), Settlement::NotSent { reason }))
}

fn settlement(request: &Request) -> Option<(Closed, Settlement)> {
    match request {
        Request::Settle {
            closed, settlement, ..
        } => Some((closed.clone(), settlement.clone())),
        _ => None,
    }
}
