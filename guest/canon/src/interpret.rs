//! What an action means: the view from which every consumer works.

use alloc::string::String;
use alloc::vec::Vec;

use crate::call::{check_form, check_numbers};
use crate::document::{Kind, Row};
use crate::string::decode;
use crate::{
    Code, Document, Interpretation, Limits, Node, Numbers, ProfileId, Refusal, Value, number,
    preimage,
};

/// Reads an action that [`admit`](crate::admit) gave.
///
/// # Errors
/// A refusal for any other bytes, as `docs/spec/action-binding.md` §1 says:
/// a reading fault; `params` where they are not of an action's form; `number`;
/// `value` where they are not canonical.
pub fn interpret(
    profile: &ProfileId,
    numbers: Numbers,
    action: &[u8],
) -> Result<Interpretation, Refusal> {
    let document = Document::read(action, Limits::STANDARD)?;
    let root = document.root();
    check_form(&document)?;
    check_numbers(numbers, core::iter::once(root))?;
    if !root.is_canonical() || root.raw().len() != action.len() {
        let offset = u32::try_from(action.len()).unwrap_or(u32::MAX);
        return Err(Refusal {
            code: Code::Value,
            pointer: String::new(),
            offset,
        });
    }
    let tool = root
        .get("name")
        .and_then(|name| name.text())
        .unwrap_or_default()
        .into_owned();
    let binding = preimage::binding(profile, action);
    Ok(Interpretation {
        binding,
        tool,
        view: view(&document),
    })
}

fn view(document: &Document<'_>) -> Vec<Node> {
    // INVARIANT: the reader admits well-formed text only. Checked once for the
    // whole and cut at character boundaries afterwards.
    let source = Text(core::str::from_utf8(document.source).unwrap_or_default());
    let decoded = Text(core::str::from_utf8(&document.decoded).unwrap_or_default());
    let node = |row: &Row| Node {
        name: source.name(decoded, row),
        value: source.value(row),
    };
    document.table.iter().map(node).collect()
}

#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn cut(self, start: u32, end: u32) -> &'a str {
        self.0.get(start as usize..end as usize).unwrap_or_default()
    }

    fn name(self, decoded: Self, row: &Row) -> Option<String> {
        use crate::document::Place;
        match row.place {
            Place::Nowhere => None,
            Place::Source => Some(self.cut(row.name_start, row.name_end).into()),
            Place::Decoded => Some(decoded.cut(row.name_start, row.name_end).into()),
        }
    }

    fn value(self, row: &Row) -> Value {
        match row.kind {
            Kind::Null => Value::Null,
            Kind::True => Value::Boolean(true),
            Kind::False => Value::Boolean(false),
            Kind::Array => Value::Array(row.count),
            Kind::Object => Value::Object(row.count),
            Kind::Number => {
                let lexeme = self.cut(row.start, row.end);
                number::integer(lexeme.as_bytes())
                    .map_or_else(|| Value::Number(lexeme.into()), Value::Integer)
            }
            Kind::String => Value::Text(self.text(row)),
        }
    }

    fn text(self, row: &Row) -> String {
        let content = self.cut(row.start + 1, row.end.saturating_sub(1));
        if !row.escaped {
            return content.into();
        }
        let mut out = Vec::with_capacity(content.len());
        decode(content.as_bytes(), &mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}
