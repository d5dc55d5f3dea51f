//! How a number is written: an integer as it is, any other in its shortest way.
//!
//! The value is D × 10^E, D being the digits without zeros at either end. Three
//! ways of writing it come into question: without an exponent; with one, and no
//! point; with one, and a point after the first digit. The shortest is taken,
//! the first of equally short ones. No other spelling of the value is shorter,
//! so what is written is never longer than what was sent.
//!
//! Digits are moved and counted, never computed with, so nothing is rounded.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use countersign_component::NotCarried;

/// The last digit of a number stands at 10^-MOST to 10^MOST; what lies beyond
/// is refused.
const MOST: i64 = 999_999_999_999_999_999;

/// Appends a number as this profile writes it.
pub(crate) fn spelling(lexeme: &str, out: &mut Vec<u8>) -> Result<(), NotCarried> {
    if is_integer(lexeme) {
        out.extend_from_slice(lexeme.as_bytes());
        return Ok(());
    }
    let (sign, rest) = match lexeme.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", lexeme),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = String::from_iter([integer, fraction]);
    let digits = all.trim_matches('0');
    out.extend_from_slice(sign.as_bytes());
    if digits.is_empty() {
        // `-0` is no integer to policy, `0` would be one.
        let zero: &[u8] = if sign.is_empty() { b"0.0" } else { b"0" };
        out.extend_from_slice(zero);
        return Ok(());
    }
    let behind = all.len() - all.trim_end_matches('0').len();
    let exponent = power(exponent)? + length(behind) - length(fraction.len());
    if !(-MOST..=MOST).contains(&exponent) {
        return Err(NotCarried);
    }
    let ways = [
        plain(sign, digits, exponent),
        Some(scaled(digits, exponent)),
        pointed(digits, exponent),
    ];
    let shortest = ways.into_iter().flatten().min_by_key(String::len);
    out.extend_from_slice(shortest.ok_or(NotCarried)?.as_bytes());
    Ok(())
}

/// Whether policy sees an integer: `0` or `-?[1-9][0-9]*`, within 64 bits.
fn is_integer(lexeme: &str) -> bool {
    let plain = lexeme
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    plain && lexeme != "-0" && lexeme.parse::<i64>().is_ok()
}

/// An exponent as it is written; many zeros before it change nothing.
fn power(exponent: &str) -> Result<i64, NotCarried> {
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    match digits.trim_start_matches('0') {
        "" => Ok(0),
        // Of at most 18 digits and at most 1,024 of a lexeme none overflows.
        digits if digits.len() <= 19 => {
            let value = digits.parse::<i64>().map_err(|_| NotCarried)?;
            Ok(sign * value.min(2 * MOST))
        }
        _ => Err(NotCarried),
    }
}

/// A lexeme has at most 1,024 bytes.
fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Longer than any lexeme, so never the shortest.
const TOO_MANY_ZEROS: i64 = 2_048;

