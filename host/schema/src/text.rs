//! From a schema's text to the library's value, without losing a digit.

use countersign_canon::document::{Item, Kind};
use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;
use crate::{Reason, SchemaRefused};

/// A value of the schema; its depth is bounded by the reader.
pub(crate) fn value(item: Item<'_>) -> Result<Value, SchemaRefused> {
    Ok(match item.kind() {
        Kind::Null => Value::Null,
        Kind::True => Value::Bool(true),
        Kind::False => Value::Bool(false),
        Kind::String => Value::String(item.text().unwrap_or_default().into_owned()),
        Kind::Number => Value::Number(
            number(item).ok_or_else(|| SchemaRefused::new(Reason::Number, item.pointer()))?,
        ),
        Kind::Array => Value::Array(item.children().map(value).collect::<Result<_, _>>()?),
        Kind::Object => {
            let mut members = Map::new();
            for member in item.children() {
                members.insert(member.name().unwrap_or_default().to_owned(), value(member)?);
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
