//! Writing: the canonical form by another way than the product's, and one of
//! the many other spellings.

use countersign_certify::generate::Random;

use super::Tree;

/// RFC 8785 with numbers as they were spelled: strings by `serde_json`, names in
/// the order of their UTF-16 code units.
pub(crate) fn canonical(tree: &Tree) -> String {
    match tree {
        Tree::Null => "null".into(),
        Tree::Boolean(value) => value.to_string(),
        Tree::Number(lexeme) => lexeme.clone(),
        Tree::Text(text) => quoted(text),
        Tree::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Tree::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<u16>>());
            let member =
                |(name, value): &&(String, Tree)| format!("{}:{}", quoted(name), canonical(value));
            let members: Vec<String> = sorted.iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Another spelling of the same: other white space, escapes and order.
pub(crate) fn respelled(tree: &Tree, seed: u64) -> Vec<u8> {
    let mut out = String::new();
    spell(tree, &mut Random::new(seed, 1), &mut out);
    out.into_bytes()
}

fn spell(tree: &Tree, random: &mut Random, out: &mut String) {
    space(random, out);
    match tree {
        Tree::Text(text) => string(text, random, out),
        Tree::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                spell(item, random, out);
            }
            out.push(']');
        }
        Tree::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            random.shuffle(&mut members);
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                space(random, out);
                string(name, random, out);
                space(random, out);
                out.push(':');
                spell(value, random, out);
            }
            out.push('}');
        }
        plain => out.push_str(&canonical(plain)),
    }
    space(random, out);
}

fn space(random: &mut Random, out: &mut String) {
    if random.once_in(4) {
        out.push_str(random.pick::<&str>(&[" ", "\n", "\t", "\r", "\r\n "]));
    }
}

fn string(text: &str, random: &mut Random, out: &mut String) {
    if random.once_in(2) {
        out.push_str(&quoted(text));
        return;
    }
    out.push('"');
    for char in text.chars() {
        let must = char < ' ' || matches!(char, '"' | '\\');
        if !must && random.once_in(2) {
            out.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            out.push_str(&match random.once_in(2) {
                true => format!("\\u{unit:04x}"),
                false => format!("\\u{unit:04X}"),
            });
        }
    }
    out.push('"');
}
