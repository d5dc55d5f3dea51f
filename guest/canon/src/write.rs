//! The canonical form: RFC 8785, with numbers as they were written.

use alloc::vec::Vec;

use crate::document::Item;

/// Appends a string as RFC 8785 writes it, quotes included.
///
/// `"` and `\` are escaped, `\b \f \n \r \t` by their letters, other controls
/// as `\u00xx` in lowercase; nothing else is.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends a value in canonical form.
pub(crate) fn value(out: &mut Vec<u8>, item: Item<'_>) {
    out.extend_from_slice(item.raw());
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
