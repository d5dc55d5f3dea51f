//! How `anyOf` and `oneOf` are given to the library.
//!
//! Where neither way holds, the library's error has every error of every way
//! within it, each with the whole pointer to its value: gigabytes, for the
//! arguments of one call. A condition is only asked whether it holds. So
//! `"anyOf": WAYS` becomes `"if": {"anyOf": WAYS}, "else": {FAILED: true}`, with
//! a keyword of ours that never holds: it means the same, for `unevaluated…`
//! too, and its error is one.

use countersign_canon::document::{Item, Kind};
use serde_json::{Map, Value, json};

/// The keywords, in the order in which they are moved.
pub(crate) const KEYWORDS: [&str; 2] = ["anyOf", "oneOf"];
/// What stands before the keyword's name in that of ours.
const FAILED: &str = "$countersign-not-";

/// Where the condition of a choice stands.
#[derive(Clone, Copy)]
enum Place {
    /// In the subschema itself.
    Beside,
    /// In its `allOf`, as the item of this number.
    All(usize),
}

/// The keyword of ours that says that a choice does not hold.
pub(crate) fn failed(keyword: &str) -> String {
    format!("{FAILED}{keyword}")
}

/// Whether a name is that of one of these.
pub(crate) fn is_failed(name: &str) -> bool {
    name.starts_with(FAILED)
}

/// The keyword that a schema's path ends in, if it is one of these.
pub(crate) fn keyword(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?.strip_prefix(FAILED)?;
    KEYWORDS.into_iter().find(|keyword| *keyword == name)
}

/// How many calls deeper the validator goes for the choices of a subschema.
pub(crate) fn calls(item: Item<'_>) -> u64 {
    let places = KEYWORDS.iter().filter_map(|keyword| place(item, keyword));
    let calls = places.map(|place| match place {
        Place::Beside => 1,
        Place::All(_) => 2,
    });
    calls.max().unwrap_or(0)
}

/// The steps from a subschema to what a keyword of it holds.
pub(crate) fn steps(item: Item<'_>, keyword: &str) -> Option<String> {
    Some(match place(item, keyword)? {
        Place::Beside => format!("/if/{keyword}"),
        Place::All(number) => format!("/allOf/{number}/if/{keyword}"),
    })
}

/// Moves the choices of a subschema, whose members were written already.
pub(crate) fn rewrite(item: Item<'_>, members: &mut Map<String, Value>) {
    for keyword in KEYWORDS {
        let Some(place) = place(item, keyword) else {
            continue;
        };
        let Some(ways) = members.remove(keyword) else {
            continue;
        };
        let (holds, fails) = (
            json!({ (keyword): ways }),
            json!({ (failed(keyword)): true }),
        );
        if matches!(place, Place::Beside) {
            members.insert("if".to_owned(), holds);
            members.insert("else".to_owned(), fails);
        } else {
            let all = members.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.push(json!({"if": holds, "else": fails}));
            }
        }
    }
}

/// None where the subschema has no such choice, or is none of its dialect.
fn place(item: Item<'_>, keyword: &str) -> Option<Place> {
    let array = |name: &str| item.get(name).is_some_and(|it| it.kind() == Kind::Array);
    if !KEYWORDS.contains(&keyword) || item.kind() != Kind::Object || !array(keyword) {
        return None;
    }
    let before = KEYWORDS.iter().take_while(|name| **name != keyword);
    let before = before.filter(|name| array(name)).count();
    let choices = KEYWORDS.iter().filter(|name| array(name)).count();
    if choices == 1
        && ["if", "then", "else"]
            .iter()
            .all(|it| item.get(it).is_none())
    {
        return Some(Place::Beside);
    }
    match item.get("allOf") {
        None => Some(Place::All(before)),
        Some(all) => (all.kind() == Kind::Array).then(|| Place::All(all.count() + before)),
    }
}
