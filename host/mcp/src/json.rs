//! Writing JSON that the gateway says itself, and taking canonical JSON apart.
//!
//! Values that came from outside are spliced as bytes and never parsed into a
//! tree and printed again: a number would lose its digits on the way.

use countersign_canon::{Id, write};

/// Writes one object, member by member.
#[derive(Debug)]
pub struct Object {
    out: Vec<u8>,
}

impl Object {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self { out: vec![b'{'] }
    }

    fn name(&mut self, name: &str) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        write::string(&mut self.out, name);
        self.out.push(b':');
    }

    /// Adds a member whose value is JSON already.
    #[must_use]
    pub fn raw(mut self, name: &str, value: &[u8]) -> Self {
        self.name(name);
        self.out.extend_from_slice(value);
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        write::string(&mut self.out, value);
        self
    }

    /// Adds a text, or `null`.
    #[must_use]
    pub fn text_or_null(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, b"null"),
        }
    }

    /// Adds an integer.
    #[must_use]
    pub fn integer(self, name: &str, value: i64) -> Self {
        self.raw(name, value.to_string().as_bytes())
    }

    /// Adds a truth value.
    #[must_use]
    pub fn boolean(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { b"true" } else { b"false" })
    }

    /// Adds an array of texts.
    #[must_use]
    pub fn texts<'t>(self, name: &str, values: impl IntoIterator<Item = &'t str>) -> Self {
        let mut array = vec![b'['];
        for value in values {
            if array.len() > 1 {
                array.push(b',');
            }
            write::string(&mut array, value);
        }
        array.push(b']');
        self.raw(name, &array)
    }

    /// The object's bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a JSON-RPC id, or `null` where it is not known.
#[must_use]
pub fn id(id: Option<&Id>) -> Vec<u8> {
    match id {
        None => b"null".to_vec(),
        Some(Id::Number(number)) => number.to_string().into_bytes(),
        Some(Id::Text(text)) => {
            let mut out = Vec::new();
            write::string(&mut out, text);
            out
        }
    }
}

/// One member of a canonical object: its name with its quotes, and its value.
pub(crate) type Member<'a> = (&'a [u8], &'a [u8]);

/// The members of an object that is canonical, so without white space, in
/// order; none where the bytes are no such object. Linear, and only the first
/// level is looked at.
pub(crate) fn members(object: &[u8]) -> Option<Vec<Member<'_>>> {
    let mut rest = object.strip_prefix(b"{")?;
    let mut members = Vec::new();
    if rest == b"}" {
        return Some(members);
    }
    loop {
        let (name, after) = rest.split_at_checked(string_end(rest)?)?;
        let after = after.strip_prefix(b":")?;
        let (value, after) = after.split_at_checked(value_end(after)?)?;
        members.push((name, value));
        match after {
            [b',', next @ ..] => rest = next,
            b"}" => return Some(members),
            _ => return None,
        }
    }
}

/// The length of the string that `bytes` begins with, quotes included.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if at > 0 => escaped = true,
            b'"' if at > 0 => return Some(at + 1),
            b'"' => {}
            _ if at == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The length of the value that `bytes` begins with.
fn value_end(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        match rest.first()? {
            b'"' => at += string_end(rest)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ => at += 1,
        }
        if depth == 0 && matches!(bytes.get(at), Some(b',' | b'}')) {
            return Some(at);
        }
    }
}

/// Whether an object without white space has no members.
pub(crate) fn is_empty(object: &[u8]) -> bool {
    object == b"{}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_canonical_object_is_not_taken_apart() {
        for bytes in [
            r#""#,
            r#"{"#,
            r#"{a":1}"#,
            r#"{\"a":1}"#,
            r#"{"a"1}"#,
            r#"{"a":]"#,
            r#"{"a":1]"#,
            r#"{"a":1"#,
            r#"{"a":[1}"#,
            r#"{"a":"x}"#,
            r#"{"a":1}}"#,
            r#"{"a":1},"#,
            r#"{"a":1,}"#,
            r#"["a",1]"#,
        ] {
            assert_eq!(members(bytes.as_bytes()), None, "{bytes}");
        }
    }

    /// Objects of every shape, against the strict reader.
    #[test]
    fn the_members_are_those_that_the_reader_finds() {
        let values = [
            r#""""#,
            r#""\\""#,
            r#""}\",{""#,
            "0",
            "-1.5e400",
            "true",
            "[]",
            "{}",
            r#"["]"]"#,
            r#"{"a":{"b":[{}]}}"#,
            r#"[[],[{"x":"]}"}]]"#,
            "null",
        ];
        let names = [r#""a""#, r#""b\"""#, r#""\\""#];
        for first in values {
            for second in values {
                for third in values {
                    let [a, b, c] = names;
                    let text = format!("{{{a}:{first},{b}:{second},{c}:{third}}}");
                    let limits = countersign_canon::Limits::STANDARD;
                    let document = countersign_canon::Document::read(text.as_bytes(), limits);
                    let document = document.unwrap();
                    let read = document
                        .root()
                        .children()
                        .map(countersign_canon::document::Item::raw);
                    let found = members(text.as_bytes()).unwrap();
                    assert!(read.eq(found.iter().map(|(_, value)| *value)), "{text}");
                    assert!(
                        found
                            .iter()
                            .map(|(name, _)| *name)
                            .eq(names.map(str::as_bytes))
                    );
                }
            }
        }
    }

    #[test]
    fn a_canonical_object_is_taken_apart_on_its_first_level_only() {
        let object = br#"{"a\"}":[1,{"b":"],}"}],"c":"\\","d":-0.0,"e":{},"f":null}"#;
        let members = members(object).unwrap();
        let text: Vec<_> = members
            .iter()
            .map(|(n, v)| {
                (
                    std::str::from_utf8(n).unwrap(),
                    std::str::from_utf8(v).unwrap(),
                )
            })
            .collect();
        assert_eq!(
            text,
            [
                (r#""a\"}""#, r#"[1,{"b":"],}"}]"#),
                (r#""c""#, r#""\\""#),
                (r#""d""#, "-0.0"),
                (r#""e""#, "{}"),
                (r#""f""#, "null"),
            ]
        );
    }

    #[test]
    fn what_is_no_canonical_object_has_no_members() {
        for bytes in [
            "",
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\":1",
            "{a:1}",
            "{\"a\":1}x",
            "{\"a\":1,}",
        ] {
            assert_eq!(members(bytes.as_bytes()), None, "{bytes}");
        }
        assert_eq!(members(b"{}"), Some(Vec::new()));
    }

    #[test]
    fn an_object_is_written_with_its_names_and_texts_escaped() {
        let object = Object::new()
            .text("a\"", "\n")
            .text_or_null("b", None)
            .integer("c", -1)
            .boolean("d", true)
            .texts("e", ["x", "y"])
            .raw("f", b"1e400")
            .finish();
        let text = String::from_utf8(object).unwrap();
        assert_eq!(
            text,
            r#"{"a\"":"\n","b":null,"c":-1,"d":true,"e":["x","y"],"f":1e400}"#
        );
    }
}
