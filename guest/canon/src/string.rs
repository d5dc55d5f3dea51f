//! The content of strings: scanned strictly, and unescaped afterwards.
//!
//! Scanning looks at eight bytes at a time while nothing happens; everything
//! that can go wrong in a string is found here, with the byte that decides it.

use alloc::vec::Vec;

use crate::Code;
use crate::fault::{Stop, cut_off, misplaced};

/// A string that was scanned whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    /// Where its closing quote stands.
    pub(crate) quote: usize,
    /// Whether it holds escapes.
    pub(crate) escaped: bool,
    /// Whether its spelling is the canonical one.
    pub(crate) canonical: bool,
}

/// Scans a string whose opening quote stands before `start`.
pub(crate) fn scan(source: &[u8], start: usize) -> Result<Scanned, Stop> {
    let mut scanned = Scanned {
        quote: start,
        escaped: false,
        canonical: true,
    };
    loop {
        scanned.quote = plain(source, scanned.quote);
        match source.get(scanned.quote) {
            Some(b'"') => return Ok(scanned),
            Some(b'\\') => {
                let (after, canonical) = escape(source, scanned.quote)?;
                scanned.quote = after;
                scanned.escaped = true;
                scanned.canonical &= canonical;
            }
            Some(0..=0x1F) => return Err(Stop::at(Code::Syntax, scanned.quote)),
            Some(0x80..) => scanned.quote = sequence(source, scanned.quote)?,
            Some(_) => scanned.quote += 1,
            None => return Err(cut_off(source)),
        }
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The first position from `at` on of a byte that is not plain: a quote, a
/// backslash, a control character or the start of a longer sequence.
#[inline]
fn plain(source: &[u8], mut at: usize) -> usize {
    while let Some(word) = source.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        // A borrow runs only towards later bytes, so the lowest mark is exact.
        let marks = (word
            | word.wrapping_sub(ONES * 0x20)
            | (word ^ (ONES * 0x22)).wrapping_sub(ONES)
            | (word ^ (ONES * 0x5C)).wrapping_sub(ONES))
            & HIGHS;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while source
        .get(at)
        .is_some_and(|byte| matches!(byte, 0x20..0x80) && !matches!(byte, b'"' | b'\\'))
    {
        at += 1;
    }
    at
}

/// Steps over sequences of two to four bytes, by the table of well-formed
/// UTF-8 (Unicode, table 3-7).
fn sequence(source: &[u8], mut at: usize) -> Result<usize, Stop> {
    while let Some(lead) = source.get(at).filter(|byte| **byte >= 0x80) {
        let (second, more) = match lead {
            0xC2..=0xDF => (0x80..=0xBF, 0),
            0xE0 => (0xA0..=0xBF, 1),
            0xE1..=0xEC | 0xEE | 0xEF => (0x80..=0xBF, 1),
            0xED => (0x80..=0x9F, 1),
            0xF0 => (0x90..=0xBF, 2),
            0xF1..=0xF3 => (0x80..=0xBF, 2),
            0xF4 => (0x80..=0x8F, 2),
            _ => return Err(Stop::at(Code::Encoding, at)),
        };
        at += 1;
        if !source.get(at).is_some_and(|byte| second.contains(byte)) {
            return Err(torn(source, at));
        }
        at += 1;
        for _ in 0..more {
            if !source
                .get(at)
                .is_some_and(|byte| matches!(byte, 0x80..=0xBF))
            {
                return Err(torn(source, at));
            }
            at += 1;
        }
    }
    Ok(at)
}

fn torn(source: &[u8], at: usize) -> Stop {
    Stop {
        code: Code::Encoding,
        offset: source.len().min(at + 1),
    }
}

/// Steps over the escape (or the surrogate pair) at `at`, and says whether it
/// is spelled canonically.
fn escape(source: &[u8], at: usize) -> Result<(usize, bool), Stop> {
    match source.get(at + 1) {
        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => Ok((at + 2, true)),
        Some(b'/') => Ok((at + 2, false)),
        Some(b'u') => unit(source, at + 2),
        _ => Err(misplaced(source, at + 1)),
    }
}

/// Reads the four digits at `at`, and the second half of a pair after them.
fn unit(source: &[u8], at: usize) -> Result<(usize, bool), Stop> {
    let first = digit(source, at)?;
    let second = digit(source, at + 1)?;
    if first == 0xD && second >= 0xC {
        return Err(Stop::at(Code::Surrogate, at + 1));
    }
    let third = digit(source, at + 2)?;
    let fourth = digit(source, at + 3)?;
    if first == 0xD && second >= 0x8 {
        return Ok((low_half(source, at + 4)?, false));
    }
    let control = first == 0 && second == 0 && third < 2;
    let has_letter = third == 0 && matches!(fourth, 0x8 | 0x9 | 0xA | 0xC | 0xD);
    let upper = source.get(at + 3).is_some_and(u8::is_ascii_uppercase);
    Ok((at + 4, control && !has_letter && !upper))
}

/// Reads what must follow a high surrogate: `\uDC00` to `\uDFFF`.
fn low_half(source: &[u8], at: usize) -> Result<usize, Stop> {
    let unpaired = |at| Err(Stop::at(Code::Surrogate, at));
    match source.get(at) {
        Some(b'\\') => {}
        Some(0x20..=0x7F | 0xC2..=0xF4) => return unpaired(at),
        _ => return Err(misplaced(source, at)),
    }
    match source.get(at + 1) {
        Some(b'u') => {}
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return unpaired(at + 1),
        _ => return Err(misplaced(source, at + 1)),
    }
    if digit(source, at + 2)? != 0xD {
        return unpaired(at + 2);
    }
    if digit(source, at + 3)? < 0xC {
        return unpaired(at + 3);
    }
    digit(source, at + 4)?;
    digit(source, at + 5)?;
    Ok(at + 6)
}

fn digit(source: &[u8], at: usize) -> Result<u8, Stop> {
    source
        .get(at)
        .copied()
        .and_then(hex)
        .ok_or_else(|| misplaced(source, at))
}

fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// A part of a string that was scanned before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    /// Bytes that stand for themselves and need no escape.
    Plain(&'a [u8]),
    /// What one escape, or one pair of them, stands for.
    Escaped(char),
}

/// The parts of a string's content, in order.
///
/// INVARIANT: the content was scanned; where that does not hold, parts are
/// left out, and nothing worse happens.
pub(crate) struct Pieces<'a> {
    rest: &'a [u8],
}

pub(crate) fn pieces(content: &[u8]) -> Pieces<'_> {
    Pieces { rest: content }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let [b'\\', letter, rest @ ..] = self.rest else {
            let length = self
                .rest
                .iter()
                .position(|byte| *byte == b'\\')
                .unwrap_or(self.rest.len());
            let (run, rest) = self.rest.split_at(length);
            self.rest = rest;
            return if run.is_empty() {
                None
            } else {
                Some(Piece::Plain(run))
            };
        };
        self.rest = rest;
        let text = match letter {
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.character(),
            other => char::from(*other),
        };
        Some(Piece::Escaped(text))
    }
}

