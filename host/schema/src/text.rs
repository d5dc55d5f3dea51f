//! From a schema's text to the library's value, without losing a digit.

use std::collections::BTreeMap;

use countersign_canon::Document;
use countersign_canon::document::{Item, Kind};
use serde_json::{Map, Number, Value, json};

use crate::decimal::Decimal;
use crate::work::{self, Work};
use crate::{Reason, SchemaRefused, choice, reference};

/// The whole schema, whose subschemas begin at these places, each with what it
/// takes. What it says of itself is left out: it was read, and must not be read
/// differently. Choices become conditions ([`choice`]) where the dialect has
/// such.
pub(crate) fn schema(
    document: &Document<'_>,
    places: &BTreeMap<usize, Work>,
    conditions: bool,
) -> Result<Value, SchemaRefused> {
    let writing = Writing {
        document,
        places,
        conditions,
    };
    writing.value(document.root())
}

/// A schema on its way to the library.
///
/// A subschema `S` whose work is counted becomes `{"allOf":[WORK,S]}`: the
/// library leaves a subschema at its first keyword that does not hold, and its
/// own come before all others, so what is counted within `S` may never be.
struct Writing<'d> {
    document: &'d Document<'d>,
    places: &'d BTreeMap<usize, Work>,
    conditions: bool,
}

impl Writing<'_> {
    /// What a subschema takes whose work is counted.
    fn work(&self, item: Item<'_>) -> Option<Work> {
        let work = self.places.get(&item.offset()).copied();
        work.filter(|work| work.is_counted())
    }

    /// A value of the schema; its depth is bounded by the reader.
    fn value(&self, item: Item<'_>) -> Result<Value, SchemaRefused> {
        Ok(match item.kind() {
            Kind::Null => Value::Null,
            Kind::True => Value::Bool(true),
            Kind::False => Value::Bool(false),
            Kind::String => Value::String(item.text().unwrap_or_default().into_owned()),
            Kind::Number => Value::Number(
                number(item).ok_or_else(|| SchemaRefused::new(Reason::Number, item.pointer()))?,
            ),
            Kind::Array => {
                let items = item.children().map(|each| self.value(each));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Kind::Object => {
                let schema = Value::Object(self.members(item)?);
                match self.work(item) {
                    Some(work) => json!({"allOf": [{work::NAME: work.to_value()}, schema]}),
                    None => schema,
                }
            }
        })
    }

    fn members(&self, item: Item<'_>) -> Result<Map<String, Value>, SchemaRefused> {
        let whole = item.offset() == self.document.root().offset();
        let place = self.places.contains_key(&item.offset());
        let mut members = Map::new();
        for member in item.children() {
            let name = member.name().unwrap_or_default();
            let text = member.kind() == Kind::String;
            let value = match name {
                "$schema" | "$id" if whole && text => continue,
                // Ours.
                work::NAME if place => continue,
                name if place && choice::is_failed(name) => continue,
                "$ref" if place && text => {
                    Value::String(self.moved(&member.text().unwrap_or_default()))
                }
                _ => self.value(member)?,
            };
            members.insert(name.to_owned(), value);
        }
        if place && self.conditions {
            choice::rewrite(item, &mut members);
        }
        Ok(members)
    }

    /// A reference within the schema, to where what it names stands now.
    fn moved(&self, text: &str) -> String {
        let (mut at, mut old) = (String::new(), String::new());
        let pointer = reference::pointer(text).unwrap_or_default();
        for step in pointer.split('/').skip(1) {
            let from = self.document.find(&old);
            if from.is_some_and(|from| self.work(from).is_some()) {
                at.push_str("/allOf/1");
            }
            let moved = from.and_then(|from| self.choice(from, step));
            old.push('/');
            old.push_str(step);
            at.push_str(&moved.unwrap_or_else(|| format!("/{step}")));
        }
        reference::to(&at)
    }

    /// Where a choice of a subschema stands now.
    fn choice(&self, item: Item<'_>, keyword: &str) -> Option<String> {
        let place = self.conditions && self.places.contains_key(&item.offset());
        place.then(|| choice::steps(item, keyword))?
    }
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
