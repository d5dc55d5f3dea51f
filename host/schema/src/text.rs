//! From a schema's text to the library's value, without losing a digit.

use std::collections::BTreeSet;

use countersign_canon::document::{Item, Kind};
use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;
use crate::work::{self, Work};
use crate::{Reason, SchemaRefused};

/// The whole schema, whose parts that begin at these places are subschemas.
/// What it says of itself is left out: it was read, and must not be read
/// differently.
pub(crate) fn schema(root: Item<'_>, places: &BTreeSet<usize>) -> Result<Value, SchemaRefused> {
    let mut schema = value(root, places)?;
    if let Value::Object(members) = &mut schema {
        for name in ["$schema", "$id"] {
            if members.get(name).is_some_and(Value::is_string) {
                members.remove(name);
            }
        }
    }
    Ok(schema)
}

/// A value of the schema; its depth is bounded by the reader.
fn value(item: Item<'_>, places: &BTreeSet<usize>) -> Result<Value, SchemaRefused> {
    Ok(match item.kind() {
        Kind::Null => Value::Null,
        Kind::True => Value::Bool(true),
        Kind::False => Value::Bool(false),
        Kind::String => Value::String(item.text().unwrap_or_default().into_owned()),
        Kind::Number => Value::Number(
            number(item).ok_or_else(|| SchemaRefused::new(Reason::Number, item.pointer()))?,
        ),
        Kind::Array => {
            let items = item.children().map(|each| value(each, places));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Kind::Object => {
            let mut members = Map::new();
            for member in item.children() {
                let name = member.name().unwrap_or_default().to_owned();
                members.insert(name, value(member, places)?);
            }
            if places.contains(&item.offset())
                && let Some(work) = Work::of(item, places.len())
            {
                members.insert(work::NAME.to_owned(), work);
            }
            Value::Object(members)
        }
    })
}

fn number(item: Item<'_>) -> Option<Number> {
    if let Some(integer) = item.integer() {
        return Some(integer.into());
    }
    let lexeme = item.lexeme()?;
    let number = Number::from_f64(lexeme.parse().ok()?)?;
    (exact(&number)? == Decimal::read(lexeme)?).then_some(number)
}

/// What the library's number says in its shortest form, which is what was
/// written where that was kept.
pub(crate) fn exact(number: &Number) -> Option<Decimal> {
    Decimal::read(&number.to_string())
}
