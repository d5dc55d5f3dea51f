//! The arguments as the library sees them: nodes of the view, each number with
//! the digits that its caller wrote.

use std::borrow::Cow;

use countersign_canon::Value as Node;
use countersign_canon::view::{Children, Cursor};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node as _, NodeIdentity, Object};
use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;

/// Views, as a representation of JSON.
pub(crate) struct ViewJson;

/// One value.
#[derive(Clone, Copy)]
pub(crate) enum Held<'a> {
    /// A node of the view.
    Node(Cursor<'a>),
    /// A member's name, where names are validated.
    Name(&'a str),
    /// The object that absent arguments stand for.
    Nothing,
}

/// A number as it was written.
pub(crate) enum Written<'a> {
    Integer(i64),
    Other(&'a str),
}

impl Json for ViewJson {
    type Node<'a> = Held<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // Looking a member up goes through all before it.
    const KEYS_PER_LOOKUP: usize = 16;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Held<'_>) -> T) -> T {
        f(Held::Name(string))
    }
}

impl Written<'_> {
    pub(crate) fn decimal(&self) -> Option<Decimal> {
        match self {
            Self::Integer(value) => Decimal::read(&value.to_string()),
            Self::Other(lexeme) => Decimal::read(lexeme),
        }
    }
}

impl JsonNumber for Written<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|value| value.try_into().ok())
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Other(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        self.as_str().parse().ok()
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Integer(value) => Cow::Owned(value.to_string()),
            Self::Other(lexeme) => Cow::Borrowed(lexeme),
        }
    }

    /// For error texts, which are not shown.
    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(match self {
            Self::Integer(value) => (*value).into(),
            Self::Other(_) => self
                .as_f64()
                .and_then(Number::from_f64)
                .unwrap_or_else(|| 0.into()),
        })
    }

    /// What a schema calls an integer is written as one, and fits 64 bits.
    fn is_integer(&self) -> bool {
        matches!(self, Self::Integer(_))
    }

    fn is_written_as_integer(&self) -> bool {
        self.is_integer()
    }
}

impl<'a> Held<'a> {
    pub(crate) fn written(self) -> Option<Written<'a>> {
        let Self::Node(cursor) = self else {
            return None;
        };
        match cursor.value() {
            Node::Integer(value) => Some(Written::Integer(*value)),
            Node::Number(lexeme) => Some(Written::Other(lexeme)),
            _ => None,
        }
    }

    fn children(self) -> Option<Children<'a>> {
        match self {
            Self::Node(cursor) => Some(cursor.children()),
            Self::Name(_) | Self::Nothing => None,
        }
    }

    fn kind(self) -> JsonType {
        match self {
            Self::Nothing => JsonType::Object,
            Self::Name(_) => JsonType::String,
            Self::Node(cursor) => match cursor.value() {
                Node::Null => JsonType::Null,
                Node::Boolean(_) => JsonType::Boolean,
                Node::Integer(_) | Node::Number(_) => JsonType::Number,
                Node::Text(_) => JsonType::String,
                Node::Array(_) => JsonType::Array,
                Node::Object(_) => JsonType::Object,
            },
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Node(cursor) => match cursor.value() {
                Node::Array(count) | Node::Object(count) => {
                    usize::try_from(*count).unwrap_or(usize::MAX)
                }
                _ => 0,
            },
            Self::Name(_) | Self::Nothing => 0,
        }
    }

    /// Equality as JSON Schema has it: numbers by value, members in any order.
    pub(crate) fn equals(self, expected: &Value) -> bool {
        match expected {
            Value::Number(expected) => {
                let written = self.written().and_then(|written| written.decimal());
                written.is_some() && written == crate::text::exact(expected)
            }
            Value::Array(expected) => {
                self.kind() == JsonType::Array
                    && self.count() == expected.len()
                    && self
                        .elements()
                        .zip(expected)
                        .all(|(item, expected)| item.equals(expected))
            }
            Value::Object(expected) => {
                self.kind() == JsonType::Object
                    && self.count() == expected.len()
                    && self.members().all(|(name, item)| {
                        expected
                            .get(name)
                            .is_some_and(|expected| item.equals(expected))
                    })
            }
            Value::String(expected) => self.as_string().is_some_and(|text| *text == **expected),
            Value::Bool(expected) => self.as_boolean() == Some(*expected),
            Value::Null => self.is_null(),
        }
    }

    /// Appends a text that two values share where they are equal, and only
    /// then; members of a view are sorted already.
    fn key(self, out: &mut Vec<u8>) {
        match self.kind() {
            JsonType::Number => {
                let decimal = self.written().and_then(|written| written.decimal());
                out.extend_from_slice(
                    decimal
                        .map(|decimal| decimal.key())
                        .unwrap_or_default()
                        .as_bytes(),
                );
            }
            JsonType::String => {
                countersign_canon::write::string(out, &self.as_string().unwrap_or_default());
            }
            JsonType::Array => {
                out.push(b'[');
                for item in self.elements() {
                    item.key(out);
                    out.push(b',');
                }
                out.push(b']');
            }
            JsonType::Object => {
                out.push(b'{');
                for (name, item) in self.members() {
                    countersign_canon::write::string(out, name);
                    out.push(b':');
                    item.key(out);
                    out.push(b',');
                }
                out.push(b'}');
            }
            _ => out.extend_from_slice(match self.as_boolean() {
                Some(true) => b"true",
                Some(false) => b"false",
                None => b"null",
            }),
        }
    }
}

