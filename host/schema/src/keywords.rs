//! The keywords that compare numbers, on digits in place of floats; patterns,
//! which are counted; the one that counts steps; and those that never hold.

use std::cmp::Ordering;
use std::collections::HashSet;

use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::choice;
use crate::decimal::Decimal;
use crate::instance::{self, Held, ViewJson};
use crate::pattern::Patterns;
use crate::work::{self, Work};

/// A comparison that a keyword makes.
#[derive(Clone, Copy)]
enum Test {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
    MultipleOf,
}

struct Compared {
    test: Test,
    with: Decimal,
}

/// What stands where a choice does not hold.
struct Failed;

/// The values that may be, by their keys: looking one up does not depend on how
/// many there are.
struct OneOf {
    keys: HashSet<Vec<u8>>,
    /// Bytes of the longest key.
    longest: usize,
}

impl OneOf {
    fn new(values: &[Value]) -> Self {
        let keys: HashSet<Vec<u8>> = values.iter().map(instance::key).collect();
        Self {
            longest: keys.iter().map(Vec::len).max().unwrap_or(0),
            keys,
        }
    }
}

impl Keyword<'_, ViewJson> for Compared {
    fn validate(&self, instance: Held<'_>) -> Result<(), ValidationError<'static>> {
        holds(self.is_valid(instance))
    }

    fn is_valid(&self, instance: Held<'_>) -> bool {
        let Some(written) = instance.written() else {
            return true;
        };
        // INVARIANT: the view holds numbers of RFC 8259 only.
        let Some(number) = written.decimal() else {
            return false;
        };
        match self.test {
            Test::Minimum => number.compare(&self.with) != Ordering::Less,
            Test::Maximum => number.compare(&self.with) != Ordering::Greater,
            Test::ExclusiveMinimum => number.compare(&self.with) == Ordering::Greater,
            Test::ExclusiveMaximum => number.compare(&self.with) == Ordering::Less,
            Test::MultipleOf => number.is_multiple_of(&self.with),
        }
    }
}

impl Keyword<'_, ViewJson> for OneOf {
    fn validate(&self, instance: Held<'_>) -> Result<(), ValidationError<'static>> {
        holds(self.is_valid(instance))
    }

    fn is_valid(&self, instance: Held<'_>) -> bool {
        let key = instance.key(self.longest);
        key.is_some_and(|key| self.keys.contains(&key))
    }
}

impl Keyword<'_, ViewJson> for Failed {
    fn validate(&self, _: Held<'_>) -> Result<(), ValidationError<'static>> {
        holds(false)
    }

    fn is_valid(&self, _: Held<'_>) -> bool {
        false
    }
}

fn holds(valid: bool) -> Result<(), ValidationError<'static>> {
    if valid {
        Ok(())
    } else {
        Err(ValidationError::custom("the value does not fit"))
    }
}

type Options = ValidationOptions<'static, std::sync::Arc<dyn jsonschema::Retrieve>, ViewJson>;

/// Puts these in place of the library's own, with the schema's patterns.
pub(crate) fn exact(mut options: Options, patterns: Patterns) -> Options {
    for (name, test) in [
        ("minimum", Test::Minimum),
        ("maximum", Test::Maximum),
        ("exclusiveMinimum", Test::ExclusiveMinimum),
        ("exclusiveMaximum", Test::ExclusiveMaximum),
        ("multipleOf", Test::MultipleOf),
    ] {
        options = options.with_keyword(name, move |_, value, _| {
            let with = match value {
                Value::Number(number) => crate::text::exact(number),
                _ => None,
            };
            let with = with.ok_or_else(|| ValidationError::custom("no number"))?;
            Ok(Box::new(Compared { test, with }))
        });
    }
    for keyword in choice::KEYWORDS {
        options = options.with_keyword(choice::failed(keyword), |_, _, _| Ok(Box::new(Failed)));
    }
    options
        .with_keyword("pattern", move |_, value, _| {
            let pattern = value.as_str().and_then(|text| patterns.get(text));
            let pattern = pattern.ok_or_else(|| ValidationError::custom("no pattern"))?;
            Ok(Box::new(pattern))
        })
        .with_keyword("const", |_, value, _| {
            Ok(Box::new(OneOf::new(std::slice::from_ref(value))))
        })
        .with_keyword("enum", |_, value, _| match value {
            Value::Array(values) => Ok(Box::new(OneOf::new(values))),
            _ => Err(ValidationError::custom("no array")),
        })
        .with_keyword(work::NAME, |_, value, _| Ok(Box::new(Work::read(value))))
}
