//! JSON that people read in a diff: two spaces, one member a line, numbers as
//! they were written.

use std::fmt::Write as _;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Limits, write};

use crate::hidden;

/// What a file of offers may hold; the descriptions in it keep to the limits
/// of a message.
pub(crate) const LIMITS: Limits = Limits {
    message_bytes: 256 << 20,
    depth: 72,
    number_bytes: 1_024,
    nodes: 8 << 20,
};

/// Appends a value, its own lines after the first indented by `indent` steps.
/// Its depth is bounded by the reader's limit.
pub(crate) fn pretty(out: &mut Vec<u8>, item: Item<'_>, indent: usize) {
    let (open, close) = match item.kind() {
        Kind::Object => (b'{', b'}'),
        Kind::Array => (b'[', b']'),
        _ => return out.extend_from_slice(&item.canonical()),
    };
    out.push(open);
    for (index, child) in item.children().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        line(out, indent + 1);
        if let Some(name) = child.name() {
            write::string(out, name);
            out.extend_from_slice(b": ");
        }
        pretty(out, child, indent + 1);
    }
    if item.count() > 0 {
        line(out, indent);
    }
    out.push(close);
}

/// A JSON text of which all is seen: what is hidden stands only in strings, and
/// is written as an escape there. The values are the same.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Begins a line.
pub(crate) fn line(out: &mut Vec<u8>, indent: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', indent * 2));
}
