//! Which parts of a schema's text may be taken for schemas, and that no part
//! but the whole says what it is.
//!
//! The library goes by `$id`, `$schema` and anchors wherever it comes along: in
//! subschemas, in those that nothing applies, and on the way of a pointer. A
//! part with a dialect or a name of its own would be held to other rules than
//! those that were looked through here.

use std::collections::BTreeSet;

use countersign_canon::document::{Item, Kind};
use jsonschema::Draft;

use crate::input::dialect;
use crate::{Reason, SchemaRefused};

/// What the members of an object are.
#[derive(Clone, Copy)]
enum Members {
    Keywords,
    /// Names that the schema's author chose, each with a schema.
    Names,
}

/// Where each part begins that a reference may lead to: everything but what is
/// a value by its keyword.
///
/// # Errors
/// A part that says what it is, but that it is of the whole's dialect.
pub(crate) fn of(root: Item<'_>, draft: Draft) -> Result<BTreeSet<usize>, SchemaRefused> {
    let mut places = BTreeSet::new();
    let mut open = vec![(root, Members::Keywords)];
    while let Some((item, members)) = open.pop() {
        places.insert(item.offset());
        let object = item.kind() == Kind::Object;
        for child in item.children() {
            let name = child.name().filter(|_| object).unwrap_or_default();
            if item.offset() != root.offset() && child.kind() == Kind::String {
                own(name, child, draft)?;
            }
            open.push(match (members, name) {
                (Members::Keywords, "enum" | "const" | "default" | "examples" | "example") => {
                    continue;
                }
                (
                    Members::Keywords,
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies",
                ) => (child, Members::Names),
                _ => (child, Members::Keywords),
            });
        }
    }
    Ok(places)
}

/// A name has a schema, so that a text is a keyword's.
fn own(name: &str, member: Item<'_>, draft: Draft) -> Result<(), SchemaRefused> {
    let reason = match name {
        "$schema" if dialect(member) == Some(draft) => return Ok(()),
        "$schema" => Reason::Dialect,
        "$id" | "$anchor" | "$dynamicAnchor" => Reason::Reference,
        _ => return Ok(()),
    };
    Err(SchemaRefused::new(reason, member.pointer()))
}
