//! Number parts against a computation of another kind: schoolbook arithmetic
//! on whole decimal strings.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::cmp::Ordering;

use countersign_policy::Number;

/// A value as sign, digits of its integer part and digits of its fraction.
struct Exact {
    negative: bool,
    integer: String,
    fraction: String,
}

/// Writes a lexeme out in full by moving its point.
fn exact(lexeme: &str) -> Exact {
    let (negative, rest) = lexeme
        .strip_prefix('-')
        .map_or((false, lexeme), |rest| (true, rest));
    let lower = rest.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().unwrap();
    let (mut integer, mut fraction) = (integer.to_owned(), fraction.to_owned());
    for _ in 0..exponent.max(0) {
        if fraction.is_empty() {
            fraction.push('0');
        }
        integer.push(fraction.remove(0));
    }
    for _ in 0..(-exponent).max(0) {
        let digit = integer.pop().unwrap_or('0');
        fraction.insert(0, digit);
    }
    Exact {
        negative,
        integer: integer.trim_start_matches('0').to_owned(),
        fraction: fraction.trim_end_matches('0').to_owned(),
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn increment(digits: &str) -> String {
    let mut out: Vec<char> = digits.chars().collect();
    for digit in out.iter_mut().rev() {
        if *digit == '9' {
            *digit = '0';
        } else {
            *digit = char::from(*digit as u8 + 1);
            return out.into_iter().collect();
        }
    }
    format!("1{}", out.into_iter().collect::<String>())
}

fn clamp(negative: bool, digits: &str) -> i64 {
    let most = if negative {
        "9223372036854775808"
    } else {
        "9223372036854775807"
    };
    if compare(digits, most) == Ordering::Greater {
        return if negative { i64::MIN } else { i64::MAX };
    }
    let sign = if negative { "-" } else { "" };
    format!("{sign}0{digits}").parse().unwrap()
}

fn expected(lexeme: &str) -> Number {
    let Exact {
        negative,
        integer,
        fraction,
    } = exact(lexeme);
    let away = if fraction.is_empty() {
        integer.clone()
    } else {
        increment(&integer)
    };
    let (near, far) = (clamp(negative, &integer), clamp(negative, &away));
    let (floor, ceil) = if negative { (far, near) } else { (near, far) };
    let scaled = format!("{integer}{fraction:0<4}");
    let scaled = scaled.trim_start_matches('0');
    let most = if negative {
        "9223372036854775808"
    } else {
        "9223372036854775807"
    };
    let fits = fraction.len() <= 4 && compare(scaled, most) != Ordering::Greater;
    let zero = integer.is_empty() && fraction.is_empty();
    let decimal = fits.then(|| {
        let sign = if negative && !zero { "-" } else { "" };
        let integer = if integer.is_empty() { "0" } else { &integer };
        let fraction = if fraction.is_empty() { "0" } else { &fraction };
        format!("{sign}{integer}.{fraction}")
    });
    Number {
        floor,
        ceil,
        decimal,
    }
}

/// A small generator of its own, so that a failure names a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn digits(&mut self, length: u64) -> String {
        // Zeros and nines are where carrying and stripping go wrong.
        let alphabet = ["0", "0", "0", "9", "9", "1", "2", "5", "7", "8"];
        (0..length)
            .map(|_| alphabet[usize::try_from(self.below(10)).unwrap()])
            .collect()
    }

    fn lexeme(&mut self) -> String {
        let mut text = String::new();
        if self.below(2) == 0 {
            text.push('-');
        }
        let length = 1 + self.below(24);
        let integer = self.digits(length);
        let integer = integer.trim_start_matches('0');
        text.push_str(if integer.is_empty() { "0" } else { integer });
        if self.below(3) > 0 {
            let length = 1 + self.below(24);
            text.push('.');
            text.push_str(&self.digits(length));
        }
        if self.below(2) == 0 {
            text.push(if self.below(2) == 0 { 'e' } else { 'E' });
            text.push_str(["", "+", "-"][usize::try_from(self.below(3)).unwrap()]);
            text.push_str(&self.below(45).to_string());
        }
        text
    }
}

#[test]
fn parts_agree_with_arithmetic_on_whole_strings() {
    for seed in 1..=20u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for _ in 0..5_000 {
            let lexeme = random.lexeme();
            assert_eq!(
                Number::of(&lexeme),
                Some(expected(&lexeme)),
                "seed {seed}, `{lexeme}`"
            );
        }
    }
}

#[test]
fn parts_agree_around_the_ends_of_a_long_and_of_a_decimal() {
    for around in [
        i128::from(i64::MAX),
        i128::from(i64::MIN),
        i128::from(i64::MAX) / 10_000,
        i128::from(i64::MIN) / 10_000,
        10_i128.pow(18),
        10_i128.pow(19),
        -(10_i128.pow(19)),
        0,
    ] {
        for offset in -3..=3 {
            let integer = around + offset;
            for tail in [
                "", ".0", ".5", ".0001", ".00001", ".5807", ".5808", ".5809", "e0", "0e-1", "e-4",
                "e-5", "e1",
            ] {
                let lexeme = format!("{integer}{tail}");
                if lexeme.starts_with("00") || lexeme.starts_with("-00") {
                    continue;
                }
                assert_eq!(Number::of(&lexeme), Some(expected(&lexeme)), "`{lexeme}`");
            }
        }
    }
}

#[test]
fn the_longest_lexemes_are_read_in_one_pass() {
    let nines = "9".repeat(1_000);
    for lexeme in [
        format!("{nines}e-1000"),
        format!("0.{nines}"),
        format!("0.{}1", "0".repeat(1_000)),
        format!("1{}e-1000", "0".repeat(1_000)),
        format!("{nines}.{nines}"),
    ] {
        assert_eq!(Number::of(&lexeme), Some(expected(&lexeme)), "`{lexeme}`");
    }
}

#[test]
fn the_golden_vectors_hold() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/numbers.json");
    let vectors: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(cases.len() > 50);
    for case in cases {
        let parts = Number {
            floor: case["floor"].as_str().unwrap().parse().unwrap(),
            ceil: case["ceil"].as_str().unwrap().parse().unwrap(),
            decimal: case["decimal"].as_str().map(str::to_owned),
        };
        let lexeme = case["lexeme"].as_str().unwrap();
        assert_eq!(Number::of(lexeme), Some(parts), "`{lexeme}`");
    }
}
