//! Which changes of one server's list leave an entry.
//!
//! Every change is taken at once: what is not what was approved is refused from
//! then on. Its entries, though, let whoever was decided already be decided
//! again, at every server, and stay for good. So a server whose list does not
//! come to rest is given some of them, and then ever longer pauses between; what
//! comes in a pause is counted, and the list in force at its end is written.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_canon::Digest;

/// Changes that leave an entry each, however fast they come.
const AT_ONCE: u32 = 4;
/// The pause after the next one; it doubles with each.
const FIRST: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(300);
/// A server whose list has not changed for so long begins anew.
const CALM: Duration = Duration::from_secs(600);

/// What was written of one server's list.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    last: Option<Digest>,
    in_a_row: u32,
    not_before: Duration,
    changed_at: Duration,
    /// Whether a change came in a pause.
    owes: bool,
}

impl Changes {
    /// Notes that the list has become another one, at `now` of a monotonic clock;
    /// answers whether that leaves an entry. Otherwise it is to be counted.
    pub(crate) fn found(&self, digest: Digest, now: Duration) -> bool {
        let mut written = self.written();
        if now.saturating_sub(written.changed_at) >= CALM {
            written.in_a_row = 0;
        }
        written.changed_at = now;
        written.writes(digest, now)
    }

    /// Whether the list in force is still to be written, and its pause is over.
    pub(crate) fn owes(&self, digest: Digest, now: Duration) -> bool {
        let mut written = self.written();
        written.owes && written.writes(digest, now)
    }

    /// Notes that what was to be written is not in the log, or not all of it: it is
    /// owed, after the pause that it would have had.
    pub(crate) fn was_not_written(&self) {
        let mut written = self.written();
        written.last = None;
        written.owes = true;
        written.in_a_row = written.in_a_row.saturating_sub(1);
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn writes(&mut self, digest: Digest, now: Duration) -> bool {
        self.owes = self.last != Some(digest);
        if !self.owes || now < self.not_before {
            return false;
        }
        self.owes = false;
        self.last = Some(digest);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.not_before = now.saturating_add(pause(self.in_a_row));
        true
    }
}

/// The pause after so many in a row.
fn pause(in_a_row: u32) -> Duration {
    let Some(doublings) = in_a_row.checked_sub(AT_ONCE) else {
        return Duration::ZERO;
    };
    let times = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    FIRST.saturating_mul(times).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(number: u64) -> Digest {
        Digest::of(&[&number.to_be_bytes()])
    }

    #[test]
    fn a_list_that_never_rests_leaves_ever_fewer_entries() {
        let changes = Changes::default();
        // Ten changes a second for an hour, between two lists and among many.
        for lists in [2, 3_600_000] {
            let first = 10_000 * lists;
            let written = (0..36_000).filter(|step| {
                let at = Duration::from_millis(step * 100 + first);
                changes.found(list(first + step % lists), at)
            });
            let written = written.count();
            assert!((4..=24).contains(&written), "{written} of {lists}");
        }
    }

    #[test]
    fn what_was_not_written_is_owed_until_it_is_and_costs_no_longer_pauses() {
        let changes = Changes::default();
        let at = Duration::from_secs;
        assert!(changes.found(list(1), at(1)));
        for second in 2..100 {
            changes.was_not_written();
            assert!(changes.owes(list(1), at(second)), "{second}");
        }
        assert!(!changes.owes(list(1), at(100)), "it was written");
        assert!(!changes.found(list(1), at(100)));
    }

    #[test]
    fn what_a_pause_ends_with_is_written_and_calm_is_rewarded() {
        let changes = Changes::default();
        let at = Duration::from_secs;
        let written = (0..5).filter(|number| changes.found(list(*number), at(1)));
        assert_eq!(written.count(), 4);
        assert!(!changes.owes(list(4), at(2)), "in the pause");
        assert!(changes.owes(list(4), at(3)));
        assert!(!changes.owes(list(4), at(4)), "written already");
        assert!(!changes.found(list(5), at(6)), "the pause is longer");
        assert!(!changes.found(list(4), at(600)), "as it was written");
        let calm = (10..14).filter(|number| changes.found(list(*number), at(1_300)));
        assert_eq!(calm.count(), 4);
    }
}
