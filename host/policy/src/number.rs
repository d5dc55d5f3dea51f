//! The parts of a number that policy compares.

/// The parts of a number: see `docs/spec/action-binding.md` §7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The greatest integer not above the value, clamped to `i64`.
    pub floor: i64,
    /// The least integer not below the value, clamped to `i64`.
    pub ceil: i64,
    /// The value's shortest text with one to four fraction digits, where the
    /// value times 10,000 is an integer within `i64`.
    pub decimal: Option<String>,
}
