//! What the writer does when a group fails.
//!
//! Nothing of it counts, unless reading back shows that the commit took effect.
//! Settlements are kept and tried again; permits that nobody got are settled as
//! never sent.

use countersign_canon::Digest;
use countersign_evidence::RefusalCode;

use super::Writer;
use super::answers::{Said, refuse};
use crate::error::LedgerError;
use crate::plan::AttemptAnswer;
use crate::probe::Point;
use crate::request::Request;
use crate::settlement::Settlement;
use crate::store::StoreError;
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

impl Writer {
    /// Ends a group that failed.
    pub(super) fn recover(&mut self, requests: Vec<Request>, failed: Failed) {
        self.connected = false;
        let (error, doubtful) = match failed {
            Failed::Before(error) => (error, None),
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
        let Some((said, sequence, hash)) = doubtful else {
            return self.fail_all(requests, &LedgerError::Unavailable);
        };
        let reopened = self
            .store
            .reopen()
            .and_then(|()| self.probe(Point::Reopened));
        let durable = reopened.and_then(|()| self.store.holds(sequence, hash));
        match durable {
            Ok(true) => {
                self.connected = true;
                self.signed.log_size = sequence.saturating_add(1);
                self.answer_all(requests, said);
            }
            Ok(false) => {
                self.connected = true;
                self.fail_all(requests, &LedgerError::Unavailable);
            }
            Err(error) => {
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

    /// Sees to it that there is a connection and no doubt.
    pub(super) fn connect(&mut self) -> bool {
        if self.connected {
            return true;
        }
        let reopened = self
            .store
            .reopen()
            .and_then(|()| self.probe(Point::Reopened));
        if let Err(error) = reopened {
            tracing::error!(%error, "the ledger cannot be opened again");
            return false;
        }
        if let Some(doubt) = self.doubt.take() {
            match self.store.holds(doubt.sequence, doubt.hash) {
                Err(error) => {
                    tracing::error!(%error, "the ledger cannot be read back");
                    self.doubt = Some(doubt);
                    return false;
                }
                // Nothing was sent under these permits: nobody got them.
                Ok(true) => {
                    self.signed.log_size = doubt.sequence.saturating_add(1);
                    self.kept
                        .extend(doubt.permits.into_iter().filter_map(unused));
                }
                Ok(false) => self.kept.extend(doubt.settlements),
            }
        }
        self.connected = true;
        true
    }

    pub(super) fn retry(&mut self) {
        if !self.connect() {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        let requests: Vec<Request> = kept
            .into_iter()
            .map(|(closed, settlement)| Request::Settle {
                closed,
                settlement,
                reply: None,
            })
            .collect();
        self.serve(requests);
    }

    pub(super) fn lost(&mut self, error: &StoreError) {
        tracing::error!(%error, "the ledger failed");
        self.connected = false;
        if matches!(error, StoreError::Sync(_)) {
            self.queue.fail();
        }
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
