//! One page of an upstream's `tools/list`, read for the catalog.
//!
//! A description is kept as the upstream wrote it; what policy and header
//! checks need of it is taken out beside.

use countersign_canon::Digest;
use countersign_canon::document::{Item, Kind};
use thiserror::Error;

/// The longest tool name, in Unicode scalar values, as for calls.
const MAX_NAME_CHARS: usize = 128;

/// A tool that an upstream offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name, byte for byte.
    pub name: String,
    /// The whole description as the upstream wrote it.
    pub description: Vec<u8>,
    /// Digest of the canonical description: what the catalog calls discovered.
    pub digest: Digest,
    /// What the upstream says of its effects.
    pub annotations: Annotations,
    /// Arguments that headers mirror: the header's name in lower case and the
    /// argument's name, of the first level of the input schema.
    pub mirrored: Vec<(String, String)>,
}

/// The hints that MCP defines; none where the upstream says nothing. Claims of
/// the upstream, never facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// The same call again changes nothing more.
    pub idempotent: Option<bool>,
    /// It reaches into an open world.
    pub open_world: Option<bool>,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The tools on it.
    pub tools: Vec<Tool>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A result that is no page of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a page of tools: {0}")]
pub struct NotAPage(&'static str);

/// Reads the result of `tools/list`.
///
/// # Errors
/// [`NotAPage`] where it is no list of named tools, so that a server's fault
/// does not pass for an empty catalog.
pub fn page(result: Item<'_>) -> Result<Page, NotAPage> {
    let list = result
        .get("tools")
        .filter(|tools| tools.kind() == Kind::Array)
        .ok_or(NotAPage("`tools` is no array"))?;
    let tools = list.children().map(tool).collect::<Result<_, _>>()?;
    let next = match result
        .get("nextCursor")
        .filter(|cursor| cursor.kind() != Kind::Null)
    {
        None => None,
        Some(cursor) => Some(
            cursor
                .text()
                .ok_or(NotAPage("`nextCursor` is no text"))?
                .into(),
        ),
    };
    Ok(Page { tools, next })
}

/// Reads one description.
///
/// # Errors
/// [`NotAPage`] where it names no tool.
pub fn tool(item: Item<'_>) -> Result<Tool, NotAPage> {
    let name = item
        .get("name")
        .and_then(Item::text)
        .ok_or(NotAPage("a tool has no name"))?;
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        return Err(NotAPage("a tool's name is empty or too long"));
    }
    let hint = |name: &str| item.get("annotations")?.get(name)?.boolean();
    Ok(Tool {
        name: name.into_owned(),
        description: item.raw().to_vec(),
        digest: Digest::of(&[&item.canonical()]),
        annotations: Annotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        },
        mirrored: mirrored(item),
    })
}

fn mirrored(tool: Item<'_>) -> Vec<(String, String)> {
    let properties = tool
        .get("inputSchema")
        .and_then(|schema| schema.get("properties"));
    let Some(properties) = properties else {
        return Vec::new();
    };
    properties
        .children()
        .filter_map(|property| {
            let header = property.get("x-mcp-header")?.text()?.to_ascii_lowercase();
            Some((header, property.name()?.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    fn read(text: &str) -> Result<Page, NotAPage> {
        page(
            Document::read(text.as_bytes(), Limits::STANDARD)
                .unwrap()
                .root(),
        )
    }

    #[test]
    fn a_tool_keeps_its_description_and_says_what_it_claims() {
        let page = read(
            r#"{"tools":[{ "name":"pay", "annotations":{"readOnlyHint":false,"destructiveHint":"?"},
                "inputSchema":{"properties":{"region":{"x-mcp-header":"Region"},"n":{"minimum":1.0}}}}],
                "nextCursor":"2"}"#,
        )
        .unwrap();
        assert_eq!(page.next.as_deref(), Some("2"));
        let tool = &page.tools[0];
        assert_eq!(tool.name, "pay");
        assert!(tool.description.ends_with(br#"{"minimum":1.0}}}}"#));
        assert_eq!(tool.annotations.read_only, Some(false));
        assert_eq!(tool.annotations.destructive, None);
        assert_eq!(tool.mirrored, [("region".to_owned(), "region".to_owned())]);
    }

    #[test]
    fn a_servers_fault_does_not_pass_for_an_empty_catalog() {
        assert_eq!(read(r#"{"tools":[]}"#).unwrap().tools, []);
        for text in [
            "{}",
            r#"{"tools":{}}"#,
            r#"{"tools":[{}]}"#,
            r#"{"tools":[{"name":""}]}"#,
            r#"{"tools":[{"name":7}]}"#,
            r#"{"tools":[],"nextCursor":7}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        for (chars, good) in [(128, true), (129, false)] {
            let text = format!(r#"{{"tools":[{{"name":"{}"}}]}}"#, "ü".repeat(chars));
            assert_eq!(read(&text).is_ok(), good, "{chars}");
        }
    }
}
