//! How the values that stand in evidence are written and read back.
//!
//! One table for each object names its members in canonical order (by UTF-16
//! code units, which for ASCII is by bytes) and serves both directions, so that
//! what is written is RFC 8785 and what is read is all of it.

use std::fmt::Write as _;

use countersign_canon::document::{Item, Kind as JsonKind};
use countersign_canon::{Digest, Outcome, write};

use crate::terms::{outcome_text, parse_outcome};
use crate::{
    Agent, CallId, Catalog, Classified, Decision, EffectBoundary, ExecutionId, ExecutionIdStatus,
    KeyRotation, Kind, LogId, MAX_INTEGER, PolicyInputs, RefusalCode, Resolution, Round, RoundSays,
    ServerName, SessionId, Suppressed, Task, Time, WorkflowId,
};

/// A value with one written form.
pub(crate) trait Member: Sized {
    /// Appends the value in canonical form.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads the value back; `None` for anything that `write` does not write.
    fn read(item: Item<'_>) -> Option<Self>;
    /// What it means that an entry does not have the member; `None` where every
    /// entry has it.
    fn absent() -> Option<Self> {
        None
    }
}

/// Appends `"name":value`, after a comma where it is not the first member.
pub(crate) fn member(out: &mut Vec<u8>, name: &str, value: &impl Member) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write::string(out, name);
    out.push(b':');
    value.write(out);
}

impl<T: Member> Member for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn read(item: Item<'_>) -> Option<Self> {
        if item.kind() == JsonKind::Null {
            Some(None)
        } else {
            T::read(item).map(Some)
        }
    }
}

impl<T: Member> Member for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, value) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            value.write(out);
        }
        out.push(b']');
    }

    fn read(item: Item<'_>) -> Option<Self> {
        (item.kind() == JsonKind::Array).then(|| item.children().map(T::read).collect())?
    }
}

impl Member for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }

    fn read(item: Item<'_>) -> Option<Self> {
        item.boolean()
    }
}

/// Integers from 0 to 2^53 − 1. Counters never get further: at a million
/// entries a second that takes 285 years.
impl Member for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice((*self).min(MAX_INTEGER).to_string().as_bytes());
    }

    fn read(item: Item<'_>) -> Option<Self> {
        let lexeme = item.lexeme()?;
        let plain = lexeme.bytes().all(|byte| byte.is_ascii_digit());
        lexeme
            .parse()
            .ok()
            .filter(|number| plain && *number <= MAX_INTEGER)
    }
}

impl Member for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        u64::read(item)?.try_into().ok()
    }
}

impl Member for String {
    fn write(&self, out: &mut Vec<u8>) {
        write::string(out, self);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        item.text().map(std::borrow::Cow::into_owned)
    }
}

impl Member for [u8; 32] {
    fn write(&self, out: &mut Vec<u8>) {
        Digest::from_bytes(*self).write(out);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        Digest::read(item).map(Digest::to_bytes)
    }
}

impl Member for Digest {
    fn write(&self, out: &mut Vec<u8>) {
        // Nothing in a digest is ever escaped.
        out.push(b'"');
        out.extend_from_slice(self.as_str().as_bytes());
        out.push(b'"');
    }

    fn read(item: Item<'_>) -> Option<Self> {
        item.text()?.parse().ok()
    }
}

impl Member for Time {
    fn write(&self, out: &mut Vec<u8>) {
        let mut text = String::with_capacity(27);
        // Writing to a string does not fail.
        let _ = write!(text, "{self}");
        write::string(out, &text);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        Self::parse(&item.text()?)
    }
}

impl Member for Kind {
    fn write(&self, out: &mut Vec<u8>) {
        write::string(out, self.as_str());
    }

    fn read(item: Item<'_>) -> Option<Self> {
        item.text().map(|text| Self::read(&text))
    }
}

impl Member for Outcome {
    fn write(&self, out: &mut Vec<u8>) {
        write::string(out, outcome_text(*self));
    }

    fn read(item: Item<'_>) -> Option<Self> {
        parse_outcome(&item.text()?)
    }
}

macro_rules! spelled {
    ($($name:ident),+ $(,)?) => {$(
        impl Member for $name {
            fn write(&self, out: &mut Vec<u8>) {
                write::string(out, self.as_str());
            }

            fn read(item: Item<'_>) -> Option<Self> {
                Self::parse(&item.text()?)
            }
        }
    )+};
}

spelled! { EffectBoundary, ExecutionIdStatus, RoundSays }

macro_rules! named {
    ($($name:ident),+ $(,)?) => {$(
        impl Member for $name {
            fn write(&self, out: &mut Vec<u8>) {
                write::string(out, self.as_str());
            }

            fn read(item: Item<'_>) -> Option<Self> {
                Self::new(&item.text()?).ok()
            }
        }
    )+};
}

named! { CallId, ExecutionId, LogId, RefusalCode, ServerName, SessionId, WorkflowId }

/// Makes a struct an object: its members in canonical order, each required,
/// nothing else allowed.
macro_rules! object {
    ($name:ident { $($member:literal: $field:ident),+ $(,)? }) => {
        impl $crate::member::Member for $name {
            fn write(&self, out: &mut Vec<u8>) {
                out.push(b'{');
                $($crate::member::member(out, $member, &self.$field);)+
                out.push(b'}');
            }

            fn read(item: countersign_canon::document::Item<'_>) -> Option<Self> {
                let expected = [$($member),+];
                let object = countersign_canon::document::Kind::Object;
                if item.kind() != object || item.count() != expected.len() {
                    return None;
                }
                Some(Self { $($field: $crate::member::Member::read(item.get($member)?)?),+ })
            }
        }
    };
}

pub(crate) use object;

object! { Agent { "issuer": issuer, "method": method, "subject": subject } }
object! { Decision { "allow": allow, "determining": determining, "reason": reason } }
object! { PolicyInputs { "audience": audience, "class": class, "proof_key": proof_key } }
object! { Catalog { "approved": approved, "attributed": attributed, "discovered": discovered } }
object! { Round { "number": number, "says": says } }
object! { Task { "id": id, "status": status } }
object! { Suppressed { "count": count, "from": from, "to": to } }
object! { Resolution { "evidence": evidence, "operator": operator, "reason": reason } }
object! { KeyRotation { "next": next, "previous": previous, "signature": signature } }

/// `{"difference":[…],"outcome":…,"verdict":…}`
impl Member for Classified {
    fn write(&self, out: &mut Vec<u8>) {
        let difference: Vec<String> = self.difference().iter().map(|&word| word.into()).collect();
        out.push(b'{');
        member(out, "difference", &difference);
        member(out, "outcome", &self.outcome());
        member(out, "verdict", &self.as_str().to_owned());
        out.push(b'}');
    }

    fn read(item: Item<'_>) -> Option<Self> {
        if item.kind() != JsonKind::Object || item.count() != 3 {
            return None;
        }
        let difference: Vec<String> = Member::read(item.get("difference")?)?;
        let difference: Vec<&str> = difference.iter().map(String::as_str).collect();
        let outcome = Member::read(item.get("outcome")?)?;
        Self::parse(&item.get("verdict")?.text()?, outcome, &difference)
    }
}
