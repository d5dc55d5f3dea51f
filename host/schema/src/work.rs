//! How much work holding arguments against a schema may be.
//!
//! A schema of a few kilobytes and arguments of a megabyte can be a minute of
//! work: each list of the schema is gone through at each value. So the steps
//! are counted where they are made: by the values ([`crate::instance`]) for
//! everything that goes through an instance, and by a keyword of ours for what
//! goes through the schema. Where they are used up nothing is found any more,
//! so that the library comes to an end, and what it says is not listened to.

use std::cell::Cell;

use countersign_canon::document::{Item, Kind};
use jsonschema::{Keyword, ValidationError};
use serde_json::{Value, json};

use crate::instance::{Held, ViewJson};

/// The keyword that counts what a subschema takes, before any of it is done; a
/// schema's own is left out.
pub(crate) const NAME: &str = "$countersign-work";
/// Bytes of text that are looked at in one step.
const STRIDE: usize = 32;
/// What a subschema may go through without being counted, with all that it
/// applies to the same value: a few at each level are many.
const LIGHT: u64 = 16;

thread_local! {
    /// What is left of the check that this thread is making.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Makes a check of so many steps at most; none where they did not do.
pub(crate) fn within<T>(steps: u64, check: impl FnOnce() -> T) -> Option<T> {
    let before = LEFT.replace(steps);
    let result = check();
    let left = LEFT.replace(before);
    (left > 0).then_some(result)
}

/// Takes steps; whether any are left.
pub(crate) fn spend(steps: u64) -> bool {
    LEFT.with(|left| {
        left.set(left.get().saturating_sub(steps));
        left.get() > 0
    })
}

/// Takes the steps for a text.
pub(crate) fn spend_text(bytes: usize) -> bool {
    spend(text(bytes))
}

/// The steps for a text of so many bytes.
pub(crate) fn text(bytes: usize) -> u64 {
    1 + u64::try_from(bytes / STRIDE).unwrap_or(u64::MAX)
}

/// What one subschema goes through: at each value, and for each thing in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    here: u64,
    each: u64,
}

impl Work {
    /// What a subschema goes through itself: for each name, `asks` where it asks
    /// what others have looked at, and `names` for its own patterns.
    pub(crate) fn of(item: Item<'_>, asks: u64, names: u64) -> Self {
        let mut work = Self::default();
        if item.kind() != Kind::Object {
            return work;
        }
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        for member in item.children() {
            work.here += 1;
            match member.name().unwrap_or_default() {
                "$defs" | "definitions" | "default" | "examples" | "const" | "enum" => {}
                "unevaluatedItems" | "unevaluatedProperties" => {
                    work.each = work.each.saturating_add(asks);
                }
                name => {
                    if name == "patternProperties" {
                        work.each = work.each.saturating_add(names);
                    }
                    let lists = member.children().filter(|each| each.kind() == Kind::Array);
                    work.here += number(member.count() + lists.map(Item::count).sum::<usize>());
                }
            }
        }
        work
    }

    /// With that of a subschema for the same value, which is not counted itself.
    pub(crate) fn and(self, other: Self) -> Self {
        let here = self.here.saturating_add(other.here);
        Self { here, ..self }
    }

    /// Whether it is so much that it has to be counted.
    pub(crate) fn is_counted(self) -> bool {
        self.here > LIGHT || self.each > 0
    }

    /// The value of the keyword.
    pub(crate) fn to_value(self) -> Value {
        json!([self.here, self.each])
    }

    /// What [`Work::to_value`] wrote.
    pub(crate) fn read(value: &Value) -> Self {
        let number = |at| value.get(at).and_then(Value::as_u64).unwrap_or(1);
        Self {
            here: number(0),
            each: number(1),
        }
    }
}

impl Keyword<'_, ViewJson> for Work {
    fn validate(&self, instance: Held<'_>) -> Result<(), ValidationError<'static>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("too much work"))
        }
    }

    fn is_valid(&self, instance: Held<'_>) -> bool {
        if self.each == 0 {
            return spend(self.here);
        }
        let names = instance.names().map(|name| text(name.len()));
        let names = names.fold(0_u64, u64::saturating_add);
        spend(self.here.saturating_add(self.each.saturating_mul(names)))
    }
}
