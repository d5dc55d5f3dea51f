//! The schema against which policies are validated: the static part, and the
//! actions of the tools with the types of their arguments.
//!
//! Beside the tools that are known, each class has a placeholder in no server
//! and in each server that is spoken of, so that a rule about destructive
//! tools is not called impossible where there happen to be none.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cedar_policy::Schema;

use crate::names::{self, SERVER_GROUP};
use countersign_catalog::Shape;

use crate::{Class, Typed};

/// What a policy can speak of, whichever tools there are.
pub(crate) const STATIC: &str = include_str!("../../../policies/countersign.cedarschema");

/// The schema of approved tools, as Cedar's schema text: what
/// `countersign policy schema` prints and bundles are validated against.
#[must_use]
pub fn schema(tools: &[Typed<'_>]) -> String {
    text(tools.iter().copied(), [])
}

/// The schema of these tools and servers, as Cedar's schema text.
pub(crate) fn text<'a>(
    tools: impl IntoIterator<Item = Typed<'a>>,
    servers: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut actions: BTreeSet<String> = BTreeSet::new();
    let mut named: BTreeSet<&str> = servers.into_iter().collect();
    let mut text = STATIC.to_owned();
    for Typed { tool, shape } in tools {
        named.insert(tool.server);
        let id = names::action_id(tool);
        if !actions.contains(&id) {
            action(&mut text, &id, Some(tool.server), tool.class, shape);
            actions.insert(id);
        }
    }
    for server in &named {
        let group = quoted(&format!("{SERVER_GROUP}{server}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "action {group};");
    }
    for class in Class::ALL {
        action(&mut text, &format!("any:{class}"), None, class, None);
        for server in &named {
            action(
                &mut text,
                &format!("any:{class}:{server}"),
                Some(server),
                class,
                None,
            );
        }
    }
    text
}

/// The schema itself; the text is ours, so an error is a fault of this crate.
pub(crate) fn parse(text: &str) -> Result<Schema, String> {
    match Schema::from_cedarschema_str(text) {
        Ok((schema, _warnings)) => Ok(schema),
        Err(error) => Err(error.to_string()),
    }
}

fn action(text: &mut String, id: &str, server: Option<&str>, class: Class, shape: Option<&Shape>) {
    let mut groups: Vec<String> = names::groups(class)
        .iter()
        .map(|group| quoted(group))
        .collect();
    groups.extend(server.map(|server| quoted(&format!("{SERVER_GROUP}{server}"))));
    let (id, groups) = (quoted(id), groups.join(", "));
    let mut context = "Call".to_owned();
    if let Some(shape) = shape {
        context = format!("{{{}    args: ", call());
        typed(&mut context, shape, 1);
        context.push_str(",\n}");
    }
    let _ = writeln!(
        text,
        "action {id} in [{groups}] appliesTo {{ principal: [Agent], resource: [Server], context: {context} }};"
    );
}

/// The members of every call, as the static part has them.
fn call() -> &'static str {
    let body = STATIC.split_once("type Call = {");
    let body = body.and_then(|(_, rest)| rest.split_once("};"));
    body.map_or("", |(body, _)| body)
}

/// A shape as a type.
fn typed(text: &mut String, shape: &Shape, indent: usize) {
    match shape {
        Shape::Text => text.push_str("String"),
        Shape::Boolean => text.push_str("Bool"),
        Shape::Integer => text.push_str("Long"),
        Shape::Number => text.push_str("Num"),
        Shape::Array(items) => {
            text.push_str("Set<");
            typed(text, items, indent);
            text.push('>');
        }
        Shape::Object(fields) => {
            text.push('{');
            for (name, field) in fields {
                let mark = if field.required { "" } else { "?" };
                let _ = write!(
                    text,
                    "\n{}{}{mark}: ",
                    "    ".repeat(indent + 1),
                    quoted(name)
                );
                typed(text, &field.shape, indent + 1);
                text.push(',');
            }
            if !fields.is_empty() {
                let _ = write!(text, "\n{}", "    ".repeat(indent));
            }
            text.push('}');
        }
    }
}

/// A name as Cedar quotes it. Tools name themselves, so whatever could end or
/// escape the quotes is written by its number.
fn quoted(name: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '/' | ':' | '-' | '_' | '.') {
            quoted.push(letter);
        } else {
            let _ = write!(quoted, "\\u{{{:x}}}", u32::from(letter));
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tool;

    #[test]
    fn arguments_have_the_types_of_their_schema_whatever_they_are_called() {
        let schema = r#"{"type":"object","required":["to","__extn"],"properties":{
            "to":{"type":"string"},"amount":{"type":"number"},"n":{"type":"integer"},
            "__extn":{"type":"object","properties":{"fn":{"type":"string"}}},
            "a\"b":{"type":"array","items":{"type":"object","properties":{"é":{"type":"boolean"}}}},
            "if":{"type":"string"},"in":{"type":"boolean"},"":{"type":"string"}}}"#;
        let shape = Shape::of_schema(schema.as_bytes());
        let tool = Tool {
            server: "ledger",
            name: "transfer",
            class: Class::SideEffecting,
        };
        let typed = Typed {
            tool,
            shape: shape.as_ref(),
        };
        let text = super::schema(&[typed]);
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for line in [
            "\"to\": String,",
            "\"amount\"?: Num,",
            "\"n\"?: Long,",
            "at: View,",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn whatever_a_tool_calls_itself_its_action_is_that_name() {
        for name in [
            "transfer",
            "a\"; action \"x",
            "back\\slash",
            "new\nline\0",
            "übung🙂",
            "send_email",
            "send__email",
            "Transfer",
            " ",
        ] {
            let tool = Tool {
                server: "ledger",
                name,
                class: Class::Destructive,
            };
            let schema = parse(&text([tool.into()], [])).unwrap();
            let expected = names::Types::new()
                .unwrap()
                .action(format!("ledger/{name}"));
            assert!(
                schema.actions().any(|action| *action == expected),
                "{name:?}"
            );
        }
    }
}
