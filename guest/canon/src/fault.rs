//! Faults while reading: what is wrong, and the byte at which that is certain.

use crate::Code;

/// A fault that a scanner met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) code: Code,
    /// Length of the shortest prefix that nothing could make admissible.
    pub(crate) offset: usize,
}

impl Stop {
    /// A fault that is certain with the byte at `at`.
    pub(crate) fn at(code: Code, at: usize) -> Self {
        Self {
            code,
            offset: at + 1,
        }
    }
}

/// The fault of a byte that the grammar does not allow where it stands: one
/// that cannot begin a UTF-8 sequence is no text at all. A missing byte is
/// missing at the end.
pub(crate) fn misplaced(source: &[u8], at: usize) -> Stop {
    match source.get(at) {
        Some(0x80..=0xC1 | 0xF5..) => Stop::at(Code::Encoding, at),
        Some(_) => Stop::at(Code::Syntax, at),
        None => cut_off(source),
    }
}

/// The fault of a message that ends too early.
pub(crate) fn cut_off(source: &[u8]) -> Stop {
    Stop {
        code: Code::Syntax,
        offset: source.len(),
    }
}
