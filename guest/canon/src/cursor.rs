//! Walking a view: cheap handles, with pointers derived only when asked for.
//!
//! A view comes from a component, so its shape is checked here, once, before
//! anything works from it: whoever holds a [`View`] holds a canonical action's.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::{Limits, Node, Value, number, order, pointer};

/// The nodes of an action, checked: counts add up, members are named and in
/// canonical order, items are not named, numbers are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    nodes: Vec<Node>,
    places: Vec<Place>,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The container's node; the root's is itself.
    parent: u32,
    /// The position among its siblings.
    position: u32,
    /// The node after this one and its content.
    skip: u32,
}

/// A list of nodes that is no view of any action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedView {
    /// The first node that cannot stand where it stands.
    pub node: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

struct Open {
    node: u32,
    left: u32,
    position: u32,
    named: bool,
}

impl View {
    /// Checks the shape of a list of nodes.
    ///
    /// # Errors
    /// The first node that cannot stand where it stands: it closes too few or
    /// too many, is named or not named against its container, is out of
    /// canonical order, deeper than 64, over the 262,144th, or writes a number
    /// that is none or that is an integer.
    pub fn new(nodes: Vec<Node>) -> Result<Self, MalformedView> {
        let places = places(&nodes)?;
        Ok(Self { nodes, places })
    }

    /// The action itself.
    #[must_use]
    pub fn root(&self) -> Cursor<'_> {
        Cursor {
            view: self,
            index: 0,
        }
    }

    /// Every value in canonical order, a container before its content.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every value in canonical order, as handles.
    pub fn iter(&self) -> impl Iterator<Item = Cursor<'_>> {
        self.root().descend()
    }

    /// The value at a JSON Pointer from the action's root, if there is one.
    #[must_use]
    pub fn get(&self, pointer: &str) -> Option<Cursor<'_>> {
        let mut at = self.root();
        for step in pointer::steps(pointer)? {
            at = match at.value() {
                Value::Object(_) => at.get(&step)?,
                Value::Array(_) => at.at(pointer::index(&step)?)?,
                _ => return None,
            };
        }
        Some(at)
    }
}

fn places(nodes: &[Node]) -> Result<Vec<Place>, MalformedView> {
    let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
    let mut open: Vec<Open> = Vec::new();
    let mut previous: Vec<Option<&str>> = Vec::new();
    for (index, node) in (0u32..).zip(nodes) {
        let fault = |why| MalformedView {
            node: index as usize,
            why,
        };
        if index >= Limits::STANDARD.nodes {
            return Err(fault("more values than an action holds"));
        }
        let place = match open.last_mut() {
            None if index > 0 => return Err(fault("a value after the root's content")),
            None => Place {
                parent: 0,
                position: 0,
                skip: 0,
            },
            Some(container) => {
                container.left -= 1;
                container.position += 1;
                Place {
                    parent: container.node,
                    position: container.position - 1,
                    skip: 0,
                }
            }
        };
        let name = node.name.as_deref();
        if name.is_some() != open.last().is_some_and(|container| container.named) {
            return Err(fault("members have names, items and the root have none"));
        }
        if let (Some(before), Some(name)) = (previous.last_mut(), name) {
            let ordered = |before: &str| {
                order::utf16(before.as_bytes(), name.as_bytes()) == core::cmp::Ordering::Less
            };
            if !before.is_none_or(ordered) {
                return Err(fault(
                    "members are in the order of their names' UTF-16 code units",
                ));
            }
            *before = Some(name);
        }
        places.push(place);
        let (left, named) = match &node.value {
            Value::Array(count) => (*count, false),
            Value::Object(count) => (*count, true),
            Value::Number(lexeme) if !number::is_number(lexeme.as_bytes()) => {
                return Err(fault("a number is written as RFC 8259 writes it"));
            }
            Value::Number(lexeme) if number::integer(lexeme.as_bytes()).is_some() => {
                return Err(fault("a number within 64 bits is an integer"));
            }
            _ => (0, false),
        };
        if matches!(node.value, Value::Array(_) | Value::Object(_)) {
            if open.len() >= Limits::STANDARD.depth as usize {
                return Err(fault("a container deeper than an action nests"));
            }
            open.push(Open {
                node: index,
                left,
                position: 0,
                named,
            });
            previous.push(None);
        } else if let Some(place) = places.last_mut() {
            place.skip = index + 1;
        }
        while let Some(done) = open.pop_if(|container| container.left == 0) {
            previous.pop();
            if let Some(place) = places.get_mut(done.node as usize) {
                place.skip = index + 1;
            }
        }
    }
    if nodes.is_empty() || !open.is_empty() {
        return Err(MalformedView {
            node: nodes.len(),
            why: "fewer values than were counted",
        });
    }
    Ok(places)
}

/// One value of a [`View`]: a cheap handle.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'v> {
    view: &'v View,
    index: u32,
}

