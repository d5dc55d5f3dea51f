//! Where two actions differ, by their views: pure, and never recursive.

use std::collections::BTreeMap;
use std::fmt;

use countersign_canon::view::Cursor;
use countersign_canon::{Value, View, write};

/// The characters of a text that are shown; the rest is cut.
const SHOWN_CHARS: usize = 60;

/// One place at which two actions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// JSON Pointer from the action's root.
    pub(crate) pointer: String,
    /// What the first one has there; none where it has nothing.
    pub(crate) a: Option<String>,
    /// What the second one has there.
    pub(crate) b: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".into());
        write!(
            f,
            "{}: {} in A, {} in B",
            self.pointer,
            side(&self.a),
            side(&self.b)
        )
    }
}

/// Every difference, in the order of the first action.
pub(crate) fn between(a: &View, b: &View) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut open = vec![(a.root(), b.root())];
    while let Some((a, b)) = open.pop() {
        match (a.value(), b.value()) {
            (Value::Object(_), Value::Object(_)) => {
                pairs(by_name(a), by_name(b), &mut open, &mut found);
            }
            (Value::Array(_), Value::Array(_)) => {
                pairs(by_position(a), by_position(b), &mut open, &mut found);
            }
            (one, other) if one == other => {}
            _ => found.push(Difference {
                pointer: a.pointer(),
                a: Some(shown(a)),
                b: Some(shown(b)),
            }),
        }
    }
    found.sort_by(|one, other| one.pointer.cmp(&other.pointer));
    found
}

fn by_name(object: Cursor<'_>) -> BTreeMap<&str, Cursor<'_>> {
    object
        .children()
        .filter_map(|child| Some((child.name()?, child)))
        .collect()
}

fn by_position(array: Cursor<'_>) -> BTreeMap<usize, Cursor<'_>> {
    array.children().enumerate().collect()
}

/// Opens what both have, and notes what one of them lacks.
fn pairs<'v, K: Ord + Copy>(
    mut a: BTreeMap<K, Cursor<'v>>,
    b: BTreeMap<K, Cursor<'v>>,
    open: &mut Vec<(Cursor<'v>, Cursor<'v>)>,
    found: &mut Vec<Difference>,
) {
    for (key, b) in b {
        match a.remove(&key) {
            Some(a) => open.push((a, b)),
            None => found.push(Difference {
                pointer: b.pointer(),
                a: None,
                b: Some(shown(b)),
            }),
        }
    }
    for a in a.into_values() {
        found.push(Difference {
            pointer: a.pointer(),
            a: Some(shown(a)),
            b: None,
        });
    }
}

/// A value in few words: its kind and, where it is short, itself.
fn shown(value: Cursor<'_>) -> String {
    match value.value() {
        Value::Null => "null".into(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => format!("the number {value}"),
        Value::Number(lexeme) => format!("the number {}", cut(lexeme)),
        Value::Text(text) => {
            let mut quoted = Vec::new();
            write::string(&mut quoted, &cut(text));
            format!("the string {}", String::from_utf8_lossy(&quoted))
        }
        Value::Array(items) => format!("an array of {items}"),
        Value::Object(members) => format!("an object of {members}"),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!(
            "{}… ({} bytes)",
            text.get(..end).unwrap_or_default(),
            text.len()
        ),
        None => text.into(),
    }
}
