//! Linear memory, laid out as the canonical ABI wants its answers.

use std::fmt::Write as _;

/// Where the data begins.
pub const BASE: u32 = 1_024;

#[derive(Debug)]
pub struct Memory(Vec<u8>);

impl Memory {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds bytes at an address that is a multiple of `align`.
    pub fn put(&mut self, align: usize, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(align), 0);
        let address = BASE + u32::try_from(self.0.len()).unwrap();
        self.0.extend_from_slice(bytes);
        address
    }

    /// Adds a string or a byte list, and gives its address and length.
    pub fn text(&mut self, bytes: &[u8]) -> [u8; 8] {
        let (address, length) = (self.put(1, bytes), u32::try_from(bytes.len()).unwrap());
        let mut pair = [0; 8];
        pair[..4].copy_from_slice(&address.to_le_bytes());
        pair[4..].copy_from_slice(&length.to_le_bytes());
        pair
    }

    /// The data as the text format writes it.
    pub fn escaped(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "\\{byte:02x}");
            text
        })
    }
}