impl Pieces<'_> {
    fn character(&mut self) -> char {
        let high = self.four();
        let code = match (high, self.rest) {
            (0xD800..=0xDBFF, [b'\\', b'u', rest @ ..]) => {
                self.rest = rest;
                0x1_0000 + ((high & 0x3FF) << 10) + (self.four() & 0x3FF)
            }
            _ => high,
        };
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn four(&mut self) -> u32 {
        let Some((digits, rest)) = self.rest.split_first_chunk::<4>() else {
            return 0;
        };
        self.rest = rest;
        digits
            .iter()
            .fold(0, |sum, byte| sum << 4 | u32::from(hex(*byte).unwrap_or(0)))
    }
}

/// Appends a scanned string's content, unescaped.
pub(crate) fn decode(content: &[u8], out: &mut Vec<u8>) {
    for piece in pieces(content) {
        match piece {
            Piece::Plain(run) => out.extend_from_slice(run),
            Piece::Escaped(letter) => {
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_is_not_plain_is_found_behind_whatever_is() {
        let ordinary = || (0x20..0x80).filter(|byte| !matches!(byte, b'"' | b'\\'));
        for (x, y) in ordinary().flat_map(|x| ordinary().map(move |y| (x, y))) {
            for before in 0..10 {
                let mut text: [u8; 20] = core::array::from_fn(|at| if at % 2 == 0 { x } else { y });
                assert_eq!(plain(&text, before), text.len());
                for special in [0x00, 0x1F, b'"', b'\\', 0x80, 0xFF] {
                    text[before] = special;
                    assert_eq!(plain(&text, 0), before, "{text:?}");
                }
            }
        }
    }
}
