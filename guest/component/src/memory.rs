//! The memory: one arena, sized in advance, that never grows.
//!
//! An instance is made for each call, and growing memory costs more than the
//! call; so does a general allocator, which looks for room that a call never
//! gives back before its end. Pages that are not touched cost nothing, so the
//! arena holds the worst message: 10 MiB, 262,144 values, and the view of them.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::arena::{Arena, Resized};

const ARENA_BYTES: usize = 120 << 20;
/// Blocks are aligned within the arena, and so in memory up to this.
const MAX_ALIGN: usize = 16;

/// The bytes alone, so that they take no room in the component's file.
#[repr(align(16))]
struct Bytes(UnsafeCell<[MaybeUninit<u8>; ARENA_BYTES]>);

#[allow(unsafe_code)]
// SAFETY: a component has no threads; the feature is off wherever it is run.
unsafe impl Sync for Bytes {}

static BYTES: Bytes = Bytes(UnsafeCell::new([MaybeUninit::uninit(); ARENA_BYTES]));

struct Memory(Arena);

#[allow(unsafe_code)]
// SAFETY: as for `Bytes`.
unsafe impl Sync for Memory {}

fn base() -> *mut u8 {
    BYTES.0.get().cast()
}

fn offset(block: *mut u8) -> usize {
    (block as usize).wrapping_sub(base() as usize)
}

impl Memory {
    #[inline]
    fn take(&self, size: usize, align: usize) -> *mut u8 {
        match self.0.take(size, align) {
            Some(start) if align <= MAX_ALIGN => base().wrapping_add(start),
            _ => core::ptr::null_mut(),
        }
    }
}

#[allow(unsafe_code)]
// SAFETY: blocks that are taken lie within `BYTES`, are aligned as asked, and
// never overlap: the tests of `crate::arena` show it. Nothing else names
// `BYTES`.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.0.give(offset(block), layout.size());
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, wanted: usize) -> *mut u8 {
        match self.0.resize(offset(block), layout.size(), wanted) {
            Resized::InPlace => block,
            Resized::Full => core::ptr::null_mut(),
            Resized::Elsewhere => {
                let moved = self.take(wanted, layout.align());
                if !moved.is_null() {
                    // SAFETY: both are taken, and the new one is the larger.
                    unsafe { core::ptr::copy_nonoverlapping(block, moved, layout.size()) };
                    self.0.give(offset(block), layout.size());
                }
                moved
            }
        }
    }
}

#[global_allocator]
static MEMORY: Memory = Memory(Arena::new(ARENA_BYTES));

/// A component never panics; if it did, it would trap and nothing more.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
