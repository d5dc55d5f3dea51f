//! The strict reader: it takes what an independent reader takes and nothing
//! else, gives the same values, and refuses where the shortest inadmissible
//! prefix ends (`docs/spec/action-binding.md` §1).

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Code, Document, Limits, Refusal};

use crate::message;
use crate::model::{self, Lacking, Tree};

/// Limits that short inputs meet.
const TIGHT: Limits = Limits {
    message_bytes: 1_024,
    depth: 4,
    number_bytes: 8,
    nodes: 24,
};

pub(crate) fn run(data: &[u8]) {
    let bytes = message::of(data);
    for limits in [Limits::STANDARD, TIGHT] {
        judge(&bytes, limits);
    }
}

fn judge(bytes: &[u8], limits: Limits) {
    let read = Document::read(bytes, limits);
    match (&read, model::read(bytes, limits)) {
        (Ok(document), Ok(tree)) => {
            assert_eq!(document.source(), bytes);
            assert_eq!(document.values(), model::values(&tree));
            same(document.root(), &tree);
        }
        (Err(refusal), Err(lacking)) => {
            if lacking == Lacking::Content {
                let content = [Code::Surrogate, Code::DuplicateMember, Code::Limit];
                assert!(content.contains(&refusal.code), "{refusal} of JSON");
            }
            if lacking == Lacking::Size {
                assert_eq!(refusal.code, Code::Limit);
                assert_eq!(refusal.offset, limits.message_bytes + 1);
            }
            certain(bytes, refusal, limits);
        }
        (said, model) => panic!("the reader says {said:?}, another one {model:?}"),
    }
}

/// A value is the one that the model has, and is found where it should be.
fn same(item: Item<'_>, tree: &Tree) {
    let kind = item.kind();
    match tree {
        Tree::Null => assert_eq!(kind, Kind::Null),
        Tree::Boolean(true) => assert_eq!(kind, Kind::True),
        Tree::Boolean(false) => assert_eq!(kind, Kind::False),
        Tree::Number(lexeme) => {
            assert_eq!((kind, item.raw()), (Kind::Number, lexeme.as_bytes()));
        }
        Tree::Text(text) => {
            assert_eq!(kind, Kind::String);
            assert_eq!(item.text().as_deref(), Some(text.as_str()));
            assert!(item.is_text(text));
        }
        Tree::Array(items) => {
            assert_eq!((kind, item.count()), (Kind::Array, items.len()));
            assert_eq!(item.children().count(), items.len());
            for (child, tree) in item.children().zip(items) {
                assert_eq!(child.name(), None);
                same(child, tree);
            }
        }
        Tree::Object(members) => {
            assert_eq!((kind, item.count()), (Kind::Object, members.len()));
            assert_eq!(item.children().count(), members.len());
            for (child, (name, tree)) in item.children().zip(members) {
                assert_eq!(child.name(), Some(name.as_str()));
                let found = item.get(name).map(Item::offset);
                assert_eq!(found, Some(child.offset()), "`{name}` by its name");
                same(child, tree);
            }
        }
    }
}

/// Nothing after the prefix changes the refusal, and without its last byte the
/// prefix could still have become admissible.
fn certain(bytes: &[u8], refusal: &Refusal, limits: Limits) {
    let offset = refusal.offset as usize;
    assert!(offset <= bytes.len(), "{refusal} behind the end");
    assert!(refusal.pointer.len() <= 256);
    if offset < bytes.len() {
        for tail in [&b""[..], b"0", b"\"}]", b"\\u0000\"", b"\xff\x80"] {
            let other = [&bytes[..offset], tail].concat();
            if size_decides(&other, refusal, limits) {
                continue;
            }
            let said = Document::read(&other, limits).map(|_| ());
            // A text that ends there lacks something there too, and that is told
            // before a name that occurs twice.
            let ends = tail.is_empty() && said.as_ref().is_err_and(|r| r.code < refusal.code);
            if ends {
                assert_eq!(
                    said.map_err(|r| (r.code, r.offset)),
                    Err((Code::Syntax, refusal.offset))
                );
                continue;
            }
            assert_eq!(said.as_ref(), Err(refusal), "with the tail {tail:?}");
        }
    }
    // The size and a byte order mark come before what a shorter text would lack.
    let first = bytes.len() > limits.message_bytes as usize || bytes.starts_with(b"\xEF\xBB\xBF");
    if let Some(shorter) = offset.checked_sub(1).filter(|_| !first)
        && let Err(earlier) = Document::read(&bytes[..shorter], limits)
    {
        let at = earlier.offset as usize;
        assert_eq!(at, shorter, "{earlier} was certain before {refusal}");
    }
}

/// Whether a longer text is refused for its size, which comes first.
fn size_decides(bytes: &[u8], refusal: &Refusal, limits: Limits) -> bool {
    let most = limits.message_bytes as usize;
    bytes.len() > most && refusal.offset as usize <= most
}
