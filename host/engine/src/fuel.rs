//! The safety net under a component that does not stop by itself.
//!
//! What is refused is decided by what a profile counts, never by this: fuel
//! differs between engine versions. A call gets `BASE + PER_BYTE · bytes` of
//! its argument, at least twenty times what the shipped profiles were measured
//! to use at worst: 23,000 for the shortest action, and 400 a byte where
//! containers hold nothing but containers. `tests/fuel.rs` measures again and
//! compares.

/// Fuel of a call whatever its argument.
pub(crate) const BASE: u64 = 10_000_000;

/// Fuel for each byte of the argument.
pub(crate) const PER_BYTE: u64 = 10_000;

/// The fuel of a call with an argument of `bytes`.
#[must_use]
pub fn for_bytes(bytes: usize) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    BASE.saturating_add(PER_BYTE.saturating_mul(bytes))
}
