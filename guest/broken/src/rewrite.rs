//! Actions that are rewritten where they must not be.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, write};

use crate::faults::Fault;

/// The characters that a text is cut to.
const CUT: usize = 64;

/// An action as this fault has it, canonical again where that is possible.
pub(crate) fn rewritten(fault: Fault, action: &[u8]) -> Option<Vec<u8>> {
    let document = read(action)?;
    let mut out = Vec::new();
    let method = document.root().get("method")?;
    value(fault, document.root(), method, &mut out);
    canonical(&out)
}

/// The canonical form of a text.
pub(crate) fn canonical(text: &[u8]) -> Option<Vec<u8>> {
    Some(read(text)?.root().canonical())
}

/// The value of one member, or nothing.
pub(crate) fn part(action: &[u8], name: &str) -> Vec<u8> {
    let document = read(action);
    let found = document
        .as_ref()
        .and_then(|document| document.root().get(name));
    found.map(Item::canonical).unwrap_or_default()
}

/// The action without a member.
pub(crate) fn without(action: &[u8], name: &str) -> Vec<u8> {
    let Some(document) = read(action) else {
        return action.to_vec();
    };
    let mut out = Vec::new();
    members(
        &mut out,
        document
            .root()
            .children()
            .filter(|member| member.name() != Some(name)),
        |out, item| {
            out.extend_from_slice(item.raw());
        },
    );
    out
}

/// The action's values as the sender spelled them.
pub(crate) fn raw(message: &[u8]) -> Option<Vec<u8>> {
    let document = read(message)?;
    let params = document.root().get("params")?;
    let mut out = b"{".to_vec();
    for name in ["arguments", "task"] {
        if let Some(item) = params.get(name) {
            write::string(&mut out, name);
            out.push(b':');
            out.extend_from_slice(item.raw());
            out.push(b',');
        }
    }
    out.extend_from_slice(b"\"method\":\"tools/call\",\"name\":");
    out.extend_from_slice(params.get("name")?.raw());
    out.push(b'}');
    Some(out)
}

fn read(text: &[u8]) -> Option<Document<'_>> {
    Document::read(text, Limits::STANDARD).ok()
}

fn members<'d>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = Item<'d>>,
    mut write_value: impl FnMut(&mut Vec<u8>, Item<'d>),
) {
    out.push(b'{');
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write::string(out, member.name().unwrap_or_default());
        out.push(b':');
        write_value(out, member);
    }
    out.push(b'}');
}

// INVARIANT: a document is at most 64 containers deep.
fn value(fault: Fault, item: Item<'_>, method: Item<'_>, out: &mut Vec<u8>) {
    let kept = |child: &Item<'_>| match fault {
        Fault::DropsNulls => child.kind() != Kind::Null || child.name().is_none(),
        Fault::DropsEmptyContainers => {
            !matches!(child.kind(), Kind::Array | Kind::Object) || child.count() > 0
        }
        _ => true,
    };
    match item.kind() {
        Kind::Object => {
            out.push(b'{');
            for (index, member) in item.children().filter(kept).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write::string(out, &name(fault, member.name().unwrap_or_default()));
                out.push(b':');
                value(fault, member, method, out);
            }
            out.push(b'}');
        }
        Kind::Array => {
            let items = item.children().filter(kept);
            let mut items: Vec<Vec<u8>> = items
                .map(|item| {
                    let mut out = Vec::new();
                    value(fault, item, method, &mut out);
                    out
                })
                .collect();
            if fault == Fault::SortsArrays {
                items.sort();
            }
            out.push(b'[');
            out.extend_from_slice(&items.join(&b','));
            out.push(b']');
        }
        Kind::String => {
            let text = item.text().unwrap_or_default();
            // The method is what makes it an action at all.
            let is_method = item.offset() == method.offset();
            let text = if is_method {
                text
            } else {
                changed(fault, item.name(), text)
            };
            let is_number = text
                .parse::<u32>()
                .is_ok_and(|number| number.to_string() == text);
            if fault == Fault::TakesTextForNumbers && is_number {
                out.extend_from_slice(text.as_bytes());
            } else {
                write::string(out, &text);
            }
        }
        Kind::Number => {
            out.extend_from_slice(number(fault, item.lexeme().unwrap_or("0")).as_bytes())
        }
        _ => out.extend_from_slice(item.raw()),
    }
}

fn name(fault: Fault, name: &str) -> Cow<'_, str> {
    match fault {
        Fault::FoldsTheCaseOfNames => Cow::Owned(name.to_lowercase()),
        Fault::ComposesAccents => Cow::Owned(composed(name)),
        _ => Cow::Borrowed(name),
    }
}

fn changed<'t>(fault: Fault, name: Option<&str>, text: Cow<'t, str>) -> Cow<'t, str> {
    let changed = match fault {
        Fault::ComposesAccents => composed(&text),
        Fault::TrimsTexts if !text.trim().is_empty() => text.trim().to_string(),
        Fault::CutsLongTexts => text.chars().take(CUT).collect(),
        Fault::FoldsTheCaseOfTexts => text.to_lowercase(),
        Fault::LowersTheTool if name == Some("name") => text.to_lowercase(),
        Fault::DropsZeroCharacters => text.replace('\0', ""),
        _ => return text,
    };
    Cow::Owned(changed)
}

/// As far as the texts of certification need it.
fn composed(text: &str) -> String {
    text.replace("e\u{301}", "é").replace('\u{212b}', "Å")
}

fn number(fault: Fault, lexeme: &str) -> Cow<'_, str> {
    let whole = lexeme
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit());
    let changed = match fault {
        Fault::WritesNumbersAsFloats => match lexeme.parse::<f64>() {
            Ok(float) if float.is_finite() => format!("{float}"),
            _ => return Cow::Borrowed(lexeme),
        },
        Fault::RoundsLargeIntegers if whole => match lexeme.parse::<f64>() {
            Ok(float) if float.abs() > 9e15 && float.is_finite() => format!("{float}"),
            _ => return Cow::Borrowed(lexeme),
        },
        Fault::TakesMinusZeroForZero if lexeme == "-0" => "0".to_string(),
        Fault::ClampsExponents => match lexeme.split_once(['e', 'E']) {
            Some((mantissa, exponent)) if exponent.len() > 2 && !exponent.starts_with('-') => {
                format!("{mantissa}e99")
            }
            _ => return Cow::Borrowed(lexeme),
        },
        _ => return Cow::Borrowed(lexeme),
    };
    Cow::Owned(changed)
}
