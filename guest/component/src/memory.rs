//! The memory: one arena, sized in advance, that never grows.
//!
//! An instance is made for each call, and growing memory costs more than the
//! call. Pages that are not touched cost nothing, so the arena holds the worst
//! message: 10 MiB, 262,144 values, and the view of them.

use core::mem::MaybeUninit;

use talc::wasm::{WasmArenaTalc, new_wasm_arena_allocator};

const ARENA_BYTES: usize = 120 << 20;

static mut ARENA: [MaybeUninit<u8>; ARENA_BYTES] = [MaybeUninit::uninit(); ARENA_BYTES];

#[global_allocator]
#[allow(unsafe_code)]
// SAFETY: nothing else names `ARENA`, so the allocator alone reads and writes it.
static ALLOCATOR: WasmArenaTalc = unsafe { new_wasm_arena_allocator(&raw mut ARENA) };

/// A component never panics; if it did, it would trap and nothing more.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
