//! What a number is worth, exactly, whatever its spelling.

/// A number that is no integer to policy: its sign, its significant digits and
/// the power of ten of the last of them. Equal exactly where the numbers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worth {
    negative: bool,
    digits: String,
    /// Beyond any exponent that a lexeme of 1,024 bytes may spell out, the
    /// exponent's own digits are compared instead.
    power: Power,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Power {
    Of(i64),
    Spelled(String, i64),
}

impl Worth {
    /// Reads a lexeme of RFC 8259.
    pub(crate) fn of(lexeme: &str) -> Self {
        let (negative, rest) = match lexeme.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, lexeme),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{integer}{fraction}");
        let significant = all.trim_start_matches('0').trim_end_matches('0');
        let trailing = all.len() - all.trim_end_matches('0').len();
        if significant.is_empty() {
            return Self {
                negative,
                digits: String::new(),
                power: Power::Of(0),
            };
        }
        let shift = length(trailing) - length(fraction.len());
        let power = match exponent
            .parse::<i64>()
            .ok()
            .and_then(|e| e.checked_add(shift))
        {
            Some(power) => Power::Of(power),
            None => Power::Spelled(plain(exponent), shift),
        };
        Self {
            negative,
            digits: significant.to_owned(),
            power,
        }
    }
}

/// An exponent without what changes nothing in it.
fn plain(exponent: &str) -> String {
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    format!("{sign}{}", digits.trim_start_matches('0'))
}

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Worth;

    #[test]
    fn numbers_are_worth_the_same_exactly_where_they_are_equal() {
        for (one, other, same) in [
            ("1.10", "1.1", true),
            ("1.1", "11e-1", true),
            ("1e2", "100.0", true),
            ("1E+2", "1e02", true),
            ("0.0", "0e9", true),
            ("0.0", "-0.0", false),
            ("1.0", "1.00000000000000000001", false),
            ("9007199254740993.0", "9007199254740992.0", false),
            ("1e400", "1e401", false),
            ("1e400", "10e399", true),
            ("1e99999999999999999999", "1e099999999999999999999", true),
            ("1e99999999999999999999", "1e-99999999999999999999", false),
            ("-1.5", "1.5", false),
        ] {
            assert_eq!(Worth::of(one) == Worth::of(other), same, "{one} {other}");
        }
    }
}
