//! What an upstream answered, as evidence names it: by digest and length.
//!
//! The digest is over the canonical `result` or `error` after the upstream's
//! `countersign.dev/` keys are removed and before ours are added, an emptied
//! `_meta` (in an error: `data`) left out; so the caller can compute it from
//! the answer that it holds (`docs/spec/evidence.md`, section 1).

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Digest, write};

use crate::{RECEIPT_KEY, Receipt};

/// Names that only the gateway may give; an upstream's are dropped.
const OURS: &str = "countersign.dev/";

/// Which of the two forms of a JSON-RPC answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A `result`; our keys stand in its `_meta`.
    Result,
    /// An `error`; our keys stand in its `data`.
    Error,
}

impl Form {
    const fn holder(self) -> &'static str {
        match self {
            Self::Result => "_meta",
            Self::Error => "data",
        }
    }
}

/// An answer without any `countersign.dev/` key, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    form: Form,
    canonical: Vec<u8>,
    /// The members apart from the one that holds our keys, sorted.
    members: Members,
    holder: Holder,
}

/// Names and canonical values, sorted by UTF-16 code units.
type Members = Vec<(String, Vec<u8>)>;

/// The member that holds our keys.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    /// Its members without ours; it is left out where there are none.
    Object(Members),
    /// Something else than an object, which stays as it is.
    Opaque(Vec<u8>),
}

impl Answer {
    /// Takes the value of an answer's `result` or `error`; `None` where it is
    /// not an object.
    #[must_use]
    pub fn of(form: Form, item: Item<'_>) -> Option<Self> {
        if item.kind() != Kind::Object {
            return None;
        }
        let mut members = Members::with_capacity(item.count());
        let mut holder = Holder::Object(Members::new());
        for child in item.children() {
            let name = child.name().unwrap_or_default();
            if name != form.holder() {
                members.push((name.to_owned(), child.canonical()));
            } else if child.kind() == Kind::Object {
                let theirs = child.children().filter_map(|value| {
                    let name = value.name()?;
                    (!name.starts_with(OURS)).then(|| (name.to_owned(), value.canonical()))
                });
                let mut theirs: Members = theirs.collect();
                sort(&mut theirs);
                holder = Holder::Object(theirs);
            } else {
                holder = Holder::Opaque(child.canonical());
            }
        }
        sort(&mut members);
        let canonical = join(form, &members, &holder);
        Some(Self {
            form,
            canonical,
            members,
            holder,
        })
    }

    /// The bytes that the digest is over.
    #[must_use]
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// Their SHA-256.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[&self.canonical])
    }

    /// How many bytes they are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.canonical.len()).unwrap_or(u64::MAX)
    }

    /// The canonical answer with our receipt in it; `None` where there is no
    /// place for one (an error whose `data` is not an object), so that it has
    /// to be fetched by call id.
    #[must_use]
    pub fn with_receipt(&self, receipt: &Receipt) -> Option<Vec<u8>> {
        let Holder::Object(theirs) = &self.holder else {
            return None;
        };
        let mut all = theirs.clone();
        all.push((RECEIPT_KEY.to_owned(), receipt.to_json()));
        sort(&mut all);
        Some(join(self.form, &self.members, &Holder::Object(all)))
    }
}

fn sort(members: &mut Members) {
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
}

/// Writes the members with the holder at its place among them.
fn join(form: Form, members: &Members, holder: &Holder) -> Vec<u8> {
    let held = match holder {
        Holder::Object(members) if members.is_empty() => None,
        Holder::Object(members) => Some(object(members)),
        Holder::Opaque(value) => Some(value.clone()),
    };
    let mut all = members.clone();
    all.extend(held.map(|value| (form.holder().to_owned(), value)));
    sort(&mut all);
    object(&all)
}

fn object(members: &Members) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write::string(&mut out, name);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    fn answer(form: Form, json: &str) -> Option<Answer> {
        let document = Document::read(json.as_bytes(), Limits::STANDARD).unwrap();
        Answer::of(form, document.root())
    }

    fn receipt() -> Receipt {
        Receipt {
            call_id: "call".parse().unwrap(),
            execution_id: None,
            binding: None,
            profile: None,
            log_id: "log".parse().unwrap(),
            sequence: 3,
            entry_hash: Digest::of(&[b"entry"]),
            salt: None,
        }
    }

    #[test]
    fn what_is_digested_is_the_answer_without_our_keys_and_without_an_emptied_holder() {
        for (form, json, canonical) in [
            (
                Form::Result,
                r#"{"b":1.0,"a":[1, 2]}"#,
                r#"{"a":[1,2],"b":1.0}"#,
            ),
            (
                Form::Result,
                r#"{"_meta":{"countersign.dev/receipt":1},"a":1}"#,
                r#"{"a":1}"#,
            ),
            (
                Form::Result,
                r#"{"_meta":{"countersign.dev/x":1,"y":2}}"#,
                r#"{"_meta":{"y":2}}"#,
            ),
            (Form::Result, r#"{"_meta":{}}"#, "{}"),
            (Form::Result, r#"{"_meta":7}"#, r#"{"_meta":7}"#),
            (Form::Result, r#"{"data":{}}"#, r#"{"data":{}}"#),
            (
                Form::Error,
                r#"{"code":1,"data":{"countersign.dev/receipt":1}}"#,
                r#"{"code":1}"#,
            ),
            (
                Form::Error,
                r#"{"code":1,"data":[1]}"#,
                r#"{"code":1,"data":[1]}"#,
            ),
        ] {
            assert_eq!(
                answer(form, json).unwrap().canonical(),
                canonical.as_bytes(),
                "{json}"
            );
        }
        assert_eq!(answer(Form::Result, "[]"), None);
    }

    #[test]
    fn the_caller_computes_the_same_digest_from_the_answer_with_the_receipt() {
        for (form, json) in [
            (Form::Result, r#"{"content":[],"_meta":{"z":1,"ä":2}}"#),
            (Form::Result, r#"{"content":[]}"#),
            (
                Form::Error,
                r#"{"code":-32000,"message":"no","data":{"x":1}}"#,
            ),
            (Form::Error, r#"{"code":-32000,"message":"no"}"#),
        ] {
            let sent = answer(form, json).unwrap();
            let delivered = sent.with_receipt(&receipt()).unwrap();
            let delivered = String::from_utf8(delivered).unwrap();
            assert!(delivered.contains(RECEIPT_KEY));
            assert_eq!(
                answer(form, &delivered).unwrap().digest(),
                sent.digest(),
                "{json}"
            );
        }
        let opaque = answer(Form::Error, r#"{"code":1,"data":"text"}"#).unwrap();
        assert_eq!(opaque.with_receipt(&receipt()), None);
    }
}
