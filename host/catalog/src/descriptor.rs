//! One tool as its server describes it.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Digest, Document, Limits};

/// The longest name of a tool, in Unicode scalar values, as for calls.
const MAX_NAME_CHARS: usize = 128;

/// A tool's description in canonical form: RFC 8785, with numbers as the server
/// wrote them, so that no digit is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    name: String,
    text: Vec<u8>,
    digest: Digest,
    hints: Hints,
}

/// The hints that decide what a tool counts as; claims of its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
}

/// A text that describes no tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MalformedDescriptor(pub(crate) &'static str);

impl Descriptor {
    /// Reads a description, in any spelling.
    ///
    /// # Errors
    /// [`MalformedDescriptor`] where it is no JSON object with a `name` of 1 to
    /// 128 Unicode scalar values.
    pub fn read(text: &[u8]) -> Result<Self, MalformedDescriptor> {
        let document = Document::read(text, Limits::STANDARD)
            .map_err(|_| MalformedDescriptor("a tool's description is no JSON"))?;
        Self::of(document.root())
    }

    pub(crate) fn of(item: Item<'_>) -> Result<Self, MalformedDescriptor> {
        if item.kind() != Kind::Object {
            return Err(MalformedDescriptor("a tool's description is no object"));
        }
        let name = item
            .get("name")
            .and_then(Item::text)
            .ok_or(MalformedDescriptor("a tool has no name"))?;
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            return Err(MalformedDescriptor("a tool's name is empty or too long"));
        }
        let hint = |name: &str| item.get("annotations")?.get(name)?.boolean();
        let text = item.canonical();
        Ok(Self {
            name: name.into_owned(),
            digest: Digest::of(&[&text]),
            hints: Hints {
                read_only: hint("readOnlyHint"),
                destructive: hint("destructiveHint"),
            },
            text,
        })
    }

    /// The tool's name, exactly; names that differ in anything are two tools.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The canonical text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// SHA-256 of the canonical text.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What the server claims of the tool's effects.
    #[must_use]
    pub const fn hints(&self) -> Hints {
        self.hints
    }

    /// The canonical text of `inputSchema`; none where there is none.
    #[must_use]
    pub fn input_schema(&self) -> Option<Vec<u8>> {
        self.member("inputSchema")
    }

    /// The canonical text of one member.
    pub(crate) fn member(&self, name: &str) -> Option<Vec<u8>> {
        let document = Document::read(&self.text, Limits::STANDARD).ok()?;
        document.root().get(name).map(Item::canonical)
    }

    /// The names of its members, in canonical order.
    pub(crate) fn members(&self) -> Vec<String> {
        let Ok(document) = Document::read(&self.text, Limits::STANDARD) else {
            return Vec::new();
        };
        let children = document.root().children();
        children
            .filter_map(|member| Some(member.name()?.to_owned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_the_same_in_every_order_and_another_in_every_digit() {
        let digest = |text: &str| Descriptor::read(text.as_bytes()).unwrap().digest();
        let one = r#"{"name":"pay","inputSchema":{"minimum":1.0}}"#;
        assert_eq!(
            digest(one),
            digest(r#"{ "inputSchema": {"minimum": 1.0}, "n\u0061me": "pay" }"#)
        );
        for other in [
            r#"{"name":"pay","inputSchema":{"minimum":1}}"#,
            r#"{"name":"pay","inputSchema":{"minimum":1.00}}"#,
            r#"{"name":"Pay","inputSchema":{"minimum":1.0}}"#,
            r#"{"name":"pay","inputSchema":{"minimum":1.0},"title":null}"#,
        ] {
            assert_ne!(digest(one), digest(other), "{other}");
        }
        let long =
            r#"{"name":"x","inputSchema":{"maximum":12345678901234567890.12345678901234567890}}"#;
        let text = Descriptor::read(long.as_bytes()).unwrap();
        assert_eq!(
            text.input_schema().unwrap(),
            br#"{"maximum":12345678901234567890.12345678901234567890}"#
        );
    }

    #[test]
    fn a_name_has_at_most_128_characters() {
        for (chars, good) in [(128, true), (129, false)] {
            let text = format!(r#"{{"name":"{}"}}"#, "ü".repeat(chars));
            assert_eq!(Descriptor::read(text.as_bytes()).is_ok(), good, "{chars}");
        }
    }

    #[test]
    fn what_names_no_tool_is_no_description() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"name":""}"#,
            r#"{"name":7}"#,
            r#"{"name":"a","name":"b"}"#,
        ] {
            assert!(Descriptor::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
