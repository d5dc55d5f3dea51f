//! Reading: every number is replaced by its place in a list of spellings, and
//! what is left is given to `serde_json`, which keeps each member.

use std::collections::BTreeSet;
use std::fmt;

use countersign_canon::Limits;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Tree;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// It is larger than it may be.
    Size,
    /// It is no UTF-8, or begins with a byte order mark.
    Text,
    /// RFC 8259 does not allow it.
    Grammar,
    /// It is JSON, with half a surrogate pair, a name that occurs twice, or too
    /// much of something.
    Content,
}

/// Reads a text.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Tree, Lacking> {
    if bytes.len() > limits.message_bytes as usize {
        return Err(Lacking::Size);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Lacking::Text)?;
    if text.starts_with('\u{feff}') {
        return Err(Lacking::Text);
    }
    let (spelled, numbers) = take_numbers(text);
    let grammatical = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !grammatical(&spelled) || !numbers.iter().all(|number| grammatical(number)) {
        return Err(Lacking::Grammar);
    }
    let mut reader = serde_json::Deserializer::from_str(&spelled);
    let tree = Numbered(&numbers).deserialize(&mut reader);
    let tree = tree.map_err(|_| Lacking::Content)?;
    let long = |number: &String| number.len() > limits.number_bytes as usize;
    let much = numbers.iter().any(long)
        || depth(&tree) > limits.depth as usize
        || values(&tree) > limits.nodes as usize;
    match much || has_twins(&tree) {
        true => Err(Lacking::Content),
        false => Ok(tree),
    }
}

/// A text with each number that stands outside of strings replaced by its place
/// among them, and the numbers as they were spelled.
fn take_numbers(text: &str) -> (String, Vec<String>) {
    let mut spelled = String::with_capacity(text.len());
    let mut numbers = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        if in_string || !(char == '-' || char.is_ascii_digit()) {
            in_string ^= char == '"' && !escaped;
            escaped = in_string && char == '\\' && !escaped;
            spelled.push(char);
            continue;
        }
        let mut number = String::from(char);
        let part = |char: &char| char.is_ascii_digit() || "+-.eE".contains(*char);
        while let Some(char) = rest.next_if(part) {
            number.push(char);
        }
        spelled.push_str(&numbers.len().to_string());
        numbers.push(number);
    }
    (spelled, numbers)
}

/// How many containers are open at most.
fn depth(tree: &Tree) -> usize {
    match tree {
        Tree::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Tree::Object(members) => 1 + members.iter().map(|m| depth(&m.1)).max().unwrap_or(0),
        _ => 0,
    }
}

/// How many values there are, containers included.
pub(crate) fn values(tree: &Tree) -> usize {
    match tree {
        Tree::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Tree::Object(members) => 1 + members.iter().map(|m| values(&m.1)).sum::<usize>(),
        _ => 1,
    }
}

fn has_twins(tree: &Tree) -> bool {
    match tree {
        Tree::Array(items) => items.iter().any(has_twins),
        Tree::Object(members) => {
            let names: BTreeSet<&str> = members.iter().map(|member| member.0.as_str()).collect();
            names.len() < members.len() || members.iter().any(|member| has_twins(&member.1))
        }
        _ => false,
    }
}

/// Reads a value whose numbers are places in a list.
#[derive(Clone, Copy)]
struct Numbered<'n>(&'n [String]);

impl<'de> DeserializeSeed<'de> for Numbered<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Tree, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Numbered<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Boolean(value))
    }

    fn visit_u64<E>(self, place: u64) -> Result<Tree, E> {
        let place = usize::try_from(place).unwrap();
        Ok(Tree::Number(self.0[place].clone()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Tree::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = from.next_key::<String>()? {
            members.push((name, from.next_value_seed(self)?));
        }
        Ok(Tree::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_spelling_and_members_their_order_and_number() {
        let text = r#"{"b":[1.0,-0,1e400],"a":{"n\"1":"2"},"b2":null}"#;
        let tree = read(text.as_bytes(), Limits::STANDARD).unwrap();
        let number = |text: &str| Tree::Number(text.into());
        let inner = Tree::Object(vec![("n\"1".into(), Tree::Text("2".into()))]);
        let numbers = Tree::Array(vec![number("1.0"), number("-0"), number("1e400")]);
        let expected = Tree::Object(vec![
            ("b".into(), numbers),
            ("a".into(), inner),
            ("b2".into(), Tree::Null),
        ]);
        assert_eq!(tree, expected);
    }

    #[test]
    fn what_is_lacking_is_told_apart() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (text, lacking) in [
            ("\u{feff}1", Lacking::Text),
            ("01", Lacking::Grammar),
            ("[1,]", Lacking::Grammar),
            ("1-2", Lacking::Grammar),
            (r#"{"a":1,"\u0061":2}"#, Lacking::Content),
            (r#"["\ud800"]"#, Lacking::Content),
            (&deep, Lacking::Content),
        ] {
            assert_eq!(
                read(text.as_bytes(), Limits::STANDARD),
                Err(lacking),
                "{text}"
            );
        }
    }
}
