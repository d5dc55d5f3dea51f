//! Counts the instances that exist, so that none is asked for that the pool
//! does not have: a call beyond the last slot waits instead of failing.
//!
//! Instances live for one call and calls are bounded by fuel, so a wait is
//! bounded too.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The free slots of a pool.
#[derive(Debug)]
pub(crate) struct Slots {
    count: Mutex<Count>,
    returned: Condvar,
}

#[derive(Debug)]
struct Count {
    free: u32,
    // Waking somebody costs a system call, which nobody needs who is not
    // there.
    waiting: u32,
}

/// One slot, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(free: u32) -> Self {
        let count = Mutex::new(Count { free, waiting: 0 });
        Self {
            count,
            returned: Condvar::new(),
        }
    }

    /// Takes a slot, waiting for one if need be.
    pub(crate) fn take(&self) -> Slot<'_> {
        let mut count = self.count();
        while count.free == 0 {
            count.waiting += 1;
            count = self
                .returned
                .wait(count)
                .unwrap_or_else(PoisonError::into_inner);
            count.waiting -= 1;
        }
        count.free -= 1;
        Slot(self)
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut count = self.0.count();
        count.free += 1;
        if count.waiting > 0 {
            self.0.returned.notify_one();
        }
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
        assert_eq!(slots.count().free, 1);
    }
}