/// Without an exponent: `120.0`, `1.2`, `0.012`.
fn plain(sign: &str, digits: &str, exponent: i64) -> Option<String> {
    if !(-TOO_MANY_ZEROS..=TOO_MANY_ZEROS).contains(&exponent) {
        return None;
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let point = length(digits.len()) + exponent;
    Some(if exponent >= 0 {
        let whole = String::from_iter([digits, &zeros(exponent)]);
        // An integer must not come of it, which one within 64 bits would be.
        if is_integer(&String::from_iter([sign, &whole])) {
            whole + ".0"
        } else {
            whole
        }
    } else if point > 0 {
        let (integer, fraction) = digits.split_at(usize::try_from(point).ok()?);
        String::from_iter([integer, ".", fraction])
    } else {
        String::from_iter(["0.", &zeros(-point), digits])
    })
}

/// With an exponent and no point: `12e7`.
fn scaled(digits: &str, exponent: i64) -> String {
    String::from_iter([digits, "e", &exponent.to_string()])
}

/// With both: `1.2e8`.
fn pointed(digits: &str, exponent: i64) -> Option<String> {
    let (first, others) = digits.split_at_checked(1)?;
    let exponent = (exponent + length(others.len())).to_string();
    (!others.is_empty()).then(|| String::from_iter([first, ".", others, "e", &exponent]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lexeme: &str) -> Result<String, NotCarried> {
        let mut out = Vec::new();
        spelling(lexeme, &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn spellings_of_one_value_are_written_alike_and_in_the_shortest_way() {
        for (spellings, one) in [
            (
                &["1.10", "1.1", "11e-1", "0.11e1", "110E-02"] as &[_],
                "1.1",
            ),
            (&["1.0", "1e0", "1E+0", "10e-1", "1.000", "0.1e1"], "1.0"),
            (&["100.0", "1e2", "1E+02", "0.0001e6"], "1e2"),
            (&["1500.0", "15e2", "1.5e3"], "15e2"),
            (&["0.001", "1e-3", "0.1e-2"], "1e-3"),
            (&["0.01", "1e-2", "0.0100"], "0.01"),
            (&["0.0", "0e9", "0.00e-99999999999999999999"], "0.0"),
            (&["-0", "-0.0", "-0e7"], "-0"),
            (&["-1.50", "-15e-1"], "-1.5"),
            (&["1e400", "10e399", "0.1e401"], "1e400"),
            (
                &["9223372036854775808", "9223372036854775808.0"],
                "9223372036854775808",
            ),
            (&["9223372036854775807.0"], "9223372036854775807.0"),
            (&["-9223372036854775808.0"], "-9223372036854775808.0"),
            (&["100000000000000000000", "1e20"], "1e20"),
            (&["1.00000000000000000001"], "1.00000000000000000001"),
            (&["1.23456789e-12"], "123456789e-20"),
            (
                &["1e999999999999999999", "10e999999999999999998"],
                "1e999999999999999999",
            ),
        ] {
            for spelling in spellings {
                assert_eq!(written(spelling).as_deref(), Ok(one), "{spelling}");
                assert!(one.len() <= spelling.len(), "{spelling}");
            }
            assert_eq!(written(one).as_deref(), Ok(one));
        }
    }

    #[test]
    fn a_point_and_an_exponent_are_written_where_nothing_is_shorter() {
        let ones = "1".repeat(91);
        let sent = String::from_iter(["1", &ones, "e-100"]);
        let short = String::from_iter(["1.", &ones, "e-9"]);
        assert_eq!(written(&sent), Ok(short.clone()));
        assert_eq!(written(&short), Ok(short));
    }

    #[test]
    fn integers_stay_as_they_are() {
        for lexeme in [
            "0",
            "1",
            "-1",
            "100",
            "9223372036854775807",
            "-9223372036854775808",
        ] {
            assert_eq!(written(lexeme).as_deref(), Ok(lexeme));
        }
    }

    #[test]
    fn what_no_exponent_of_eighteen_digits_reaches_is_refused() {
        for lexeme in [
            "1e1000000000000000000",
            "10e999999999999999999",
            "1e-1000000000000000000",
            "0.1e-999999999999999999",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ] {
            assert_eq!(written(lexeme), Err(NotCarried), "{lexeme}");
        }
    }

    #[test]
    fn no_spelling_is_shorter_than_the_one_that_is_written() {
        // Every lexeme of up to seven characters from a small alphabet.
        let alphabet = ["0", "1", "2", ".", "e", "-"];
        let mut lexemes: Vec<String> = alphabet.map(String::from).into();
        for _ in 0..6 {
            let longer = lexemes.iter().flat_map(|one| {
                alphabet
                    .iter()
                    .map(move |next| String::from_iter([one, *next]))
            });
            lexemes = longer.filter(|lexeme| begins_a_number(lexeme)).collect();
            for lexeme in lexemes.iter().filter(|lexeme| is_number(lexeme)) {
                let one = written(lexeme).unwrap();
                assert!(one.len() <= lexeme.len(), "{lexeme} {one}");
                assert_eq!(written(&one).unwrap(), one, "{lexeme}");
                assert_eq!(is_integer(&one), is_integer(lexeme), "{lexeme} {one}");
            }
        }
    }

    fn begins_a_number(text: &str) -> bool {
        ["", "0", ".0", "e0", "-0"]
            .iter()
            .any(|rest| is_number(&String::from_iter([text, rest])))
    }

    fn is_number(text: &str) -> bool {
        let message = String::from_iter(["[", text, "]"]);
        countersign_canon::Document::read(message.as_bytes(), countersign_canon::Limits::STANDARD)
            .is_ok()
    }
}
