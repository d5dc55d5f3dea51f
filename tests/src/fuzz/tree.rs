//! JSON values at random, chosen from where readers are known to disagree.

use super::Random;

/// A JSON value, its numbers as they are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Null,
    Boolean(bool),
    Number(String),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e0",
    "1E0",
    "1e+0",
    "10e-1",
    "0.1",
    "0.10",
    "1000.5",
    "1e30",
    "1e400",
    "-1e400",
    "1e-400",
    "5000",
    "5e3",
    "5000.0",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740991",
    "-9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "0.30000000000000004",
    "1.7976931348623157e308",
    "5e-324",
    "123456789012345678901234567890",
    "0e0",
    "0.0",
    "-0.0",
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "7",
    "null",
    "true",
    "é",
    "e\u{301}",
    "\u{212b}",
    "Å",
    "😀",
    "\u{e000}",
    "\u{ffff}",
    "\u{0}",
    "\u{1f}",
    "\u{7f}",
    "\"",
    "\\",
    "/",
    "~",
    "~0",
    "~1",
    "a/b",
    "\n",
    "\u{2028}",
    "\u{feff}",
    "__proto__",
    "__entity",
    "__extn",
    "$serde_json::private::Number",
    "constructor",
    " a",
    "a ",
    "\u{fdd0}",
    "\u{10ffff}",
    "\u{d7ff}",
    "ſ",
    "K",
    "ﬀ",
];

/// A value of at most `depth` containers, with about `size` values.
pub(super) fn value(random: &mut Random, depth: usize, size: usize) -> Tree {
    let containers = if depth == 0 || size <= 1 { 0 } else { 2 };
    match random.below(8 + containers * 3) {
        0 => Tree::Null,
        1 => Tree::Boolean(random.once_in(2)),
        2..=4 => Tree::Number(number(random)),
        5..=7 => Tree::Text(text(random)),
        8..=10 => {
            let items = random.below(size.min(6));
            Tree::Array(
                (0..items)
                    .map(|_| value(random, depth - 1, size / items.max(1)))
                    .collect(),
            )
        }
        _ => object(random, depth, size),
    }
}

/// An object whose names differ.
pub(super) fn object(random: &mut Random, depth: usize, size: usize) -> Tree {
    let mut members: Vec<(String, Tree)> = Vec::new();
    for _ in 0..random.below(size.min(6) + 1) {
        let name = text(random);
        if members.iter().all(|(known, _)| *known != name) {
            let value = value(random, depth.saturating_sub(1), size / 3);
            members.push((name, value));
        }
    }
    Tree::Object(members)
}

fn number(random: &mut Random) -> String {
    if !random.once_in(3) {
        return (*random.pick(NUMBERS)).to_owned();
    }
    let mut digits = |most: usize| -> String {
        (0..=random.below(most))
            .map(|_| char::from(b'0' + random.byte() % 10))
            .collect()
    };
    let (integer, fraction, exponent) = (digits(19), digits(6), digits(3));
    let integer = match integer.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let sign = if random.once_in(3) { "-" } else { "" };
    match random.below(4) {
        0 | 1 => format!("{sign}{integer}"),
        2 => format!("{sign}{integer}.{fraction}"),
        _ => format!(
            "{sign}{integer}.{fraction}e{}{exponent}",
            random.pick(&["", "+", "-"])
        ),
    }
}

pub(super) fn text(random: &mut Random) -> String {
    match random.below(4) {
        0 => (*random.pick(TEXTS)).to_owned(),
        1 => format!("{}{}", random.pick(TEXTS), random.pick(TEXTS)),
        _ => (0..random.below(9))
            .map(|_| char::from(b'a' + random.byte() % 6))
            .collect(),
    }
}

/// Another value that is close to this one, and not the same.
pub(super) fn near(random: &mut Random, tree: &Tree) -> Tree {
    match tree {
        Tree::Null => Tree::Boolean(false),
        Tree::Boolean(value) => Tree::Boolean(!value),
        Tree::Number(lexeme) => match random.below(4) {
            0 => Tree::Text(lexeme.clone()),
            1 if !lexeme.contains(['.', 'e', 'E']) => Tree::Number(format!("{lexeme}.0")),
            2 if !lexeme.contains(['e', 'E']) => Tree::Number(format!("{lexeme}e0")),
            _ => Tree::Number(number(random)),
        },
        Tree::Text(text) => match random.below(3) {
            0 => Tree::Text(format!("{text} ")),
            1 => Tree::Text(text.to_uppercase()),
            _ => Tree::Null,
        },
        Tree::Array(items) => {
            let mut items = items.clone();
            match random.below(3) {
                0 => items.reverse(),
                1 => items.push(Tree::Null),
                _ => drop(items.pop()),
            }
            Tree::Array(items)
        }
        Tree::Object(members) if members.is_empty() => Tree::Null,
        Tree::Object(members) => {
            let mut members = members.clone();
            let index = random.below(members.len());
            match random.below(3) {
                0 => drop(members.remove(index)),
                _ => members[index].1 = near(random, &members[index].1.clone()),
            }
            Tree::Object(members)
        }
    }
}