impl<'a> jsonschema::json::Node<'a, ViewJson> for Held<'a> {
    type Object = Self;
    type Array = Self;
    type Number = Written<'a>;

    fn as_object(&self) -> Option<Self> {
        (self.kind() == JsonType::Object).then_some(*self)
    }

    fn as_array(&self) -> Option<Self> {
        (self.kind() == JsonType::Array).then_some(*self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Name(name) => Some(Cow::Borrowed(name)),
            Self::Nothing => None,
            Self::Node(cursor) => match cursor.value() {
                Node::Text(text) => Some(Cow::Borrowed(text)),
                _ => None,
            },
        }
    }

    fn as_number(&self) -> Option<Written<'a>> {
        self.written()
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Self::Node(cursor) => match cursor.value() {
                Node::Boolean(value) => Some(*value),
                _ => None,
            },
            Self::Name(_) | Self::Nothing => None,
        }
    }

    fn is_null(&self) -> bool {
        self.kind() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        self.kind()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.equals(expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self.kind() {
            JsonType::Null => Value::Null,
            JsonType::Boolean => Value::Bool(self.as_boolean().unwrap_or_default()),
            JsonType::String => Value::String(self.as_string().unwrap_or_default().into_owned()),
            JsonType::Array => Value::Array(
                self.elements()
                    .map(|item| item.to_value().into_owned())
                    .collect(),
            ),
            JsonType::Object => Value::Object(
                self.members()
                    .map(|(name, item)| (name.to_owned(), item.to_value().into_owned()))
                    .collect::<Map<_, _>>(),
            ),
            _ => self.written().map_or(Value::Null, |written| {
                Value::Number(written.to_number().into_owned())
            }),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Self::Node(cursor) => {
                Some(NodeIdentity::new(std::ptr::from_ref(cursor.value()).addr()))
            }
            Self::Name(_) | Self::Nothing => None,
        }
    }
}

impl<'a> Object<'a, ViewJson> for Held<'a> {
    type Node = Self;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn get(&self, key: &Box<str>) -> Option<Self> {
        match self {
            Self::Node(cursor) => cursor.get(key).map(Held::Node),
            Self::Name(_) | Self::Nothing => None,
        }
    }

    fn members(&self) -> Members<'a> {
        Members(self.children())
    }
}

impl<'a> Array<'a, ViewJson> for Held<'a> {
    type Node = Self;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.children())
    }

    fn is_unique(&self) -> bool {
        let mut keys: Vec<Vec<u8>> = self
            .elements()
            .map(|item| {
                let mut key = Vec::new();
                item.key(&mut key);
                key
            })
            .collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair.first() != pair.last())
    }
}

/// The members of an object.
pub(crate) struct Members<'a>(Option<Children<'a>>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Held<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.0.as_mut()?.next()?;
        Some((member.name().unwrap_or_default(), Held::Node(member)))
    }
}

/// The items of an array.
pub(crate) struct Elements<'a>(Option<Children<'a>>);

impl<'a> Iterator for Elements<'a> {
    type Item = Held<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.as_mut()?.next().map(Held::Node)
    }
}
