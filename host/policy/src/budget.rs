//! How much memory sets of policies may take, beside the policies themselves.
//!
//! Policies are sorted into sets by what is called and by what it begins with,
//! and one policy stands in many of them. How many sets there are is for whoever
//! writes policies and calls tools, a stranger's bundle included. So they share
//! what there is, and what finds no room is decided with larger sets that are
//! there already, which changes no decision.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Bytes, by estimate, of the sets by what is called.
const MOST_SLICES: usize = 128 << 20;
/// Bytes, by estimate, of the sets by what a call begins with.
const MOST_KEPT: usize = 256 << 20;

/// Of all policy sets of a process together.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) slices: Purse,
    pub(crate) kept: Purse,
}

/// Bytes that are left.
#[derive(Debug)]
pub(crate) struct Purse(AtomicUsize);

impl Budget {
    /// The one that every policy set has a share in.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Budget>> =
            LazyLock::new(|| Arc::new(Budget::of(MOST_SLICES, MOST_KEPT)));
        Arc::clone(&SHARED)
    }

    pub(crate) const fn of(slices: usize, kept: usize) -> Self {
        Self {
            slices: Purse(AtomicUsize::new(slices)),
            kept: Purse(AtomicUsize::new(kept)),
        }
    }
}

impl Purse {
    /// Takes all of it or nothing; whether it was there.
    pub(crate) fn take(&self, weight: usize) -> bool {
        let less = |left: usize| left.checked_sub(weight);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    /// Gives back what was taken.
    pub(crate) fn give(&self, weight: usize) {
        self.0.fetch_add(weight, Ordering::Relaxed);
    }

    /// How many are left, for whoever asks before others take them.
    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
