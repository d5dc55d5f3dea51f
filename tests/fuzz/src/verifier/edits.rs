//! What somebody who has the file and not the key can do to it. The container
//! is written anew afterwards, so that the verifier gets to see each change.

use countersign_canon::{Digest, Document, Limits};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::bundle::Member;
use crate::choices::Choices;

/// Makes one change, or none where it does not fit.
pub(super) fn edit(members: &mut Vec<Member>, choices: &mut Choices<'_>) {
    if members.is_empty() {
        return;
    }
    let at = choices.below(members.len());
    let content = &mut members[at].content;
    match choices.below(12) {
        0 if !content.is_empty() => {
            let place = choices.below(content.len());
            content[place] ^= choices.byte();
        }
        1 => {
            let from = choices.below(content.len() + 1);
            let to = (from + choices.below(64)).min(content.len());
            content.drain(from..to);
        }
        2 => {
            let place = choices.below(content.len() + 1);
            content.splice(place..place, choices.bytes(32).iter().copied());
        }
        3..=5 => lines(content, choices),
        6 => drop(members.remove(at)),
        7 => {
            let other = choices.below(members.len());
            members.swap(at, other);
        }
        8 => {
            let other = members[choices.below(members.len())].content.clone();
            members[at].content = other;
        }
        _ => fields(content, choices),
    }
}

/// Takes a line away, repeats it, moves it, or cuts the rest.
fn lines(content: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let mut lines: Vec<Vec<u8>> = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if lines.is_empty() {
        return;
    }
    let (at, other) = (choices.below(lines.len()), choices.below(lines.len()));
    match choices.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        _ => lines.truncate(at),
    }
    *content = lines.concat();
}

/// Changes one member of one line that is an object, and may make its hash fit;
/// with `relink`, also the links of every entry after it.
fn fields(content: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let whole = content.strip_suffix(b"\n").unwrap_or(content);
    let lines: Option<Vec<Value>> = whole
        .split(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).ok())
        .collect();
    let Some(mut lines) = lines else { return };
    let (at, other) = (choices.below(lines.len()), choices.below(lines.len()));
    let names: Vec<String> = match &lines[at] {
        Value::Object(members) => members.keys().cloned().collect(),
        _ => return,
    };
    if names.is_empty() {
        return;
    }
    let name = choices.pick(&names).clone();
    let value = match choices.below(6) {
        0 => Value::Null,
        1 => lines[other][&name].clone(),
        2 => Value::from(choices.number()),
        3 => Value::from(Digest::of(&[choices.bytes(4)]).as_str()),
        4 => Value::from(String::from_utf8_lossy(choices.bytes(16))),
        _ => match &lines[at][&name] {
            Value::Number(number) => Value::from(number.as_u64().map_or(0, |n| n.wrapping_add(1))),
            Value::Bool(value) => Value::Bool(!value),
            Value::String(text) => Value::from(format!("{text}x")),
            other => other.clone(),
        },
    };
    lines[at][&name] = value;
    match choices.below(3) {
        0 => {}
        1 => drop(seal(&mut lines[at])),
        _ => relink(&mut lines),
    }
    *content = lines
        .iter()
        .flat_map(|line| [canonical(line), b"\n".to_vec()].concat())
        .collect();
}

/// Gives an entry the hash of its bytes.
fn seal(entry: &mut Value) -> Option<Value> {
    let members = entry.as_object_mut()?;
    members.remove("hash")?;
    let hash: [u8; 32] = Sha256::new_with_prefix([0])
        .chain_update(canonical(entry))
        .finalize()
        .into();
    entry["hash"] = Digest::from_bytes(hash).as_str().into();
    Some(entry["hash"].clone())
}

/// Writes a log again as its owner would, but for the signature.
fn relink(entries: &mut [Value]) {
    let mut last = Value::Null;
    let mut renamed: Vec<(Value, Value)> = Vec::new();
    for entry in entries {
        let old = entry["hash"].clone();
        if entry.get("previous").is_some() {
            entry["previous"] = last.clone();
        }
        let before = renamed
            .iter()
            .find(|pair| pair.0 == entry["execution_previous"]);
        if let Some((_, new)) = before {
            entry["execution_previous"] = new.clone();
        }
        let Some(new) = seal(entry) else { return };
        renamed.push((old, new.clone()));
        last = new;
    }
}

/// In canonical form, where the reader takes it.
fn canonical(value: &Value) -> Vec<u8> {
    let text = serde_json::to_vec(value).unwrap();
    match Document::read(&text, Limits::STANDARD) {
        Ok(document) => document.root().canonical(),
        Err(_) => text,
    }
}
