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
///
/// Names are compared eight bytes at a time: a stretch of members is sorted by
/// the next eight bytes, and stretches in which those are equal are sorted by
/// the eight after them. So no byte of a name is looked at twice, and no choice
/// of names makes it slower than n log n and their length.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    members: Vec<Member>,
    stretches: Vec<Stretch>,
}

/// A member in the order of the derived comparison: by the ranks of the next
/// eight bytes, by how many of them there are, and by its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    ranks: u64,
    /// At most eight; nine where the name goes on after them.
    length: u32,
    row: u32,
}

/// Members whose names begin with the same `depth` bytes.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    depth: usize,
}

impl Sorter {
    /// Sorts the members of the object in row `object`, and the pending name
    /// (as the row that it would get). Gives the row of the earliest member
    /// whose name occurred before, if there is one.
    pub(crate) fn sort(
        &mut self,
        document: &Document<'_>,
        object: u32,
        pending: Name,
    ) -> Option<u32> {
        let end = document.table.len() as u32;
        let member = |row| Member {
            ranks: 0,
            length: 0,
            row,
        };
        self.members.clear();
        let mut row = object + 1;
        while row < end {
            self.members.push(member(row));
            row = document.table.get(row as usize).map_or(end, |row| row.skip);
        }
        if pending.place != Place::Nowhere {
            self.members.push(member(end));
        }
        let mut twice: Option<u32> = None;
        self.stretches.clear();
        self.stretches.push(Stretch {
            start: 0,
            end: self.members.len(),
            depth: 0,
        });
        while let Some(stretch) = self.stretches.pop() {
            let Stretch { start, end, depth } = stretch;
            let Some(members) = self.members.get_mut(start..end) else {
                continue;
            };
            let name = |member: &Member| name(document, member.row, pending);
            let depth = depth + shared(members.iter().map(name), depth);
            for member in members.iter_mut() {
                let rest = name(member).get(depth..).unwrap_or_default();
                (member.ranks, member.length) = (ranks(rest), rest.len().min(9) as u32);
            }
            members.sort_unstable();
            let mut at = start;
            for run in members.chunk_by(|a, b| (a.ranks, a.length) == (b.ranks, b.length)) {
                let begun = at;
                at += run.len();
                let [first, second, ..] = run else { continue };
                if first.length > 8 {
                    self.stretches.push(Stretch {
                        start: begun,
                        end: at,
                        depth: depth + 8,
                    });
                } else {
                    twice = Some(twice.map_or(second.row, |row| row.min(second.row)));
                }
            }
        }
        twice
    }

    /// The rows in canonical order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|member| member.row)
    }
}

fn name<'d>(document: &'d Document<'_>, row: u32, pending: Name) -> &'d [u8] {
    let name = document.table.get(row as usize).map_or(pending, Row::name);
    document.name_of(name).unwrap_or_default()
}

/// How many bytes from `depth` on all names have in common.
fn shared<'n>(mut names: impl Iterator<Item = &'n [u8]>, depth: usize) -> usize {
    let rest = |name: &'n [u8]| name.get(depth..).unwrap_or_default();
    let mut prefix = names.next().map(rest).unwrap_or_default();
    for name in names {
        if prefix.is_empty() {
            break;
        }
        let length = common(prefix, rest(name));
        prefix = prefix.get(..length).unwrap_or_default();
    }
    prefix.len()
}

/// How many bytes two names begin with in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    let words = a_words
        .iter()
        .zip(b_words)
        .take_while(|(x, y)| x == y)
        .count()
        * 8;
    let (a, b) = (
        a.get(words..).unwrap_or_default(),
        b.get(words..).unwrap_or_default(),
    );
    words + a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The ranks of the first eight bytes, as a number in the same order.
fn ranks(name: &[u8]) -> u64 {
    let mut ranks = [0; 8];
    for (rank_of, byte) in ranks.iter_mut().zip(name) {
        *rank_of = rank(*byte);
    }
    u64::from_be_bytes(ranks)
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
