//! The order of member names: by UTF-16 code units, as RFC 8785 sorts.

use core::cmp::Ordering;

/// Compares two well-formed UTF-8 texts by their UTF-16 code units.
///
/// Both encodings agree, except that the surrogates of U+10000 and above stand
/// before U+E000..U+FFFF. So the first differing byte decides, with the lead
/// bytes F0..F4 moved before EE and EF.
pub(crate) fn utf16(a: &[u8], b: &[u8]) -> Ordering {
    // Eight bytes at a time: a byte loop is what wasm's memcmp would be.
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    for (x, y) in a_words.iter().zip(b_words) {
        if x != y {
            return bytewise(x, y);
        }
    }
    let common = a_words.len().min(b_words.len()) * 8;
    bytewise(
        a.get(common..).unwrap_or_default(),
        b.get(common..).unwrap_or_default(),
    )
}

fn bytewise(a: &[u8], b: &[u8]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        if x != y {
            return rank(*x).cmp(&rank(*y));
        }
    }
    a.len().cmp(&b.len())
}

/// The rank of a byte where two texts first differ.
pub(crate) const fn rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 5,
        0xF0..=0xF4 => byte - 2,
        _ => byte,
    }
}
