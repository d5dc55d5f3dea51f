//! Finds out which incarnations are gone.
//!
//! No clock is believed alone. An incarnation is ended where the database says
//! that its lease has run out **and** this replica has itself seen it unrenewed
//! for a whole lease, on a clock that counts suspension; so neither a database
//! whose clock jumps nor a replica that slept can end one that lives. After its
//! own start or reconnect, and after a gap in its own looking, a replica waits
//! two leases: the database may have been away for everyone
//! (`docs/spec/executions.md` §5).

use std::collections::HashMap;
use std::time::Duration;

/// One incarnation, as the database has it now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) number: i64,
    /// How often it has renewed its lease.
    pub(super) renewals: i64,
    pub(super) lease: Duration,
    /// By the clock of the database, its lease has run out.
    pub(super) expired: bool,
}

/// What this replica has seen of the others.
#[derive(Debug)]
pub(super) struct Watch {
    /// From when on it has been looking without a gap.
    since: Duration,
    looked: Duration,
    /// A gap as long as this begins the watch anew.
    gap: Duration,
    seen: HashMap<i64, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    renewals: i64,
    since: Duration,
}

impl Watch {
    /// Begins at `now`.
    pub(super) fn new(now: Duration, lease: Duration) -> Self {
        Self {
            since: now,
            looked: now,
            gap: lease / 2,
            seen: HashMap::new(),
        }
    }

    /// Begins anew: the connection was lost. The next look is due when it was, so
    /// that the lease is renewed however often that happens.
    pub(super) fn begin_anew(&mut self, now: Duration) {
        self.since = now;
        self.seen.clear();
    }

    /// When the last look was.
    pub(super) fn looked(&self) -> Duration {
        self.looked
    }

    /// Takes one look at everyone who has not ended; names those who are gone.
    pub(super) fn look(&mut self, now: Duration, standing: &[Standing]) -> Vec<i64> {
        if now.saturating_sub(self.looked) >= self.gap {
            self.begin_anew(now);
        }
        self.looked = now;
        self.seen
            .retain(|number, _| standing.iter().any(|other| other.number == *number));
        let watched = now.saturating_sub(self.since);
        let mut gone = Vec::new();
        for other in standing {
            let first = Seen {
                renewals: other.renewals,
                since: now,
            };
            let seen = self.seen.entry(other.number).or_insert(first);
            if seen.renewals != other.renewals {
                *seen = first;
            }
            let unrenewed = now.saturating_sub(seen.since);
            let patience = other.lease.saturating_mul(2);
            if other.expired && unrenewed >= other.lease && watched >= patience {
                gone.push(other.number);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(1_000 + seconds)
    }

    fn other(renewals: i64, expired: bool) -> [Standing; 1] {
        [Standing {
            number: 7,
            renewals,
            lease: LEASE,
            expired,
        }]
    }

    #[test]
    fn one_is_gone_when_it_was_seen_unrenewed_for_a_lease_and_its_lease_has_run_out() {
        let mut watch = Watch::new(at(0), LEASE);
        for second in 0..60 {
            // It renews until second 40, so its lease runs out at second 55.
            let renewals = i64::try_from(second.min(40)).unwrap();
            let gone = watch.look(at(second), &other(renewals, second >= 55));
            assert_eq!(!gone.is_empty(), second >= 55, "second {second}");
        }
    }

    #[test]
    fn after_a_start_or_a_reconnect_two_leases_go_by_first() {
        let mut watch = Watch::new(at(0), LEASE);
        for begun in [0, 100] {
            watch.begin_anew(at(begun));
            for second in 0..40 {
                let gone = watch.look(at(begun + second), &other(3, true));
                assert_eq!(!gone.is_empty(), second >= 30, "second {second}");
            }
        }
    }

    #[test]
    fn a_database_whose_clock_jumps_ends_nobody_who_renews() {
        let mut watch = Watch::new(at(0), LEASE);
        for second in 0..100 {
            let renewals = i64::try_from(second).unwrap();
            assert!(watch.look(at(second), &other(renewals, true)).is_empty());
        }
    }

    #[test]
    fn a_replica_that_slept_ends_nobody_on_what_it_saw_before() {
        let mut watch = Watch::new(at(0), LEASE);
        for second in 0..40 {
            assert!(watch.look(at(second), &other(1, second > 38)).is_empty() || second >= 30);
        }
        // It sleeps, the database was away as long, and nobody could renew.
        for second in 200..229 {
            let gone = watch.look(at(second), &other(1, true));
            assert!(gone.is_empty(), "second {second}");
        }
    }
}
