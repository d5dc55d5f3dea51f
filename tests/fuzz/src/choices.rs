//! Decisions taken from an input's bytes, so that an engine that changes bytes
//! changes decisions. When the bytes are used up every decision is the first.

use arbitrary::Unstructured;

/// The decisions of one input.
pub(crate) struct Choices<'d>(Unstructured<'d>);

impl<'d> Choices<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub(crate) fn number(&mut self) -> u64 {
        u64::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// A number below `end`; 0 where that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        match end {
            0 | 1 => 0,
            2..=256 => usize::from(self.byte()) % end,
            _ => self.0.arbitrary::<u32>().map_or(0, |n| n as usize) % end,
        }
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// At most `most` bytes, as many as the next byte says.
    pub(crate) fn bytes(&mut self, most: usize) -> &'d [u8] {
        let length = self.below(most + 1).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }

    /// Everything that is left.
    pub(crate) fn rest(self) -> &'d [u8] {
        self.0.take_rest()
    }
}
