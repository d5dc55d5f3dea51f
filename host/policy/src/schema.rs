//! The schema against which policies are validated: the static part, and the
//! actions of the tools.
//!
//! Beside the tools that are known, each class has a placeholder in no server
//! and in each server that is spoken of, so that a rule about destructive
//! tools is not called impossible where there happen to be none.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cedar_policy::Schema;

use crate::names::{self, SERVER_GROUP};
use crate::{Class, Tool};

/// What a policy can speak of, whichever tools there are.
pub(crate) const STATIC: &str = include_str!("../../../policies/countersign.cedarschema");

/// The schema of these tools and servers, as Cedar's schema text.
pub(crate) fn text<'a>(
    tools: impl IntoIterator<Item = Tool<'a>>,
    servers: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut actions: BTreeSet<String> = BTreeSet::new();
    let mut named: BTreeSet<&str> = servers.into_iter().collect();
    let mut text = STATIC.to_owned();
    for tool in tools {
        named.insert(tool.server);
        let id = names::action_id(tool);
        if !actions.contains(&id) {
            action(&mut text, &id, Some(tool.server), tool.class);
            actions.insert(id);
        }
    }
    for server in &named {
        let group = quoted(&format!("{SERVER_GROUP}{server}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "action {group};");
    }
    for class in Class::ALL {
        action(&mut text, &format!("any:{class}"), None, class);
        for server in &named {
            action(
                &mut text,
                &format!("any:{class}:{server}"),
                Some(server),
                class,
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

fn action(text: &mut String, id: &str, server: Option<&str>, class: Class) {
    let mut groups: Vec<String> = names::groups(class)
        .iter()
        .map(|group| quoted(group))
        .collect();
    groups.extend(server.map(|server| quoted(&format!("{SERVER_GROUP}{server}"))));
    let (id, groups) = (quoted(id), groups.join(", "));
    let _ = writeln!(
        text,
        "action {id} in [{groups}] appliesTo {{ principal: [Agent], resource: [Server], context: Call }};"
    );
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
            let schema = parse(&text([tool], [])).unwrap();
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
