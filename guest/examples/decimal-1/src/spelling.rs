//! How version 1 writes numbers: without zeros at the end of a fraction.
//!
//! `1.10` and `1.1` are one amount; what has an exponent stays as it was
//! written, and so does every integer.

use alloc::vec::Vec;

use countersign_component::NotCarried;

/// Appends a number as this profile writes it. It carries every number.
pub(crate) fn spelling(lexeme: &str, out: &mut Vec<u8>) -> Result<(), NotCarried> {
    let written = match lexeme.split_once('.') {
        Some((integer, fraction)) if !fraction.contains(['e', 'E']) => {
            let kept = fraction.trim_end_matches('0').len();
            // One digit stays: without it `1.0` would become an integer.
            lexeme.get(..integer.len() + 1 + kept.max(1))
        }
        _ => Some(lexeme),
    };
    out.extend_from_slice(written.unwrap_or(lexeme).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn zeros_at_the_end_of_a_fraction_are_left_out_and_nothing_else_is() {
        for (lexeme, written) in [
            ("1.10", "1.1"),
            ("1.1", "1.1"),
            ("1.000", "1.0"),
            ("-0.00", "-0.0"),
            ("100.0", "100.0"),
            ("1", "1"),
            ("100", "100"),
            ("-0", "-0"),
            ("1.50e1", "1.50e1"),
            ("1e0", "1e0"),
        ] {
            let mut out = Vec::new();
            spelling(lexeme, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
    }
}
