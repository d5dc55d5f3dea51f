//! Messages that arrive broken, or that only look so.

use super::Random;

const INSERTIONS: &[&[u8]] = &[
    b",",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"0",
    b"-",
    b".",
    b"e",
    b"+",
    b" ",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"NaN",
    b"Infinity",
    b"//",
    b"/*",
    b"'",
    b"\\u",
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\x41",
    b"\x7f",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\x0b",
    b"\x0c",
    b"null",
    b"true",
    b"tru",
    b"01",
    b"1.",
    b".5",
    b"1e",
    b"-0",
    b"\"a\":1,",
    b"\"a\":1,\"\\u0061\":2,",
    b"\"name\":\"u\",",
    b"\"id\":1,",
];

/// Breaks a message, or does not: some damage changes nothing that counts.
pub(super) fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    match random.below(10) {
        0 => bytes.truncate(at),
        1 => change(bytes, at, |_| random.byte()),
        2 => change(bytes, at, |byte| byte ^ (1 << random.below(8))),
        3 => drop(bytes.splice(at..(at + 1).min(bytes.len()), [])),
        4 => {
            // A piece of the message once more, somewhere else.
            let end = (at + random.below(24)).min(bytes.len());
            let piece = bytes.get(at..end).unwrap_or_default().to_vec();
            insert(bytes, random, &piece);
        }
        5 => {
            let end = (at + random.below(12)).min(bytes.len());
            bytes.drain(at..end);
        }
        6 => {
            // Nested as deeply as is allowed, and a little deeper.
            let depth = 58 + random.below(10);
            let nested = [vec![b'['; depth], vec![b']'; depth]].concat();
            replace_value(random, bytes, &nested);
        }
        7 if random.once_in(2) => drop(bytes.splice(..0, *b"\xef\xbb\xbf")),
        7 => {
            let digits = vec![b'7'; 1_020 + random.below(10)];
            replace_value(random, bytes, &digits);
        }
        _ => {
            let piece = *random.pick(INSERTIONS);
            insert(bytes, random, piece);
        }
    }
}

fn change(bytes: &mut [u8], at: usize, with: impl FnOnce(u8) -> u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte = with(*byte);
    }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random, piece: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// Puts a value where a short literal was.
fn replace_value(random: &mut Random, bytes: &mut Vec<u8>, value: &[u8]) {
    let literals: [&[u8]; 4] = [b"null", b"true", b"false", b"{}"];
    let literal = *random.pick(&literals);
    let found = bytes
        .windows(literal.len())
        .position(|window| window == literal);
    if let Some(at) = found {
        bytes.splice(at..at + literal.len(), value.iter().copied());
    }
}
