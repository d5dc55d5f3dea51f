//! Which bytes of an arena are taken: a top that rises, and falls back.
//!
//! A call allocates some hundred small blocks and then frees them all, so a
//! block is taken at the top and never searched for. What is freed at the top
//! lowers it, and once nothing is left the arena begins again. Room that is
//! freed below the top waits for that; the arena is large enough for the worst
//! message nevertheless. Only arithmetic on offsets lives here, so that it is
//! tested natively; [`crate::memory`] lays it over the component's memory.

use core::cell::Cell;

/// What becomes of a block that is to have another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resized {
    /// It has it, where it is.
    InPlace,
    /// It must move to a block of its own.
    Elsewhere,
    /// There is no room.
    Full,
}

/// The state of an arena of so many bytes; a block is an offset and a size.
#[derive(Debug)]
pub(crate) struct Arena {
    bytes: usize,
    top: Cell<usize>,
    live: Cell<usize>,
}

impl Arena {
    /// An arena of which nothing is taken.
    pub(crate) const fn new(bytes: usize) -> Self {
        Self {
            bytes,
            top: Cell::new(0),
            live: Cell::new(0),
        }
    }

    /// Takes a block; `align` is a power of two. `None` where there is no room.
    #[inline]
    pub(crate) fn take(&self, size: usize, align: usize) -> Option<usize> {
        let start = self.top.get().checked_next_multiple_of(align)?;
        let end = start.checked_add(size).filter(|end| *end <= self.bytes)?;
        self.top.set(end);
        self.live.set(self.live.get() + 1);
        Some(start)
    }

    /// Gives back a block that was taken.
    #[inline]
    pub(crate) fn give(&self, start: usize, size: usize) {
        let live = self.live.get().saturating_sub(1);
        self.live.set(live);
        if live == 0 {
            self.top.set(0);
        } else if start + size == self.top.get() {
            self.top.set(start);
        }
    }

    /// Makes a block larger or smaller where it is, if it can be.
    #[inline]
    pub(crate) fn resize(&self, start: usize, size: usize, wanted: usize) -> Resized {
        if start + size == self.top.get() {
            match start.checked_add(wanted) {
                Some(end) if end <= self.bytes => self.top.set(end),
                _ => return Resized::Full,
            }
            Resized::InPlace
        } else if wanted <= size {
            Resized::InPlace
        } else {
            Resized::Elsewhere
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const BYTES: usize = 4_096;

    /// The same sequence each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
    }

    #[test]
    fn blocks_that_are_taken_never_overlap_lie_within_and_are_aligned() {
        let (arena, mut numbers) = (Arena::new(BYTES), Numbers(7));
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut moved = 0;
        for _ in 0..200_000 {
            match numbers.below(5) {
                0 | 1 => {
                    let (size, align) = (numbers.below(96), 1 << numbers.below(5));
                    if let Some(start) = arena.take(size, align) {
                        assert_eq!(start % align, 0);
                        taken.push((start, size));
                    }
                }
                2 | 3 if !taken.is_empty() => {
                    let (start, size) = taken.swap_remove(numbers.below(taken.len()));
                    arena.give(start, size);
                }
                _ if !taken.is_empty() => {
                    let index = numbers.below(taken.len());
                    let (start, size) = taken[index];
                    let wanted = numbers.below(160);
                    match arena.resize(start, size, wanted) {
                        Resized::InPlace => taken[index] = (start, wanted),
                        Resized::Elsewhere | Resized::Full => moved += 1,
                    }
                }
                _ => {}
            }
            let mut sorted = taken.clone();
            sorted.retain(|(_, size)| *size > 0);
            sorted.sort_unstable();
            assert!(sorted.iter().all(|(start, size)| start + size <= BYTES));
            assert!(
                sorted
                    .windows(2)
                    .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
            );
        }
        assert!(moved > 1_000, "the hard case was met: {moved}");
    }

    #[test]
    fn an_arena_that_is_empty_again_has_all_of_its_room() {
        let arena = Arena::new(BYTES);
        for _ in 0..3 {
            let blocks: Vec<usize> = (0..4).map(|_| arena.take(BYTES / 4, 1).unwrap()).collect();
            assert_eq!(arena.take(1, 1), None);
            for start in blocks {
                arena.give(start, BYTES / 4);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_takes_nothing() {
        let arena = Arena::new(BYTES);
        let start = arena.take(8, 8).unwrap();
        for (size, align) in [(BYTES, 1), (usize::MAX, 1), (1, 1 << (usize::BITS - 1))] {
            assert_eq!(arena.take(size, align), None);
        }
        assert_eq!(arena.resize(start, 8, usize::MAX), Resized::Full);
        assert_eq!(arena.resize(start, 8, BYTES), Resized::InPlace);
        assert_eq!(arena.take(1, 1), None);
    }
}
