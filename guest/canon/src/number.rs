//! Number lexemes: where they end, and what they are worth as integers.
//!
//! No floating point anywhere: a component that computed with it could differ
//! from its host in the last bit.

use crate::Code;
use crate::fault::{Stop, misplaced};

/// The greatest integer that every JSON implementation carries: 2^53 - 1.
const MAX_SAFE: i64 = 9_007_199_254_740_991;

/// The value of a lexeme written `0` or `-?[1-9][0-9]*` and within `i64`.
pub(crate) fn integer(lexeme: &[u8]) -> Option<i64> {
    let (negative, digits) = match lexeme {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [] => return None,
        [b'0', ..] if negative || digits.len() > 1 => return None,
        _ if digits.len() > 19 => return None,
        _ => {}
    }
    let mut value: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Summed on the negative side, which reaches one further.
        value = value
            .checked_mul(10)?
            .checked_sub(i64::from(digit - b'0'))?;
    }
    if negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

/// The value of an integer lexeme of magnitude at most 2^53 - 1; not of `-0`.
pub(crate) fn safe_integer(lexeme: &[u8]) -> Option<i64> {
    integer(lexeme).filter(|value| (-MAX_SAFE..=MAX_SAFE).contains(value))
}

/// Finds the end of the number that begins at `start`: the first byte that
/// does not continue it.
pub(crate) fn scan(source: &[u8], start: usize, max_bytes: usize) -> Result<usize, Stop> {
    // The byte that would be one too many decides, unless another did before.
    let too_long = Stop::at(Code::Limit, start.saturating_add(max_bytes));
    match grammar(source, start) {
        Ok(end) if end - start > max_bytes => Err(too_long),
        Err(at) if at - start > max_bytes => Err(too_long),
        Ok(end) => Ok(end),
        Err(at) => Err(misplaced(source, at)),
    }
}

/// The end of a number, or the byte that stands where a digit must.
fn grammar(source: &[u8], start: usize) -> Result<usize, usize> {
    let mut at = start;
    if source.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match source.get(at) {
        Some(b'0') => at + 1,
        _ => digits(source, at)?,
    };
    if source.get(at) == Some(&b'.') {
        at = digits(source, at + 1)?;
    }
    if let Some(b'e' | b'E') = source.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = source.get(at) {
            at += 1;
        }
        at = digits(source, at)?;
    }
    Ok(at)
}

/// Steps over one digit or more.
fn digits(source: &[u8], start: usize) -> Result<usize, usize> {
    let mut at = start;
    while source.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start { Err(at) } else { Ok(at) }
}

/// Whether a text is one number as RFC 8259 writes it.
pub(crate) fn is_number(text: &[u8]) -> bool {
    grammar(text, 0) == Ok(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_integer_in_its_one_spelling_and_within_64_bits_has_a_value() {
        for (lexeme, value) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-10", Some(-10)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("10000000000000000000", None),
            ("100000000000000000000", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("00", None),
            ("01", None),
            ("-01", None),
            ("+1", None),
            ("1.0", None),
            ("1e0", None),
            ("1:", None),
            ("1/", None),
        ] {
            assert_eq!(integer(lexeme.as_bytes()), value, "`{lexeme}`");
        }
        for (lexeme, safe) in [
            ("9007199254740991", true),
            ("-9007199254740991", true),
            ("9007199254740992", false),
            ("-9007199254740992", false),
            ("-0", false),
        ] {
            assert_eq!(safe_integer(lexeme.as_bytes()).is_some(), safe, "{lexeme}");
        }
    }
}
