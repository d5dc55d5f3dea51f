//! Where components run: nobody waits for one on a thread that serves others.
//!
//! A call of a component takes as long as its fuel lasts, which grows with its
//! argument: up to a minute for the longest message where it never ends by
//! itself. So there are places for long calls and places for short ones, fewer
//! together than the engine has slots, and whoever finds none waits as a task,
//! not as a thread. Long calls can fill their own places only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_engine::{DEFAULT_SLOTS, Fault, FaultKind};
use tokio::sync::Semaphore;

/// Arguments up to this size are worked on by the thread that received them:
/// moving them elsewhere would take longer.
const INLINE_BYTES: usize = 65_536;
/// Slots that are left to what is loaded meanwhile: by a reload, and from the
/// archive.
const FOR_LOADING: usize = 4;

/// The places of all calls of components.
#[derive(Debug)]
pub(crate) struct Rooms {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    /// A component has not ended by itself, so none is run any more on a thread
    /// that serves others.
    strayed: AtomicBool,
}

impl Default for Rooms {
    fn default() -> Self {
        let slots = usize::try_from(DEFAULT_SLOTS).unwrap_or(usize::MAX);
        let places = slots.saturating_sub(FOR_LOADING);
        Self {
            short: Arc::new(Semaphore::new(places.div_ceil(2))),
            long: Arc::new(Semaphore::new(places / 2)),
            strayed: AtomicBool::new(false),
        }
    }
}

impl Rooms {
    /// Runs a call on an argument of `size` bytes. Both closures do the same;
    /// `here` is for this thread, and for when the pool is gone.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        size: usize,
        there: impl FnOnce() -> Result<T, Fault> + Send + 'static,
        here: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let is_short = size <= INLINE_BYTES;
        let places = if is_short { &self.short } else { &self.long };
        // INVARIANT: they are never closed.
        let place = Arc::clone(places).acquire_owned().await.ok();
        let said = if is_short && !self.strayed.load(Ordering::Relaxed) {
            let said = here();
            drop(place);
            said
        } else {
            // Whoever asked may be gone before it ends: the place is its own.
            let there = move || {
                let said = there();
                drop(place);
                said
            };
            moved(there, here).await
        };
        if let Err(fault) = &said
            && fault.kind() == FaultKind::OutOfFuel
        {
            self.strayed.store(true, Ordering::Relaxed);
        }
        said
    }
}

/// Runs short work here and long work where it holds nobody up.
pub(super) async fn on_a_fitting_thread<T: Send + 'static>(
    size: usize,
    there: impl FnOnce() -> T + Send + 'static,
    here: impl FnOnce() -> T,
) -> T {
    if size <= INLINE_BYTES {
        here()
    } else {
        moved(there, here).await
    }
}

async fn moved<T: Send + 'static>(
    there: impl FnOnce() -> T + Send + 'static,
    here: impl FnOnce() -> T,
) -> T {
    match tokio::task::spawn_blocking(there).await {
        Ok(value) => value,
        // The pool is gone.
        Err(_) => here(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError, mpsc};

    use super::*;

    /// More than there are places.
    const CALLS: usize = 40;

    #[tokio::test]
    async fn whoever_finds_no_place_waits_as_a_task_and_short_calls_have_their_own() {
        let rooms = Arc::new(Rooms::default());
        let places = rooms.long.available_permits();
        let (release, held) = mpsc::channel::<()>();
        let (held, (began, begun)) = (Arc::new(Mutex::new(held)), mpsc::channel());
        let calls: Vec<_> = (0..CALLS)
            .map(|_| {
                let (rooms, held, began) = (Arc::clone(&rooms), Arc::clone(&held), began.clone());
                tokio::spawn(async move {
                    let call = move || {
                        let _ = began.send(());
                        // Ends once nobody could release it any more.
                        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                        let _ = held.recv();
                        Ok(())
                    };
                    rooms.run(INLINE_BYTES + 1, call, || Ok(())).await
                })
            })
            .collect();
        while rooms.long.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..places {
            begun.recv().unwrap();
        }
        // One thread serves all tasks here, and it is free.
        let short = rooms.run(INLINE_BYTES, || Ok("there"), || Ok("here")).await;
        assert_eq!(short, Ok("here"));
        // Whoever goes away leaves a call that goes on, in its place.
        for call in &calls {
            call.abort();
        }
        tokio::task::yield_now().await;
        assert_eq!(rooms.long.available_permits(), 0);
        assert!(begun.try_recv().is_err(), "no more than there are places");
        drop(release);
        let all = rooms.long.acquire_many(u32::try_from(places).unwrap());
        assert!(all.await.is_ok());
    }

    #[test]
    fn an_engine_has_more_slots_than_there_are_places() {
        let rooms = Rooms::default();
        let places = rooms.long.available_permits() + rooms.short.available_permits();
        assert!(places + FOR_LOADING <= usize::try_from(DEFAULT_SLOTS).unwrap());
        assert!(places > 16);
    }
}
