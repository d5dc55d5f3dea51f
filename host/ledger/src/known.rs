//! What a process knows of how far its store had come.
//!
//! A store that goes back in time looks whole, and does so behind a connection
//! that never broke too: a pooler hands out another one, a backup is restored in
//! place. So each group compares the end of its log with the one that was
//! committed last; there is one writer to a log, and nothing else may stand there.
//! What other replicas had come to is compared at each heartbeat and whenever a
//! connection was opened (`docs/spec/executions.md` §5).

use countersign_canon::Digest;
use countersign_evidence::{Head, LogId};

use crate::store::StoreError;

/// The end of a log that another replica writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) log_id: LogId,
    /// At least 1.
    pub(crate) size: u64,
    pub(crate) last: Digest,
}

/// The end of the own log: its size, and the hash of its last entry.
type Tip = (u64, Option<Digest>);

/// What the store must still hold.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// `None` until it was read for the first time.
    own: Option<Tip>,
    /// What the transaction that has begun has written.
    written: Option<Tip>,
    /// What a commit was to make durable of which it is not known whether it did.
    doubtful: Option<Tip>,
    /// By the names of their logs.
    others: Vec<End>,
    /// How often it was accepted that the store went back.
    era: u64,
}

fn tip(head: &Head) -> Tip {
    (head.size(), head.last())
}

impl Known {
    /// Whether nothing is known of the own log.
    pub(crate) fn is_new(&self) -> bool {
        self.own.is_none()
    }

    /// Compares the head that a transaction reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::RolledBack`] where it is neither what was committed last nor
    /// what a commit in doubt would have left.
    pub(crate) fn fits(&self, head: &Head) -> Result<(), StoreError> {
        let found = tip(head);
        match self.own {
            Some(own) if own != found && self.doubtful != Some(found) => {
                Err(StoreError::RolledBack)
            }
            _ => Ok(()),
        }
    }

    /// A transaction has begun on a head that fits: nothing is in doubt any more.
    pub(crate) fn begun(&mut self, head: &Head) {
        self.own = Some(tip(head));
        (self.written, self.doubtful) = (None, None);
    }

    /// It has written up to here.
    pub(crate) fn wrote(&mut self, head: &Head) {
        self.written = Some(tip(head));
    }

    /// What it has written will never be there.
    pub(crate) fn dropped(&mut self) {
        self.written = None;
    }

    /// Its commit begins: until that is acknowledged it may be there or not.
    pub(crate) fn committing(&mut self) {
        if let Some(written) = self.written.take() {
            self.doubtful = Some(written);
        }
    }

    /// Its commit was acknowledged.
    pub(crate) fn committed(&mut self) {
        if let Some(written) = self.doubtful.take() {
            self.own = Some(written);
        }
    }

    /// The end of the own log as it was committed last, where it has one.
    pub(crate) fn own_end(&self, log_id: &LogId) -> Option<End> {
        let (size, last) = self.own?;
        Some(End {
            log_id: log_id.clone(),
            size,
            last: last?,
        })
    }

    /// The ends of the other replicas' logs.
    pub(crate) fn others(&self) -> &[End] {
        &self.others
    }

    /// Adds ends that an anchor names; those that are known further stay.
    pub(crate) fn remember(&mut self, ends: &[End]) {
        for end in ends {
            let place = self
                .others
                .binary_search_by(|known| known.log_id.as_str().cmp(end.log_id.as_str()));
            match place {
                Err(place) => self.others.insert(place, end.clone()),
                Ok(place) => {
                    if let Some(known) = self.others.get_mut(place)
                        && known.size < end.size
                    {
                        known.clone_from(end);
                    }
                }
            }
        }
    }

    /// An operator accepts what is there, whatever was there before.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            era: self.era.saturating_add(1),
            ..Self::default()
        };
    }

    /// How often that was.
    pub(crate) fn era(&self) -> u64 {
        self.era
    }
}

#[cfg(test)]
mod tests {
    use countersign_evidence::{Draft, Kind, Time};

    use super::*;

    fn heads() -> [Head; 3] {
        let mut head = Head::new("log.example/1".parse().unwrap());
        [1, 2, 3].map(|at| {
            head.append(Draft::new(Kind::Start, Time::from_micros(at)), None);
            head.clone()
        })
    }

    #[test]
    fn only_what_was_committed_last_fits_or_what_a_commit_in_doubt_would_have_left() {
        let [first, second, third] = heads();
        let mut known = Known::default();
        assert_eq!(known.fits(&second), Ok(()), "nothing is known yet");
        known.begun(&first);
        let mut fork = Head::new("log.example/1".parse().unwrap());
        fork.append(Draft::new(Kind::Start, Time::from_micros(9)), None);
        for other in [&second, &fork] {
            assert_eq!(known.fits(other), Err(StoreError::RolledBack));
        }
        known.wrote(&second);
        assert!(known.fits(&second).is_err(), "no commit has begun");
        known.committing();
        assert!(known.fits(&first).is_ok() && known.fits(&second).is_ok());
        assert!(known.fits(&third).is_err());
        known.committed();
        assert!(known.fits(&first).is_err() && known.fits(&second).is_ok());
        // A doubt is over once it was read which of the two it is.
        known.wrote(&third);
        known.committing();
        known.begun(&second);
        assert!(known.fits(&third).is_err());
        known.wrote(&third);
        known.dropped();
        known.committing();
        assert!(known.fits(&third).is_err(), "it was never committed");
        known.forget();
        assert!(known.fits(&first).is_ok());
    }

    #[test]
    fn what_an_anchor_names_is_remembered_where_nothing_newer_is_known() {
        let end = |name: &str, size| End {
            log_id: name.parse().unwrap(),
            size,
            last: Digest::of(&[b"x"]),
        };
        let mut known = Known::default();
        known.remember(&[end("b.example/1", 5), end("a.example/1", 7)]);
        known.remember(&[end("a.example/1", 6), end("b.example/1", 9)]);
        assert_eq!(
            known.others(),
            [end("a.example/1", 7), end("b.example/1", 9)]
        );
    }
}
