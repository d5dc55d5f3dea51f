//! What of a tool's arguments has one type, whatever a caller sends.
//!
//! A policy's `context.args` holds exactly that. What has no one type (unions,
//! values of any type, what the schema does not declare) is left out, and is
//! read through `context.at`. A property that is left out takes nothing away
//! from its siblings.

use std::collections::BTreeMap;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits};

/// References and levels that are followed.
const MAX_DEPTH: usize = 16;
/// Fields of one tool.
const MAX_FIELDS: usize = 1_024;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `string`
    Text,
    /// `boolean`
    Boolean,
    /// `integer`: an integer node within 64 bits and nothing else.
    Integer,
    /// `number`: always with its parts, however it is spelled.
    Number,
    /// `array` of items of one shape; order and repetition do not show.
    Array(Box<Shape>),
    /// `object`: the declared properties that have a shape.
    Object(BTreeMap<String, Field>),
}

/// One property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its type.
    pub shape: Shape,
    /// Whether it is always there.
    pub required: bool,
}

impl Shape {
    /// The shape of an input schema's arguments: an object, with no fields
    /// where nothing in it has one type. None where the schema does not say
    /// that the arguments are an object with properties.
    #[must_use]
    pub fn of_schema(schema: &[u8]) -> Option<Self> {
        let document = Document::read(schema, Limits::STANDARD).ok()?;
        let mut reader = Reader {
            document: &document,
            fields: 0,
        };
        let shape = reader.shape(document.root(), MAX_DEPTH)?;
        matches!(shape, Self::Object(_)).then_some(shape)
    }
}

struct Reader<'d> {
    document: &'d Document<'d>,
    fields: usize,
}

impl<'d> Reader<'d> {
    fn shape(&mut self, schema: Item<'d>, depth: usize) -> Option<Shape> {
        let depth = depth.checked_sub(1)?;
        if let Some(reference) = schema.get("$ref") {
            let reference = reference.text()?;
            let pointer = reference.strip_prefix('#')?;
            let target = self.document.find(pointer)?;
            return self.shape(target, depth);
        }
        let kind = schema.get("type")?.text()?;
        match &*kind {
            "string" => Some(Shape::Text),
            "boolean" => Some(Shape::Boolean),
            "integer" => Some(Shape::Integer),
            "number" => Some(Shape::Number),
            "array" if schema.get("prefixItems").is_none() => {
                let items = self.shape(schema.get("items")?, depth)?;
                Some(Shape::Array(Box::new(items)))
            }
            "object" => self.object(schema, depth),
            _ => None,
        }
    }

    fn object(&mut self, schema: Item<'d>, depth: usize) -> Option<Shape> {
        let properties = schema
            .get("properties")
            .filter(|properties| properties.kind() == Kind::Object)?;
        let required = |name: &str| {
            schema.get("required").is_some_and(|required| {
                required.kind() == Kind::Array && required.children().any(|item| item.is_text(name))
            })
        };
        let mut fields = BTreeMap::new();
        for property in properties.children() {
            let Some(name) = property.name() else {
                continue;
            };
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                break;
            }
            if let Some(shape) = self.shape(property, depth) {
                let required = required(name);
                fields.insert(name.to_owned(), Field { shape, required });
            }
        }
        Some(Shape::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(shape: &Shape) -> String {
        match shape {
            Shape::Text => "text".to_owned(),
            Shape::Boolean => "boolean".to_owned(),
            Shape::Integer => "integer".to_owned(),
            Shape::Number => "number".to_owned(),
            Shape::Array(items) => format!("[{}]", text(items)),
            Shape::Object(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, field)| {
                        let mark = if field.required { "" } else { "?" };
                        format!("{name}{mark}:{}", text(&field.shape))
                    })
                    .collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    #[test]
    fn what_has_one_type_is_typed_and_the_rest_is_left_out() {
        for (schema, expected) in [
            (r#"{"type":"object"}"#, None),
            (r#"{"type":"object","properties":{}}"#, Some("{}")),
            (r#"{"properties":{"a":{"type":"string"}}}"#, None),
            ("true", None),
            (
                r##"{"type":"object","required":["a","d"],"properties":{
                    "a":{"type":"integer"},"b":{"type":"number","minimum":0},
                    "c":{"type":["string","null"]},"d":{"anyOf":[{"type":"string"}]},
                    "e":{"type":"array","items":{"$ref":"#/$defs/x"}},"f":{},"g":true,
                    "h":{"type":"array"},"i":{"enum":["a"]}},
                    "$defs":{"x":{"type":"object","properties":{"y":{"type":"boolean"}},"required":["y"]}}}"##,
                Some("{a:integer,b?:number,e?:[{y:boolean}]}"),
            ),
            (
                r##"{"type":"object","properties":{"self":{"$ref":"#"},"n":{"type":"string"}}}"##,
                Some("deep"),
            ),
            (
                r#"{"type":"object","properties":{"r":{"$ref":"https://example.com/x"},"p":{"type":"array","prefixItems":[],"items":{"type":"string"}}}}"#,
                Some("{}"),
            ),
        ] {
            let shape = Shape::of_schema(schema.as_bytes());
            match expected {
                Some("deep") => assert!(shape.is_some(), "{schema}"),
                _ => assert_eq!(shape.as_ref().map(text).as_deref(), expected, "{schema}"),
            }
        }
    }

    #[test]
    fn so_many_fields_are_typed_and_no_more_wherever_they_stand() {
        let fields = |from: usize, to: usize| {
            let fields = (from..to).map(|n| format!(r#""f{n:04}":{{"type":"string"}}"#));
            fields.collect::<Vec<_>>().join(",")
        };
        for properties in [0, 1, MAX_FIELDS - 1, MAX_FIELDS, MAX_FIELDS + 1] {
            let properties_text = fields(0, properties);
            let schema = format!(r#"{{"type":"object","properties":{{{properties_text}}}}}"#);
            let Some(Shape::Object(typed)) = Shape::of_schema(schema.as_bytes()) else {
                panic!("{properties}");
            };
            assert_eq!(typed.len(), properties.min(MAX_FIELDS));
        }
        // The first is an object with all but two of them, itself one of them.
        let schema = format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"object","properties":{{{}}}}},{}}}}}"#,
            fields(0, MAX_FIELDS - 3),
            fields(0, 5),
        );
        let Some(Shape::Object(typed)) = Shape::of_schema(schema.as_bytes()) else {
            panic!("{schema}");
        };
        let names: Vec<&str> = typed.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "f0000", "f0001"]);
    }
}
