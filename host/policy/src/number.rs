//! The parts of a number that policy compares, from its lexeme.
//!
//! Computed on digits, in one pass, without big numbers and without floats:
//! `docs/spec/action-binding.md` §7, whose letters are used here.

/// What lies beyond any lexeme's digits: an exponent is clamped to this, so
/// that nothing overflows and no shift by digits can bring it back.
const MAX_EXPONENT: i64 = 1 << 40;
/// Digits that surely fit 64 bits unsigned, and surely pass 64 bits signed by
/// one more.
const MAX_DIGITS: i64 = 19;
/// Fraction digits of a Cedar decimal.
const FRACTION_DIGITS: i64 = 4;

/// A number's parts, exact or absent, never rounded to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The greatest integer not above the value, clamped to `i64`.
    pub floor: i64,
    /// The least integer not below the value, clamped to `i64`.
    pub ceil: i64,
    /// The value's shortest text with one to four fraction digits, where the
    /// value times 10,000 is an integer within `i64`.
    pub decimal: Option<String>,
}

impl Number {
    /// Reads a number as RFC 8259 writes it; none for any other text.
    ///
    /// ```
    /// use countersign_policy::Number;
    ///
    /// let number = Number::of("1.23450").unwrap();
    /// assert_eq!((number.floor, number.ceil), (1, 2));
    /// assert_eq!(number.decimal.as_deref(), Some("1.2345"));
    /// ```
    #[must_use]
    pub fn of(lexeme: &str) -> Option<Self> {
        let Lexeme {
            negative,
            integer,
            fraction,
            exponent,
        } = Lexeme::read(lexeme.as_bytes())?;
        let all = integer.iter().chain(fraction);
        let leading = all.clone().take_while(|digit| **digit == b'0').count();
        let digits = all.clone().skip(leading);
        let trailing = all.rev().take_while(|digit| **digit == b'0').count();
        let total = integer.len() + fraction.len();
        if leading == total {
            return Some(Self {
                floor: 0,
                ceil: 0,
                decimal: Some("0.0".to_owned()),
            });
        }
        let n = length(total - leading - trailing);
        let p = exponent + length(integer.len()) - length(leading);
        let (floor, ceil) = bounds(negative, p, n, digits.clone());
        Some(Self {
            floor,
            ceil,
            decimal: decimal(negative, p, n, digits),
        })
    }
}

/// |v| = 0.D·10^p, n = |D|.
fn bounds<'a>(negative: bool, p: i64, n: i64, digits: impl Iterator<Item = &'a u8>) -> (i64, i64) {
    if p > MAX_DIGITS {
        let end = if negative { i64::MIN } else { i64::MAX };
        return (end, end);
    }
    let below = leading(digits, p.max(0));
    let above = below + u64::from(n > p);
    if negative {
        (signed(true, above), signed(true, below))
    } else {
        (signed(false, below), signed(false, above))
    }
}

fn decimal<'a>(
    negative: bool,
    p: i64,
    n: i64,
    digits: impl Iterator<Item = &'a u8>,
) -> Option<String> {
    if n - p > FRACTION_DIGITS || p + FRACTION_DIGITS > MAX_DIGITS {
        return None;
    }
    let scaled = leading(digits, p + FRACTION_DIGITS);
    let most = if negative {
        i64::MIN.unsigned_abs()
    } else {
        i64::MAX.unsigned_abs()
    };
    if scaled > most {
        return None;
    }
    let sign = if negative { "-" } else { "" };
    let mut text = format!("{sign}{}.{:04}", scaled / 10_000, scaled % 10_000);
    while text.ends_with('0') && !text.ends_with(".0") {
        text.pop();
    }
    Some(text)
}

/// The first `count` digits, zero-padded; `count` is at most 19.
fn leading<'a>(digits: impl Iterator<Item = &'a u8>, count: i64) -> u64 {
    digits
        .map(|digit| u64::from(digit - b'0'))
        .chain(std::iter::repeat(0))
        .zip(0..count)
        .fold(0, |value, (digit, _)| value * 10 + digit)
}

fn signed(negative: bool, magnitude: u64) -> i64 {
    if negative {
        0i64.checked_sub_unsigned(magnitude).unwrap_or(i64::MIN)
    } else {
        i64::try_from(magnitude).unwrap_or(i64::MAX)
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(MAX_EXPONENT)
}

/// A lexeme, taken apart.
struct Lexeme<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Lexeme<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (negative, bytes) = match bytes.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        let mut parts = bytes.splitn(2, |byte| matches!(byte, b'e' | b'E'));
        let mantissa = parts.next()?;
        let exponent = parts.next().map_or(Some(0), exponent)?;
        let mut parts = mantissa.splitn(2, |byte| *byte == b'.');
        let integer = digits(parts.next()?)?;
        let fraction = parts.next().map_or(Some([].as_slice()), digits)?;
        if integer.len() > 1 && integer.starts_with(b"0") {
            return None;
        }
        Some(Self {
            negative,
            integer,
            fraction,
            exponent,
        })
    }
}

