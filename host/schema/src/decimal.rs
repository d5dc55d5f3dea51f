//! A number by its digits: compared and divided without rounding.

use std::cmp::Ordering;

/// Beyond any lexeme's digits, so that nothing overflows.
const MAX_EXPONENT: i64 = 1 << 40;

/// ±0.D·10^point; no zeros at either end of D, and zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads a number as RFC 8259 writes it.
    pub(crate) fn read(lexeme: &str) -> Option<Self> {
        let (negative, rest) = match lexeme.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, lexeme),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = integer.bytes().chain(fraction.bytes()).collect();
        if integer.is_empty() || !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let leading = all.iter().take_while(|digit| **digit == b'0').count();
        let trailing = all.iter().rev().take_while(|digit| **digit == b'0').count();
        let Some(digits) = all.get(leading..all.len() - trailing) else {
            return Some(Self {
                negative: false,
                digits: Vec::new(),
                point: 0,
            });
        };
        let length = |count: usize| i64::try_from(count).unwrap_or(MAX_EXPONENT);
        Some(Self {
            negative: negative && !digits.is_empty(),
            point: if digits.is_empty() {
                0
            } else {
                exponent + length(integer.len()) - length(leading)
            },
            digits: digits.to_vec(),
        })
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let magnitude = || {
            let points = self.point.cmp(&other.point);
            points.then_with(|| self.digits.cmp(&other.digits))
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            if self.negative {
                magnitude().reverse()
            } else {
                magnitude()
            }
        })
    }

    /// Whether this is a multiple of a number above zero of at most 19 digits.
    pub(crate) fn is_multiple_of(&self, of: &Self) -> bool {
        let length = |number: &Self| i64::try_from(number.digits.len()).unwrap_or(MAX_EXPONENT);
        if self.digits.is_empty() {
            return true;
        }
        let shift = (self.point - length(self)) - (of.point - length(of));
        // The last digit is no zero, so a power of ten does not divide this.
        let Ok(shift) = u64::try_from(shift) else {
            return false;
        };
        let digit = |digit: &u8| u128::from(digit.saturating_sub(b'0'));
        let divisor = of
            .digits
            .iter()
            .fold(0_u128, |all, next| all * 10 + digit(next));
        if divisor == 0 || of.digits.len() > 19 {
            return false;
        }
        let rest = self
            .digits
            .iter()
            .fold(0_u128, |all, next| (all * 10 + digit(next)) % divisor);
        (rest * power_of_ten(shift, divisor)).is_multiple_of(divisor)
    }

    /// A text that two numbers share where they are equal, and only then.
    pub(crate) fn key(&self) -> String {
        let digits = String::from_utf8_lossy(&self.digits);
        format!(
            "{}{digits}e{}",
            if self.negative { "-" } else { "" },
            self.point
        )
    }
}

fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits.iter().fold(0_i64, |all, digit| {
        (all * 10 + i64::from(digit - b'0')).min(MAX_EXPONENT)
    });
    Some(if negative { -magnitude } else { magnitude })
}

/// 10^exponent modulo a divisor below 10^19.
fn power_of_ten(mut exponent: u64, divisor: u128) -> u128 {
    let (mut result, mut base) = (1 % divisor, 10 % divisor);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * base % divisor;
        }
        base = base * base % divisor;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::read(text).unwrap()
    }

    #[test]
    fn numbers_compare_by_value_however_they_are_spelled() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, expected) in [
            ("1", "1.0", Equal),
            ("10e-1", "1", Equal),
            ("-0", "0.0e5", Equal),
            ("1e400", "1000", Greater),
            ("-1e400", "1000", Less),
            ("1e-400", "0", Greater),
            ("100.00000000000000000000000001", "100", Greater),
            ("9007199254740993", "9007199254740992", Greater),
            ("-2", "-10", Greater),
            ("0.5", "0.25", Greater),
            ("1e99999999999999999999", "1e400", Greater),
        ] {
            assert_eq!(decimal(a).compare(&decimal(b)), expected, "{a} {b}");
            assert_eq!(
                decimal(b).compare(&decimal(a)),
                expected.reverse(),
                "{b} {a}"
            );
            assert_eq!(
                decimal(a).key() == decimal(b).key(),
                expected == Equal,
                "{a} {b}"
            );
        }
    }

    #[test]
    fn a_multiple_is_one_by_its_digits() {
        for (number, of, expected) in [
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("0.3", "0.1", true),
            ("9007199254740993", "2", false),
            ("9007199254740994", "2", true),
            ("1e400", "7", false),
            ("7e400", "7", true),
            ("0", "7", true),
            ("-21", "7", true),
            ("1e-400", "7", false),
            ("5", "2.5", true),
            ("123456789012345678901234567890", "10", true),
        ] {
            assert_eq!(
                decimal(number).is_multiple_of(&decimal(of)),
                expected,
                "{number} {of}"
            );
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "1e", "e1", "1e+", ".5", "1a", "0x1"] {
            assert!(Decimal::read(text).is_none(), "{text}");
        }
    }
}
