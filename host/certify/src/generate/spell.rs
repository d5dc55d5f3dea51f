//! One value, spelled in one of the many ways that mean the same: white space,
//! escapes, and the order of members.

use super::{Random, Tree};

/// Writes a value at random among its spellings.
pub(super) fn spell(random: &mut Random, tree: &Tree, out: &mut Vec<u8>) {
    // How wild a message is, is chosen once for all of it.
    let manner = Manner {
        space: random.once_in(3),
        escape: random.below(3),
        order: random.once_in(2),
    };
    write(random, tree, &manner, out);
}

struct Manner {
    space: bool,
    escape: usize,
    order: bool,
}

// Trees are a few containers deep, so recursion is bounded here.
fn write(random: &mut Random, tree: &Tree, manner: &Manner, out: &mut Vec<u8>) {
    space(random, manner, out);
    match tree {
        Tree::Null => out.extend(b"null"),
        Tree::Boolean(true) => out.extend(b"true"),
        Tree::Boolean(false) => out.extend(b"false"),
        Tree::Number(lexeme) => out.extend(lexeme.as_bytes()),
        Tree::Text(text) => string(random, text, manner, out),
        Tree::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(random, item, manner, out);
            }
            space(random, manner, out);
            out.push(b']');
        }
        Tree::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if manner.order {
                random.shuffle(&mut members);
            }
            out.push(b'{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                space(random, manner, out);
                string(random, name, manner, out);
                space(random, manner, out);
                out.push(b':');
                write(random, value, manner, out);
            }
            space(random, manner, out);
            out.push(b'}');
        }
    }
    space(random, manner, out);
}

fn space(random: &mut Random, manner: &Manner, out: &mut Vec<u8>) {
    if manner.space && random.once_in(3) {
        let space: &[&[u8]] = &[b" ", b"\t", b"\n", b"\r", b"  ", b"\r\n"];
        out.extend(*random.pick(space));
    }
}

fn string(random: &mut Random, text: &str, manner: &Manner, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        let must = u32::from(character) < 0x20 || matches!(character, '"' | '\\');
        let short = match character {
            '"' => Some(b'"'),
            '\\' => Some(b'\\'),
            '/' => Some(b'/'),
            '\u{8}' => Some(b'b'),
            '\u{c}' => Some(b'f'),
            '\n' => Some(b'n'),
            '\r' => Some(b'r'),
            '\t' => Some(b't'),
            _ => None,
        };
        let wild = manner.escape > 0 && random.once_in(if manner.escape > 1 { 2 } else { 10 });
        match short {
            Some(short) if (must || wild) && random.once_in(2) => out.extend([b'\\', short]),
            _ if must || wild => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let escaped = match random.below(2) {
                        0 => format!("\\u{unit:04x}"),
                        _ => format!("\\u{unit:04X}"),
                    };
                    out.extend(escaped.as_bytes());
                }
            }
            _ => out.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}
