//! The order of member names: by UTF-16 code units, as RFC 8785 sorts.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::Document;
use crate::document::{Name, Place, Row};

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

/// Sorts the members of objects; keeps its room from one object to the next.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    /// The first eight differing bytes' ranks, and the member's row.
    members: Vec<(u64, u32)>,
}

impl Sorter {
    /// Sorts the members of the object in row `object`, and the pending name
    /// (as the row that it would get). Equal names stay in message order.
    pub(crate) fn sort(&mut self, document: &Document<'_>, object: u32, pending: Name) {
        let end = document.table.len() as u32;
        self.members.clear();
        let mut row = object + 1;
        while row < end {
            self.members.push((0, row));
            row = document.table.get(row as usize).map_or(end, |row| row.skip);
        }
        if pending.place != Place::Nowhere {
            self.members.push((0, end));
        }
        let shared = self.shared_prefix(document, pending);
        for (key, row) in &mut self.members {
            *key = ranks(
                name(document, *row, pending)
                    .get(shared..)
                    .unwrap_or_default(),
            );
        }
        self.members.sort_unstable_by(|(a_key, a), (b_key, b)| {
            a_key
                .cmp(b_key)
                .then_with(|| utf16(name(document, *a, pending), name(document, *b, pending)))
                .then_with(|| a.cmp(b))
        });
    }

    /// How many bytes all names have in common; looked for only where that is
    /// cheaper than what it saves.
    fn shared_prefix(&self, document: &Document<'_>, pending: Name) -> usize {
        let [(_, first), rest @ ..] = self.members.as_slice() else {
            return 0;
        };
        if rest.len() < 32 {
            return 0;
        }
        let mut shared = name(document, *first, pending);
        for (_, row) in rest {
            let length = common(shared, name(document, *row, pending));
            shared = shared.get(..length).unwrap_or_default();
        }
        shared.len()
    }

    /// The row of the earliest member whose name occurred before.
    pub(crate) fn earliest_duplicate(&self, document: &Document<'_>, pending: Name) -> Option<u32> {
        let equal = |(a_key, a): (u64, u32), (b_key, b): (u64, u32)| {
            a_key == b_key && utf16(name(document, a, pending), name(document, b, pending)).is_eq()
        };
        let pairs = self.members.iter().zip(self.members.iter().skip(1));
        pairs
            .filter(|(a, b)| equal(**a, **b))
            .map(|(_, (_, row))| *row)
            .min()
    }

    /// The rows in canonical order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(_, row)| *row)
    }
}

fn name<'d>(document: &'d Document<'_>, row: u32, pending: Name) -> &'d [u8] {
    let name = document.table.get(row as usize).map_or(pending, Row::name);
    document.name_of(name).unwrap_or_default()
}

/// The ranks of the first eight bytes, in an order that numbers have too.
fn ranks(name: &[u8]) -> u64 {
    let mut ranks = [0; 8];
    for (rank_of, byte) in ranks.iter_mut().zip(name) {
        *rank_of = rank(*byte);
    }
    u64::from_be_bytes(ranks)
}

/// How many bytes two names begin with in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_utf_16_code_units() {
        let names = [
            "",
            "\0",
            "A",
            "a",
            "aa",
            "aé",
            "é",
            "\u{d7ff}",
            "😀",
            "\u{10ffff}",
            "\u{e000}",
            "\u{ffff}",
        ];
        for (i, a) in names.iter().enumerate() {
            for (j, b) in names.iter().enumerate() {
                let prefixed = |text: &str| alloc::format!("12345678{text}");
                let units = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(units, i.cmp(&j), "{a:?} {b:?}");
                assert_eq!(utf16(a.as_bytes(), b.as_bytes()), units, "{a:?} {b:?}");
                assert_eq!(utf16(prefixed(a).as_bytes(), prefixed(b).as_bytes()), units);
            }
        }
    }
}
