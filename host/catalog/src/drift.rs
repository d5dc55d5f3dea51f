//! What differs between what was approved and what is offered.

use std::fmt;

use crate::{Descriptor, Offer};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The tool; none where it is the server itself.
    pub tool: Option<String>,
    /// What became of it.
    pub change: Change,
}

/// What became of a tool, or of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is offered, and was not approved.
    Added,
    /// It was approved, and is not offered.
    Removed,
    /// It is described otherwise; the members of its description that differ.
    Changed(Vec<String>),
    /// The server's URL or command is another one.
    Moved,
}

/// Every difference, the server's first, then by the tools' names.
#[must_use]
pub fn drift(approved: Option<&Offer>, offered: &Offer) -> Vec<Drift> {
    let mut found = Vec::new();
    if approved.is_some_and(|approved| approved.server() != offered.server()) {
        found.push(Drift {
            tool: None,
            change: Change::Moved,
        });
    }
    let mut names: Vec<&str> = offered.tools().map(Descriptor::name).collect();
    names.extend(
        approved
            .iter()
            .flat_map(|offer| offer.tools())
            .map(Descriptor::name),
    );
    names.sort_unstable();
    names.dedup();
    for name in names {
        let before = approved.and_then(|approved| approved.tool(name));
        let change = match (before, offered.tool(name)) {
            (None, Some(_)) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(before), Some(now)) if before != now => Change::Changed(members(before, now)),
            _ => continue,
        };
        found.push(Drift {
            tool: Some(name.to_owned()),
            change,
        });
    }
    found
}

fn members(before: &Descriptor, now: &Descriptor) -> Vec<String> {
    let mut names = before.members();
    names.extend(now.members());
    names.sort_unstable();
    names.dedup();
    names.retain(|name| before.member(name) != now.member(name));
    names
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = self.tool.as_deref().unwrap_or_default();
        match &self.change {
            Change::Added => write!(f, "`{tool}` is offered and not approved"),
            Change::Removed => write!(f, "`{tool}` is approved and not offered"),
            Change::Changed(members) => {
                write!(f, "`{tool}` is described otherwise: {}", members.join(", "))
            }
            Change::Moved => f.write_str("the server is at another place"),
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::Digest;

    use super::*;

    fn offer(place: &str, tools: &[&str]) -> Offer {
        let tools = tools
            .iter()
            .map(|text| Descriptor::read(text.as_bytes()).unwrap());
        Offer::new("s", Digest::of(&[place.as_bytes()]), tools)
    }

    #[test]
    fn drift_names_what_was_added_removed_changed_and_moved() {
        let approved = offer(
            "a",
            &[
                r#"{"name":"same"}"#,
                r#"{"name":"gone"}"#,
                r#"{"name":"swapped","title":"T","inputSchema":{"type":"object"}}"#,
            ],
        );
        let offered = offer(
            "b",
            &[
                r#"{"name":"same"}"#,
                r#"{"name":"Same"}"#,
                r#"{"name":"swapped","title":"T","inputSchema":{"type":"array"},"_meta":{}}"#,
            ],
        );
        let said: Vec<String> = drift(Some(&approved), &offered)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "the server is at another place",
                "`Same` is offered and not approved",
                "`gone` is approved and not offered",
                "`swapped` is described otherwise: _meta, inputSchema",
            ]
        );
        assert_eq!(drift(Some(&approved), &approved), []);
        assert_eq!(drift(None, &approved).len(), 3);
    }
}
