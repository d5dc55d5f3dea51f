//! The canonical form: RFC 8785, with numbers as they were written.

use alloc::vec::Vec;

use crate::document::{InOrder, Item, Kind};
use crate::string::{Piece, pieces};

/// Appends a string as RFC 8785 writes it, quotes included.
///
/// `"` and `\` are escaped, `\b \f \n \r \t` by their letters, other controls
/// as `\u00xx` in lowercase; nothing else is.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escaped(out, text.as_bytes());
    out.push(b'"');
}

/// A container that is being written.
struct Open<'d> {
    left: InOrder<'d>,
    first: bool,
    close: u8,
}

/// Appends a value in canonical form.
pub(crate) fn value(out: &mut Vec<u8>, item: Item<'_>) {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut due = Some(item);
    loop {
        if let Some(item) = due.take() {
            match item.kind() {
                _ if item.is_canonical() => out.extend_from_slice(item.raw()),
                Kind::Array => {
                    out.push(b'[');
                    open.push(Open {
                        left: item.in_order(),
                        first: true,
                        close: b']',
                    });
                }
                Kind::Object => {
                    out.push(b'{');
                    open.push(Open {
                        left: item.in_order(),
                        first: true,
                        close: b'}',
                    });
                }
                _ => respelled(out, item.raw()),
            }
        }
        let Some(container) = open.last_mut() else {
            return;
        };
        let Some(child) = container.left.next() else {
            out.push(container.close);
            open.pop();
            continue;
        };
        if !container.first {
            out.push(b',');
        }
        container.first = false;
        name(out, child);
        due = Some(child);
    }
}

/// Appends the members, which come in canonical order, as one object.
pub(crate) fn object<'d>(out: &mut Vec<u8>, members: impl Iterator<Item = Item<'d>>) {
    out.push(b'{');
    for (position, member) in members.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        name(out, member);
        value(out, member);
    }
    out.push(b'}');
}

/// Appends a member's name and the colon.
fn name(out: &mut Vec<u8>, item: Item<'_>) {
    let Some(name) = item.name_bytes() else {
        return;
    };
    out.push(b'"');
    if item.is_name_plain() {
        out.extend_from_slice(name);
    } else {
        escaped(out, name);
    }
    out.extend_from_slice(b"\":");
}

/// Appends a string, of which the source's spelling is given, canonically.
fn respelled(out: &mut Vec<u8>, raw: &[u8]) {
    out.push(b'"');
    let content = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    for piece in pieces(content) {
        match piece {
            Piece::Plain(run) => out.extend_from_slice(run),
            Piece::Escaped(letter) => {
                escaped(out, letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Appends the content of a string, escaped where it must be.
pub(crate) fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut plain = text;
    while let Some(at) = plain
        .iter()
        .position(|byte| matches!(byte, 0..=0x1F | b'"' | b'\\'))
    {
        let (before, rest) = plain.split_at(at);
        out.extend_from_slice(before);
        let Some((byte, rest)) = rest.split_first() else {
            return;
        };
        escape(out, *byte);
        plain = rest;
    }
    out.extend_from_slice(plain);
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        b'"' | b'\\' => byte,
        _ => {
            let digit = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_must_be_escaped_is_and_as_shortly_as_can_be() {
        for (text, written) in [
            ("", r#""""#),
            ("a/b\u{7f}\u{2028}é😀", "\"a/b\u{7f}\u{2028}é😀\""),
            (
                "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f}",
                r#""\u0000\b\t\n\u000b\f\r\u001f""#,
            ),
            ("\"\\", r#""\"\\""#),
        ] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(core::str::from_utf8(&out).unwrap(), written);
        }
    }
}
