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

/// Every difference, sorted by its place.
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

#[cfg(test)]
mod tests {
    use countersign_canon::{Numbers, interpret};

    use super::*;

    fn view(arguments: &str) -> View {
        let action = format!(r#"{{"arguments":{arguments},"method":"tools/call","name":"t"}}"#);
        let profile = "exact@1.0.0".parse().unwrap();
        let meaning = interpret(&profile, Numbers::AsWritten, action.as_bytes()).unwrap();
        View::new(meaning.view).unwrap()
    }

    #[test]
    fn every_difference_is_told_with_its_place_and_both_sides() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(100));
        for (name, a, b, told) in [
            ("the same", r#"{"a":1}"#, r#"{"a":1}"#, &[][..]),
            (
                "another spelling of a number",
                r#"{"a":1}"#,
                r#"{"a":1.0}"#,
                &["/arguments/a: the number 1 in A, the number 1.0 in B"],
            ),
            (
                "another kind",
                r#"{"a":"7"}"#,
                r#"{"a":null}"#,
                &[r#"/arguments/a: the string "7" in A, null in B"#],
            ),
            (
                "a member that one of them lacks",
                r#"{"a":null,"b":{}}"#,
                r#"{"b":{},"c/~":[1]}"#,
                &[
                    "/arguments/a: null in A, nothing in B",
                    "/arguments/c~1~0: nothing in A, an array of 1 in B",
                ],
            ),
            (
                "items in another order",
                r#"{"a":[1,2,3]}"#,
                r#"{"a":[2,1]}"#,
                &[
                    "/arguments/a/0: the number 1 in A, the number 2 in B",
                    "/arguments/a/1: the number 2 in A, the number 1 in B",
                    "/arguments/a/2: the number 3 in A, nothing in B",
                ],
            ),
            (
                "a long text",
                &long,
                r#"{"a":[]}"#,
                &[&*format!(
                    r#"/arguments/a: the string "{}… (100 bytes)" in A, an array of 0 in B"#,
                    "x".repeat(60)
                )],
            ),
        ] {
            let found = between(&view(a), &view(b));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, told, "{name}");
        }
    }
}
