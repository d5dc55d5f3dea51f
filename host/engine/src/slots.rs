//! Counts the instances that exist, so that none is asked for that the pool
//! does not have: a call beyond the last slot waits instead of failing.
//!
//! Instances live for one call and calls are bounded by fuel, so a wait is
//! bounded too.

use std::sync::{Condvar, Mutex, PoisonError};

/// The free slots of a pool.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Mutex<u32>,
    returned: Condvar,
}

/// One slot, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            free: Mutex::new(count),
            returned: Condvar::new(),
        }
    }

    /// Takes a slot, waiting for one if need be.
    pub(crate) fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .returned
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_slot_comes_back_when_it_is_dropped() {
        let slots = Slots::new(1);
        drop(slots.take());
        std::thread::scope(|scope| {
            let held = slots.take();
            let waiting = scope.spawn(|| drop(slots.take()));
            drop(held);
            waiting.join().unwrap();
        });
        assert_eq!(*slots.free.lock().unwrap(), 1);
    }
}
