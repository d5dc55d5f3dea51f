//! The canonical writer: it writes what an independent writer writes, whatever
//! the spelling, and what it writes reads back as the same value and is
//! canonical already.

use countersign_canon::document::Item;
use countersign_canon::{Document, Limits, write};

use crate::message;
use crate::model::{self, Tree};

pub(crate) fn run(data: &[u8]) {
    let bytes = message::of(data);
    if let Ok(text) = std::str::from_utf8(&bytes) {
        let mut quoted = Vec::new();
        write::string(&mut quoted, text);
        assert_eq!(quoted, serde_json::to_vec(text).unwrap());
    }
    let Ok(document) = Document::read(&bytes, Limits::STANDARD) else {
        return;
    };
    let tree = model::read(&bytes, Limits::STANDARD).expect("the readers agree");
    every(document.root(), &tree);
    let written = document.root().canonical();
    let again = Document::read(&written, Limits::STANDARD).expect("canonical bytes are read");
    assert_eq!(again.root().canonical(), written, "it is canonical already");
    let back = model::read(&written, Limits::STANDARD).expect("canonical bytes are JSON");
    assert_eq!(sorted(&back), sorted(&tree), "it reads back as the same");
    for seed in 0..2 {
        let other = model::respelled(&tree, seed);
        let document = Document::read(&other, Limits::STANDARD).expect("another spelling");
        assert_eq!(document.root().canonical(), written, "spelled otherwise");
    }
}

/// Every value within has the canonical form that the model gives it.
fn every(item: Item<'_>, tree: &Tree) {
    let expected = model::canonical(tree);
    assert_eq!(String::from_utf8_lossy(&item.canonical()), expected);
    match tree {
        Tree::Array(items) => item.children().zip(items).for_each(|(i, t)| every(i, t)),
        Tree::Object(members) => {
            for (item, (_, tree)) in item.children().zip(members) {
                every(item, tree);
            }
        }
        _ => {}
    }
}

/// The same value with its members in the order of their names.
fn sorted(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(items) => Tree::Array(items.iter().map(sorted).collect()),
        Tree::Object(members) => {
            let member = |(name, value): &(String, Tree)| (name.clone(), sorted(value));
            let mut members: Vec<_> = members.iter().map(member).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Tree::Object(members)
        }
        plain => plain.clone(),
    }
}
