//! JSON Pointers (RFC 6901): derived only when somebody asks where.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::document::{Item, Kind};

/// A refusal's pointer is cut after the last whole step within this.
const MAX_BYTES: usize = 256;

/// A pointer that grows until it would pass 256 bytes.
#[derive(Default)]
pub(crate) struct Pointer {
    text: String,
    full: bool,
}

impl Pointer {
    /// Adds a member's name.
    pub(crate) fn name(&mut self, name: &[u8]) {
        if self.full || self.text.len() + 1 + name.len() > MAX_BYTES {
            self.full = true;
            return;
        }
        // INVARIANT: names were read, so they are well-formed.
        self.step(core::str::from_utf8(name).unwrap_or_default());
    }

    /// Adds the position of an item.
    pub(crate) fn index(&mut self, index: u32) {
        self.step(&alloc::format!("{index}"));
    }

    fn step(&mut self, step: &str) {
        let before = self.text.len();
        push(&mut self.text, step);
        if self.full || self.text.len() > MAX_BYTES {
            self.text.truncate(before);
            self.full = true;
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Appends one step, escaped.
pub(crate) fn push(pointer: &mut String, step: &str) {
    pointer.push('/');
    for letter in step.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(letter),
        }
    }
}

/// The steps of a pointer, unescaped; none where it is malformed.
pub(crate) fn steps(pointer: &str) -> Option<Vec<Cow<'_, str>>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    pointer
        .strip_prefix('/')?
        .split('/')
        .map(unescape)
        .collect()
}

fn unescape(step: &str) -> Option<Cow<'_, str>> {
    let mut parts = step.split('~');
    let Some(first) = parts.next().filter(|first| first.len() < step.len()) else {
        return Some(Cow::Borrowed(step));
    };
    let mut text = String::from(first);
    for part in parts {
        let (mark, rest) = match part.strip_prefix('0') {
            Some(rest) => ('~', rest),
            None => ('/', part.strip_prefix('1')?),
        };
        text.push(mark);
        text.push_str(rest);
    }
    Some(Cow::Owned(text))
}

/// An array position as a pointer writes it: without leading zeros.
pub(crate) fn index(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|byte| byte.is_ascii_digit());
    let padded = step.len() > 1 && step.starts_with('0');
    if plain && !padded {
        step.parse().ok()
    } else {
        None
    }
}

/// The pointer of a value of a document: descends from the root, skipping
/// what does not contain it.
pub(crate) fn of_item(target: Item<'_>) -> String {
    let mut pointer = Pointer::default();
    let mut item = target.document.root();
    while item.index != target.index {
        let kind = item.kind();
        let inside = item
            .children()
            .zip(0..)
            .take_while(|(child, _)| child.index <= target.index);
        let Some((child, position)) = inside.last() else {
            break;
        };
        match (kind, child.name_bytes()) {
            (Kind::Object, Some(name)) => pointer.name(name),
            _ => pointer.index(position),
        }
        item = child;
    }
    pointer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_cut_after_the_last_whole_step_within_256_bytes() {
        let grown = |names: &[&str]| {
            let mut pointer = Pointer::default();
            names.iter().for_each(|name| pointer.name(name.as_bytes()));
            pointer.finish()
        };
        let (fits, long) = ("a".repeat(255), "a".repeat(256));
        assert_eq!(grown(&[&fits]).len(), 256);
        assert_eq!(grown(&[&long]), "");
        assert_eq!(grown(&["x", &fits, "y"]), "/x");
        assert_eq!(grown(&["x", &"~".repeat(127)]), "/x");
        assert_eq!(grown(&["~/", ""]), "/~0~1/");
    }

    #[test]
    fn steps_are_unescaped_once() {
        assert_eq!(steps("").unwrap().len(), 0);
        assert_eq!(steps("/~01/a~1b/").unwrap(), ["~1", "a/b", ""]);
        assert!(steps("a").is_none());
        assert!(steps("/~2").is_none());
        assert!(steps("/~").is_none());
    }
}
