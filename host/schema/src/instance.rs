//! The arguments as the library sees them: nodes of the view, each number with
//! the digits that its caller wrote.

use std::borrow::Cow;

use countersign_canon::Value as Node;
use countersign_canon::view::{Children, Cursor};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node as _, NodeIdentity, Object};
use serde_json::{Number, Value};

use crate::decimal::Decimal;
use crate::work::{spend, spend_text};

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
            Self::Integer(value) => spend(1).then(|| Decimal::read(&value.to_string()))?,
            Self::Other(lexeme) => spend_text(lexeme.len()).then(|| Decimal::read(lexeme))?,
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

    /// Names of the members, or as many empty ones as there are items.
    pub(crate) fn names(self) -> impl Iterator<Item = &'a str> {
        Members(self.children()).map(|(name, _)| name)
    }

    /// Equality as JSON Schema has it: numbers by value, members in any order.
    fn equals(self, expected: &Value) -> bool {
        let expected = key(expected);
        self.key(expected.len()) == Some(expected)
    }

    /// A text that two values share where they are equal, and only then; none
    /// where it is longer than `most` bytes.
    pub(crate) fn key(self, most: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.append_key(&mut out, most).then_some(out)
    }

    /// Members of a view are sorted already.
    fn append_key(self, out: &mut Vec<u8>, most: usize) -> bool {
        match self.kind() {
            JsonType::Number => {
                let decimal = self.written().and_then(|written| written.decimal());
                let key = decimal.map(|decimal| decimal.key()).unwrap_or_default();
                out.extend_from_slice(key.as_bytes());
            }
            JsonType::String => {
                let text = self.as_string().unwrap_or_default();
                if out.len().saturating_add(text.len()) > most {
                    return false;
                }
                countersign_canon::write::string(out, &text);
            }
            JsonType::Array => {
                out.push(b'[');
                for item in self.elements() {
                    if !item.append_key(out, most) {
                        return false;
                    }
                    out.push(b',');
                }
                out.push(b']');
            }
            JsonType::Object => {
                out.push(b'{');
                for (name, item) in self.members() {
                    countersign_canon::write::string(out, name);
                    out.push(b':');
                    if !item.append_key(out, most) {
                        return false;
                    }
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
        out.len() <= most && spend(1)
    }
}

/// The key of a value of a schema, as [`Held::key`].
pub(crate) fn key(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    append_key(value, &mut out);
    out
}

/// Its depth is bounded by the reader of the schema.
fn append_key(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Number(number) => {
            let key = crate::text::exact(number).map(|decimal| decimal.key());
            out.extend_from_slice(key.unwrap_or_default().as_bytes());
        }
        Value::String(text) => countersign_canon::write::string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                append_key(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            // As a view sorts them.
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push(b'{');
            for (name, member) in sorted {
                countersign_canon::write::string(out, name);
                out.push(b':');
                append_key(member, out);
                out.push(b',');
            }
            out.push(b'}');
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
        let text = match self {
            Self::Name(name) => name,
            Self::Nothing => return None,
            Self::Node(cursor) => match cursor.value() {
                Node::Text(text) => text.as_str(),
                _ => return None,
            },
        };
        spend_text(text.len()).then_some(Cow::Borrowed(text))
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

    /// For error texts, which are not shown: a copy of the instance for each
    /// would be work without a bound.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Value::Null)
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
            Self::Node(_) => {
                let mut members = self.members();
                members.find_map(|(name, value)| (name == key.as_ref()).then_some(value))
            }
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
        let keys = self.elements().map(|item| item.key(usize::MAX));
        let Some(mut keys) = keys.collect::<Option<Vec<_>>>() else {
            return false;
        };
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
        if !spend_text(member.name().map_or(0, str::len)) {
            return None;
        }
        Some((member.name().unwrap_or_default(), Held::Node(member)))
    }
}

/// The items of an array.
pub(crate) struct Elements<'a>(Option<Children<'a>>);

impl<'a> Iterator for Elements<'a> {
    type Item = Held<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.0.as_mut()?.next()?;
        spend(1).then_some(Held::Node(item))
    }
}
