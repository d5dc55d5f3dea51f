//! The tag keys that policies name, as a tree of steps.
//!
//! Only what a policy can read is built for Cedar: the tree is laid over a
//! view (or a canonical document) in one descent that never enters what no key
//! leads into.

use std::collections::{BTreeMap, BTreeSet};

use countersign_canon::Value;
use countersign_canon::document::{self, Item, Kind};
use countersign_canon::view::{self, Cursor};

/// Values nest at most this deep, so no longer pointer leads anywhere.
const MAX_STEPS: usize = 64;

/// A JSON Pointer (RFC 6901) that some value could stand at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Box<str>);

impl Key {
    /// None where the text is no pointer, or longer than values nest.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let rooted = text.is_empty() || text.starts_with('/');
        let escaped = text
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with(['0', '1']));
        let short = text.split('/').count() <= MAX_STEPS + 1;
        (rooted && escaped && short).then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// How many steps it has.
    pub(crate) fn length(&self) -> usize {
        self.0.split('/').count() - 1
    }

    fn steps(&self) -> impl Iterator<Item = String> + '_ {
        // `~1` first: `~01` is a tilde and a one, not a slash.
        self.0
            .split('/')
            .skip(1)
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
    }
}

/// Keys, ready to be looked up all at once.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    texts: Vec<Box<str>>,
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// Which key ends here.
    key: Option<usize>,
    members: BTreeMap<Box<str>, usize>,
    /// The members that also name a place in an array.
    items: BTreeMap<usize, usize>,
}

impl Keys {
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Self {
        let keys: BTreeSet<&Key> = keys.into_iter().collect();
        let mut tree = Self {
            texts: Vec::with_capacity(keys.len()),
            nodes: vec![Node::default()],
        };
        for key in keys {
            let mut at = 0;
            for step in key.steps() {
                at = tree.child(at, &step);
            }
            if let Some(node) = tree.nodes.get_mut(at) {
                node.key = Some(tree.texts.len());
            }
            tree.texts.push(key.0.clone());
        }
        tree
    }

    fn child(&mut self, parent: usize, step: &str) -> usize {
        let fresh = self.nodes.len();
        let Some(node) = self.nodes.get_mut(parent) else {
            return parent;
        };
        let child = *node.members.entry(step.into()).or_insert(fresh);
        if let Some(place) = place(step) {
            node.items.insert(place, child);
        }
        if child == fresh {
            self.nodes.push(Node::default());
        }
        child
    }

    /// Calls `found` with each key that leads to a value.
    pub(crate) fn find<T: Tree>(&self, root: T, mut found: impl FnMut(&str, T)) {
        if self.texts.is_empty() {
            return;
        }
        let mut open = vec![(root, 0)];
        while let Some((value, node)) = open.pop() {
            let Some(node) = self.nodes.get(node) else {
                continue;
            };
            if let Some(text) = node.key.and_then(|key| self.texts.get(key)) {
                found(text, value);
            }
            match value.shape() {
                Shape::Object => {
                    let mut left = node.members.len();
                    let mut children = value.children();
                    while left > 0 {
                        let Some(child) = children.next() else { break };
                        let step = child.name().and_then(|name| node.members.get(name));
                        if let Some(step) = step {
                            open.push((child, *step));
                            left -= 1;
                        }
                    }
                }
                Shape::Array => {
                    let mut next = 0;
                    let mut children = value.children();
                    for (place, step) in &node.items {
                        let Some(child) = children.nth(place - next) else {
                            break;
                        };
                        next = place + 1;
                        open.push((child, *step));
                    }
                }
                Shape::Leaf => {}
            }
        }
    }
}

/// A place in an array as a pointer writes it: without leading zeros.
fn place(step: &str) -> Option<usize> {
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let padded = step.len() > 1 && step.starts_with('0');
    if digits && !padded {
        step.parse().ok()
    } else {
        None
    }
}

/// How a value holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
    Leaf,
}

/// What can be descended into: a view, or a canonical document.
pub(crate) trait Tree: Copy {
    fn shape(self) -> Shape;
    fn children(self) -> impl Iterator<Item = Self>;
    fn name(&self) -> Option<&str>;
}

impl<'v> Tree for Cursor<'v> {
    fn shape(self) -> Shape {
        match self.value() {
            Value::Object(_) => Shape::Object,
            Value::Array(_) => Shape::Array,
            _ => Shape::Leaf,
        }
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let children: view::Children<'v> = Cursor::children(self);
        children
    }

    fn name(&self) -> Option<&str> {
        Cursor::name(*self)
    }
}

impl<'d> Tree for Item<'d> {
    fn shape(self) -> Shape {
        match self.kind() {
            Kind::Object => Shape::Object,
            Kind::Array => Shape::Array,
            _ => Shape::Leaf,
        }
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let children: document::Children<'d> = Item::children(self);
        children
    }

    fn name(&self) -> Option<&str> {
        Item::name(*self)
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Node as ViewNode, View};

    use super::*;

    fn node(name: Option<&str>, value: Value) -> ViewNode {
        ViewNode {
            name: name.map(Into::into),
            value,
        }
    }

    /// `{"":9,"a":[0,{"0":1},[]],"a/b":{"~":2,"~1":3},"c":{}}`
    fn sample() -> View {
        View::new(vec![
            node(None, Value::Object(4)),
            node(Some(""), Value::Integer(9)),
            node(Some("a"), Value::Array(3)),
            node(None, Value::Integer(0)),
            node(None, Value::Object(1)),
            node(Some("0"), Value::Integer(1)),
            node(None, Value::Array(0)),
            node(Some("a/b"), Value::Object(2)),
            node(Some("~"), Value::Integer(2)),
            node(Some("~1"), Value::Integer(3)),
            node(Some("c"), Value::Object(0)),
        ])
        .unwrap()
    }

    #[test]
    fn every_key_finds_what_its_pointer_says_and_nothing_else() {
        let view = sample();
        let mut texts: Vec<String> = view.iter().map(Cursor::pointer).collect();
        for absent in [
            "/a/00",
            "/a/3",
            "/a/-",
            "/a/1/1",
            "/b",
            "/c/",
            "/a/0/0",
            "/a~1b/~01/x",
        ] {
            texts.push(absent.to_owned());
        }
        let keys: Vec<Key> = texts.iter().map(|text| Key::new(text).unwrap()).collect();
        let mut found = BTreeMap::new();
        Keys::new(&keys).find(view.root(), |key, cursor| {
            found.insert(key.to_owned(), cursor.index());
        });
        for text in texts {
            let expected = view.get(&text).map(Cursor::index);
            assert_eq!(found.get(&text).copied(), expected, "{text}");
        }
    }

    #[test]
    fn a_key_is_a_pointer_that_a_value_could_stand_at() {
        for (text, fits) in [
            ("", true),
            ("/", true),
            ("/arguments/argv/0", true),
            ("/a~0~1b", true),
            ("arguments", false),
            ("/a~", false),
            ("/a~2", false),
            (&"/a".repeat(64), true),
            (&"/a".repeat(65), false),
        ] {
            assert_eq!(Key::new(text).is_some(), fits, "{text}");
        }
    }
}
