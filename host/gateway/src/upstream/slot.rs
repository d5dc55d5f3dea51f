//! A place for one session, process or list, filled by one attempt at a time.
//!
//! Whoever comes while somebody else attempts waits for what comes of that, and
//! where it fails is told so and attempts nothing: one attempt fails once, for
//! as many as wait for it. An attempt that is given up has failed for nobody.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::breaker::Unready;
use super::request::Reason;

/// The place, and which attempt at it failed last.
#[derive(Debug, Default)]
pub(crate) struct Slot<T> {
    place: tokio::sync::Mutex<T>,
    failed: Mutex<(u64, Option<Unready>)>,
}

/// The place, for whoever's turn it is.
pub(crate) struct Turn<'s, T> {
    slot: &'s Slot<T>,
    place: tokio::sync::MutexGuard<'s, T>,
    /// What came of an attempt while this turn was waited for.
    missed: Option<Unready>,
}

impl<T> Slot<T> {
    fn failed(&self) -> (u64, Option<Unready>) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place, once nobody else has it.
    pub(crate) async fn turn(&self) -> Turn<'_, T> {
        let (before, _) = self.failed();
        let place = self.place.lock().await;
        let (now, last) = self.failed();
        Turn {
            slot: self,
            place,
            missed: last.filter(|_| now != before),
        }
    }
}

impl<T> Turn<'_, T> {
    /// Makes an attempt that may take this long, unless one has failed that this
    /// turn waited for.
    ///
    /// # Errors
    /// What came of it; of somebody else's attempt it says so.
    pub(crate) async fn attempt<V>(
        &self,
        within: Duration,
        attempt: impl Future<Output = Result<V, Reason>>,
    ) -> Result<V, Unready> {
        let attempt = async { attempt.await.map_err(Unready::from) };
        self.attempt_more(within, attempt).await
    }

    /// The same with an attempt that says more of why it failed.
    ///
    /// # Errors
    /// As of [`Turn::attempt`].
    pub(crate) async fn attempt_more<V>(
        &self,
        within: Duration,
        attempt: impl Future<Output = Result<V, Unready>>,
    ) -> Result<V, Unready> {
        if let Some(missed) = self.missed {
            return Err(missed.of_another());
        }
        let tried = tokio::time::timeout(within, attempt).await;
        let tried = tried.unwrap_or(Err(Reason::Timeout.into()));
        tried.inspect_err(|unready| {
            let failed = &self.slot.failed;
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            *failed = (failed.0.wrapping_add(1), Some(*unready));
        })
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.place
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.place
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_millis(400);

    /// Twelve that come at once to an attempt which comes to `what`; how often
    /// it was made, and what each was told.
    async fn twelve(
        what: impl AsyncFn(u32) -> Result<(), Reason> + Clone + 'static,
    ) -> (u32, Vec<Result<(), Unready>>) {
        let slot = Arc::new(Slot::<bool>::default());
        let attempts = Arc::new(AtomicU32::new(0));
        let mut asking = Vec::new();
        for _ in 0..12 {
            let (slot, attempts, what) = (Arc::clone(&slot), Arc::clone(&attempts), what.clone());
            asking.push(async move {
                let mut turn = slot.turn().await;
                if *turn {
                    return Ok(());
                }
                let attempt = async { what(attempts.fetch_add(1, Ordering::SeqCst)).await };
                turn.attempt(LONG, attempt).await?;
                *turn = true;
                Ok(())
            });
        }
        let told = futures(asking).await;
        (attempts.load(Ordering::SeqCst), told)
    }

    async fn futures<V: Send + 'static>(all: Vec<impl Future<Output = V> + 'static>) -> Vec<V> {
        let local = tokio::task::LocalSet::new();
        let tasks: Vec<_> = all.into_iter().map(|one| local.spawn_local(one)).collect();
        local
            .run_until(async {
                let mut values = Vec::new();
                for task in tasks {
                    values.push(task.await.unwrap());
                }
                values
            })
            .await
    }

    #[tokio::test]
    async fn an_attempt_that_fails_fails_once_for_all_who_wait_for_it() {
        for slow in [false, true] {
            let (attempts, told) = twelve(async move |_| {
                tokio::time::sleep(if slow { 2 * LONG } else { LONG / 2 }).await;
                Err(Reason::Unreachable)
            })
            .await;
            assert_eq!(attempts, 1);
            let reason = if slow {
                Reason::Timeout
            } else {
                Reason::Unreachable
            };
            assert!(told.iter().all(|one| one.unwrap_err().reason == reason));
            let counted = told.iter().filter(|one| one.unwrap_err().counts());
            assert_eq!(counted.count(), 1, "slow: {slow}");
        }
    }

    #[tokio::test]
    async fn an_attempt_that_succeeds_serves_all_who_wait_for_it() {
        let (attempts, told) = twelve(async |_| {
            tokio::time::sleep(LONG / 2).await;
            Ok(())
        })
        .await;
        assert_eq!(attempts, 1);
        assert!(told.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn whoever_comes_after_a_failure_attempts_anew() {
        let slot = Slot::<bool>::default();
        let failing = async || Err::<(), _>(Reason::Unreachable);
        for _ in 0..3 {
            let turn = slot.turn().await;
            assert!(turn.attempt(LONG, failing()).await.unwrap_err().counts());
        }
    }

    #[tokio::test]
    async fn an_attempt_that_is_given_up_leaves_it_to_the_next_who_waits() {
        let slot = Slot::<bool>::default();
        let never = async {
            let turn = slot.turn().await;
            turn.attempt(LONG, std::future::pending::<Result<(), Reason>>())
                .await
        };
        let waiting = async {
            let turn = slot.turn().await;
            turn.attempt(LONG, async { Ok(()) }).await
        };
        let (given_up, served) = tokio::join!(tokio::time::timeout(LONG / 2, never), waiting);
        assert!(given_up.is_err());
        assert_eq!(served, Ok(()));
    }
}
