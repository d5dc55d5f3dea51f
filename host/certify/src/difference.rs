//! Where two actions ask for different things.
//!
//! Views of canonical actions are compared node by node. Numbers that are no
//! integers to policy may be spelled differently and be worth the same; all
//! else must be equal to the last byte.

use countersign_canon::view::Cursor;
use countersign_canon::{Value, View};

use crate::value::Worth;

/// The longest text of a caller that is shown, in characters.
const SHOWN: usize = 60;

/// The first place in which two actions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// A JSON Pointer from the action's root.
    pub(crate) pointer: String,
    /// What stands there in each.
    pub(crate) there: [String; 2],
}

/// The first difference in what two actions ask for; none where they ask for
/// the same.
pub(crate) fn between(one: &View, other: &View) -> Option<Difference> {
    // INVARIANT: as long as nothing differed, the two stand at the same place.
    let mut both = one.iter().zip(other.iter());
    both.find_map(|(a, b)| {
        let same = a.name() == b.name() && same(a.value(), b.value());
        (!same).then(|| at(a, b))
    })
}

/// Two values that differ, or stand under different names.
fn at(a: Cursor<'_>, b: Cursor<'_>) -> Difference {
    if a.name() != b.name() {
        // Members are in order, so the lesser name is missing in the other.
        let units = |cursor: Cursor<'_>| {
            let name = cursor.name().unwrap_or_default();
            name.encode_utf16().collect::<Vec<_>>()
        };
        return if units(a) <= units(b) {
            only(a, true)
        } else {
            only(b, false)
        };
    }
    if let (Value::Object(_), Value::Object(_)) = (a.value(), b.value()) {
        let lacks = |whole: Cursor<'_>, name| whole.children().all(|member| member.name() != name);
        if let Some(member) = a.children().find(|member| lacks(b, member.name())) {
            return only(member, true);
        }
        if let Some(member) = b.children().find(|member| lacks(a, member.name())) {
            return only(member, false);
        }
    }
    Difference {
        pointer: a.pointer(),
        there: [shown(a.value()), shown(b.value())],
    }
}

fn only(there: Cursor<'_>, in_first: bool) -> Difference {
    let (value, nothing) = (shown(there.value()), "nothing".to_owned());
    Difference {
        pointer: there.pointer(),
        there: if in_first {
            [value, nothing]
        } else {
            [nothing, value]
        },
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || Worth::of(one) == Worth::of(other)
        }
        _ => one == other,
    }
}

pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "`null`".into(),
        Value::Boolean(value) => format!("`{value}`"),
        Value::Integer(value) => format!("the integer `{value}`"),
        Value::Number(lexeme) => format!("the number `{}`", cut(lexeme)),
        Value::Text(text) => format!("the text \"{}\"", cut(text)),
        Value::Array(count) => format!("an array of {count}"),
        Value::Object(count) => format!("an object of {count}"),
    }
}

/// A text as far as one would want to read it; of a long one, its end as well.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    let escaped = |text: String| text.escape_debug().to_string();
    if count <= SHOWN {
        return escaped(text.to_owned());
    }
    let head: String = text.chars().take(SHOWN / 2).collect();
    let tail: String = text.chars().skip(count - SHOWN / 2).collect();
    format!("{}…{} ({count} characters)", escaped(head), escaped(tail))
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Numbers, interpret};

    use super::*;

    fn view(arguments: &str) -> View {
        let action = format!(r#"{{"arguments":{{{arguments}}},"method":"tools/call","name":"t"}}"#);
        let id = "exact@1.0.0".parse().unwrap();
        let read = interpret(&id, Numbers::AsWritten, action.as_bytes()).unwrap();
        View::new(read.view).unwrap()
    }

    #[test]
    fn only_the_spelling_of_a_number_that_is_no_integer_makes_no_difference() {
        for (one, other, pointer) in [
            (r#""a":1.10"#, r#""a":1.1"#, None),
            (r#""a":1"#, r#""a":1.0"#, Some("/arguments/a")),
            (r#""a":null"#, "", Some("/arguments/a")),
            (r#""a":[[1],2]"#, r#""a":[[1,2]]"#, Some("/arguments/a")),
            (r#""a":[1,2]"#, r#""a":[2,1]"#, Some("/arguments/a/0")),
            (r#""A":1"#, r#""a":1"#, Some("/arguments/A")),
            (r#""a":"x""#, r#""a":"x ""#, Some("/arguments/a")),
            (
                r#""a":{"b":1},"c":2"#,
                r#""a":{},"c":2"#,
                Some("/arguments/a/b"),
            ),
            (r#""a":"7""#, r#""a":7"#, Some("/arguments/a")),
        ] {
            let found = between(&view(one), &view(other)).map(|difference| difference.pointer);
            assert_eq!(found.as_deref(), pointer, "{one} and {other}");
        }
    }
}
