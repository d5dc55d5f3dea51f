//! Number lexemes: what they are worth as integers.
//!
//! No floating point anywhere: a component that computed with it could differ
//! from its host in the last bit.

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

/// Whether a text is one number as RFC 8259 writes it.
pub(crate) fn is_number(lexeme: &[u8]) -> bool {
    let rest = lexeme.strip_prefix(b"-").unwrap_or(lexeme);
    let rest = match rest {
        [b'0', rest @ ..] => rest,
        [b'1'..=b'9', rest @ ..] => skip_digits(rest),
        _ => return false,
    };
    let rest = match rest {
        [b'.', digit, rest @ ..] if digit.is_ascii_digit() => skip_digits(rest),
        rest => rest,
    };
    let rest = match rest {
        [b'e' | b'E', b'+' | b'-', digit, rest @ ..] | [b'e' | b'E', digit, rest @ ..]
            if digit.is_ascii_digit() =>
        {
            skip_digits(rest)
        }
        rest => rest,
    };
    rest.is_empty()
}

fn skip_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(digits..).unwrap_or_default()
}
