//! Makes a counterexample small, so that one sees at once what it shows.
//!
//! A message is cut byte by byte; a pair is cut in lockstep, since whatever
//! tells the two apart must stay the only thing that does.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, write};

use crate::generate::Tree;
use crate::shrink::Shrinking;

/// How many smaller ones are tried at most.
const TRIES: usize = 3_000;

/// A smallest message of which `fails` still holds.
pub(crate) fn message(failing: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    // By values first, where it can be read: bytes alone come to it slowly.
    let [smaller] = lockstep([failing], |[message]| fails(message));
    let mut shrinking = Shrinking::new(&smaller);
    for _ in 0..TRIES {
        let Some(smaller) = shrinking.candidate() else {
            break;
        };
        let still = fails(&smaller);
        shrinking.judged(smaller, still);
    }
    shrinking.smallest()
}

/// A smallest pair of messages of which `fails` still holds.
pub(crate) fn pair(failing: [&[u8]; 2], fails: impl FnMut([&[u8]; 2]) -> bool) -> [Vec<u8>; 2] {
    lockstep(failing, fails)
}

/// Leaves the same values out of all messages, as long as `fails` holds.
fn lockstep<const N: usize>(
    failing: [&[u8]; N],
    mut fails: impl FnMut([&[u8]; N]) -> bool,
) -> [Vec<u8>; N] {
    let mut smallest = failing.map(<[u8]>::to_vec);
    let read = failing.map(tree);
    if read.iter().any(Option::is_none) {
        return smallest;
    }
    let mut trees = read.map(|tree| tree.unwrap_or(Tree::Null));
    let mut tries = 0;
    // What follows a value that was left out is tried next, in the same round.
    let mut at = 0;
    let mut smaller = false;
    while tries < TRIES {
        let all = trees.first().map(paths).unwrap_or_default();
        let Some(path) = all.get(at) else {
            if !smaller {
                break;
            }
            (at, smaller) = (0, false);
            continue;
        };
        tries += 1;
        let cut = trees.clone().map(|tree| without(tree, path));
        let spelled = cut.each_ref().map(spelled);
        if cut != trees && fails(spelled.each_ref().map(Vec::as_slice)) {
            (smallest, trees, smaller) = (spelled, cut, true);
        } else {
            at += 1;
        }
    }
    smallest
}

/// One step into a value: the name of a member, or the place of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

fn tree(message: &[u8]) -> Option<Tree> {
    let document = Document::read(message, Limits::STANDARD).ok()?;
    Some(of(document.root()))
}

// INVARIANT: a document is at most 64 containers deep, here and below.
fn of(item: Item<'_>) -> Tree {
    match item.kind() {
        Kind::Null => Tree::Null,
        Kind::True => Tree::Boolean(true),
        Kind::False => Tree::Boolean(false),
        Kind::Number => Tree::Number(item.lexeme().unwrap_or_default().to_owned()),
        Kind::String => Tree::Text(item.text().unwrap_or_default().into_owned()),
        Kind::Array => Tree::Array(item.children().map(of).collect()),
        Kind::Object => Tree::Object(
            item.children()
                .map(|member| (member.name().unwrap_or_default().to_owned(), of(member)))
                .collect(),
        ),
    }
}

/// The ways to everything in a value, the outermost first.
fn paths(tree: &Tree) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), tree)];
    while let Some((path, tree)) = open.pop() {
        let children: Vec<(Step, &Tree)> = match tree {
            Tree::Array(items) => {
                let steps = items.iter().enumerate();
                steps
                    .map(|(index, item)| (Step::Item(index), item))
                    .collect()
            }
            Tree::Object(members) => {
                let steps = members.iter();
                steps
                    .map(|(name, value)| (Step::Member(name.clone()), value))
                    .collect()
            }
            _ => Vec::new(),
        };
        for (step, child) in children {
            let mut path: Vec<Step> = path.clone();
            path.push(step);
            found.push(path.clone());
            open.push((path, child));
        }
    }
    found.sort_by_key(Vec::len);
    found
}

/// The value without what is there; the value itself where nothing is.
fn without(tree: Tree, path: &[Step]) -> Tree {
    let Some((step, rest)) = path.split_first() else {
        return tree;
    };
    match (tree, step) {
        (Tree::Array(mut items), Step::Item(index)) => {
            if rest.is_empty() {
                if *index < items.len() {
                    items.remove(*index);
                }
            } else if let Some(item) = items.get_mut(*index) {
                *item = without(item.clone(), rest);
            }
            Tree::Array(items)
        }
        (Tree::Object(mut members), Step::Member(name)) => {
            if rest.is_empty() {
                members.retain(|(known, _)| known != name);
            } else if let Some((_, value)) = members.iter_mut().find(|(known, _)| known == name) {
                *value = without(value.clone(), rest);
            }
            Tree::Object(members)
        }
        (tree, _) => tree,
    }
}

fn spelled(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    spell(tree, &mut out);
    out
}

fn spell(tree: &Tree, out: &mut Vec<u8>) {
    let between = |index: usize, out: &mut Vec<u8>| {
        if index > 0 {
            out.push(b',');
        }
    };
    match tree {
        Tree::Null => out.extend_from_slice(b"null"),
        Tree::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Tree::Number(lexeme) => out.extend_from_slice(lexeme.as_bytes()),
        Tree::Text(text) => write::string(out, text),
        Tree::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                between(index, out);
                spell(item, out);
            }
            out.push(b']');
        }
        Tree::Object(members) => {
            out.push(b'{');
            for (index, (name, value)) in members.iter().enumerate() {
                between(index, out);
                write::string(out, name);
                out.push(b':');
                spell(value, out);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn what_two_messages_share_and_nothing_needs_is_left_out_of_both() {
        let one = br#"{"a":[1,2,{"b":"x"}],"c":null,"d":{"e":1}}"#;
        let other = br#"{"a":[1,2,{"b":"x"}],"d":{"e":2}}"#;
        // Whatever else they hold: `e` is 1 in the one and 2 in the other.
        let fails = |[one, other]: [&[u8]; 2]| {
            let has = |bytes: &[u8], part: &str| String::from_utf8_lossy(bytes).contains(part);
            has(one, r#""e":1"#) && has(other, r#""e":2"#)
        };
        let [one, other] = pair([one, other], fails);
        assert_eq!(String::from_utf8_lossy(&one), r#"{"d":{"e":1}}"#);
        assert_eq!(String::from_utf8_lossy(&other), r#"{"d":{"e":2}}"#);
    }
}