fn digits(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)).then_some(bytes)
}

fn exponent(bytes: &[u8]) -> Option<i64> {
    let (negative, rest) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let magnitude = digits(rest)?.iter().fold(0, |value: i64, digit| {
        (value * 10 + i64::from(digit - b'0')).min(MAX_EXPONENT)
    });
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: i64 = i64::MAX;
    const MIN: i64 = i64::MIN;

    #[test]
    fn a_lexeme_has_the_parts_that_its_value_has() {
        for (lexeme, floor, ceil, decimal) in [
            ("0", 0, 0, Some("0.0")),
            ("-0", 0, 0, Some("0.0")),
            ("-0.0", 0, 0, Some("0.0")),
            ("0e999999999999999999999", 0, 0, Some("0.0")),
            ("0.000", 0, 0, Some("0.0")),
            ("1", 1, 1, Some("1.0")),
            ("1.0", 1, 1, Some("1.0")),
            ("1e0", 1, 1, Some("1.0")),
            ("10e-1", 1, 1, Some("1.0")),
            ("1E400", MAX, MAX, None),
            ("-1e400", MIN, MIN, None),
            ("1e30", MAX, MAX, None),
            ("1e-400", 0, 1, None),
            ("-1e-400", -1, 0, None),
            ("1e99999999999999999999999", MAX, MAX, None),
            ("1e-99999999999999999999999", 0, 1, None),
            ("0.00001", 0, 1, None),
            ("0.0001", 0, 1, Some("0.0001")),
            ("-0.0001", -1, 0, Some("-0.0001")),
            ("1.23450", 1, 2, Some("1.2345")),
            ("1.23456", 1, 2, None),
            ("-1.5", -2, -1, Some("-1.5")),
            ("1000.5", 1000, 1001, Some("1000.5")),
            ("1000.00001", 1000, 1001, None),
            ("5e3", 5000, 5000, Some("5000.0")),
            ("5000.0", 5000, 5000, Some("5000.0")),
            ("9223372036854775807", MAX, MAX, None),
            ("9223372036854775807.5", MAX, MAX, None),
            ("9223372036854775808", MAX, MAX, None),
            ("-9223372036854775808", MIN, MIN, None),
            ("-9223372036854775808.5", MIN, MIN, None),
            ("-9223372036854775809", MIN, MIN, None),
            ("9223372036854775806.5", MAX - 1, MAX, None),
            ("9999999999999999999", MAX, MAX, None),
            ("9999999999999999999.9", MAX, MAX, None),
            ("-9999999999999999999.9", MIN, MIN, None),
            (
                "922337203685477.5807",
                922_337_203_685_477,
                922_337_203_685_478,
                Some("922337203685477.5807"),
            ),
            (
                "922337203685477.5808",
                922_337_203_685_477,
                922_337_203_685_478,
                None,
            ),
            (
                "-922337203685477.5808",
                -922_337_203_685_478,
                -922_337_203_685_477,
                Some("-922337203685477.5808"),
            ),
            (
                "-922337203685477.5809",
                -922_337_203_685_478,
                -922_337_203_685_477,
                None,
            ),
            (
                "1e14",
                100_000_000_000_000,
                100_000_000_000_000,
                Some("100000000000000.0"),
            ),
            ("1e15", 1_000_000_000_000_000, 1_000_000_000_000_000, None),
            (
                "12345678901234567890e-10",
                1_234_567_890,
                1_234_567_891,
                None,
            ),
            ("0.000000000000000000001e21", 1, 1, Some("1.0")),
        ] {
            let decimal = decimal.map(str::to_owned);
            let parts = Number {
                floor,
                ceil,
                decimal,
            };
            assert_eq!(Number::of(lexeme), Some(parts), "{lexeme}");
        }
    }

    #[test]
    fn what_rfc_8259_does_not_call_a_number_has_no_parts() {
        for text in [
            "", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e1", "1,0", " 1", "1 ", "0x1",
            "NaN", "Infinity", "1e1.0", "1.0.0", "--1", "1e--1", "١", "1_000",
        ] {
            assert_eq!(Number::of(text), None, "{text}");
        }
    }
}
