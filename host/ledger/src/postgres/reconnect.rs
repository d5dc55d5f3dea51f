//! Connects again, with patience that grows.

use std::time::Duration;

use crate::postgres::connect::{NotDurable, in_time};
use crate::postgres::schema;
use crate::postgres::store::Store;
use crate::store::StoreError;

/// When a lost connection is tried again.
#[derive(Debug)]
pub(super) struct Backoff {
    wait: Duration,
    longest: Duration,
    not_before: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(5);

    /// For an incarnation with that lease. After an outage the others wait two
    /// leases before they end anyone; whoever comes back later than that, because
    /// it waited for its next try, would be given up though it was there.
    pub(super) fn of(lease: Duration) -> Self {
        Self {
            wait: Duration::ZERO,
            longest: Self::LONGEST.min(lease / 3).max(Self::FIRST),
            not_before: Duration::ZERO,
        }
    }

    fn succeeded(&mut self) {
        (self.wait, self.not_before) = (Duration::ZERO, Duration::ZERO);
    }

    fn failed(&mut self, now: Duration) {
        self.wait = (self.wait * 2).clamp(Self::FIRST, self.longest);
        self.not_before = now.saturating_add(self.wait);
    }
}

impl Store {
    /// Opens the writer's connection anew; behind it there may be another server
    /// by now, so what durability rests on is asserted once more.
    pub(super) fn connect_again(&mut self) -> Result<(), StoreError> {
        self.client = None;
        self.asked = None;
        self.known.dropped();
        self.agents.clear();
        let now = self.clock.since_boot();
        if now < self.retry.not_before {
            return Err(StoreError::Failed("it is tried again in a moment".into()));
        }
        let connected = self.runtime.block_on(async {
            let client = self.connector.connect().await?;
            let checked = self.connector.assert_durable(&client);
            in_time(self.patience(), async {
                Ok::<_, StoreError>(checked.await.map_err(NotDurable::at_reopen))
            })
            .await??;
            let found = in_time(self.patience(), schema::version(&client)).await?;
            if found != schema::newest() {
                return Err(StoreError::Failed(format!("it has schema version {found}")));
            }
            Ok(client)
        });
        match connected {
            Ok(client) => {
                self.client = Some(client);
                self.retry.succeeded();
                self.watch.begin_anew(self.clock.since_boot());
                Ok(())
            }
            Err(error) => {
                self.retry.failed(self.clock.since_boot());
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_tries_again_after_an_outage_comes_before_the_others_may_give_it_up() {
        for lease_ms in [1_000, 3_000, 15_000, 60_000] {
            let lease = Duration::from_millis(lease_ms);
            let mut backoff = Backoff::of(lease);
            let mut now = Duration::from_secs(1_000);
            for _ in 0..100 {
                backoff.failed(now);
                let wait = backoff.not_before.saturating_sub(now);
                assert!(wait <= lease / 3, "{wait:?} of a lease of {lease:?}");
                assert!(wait <= Backoff::LONGEST, "{wait:?}");
                now = backoff.not_before;
            }
            backoff.succeeded();
            backoff.failed(now);
            let wait = backoff.not_before.saturating_sub(now);
            assert_eq!(wait, Backoff::FIRST);
        }
    }
}