impl<'v> Cursor<'v> {
    /// The node's position in [`View::nodes`].
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// A member's name; none for the root and for items.
    #[must_use]
    pub fn name(self) -> Option<&'v str> {
        self.view.nodes.get(self.index())?.name.as_deref()
    }

    /// The value.
    #[must_use]
    pub fn value(self) -> &'v Value {
        // INVARIANT: handles are made from nodes of this view only.
        self.view
            .nodes
            .get(self.index())
            .map_or(&Value::Null, |node| &node.value)
    }

    /// The container that this value is in.
    #[must_use]
    pub fn parent(self) -> Option<Cursor<'v>> {
        if self.index == 0 {
            return None;
        }
        Some(Cursor {
            view: self.view,
            index: self.place().parent,
        })
    }

    /// The position among its siblings, from 0.
    #[must_use]
    pub fn position(self) -> usize {
        self.place().position as usize
    }

    /// The items or members, in canonical order.
    #[must_use]
    pub fn children(self) -> Children<'v> {
        let end = self.place().skip;
        Children {
            view: self.view,
            next: self.index + 1,
            end,
        }
    }

    /// This value and everything in it, a container before its content.
    pub fn descend(self) -> impl Iterator<Item = Cursor<'v>> {
        let view = self.view;
        (self.index..self.place().skip).map(move |index| Cursor { view, index })
    }

    /// The member of that name. Linear in the number of members.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Cursor<'v>> {
        match self.value() {
            Value::Object(_) => self.children().find(|child| child.name() == Some(name)),
            _ => None,
        }
    }

    /// The item at a position, from 0. Linear in the position.
    #[must_use]
    pub fn at(self, position: usize) -> Option<Cursor<'v>> {
        match self.value() {
            Value::Array(_) => self.children().nth(position),
            _ => None,
        }
    }

    /// RFC 6901 pointer from the action's root, whole.
    #[must_use]
    pub fn pointer(self) -> String {
        let mut path = Vec::new();
        let mut at = self;
        while let Some(parent) = at.parent() {
            path.push(at);
            at = parent;
        }
        let mut text = String::new();
        for cursor in path.into_iter().rev() {
            match cursor.name() {
                Some(name) => pointer::push(&mut text, name),
                None => pointer::push(&mut text, &alloc::format!("{}", cursor.position())),
            }
        }
        text
    }

    fn place(self) -> Place {
        let nothing = Place {
            parent: 0,
            position: 0,
            skip: 0,
        };
        self.view
            .places
            .get(self.index())
            .copied()
            .unwrap_or(nothing)
    }
}

/// The children of one container.
#[derive(Clone, Debug)]
pub struct Children<'v> {
    view: &'v View,
    next: u32,
    end: u32,
}

impl<'v> Iterator for Children<'v> {
    type Item = Cursor<'v>;

    fn next(&mut self) -> Option<Cursor<'v>> {
        if self.next >= self.end {
            return None;
        }
        let child = Cursor {
            view: self.view,
            index: self.next,
        };
        self.next = child.place().skip;
        Some(child)
    }
}

impl fmt::Display for MalformedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} of a view: {}", self.node, self.why)
    }
}

impl core::error::Error for MalformedView {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn node(name: Option<&str>, value: Value) -> Node {
        Node {
            name: name.map(Into::into),
            value,
        }
    }

    fn sample() -> View {
        // {"a/b":[1,[],null],"c":{"d":"x"}}
        View::new(vec![
            node(None, Value::Object(2)),
            node(Some("a/b"), Value::Array(3)),
            node(None, Value::Integer(1)),
            node(None, Value::Array(0)),
            node(None, Value::Null),
            node(Some("c"), Value::Object(1)),
            node(Some("d"), Value::Text("x".into())),
        ])
        .unwrap()
    }

    #[test]
    fn every_value_is_found_at_its_own_pointer_and_knows_its_container() {
        let view = sample();
        let pointers: Vec<String> = view.iter().map(Cursor::pointer).collect();
        assert_eq!(
            pointers,
            ["", "/a~1b", "/a~1b/0", "/a~1b/1", "/a~1b/2", "/c", "/c/d"]
        );
        for cursor in view.iter() {
            assert_eq!(view.get(&cursor.pointer()).unwrap().index(), cursor.index());
        }
        assert_eq!(view.get("/c/d").unwrap().parent().unwrap().pointer(), "/c");
        for absent in ["/d", "/a~1b/3", "/a~1b/00", "/a~1b/-", "/c/d/e", "c"] {
            assert!(view.get(absent).is_none(), "{absent}");
        }
        assert_eq!(view.root().children().count(), 2);
        assert_eq!(view.nodes().len(), pointers.len());
        assert_eq!(
            view.nodes().last(),
            Some(&node(Some("d"), Value::Text("x".into())))
        );
    }

    #[test]
    fn a_list_that_no_action_gives_is_no_view() {
        let object = |count| node(None, Value::Object(count));
        let deep = (0..65).map(|_| node(None, Value::Array(1))).collect();
        for (nodes, at) in [
            (vec![], 0),
            (vec![object(1)], 1),
            (vec![object(0), object(0)], 1),
            (vec![object(1), node(None, Value::Null)], 1),
            (vec![node(Some("a"), Value::Null)], 0),
            (
                vec![node(None, Value::Array(1)), node(Some("a"), Value::Null)],
                1,
            ),
            (
                vec![
                    object(2),
                    node(Some("b"), Value::Null),
                    node(Some("a"), Value::Null),
                ],
                2,
            ),
            (
                vec![
                    object(2),
                    node(Some("a"), Value::Null),
                    node(Some("a"), Value::Null),
                ],
                2,
            ),
            (vec![node(None, Value::Number("1".to_string()))], 0),
            (vec![node(None, Value::Number("01".to_string()))], 0),
            (vec![node(None, Value::Number("1.".to_string()))], 0),
            (vec![node(None, Value::Number(String::new()))], 0),
            (deep, 64),
        ] {
            assert_eq!(View::new(nodes).unwrap_err().node, at);
        }
    }
}
