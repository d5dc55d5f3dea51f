//! The keywords that compare numbers, on digits in place of floats.

use std::cmp::Ordering;

use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::decimal::Decimal;
use crate::instance::{Held, ViewJson};

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

struct OneOf(Vec<Value>);

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
        self.0.iter().any(|value| instance.equals(value))
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

/// Puts these in place of the library's own.
pub(crate) fn exact(mut options: Options) -> Options {
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
    options
        .with_keyword("const", |_, value, _| {
            Ok(Box::new(OneOf(vec![value.clone()])))
        })
        .with_keyword("enum", |_, value, _| match value {
            Value::Array(values) => Ok(Box::new(OneOf(values.clone()))),
            _ => Err(ValidationError::custom("no array")),
        })
}
