//! JSON values at random, chosen from where readers are known to disagree.

use super::Random;

/// A JSON value, its numbers as they are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number's lexeme.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// Items.
    Array(Vec<Tree>),
    /// Members, whose names differ.
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

/// Lengths at which somebody might cut.
const LENGTHS: &[usize] = &[32, 64, 100, 128, 255, 256, 1_000, 1_024, 4_096];

pub(super) fn text(random: &mut Random) -> String {
    if random.once_in(40) {
        let letter = char::from(b'a' + random.byte() % 6);
        let length = *random.pick(LENGTHS) + random.below(3);
        return std::iter::repeat_n(letter, length).collect();
    }
    match random.below(4) {
        0 => (*random.pick(TEXTS)).to_owned(),
        1 => format!("{}{}", random.pick(TEXTS), random.pick(TEXTS)),
        _ => (0..random.below(9))
            .map(|_| char::from(b'a' + random.byte() % 6))
            .collect(),
    }
}

/// Makes every number one that all profiles carry: an integer of few digits.
pub(super) fn tame(tree: &mut Tree) {
    match tree {
        Tree::Number(lexeme) => {
            let few = lexeme.len() <= 9 && lexeme.bytes().all(|byte| byte.is_ascii_digit());
            if !few {
                *lexeme = (lexeme.len() * 7).to_string();
            }
        }
        Tree::Array(items) => items.iter_mut().for_each(tame),
        Tree::Object(members) => members.iter_mut().for_each(|(_, value)| tame(value)),
        Tree::Null | Tree::Boolean(_) | Tree::Text(_) => {}
    }
}

/// Another value that is close to this one, and not the same; closest are
/// those that somebody might take for it.
pub(super) fn near(random: &mut Random, tree: &Tree) -> Tree {
    match tree {
        Tree::Null => Tree::Boolean(false),
        Tree::Boolean(value) => Tree::Boolean(!value),
        Tree::Number(lexeme) => near_number(random, lexeme),
        Tree::Text(text) => near_text(random, text),
        Tree::Array(items) => {
            let mut items = items.clone();
            match random.below(4) {
                0 => items.reverse(),
                1 => items.push(Tree::Null),
                2 if !items.is_empty() => {
                    let index = random.below(items.len());
                    if let Some(item) = items.get_mut(index) {
                        *item = near(random, &item.clone());
                    }
                }
                _ => drop(items.pop()),
            }
            Tree::Array(items)
        }
        Tree::Object(members) => near_object(random, members),
    }
}

fn near_number(random: &mut Random, lexeme: &str) -> Tree {
    let plain = !lexeme.contains(['.', 'e', 'E']);
    let digits = lexeme.trim_end_matches(|digit: char| !digit.is_ascii_digit());
    match random.below(7) {
        0 => Tree::Text(lexeme.to_owned()),
        1 if plain => Tree::Number(format!("{lexeme}.0")),
        2 if plain => Tree::Number(format!("{lexeme}e0")),
        3 if lexeme.contains('.') && !lexeme.contains(['e', 'E']) => {
            Tree::Number(format!("{lexeme}0"))
        }
        // The next one, which a float may not tell from it.
        4 if plain && digits.len() == lexeme.len() => {
            let (head, last) = lexeme.split_at(lexeme.len() - 1);
            let last = if last == "9" { "8" } else { "9" };
            let number = format!("{head}{last}");
            Tree::Number(if number == "-0" {
                "1".to_owned()
            } else {
                number
            })
        }
        5 if lexeme.starts_with('-') => Tree::Number(lexeme.trim_start_matches('-').to_owned()),
        _ => Tree::Number(number(random)),
    }
}

fn near_text(random: &mut Random, text: &str) -> Tree {
    Tree::Text(match random.below(8) {
        0 => format!("{text} "),
        1 => format!(" {text}"),
        2 => text.to_uppercase(),
        3 => text.to_lowercase(),
        4 => text.replace('é', "e\u{301}").replace('Å', "\u{212b}"),
        5 => {
            let mut shorter = text.to_owned();
            shorter.pop();
            format!("{shorter}Z")
        }
        6 => text.replace('\u{0}', ""),
        _ => return Tree::Null,
    })
}

fn near_object(random: &mut Random, members: &[(String, Tree)]) -> Tree {
    let mut members = members.to_vec();
    let fresh =
        |members: &[(String, Tree)], name: &str| members.iter().all(|(known, _)| known != name);
    let index = random.below(members.len());
    match random.below(6) {
        0 => {
            let name = text(random);
            if fresh(&members, &name) {
                members.push((name, Tree::Null));
            }
        }
        1 if !members.is_empty() => drop(members.remove(index)),
        2 => {
            let other = members.get(index).map(|(name, _)| near_text(random, name));
            if let Some(Tree::Text(name)) = other
                && fresh(&members, &name)
                && let Some(member) = members.get_mut(index)
            {
                member.0 = name;
            }
        }
        _ => {
            if let Some((_, value)) = members.get_mut(index) {
                *value = near(random, &value.clone());
            }
        }
    }
    Tree::Object(members)
}
