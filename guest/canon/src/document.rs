//! One JSON text that was read strictly: a flat table over its own bytes.
//!
//! Nothing that is not escaped is copied; every value knows its span in the
//! source, so that it can be spliced into another text as it stands.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{Limits, Refusal};

/// A JSON text in which no rule of `docs/spec/action-binding.md` §1 is broken.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub(crate) source: &'a [u8],
    /// Member names that were escaped, unescaped.
    pub(crate) decoded: Vec<u8>,
    /// Every value in the order of its bytes, a container before its content.
    pub(crate) table: Vec<Row>,
    /// For each object that is not in canonical order, its members that are.
    pub(crate) order: Vec<u32>,
}

/// One value of a document: 32 bytes, since there may be 262,144 of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    /// Whether the value stands in canonical form already.
    pub(crate) canonical: bool,
    /// Whether a string holds escapes.
    pub(crate) escaped: bool,
    pub(crate) place: Place,
    pub(crate) name_start: u32,
    pub(crate) name_end: u32,
    /// The value's bytes in the source.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// How many items or members follow.
    pub(crate) count: u32,
    /// The row after this value and its content; `OPEN` while it is read.
    pub(crate) skip: u32,
    /// Where this object's members begin in `order`, or `IN_ORDER`.
    pub(crate) order: u32,
}

/// The `skip` of a container that is still being read.
pub(crate) const OPEN: u32 = u32::MAX;
/// The `order` of a value whose content needs no other order.
pub(crate) const IN_ORDER: u32 = u32::MAX;

/// Where a member's name stands, without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) place: Place,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// In which buffer a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root and items have no name.
    Nowhere,
    Source,
    Decoded,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl<'a> Document<'a> {
    /// Reads one JSON text whole.
    ///
    /// # Errors
    /// The earliest fault: `encoding`, `syntax`, `surrogate`,
    /// `duplicate-member` or `limit`.
    pub fn read(source: &'a [u8], limits: Limits) -> Result<Self, Refusal> {
        crate::read::document(source, limits)
    }

    /// The bytes that were read.
    #[must_use]
    pub fn source(&self) -> &'a [u8] {
        self.source
    }

    /// How many values there are, containers included; at least one.
    #[must_use]
    pub fn values(&self) -> usize {
        self.table.len()
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Item<'_> {
        Item {
            document: self,
            index: 0,
        }
    }

    pub(crate) fn name_of(&self, name: Name) -> Option<&[u8]> {
        let span = name.start as usize..name.end as usize;
        match name.place {
            Place::Nowhere => None,
            Place::Source => self.source.get(span),
            Place::Decoded => self.decoded.get(span),
        }
    }

    /// The value at a JSON Pointer (RFC 6901), if there is one.
    #[must_use]
    pub fn find(&self, pointer: &str) -> Option<Item<'_>> {
        let mut item = self.root();
        for step in crate::pointer::steps(pointer)? {
            item = match item.kind() {
                Kind::Object => item.get(&step)?,
                Kind::Array => item.at(crate::pointer::index(&step)?)?,
                _ => return None,
            };
        }
        Some(item)
    }
}

/// One value of a [`Document`]: a cheap handle.
#[derive(Clone, Copy, Debug)]
pub struct Item<'d> {
    pub(crate) document: &'d Document<'d>,
    pub(crate) index: u32,
}

impl<'d> Item<'d> {
    fn row(self) -> Row {
        // INVARIANT: handles are made from rows of this table only.
        self.document
            .table
            .get(self.index as usize)
            .copied()
            .unwrap_or(Row::NOTHING)
    }

    fn bytes(self, start: u32, end: u32) -> &'d [u8] {
        self.document
            .source
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// What the value is.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// The value's own bytes in the source, as the sender wrote them.
    #[must_use]
    pub fn raw(self) -> &'d [u8] {
        let row = self.row();
        self.bytes(row.start, row.end)
    }

    /// Where the value begins in the source, in bytes.
    #[must_use]
    pub fn offset(self) -> usize {
        self.row().start as usize
    }

    /// A member's name, unescaped; none for the root and for items.
    #[must_use]
    pub fn name(self) -> Option<&'d str> {
        self.name_bytes().map(as_text)
    }

    pub(crate) fn name_bytes(self) -> Option<&'d [u8]> {
        self.document.name_of(self.row().name())
    }

    /// How many items or members a container has; 0 for the rest.
    #[must_use]
    pub fn count(self) -> usize {
        self.row().count as usize
    }

    /// The items or members, in the order in which the sender wrote them.
    #[must_use]
    pub fn children(self) -> Children<'d> {
        Children {
            document: self.document,
            next: self.index + 1,
            left: self.row().count,
        }
    }

    /// The items or members, in canonical order.
    pub(crate) fn in_order(self) -> InOrder<'d> {
        let row = self.row();
        let sorted = row.order as usize..row.order as usize + row.count as usize;
        match self.document.order.get(sorted) {
            Some(members) if row.order != IN_ORDER => {
                InOrder::Sorted(self.document, members.iter())
            }
            _ => InOrder::AsWritten(self.children()),
        }
    }

    /// The member of that name. Linear in the number of members.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Item<'d>> {
        match self.kind() {
            Kind::Object => self
                .children()
                .find(|item| item.name_bytes() == Some(name.as_bytes())),
            _ => None,
        }
    }

    /// The item at a position, from 0. Linear in the position.
    #[must_use]
    pub fn at(self, index: usize) -> Option<Item<'d>> {
        match self.kind() {
            Kind::Array => self.children().nth(index),
            _ => None,
        }
    }

    /// This value and everything in it, in the order of their bytes.
    pub(crate) fn descend(self) -> impl Iterator<Item = Item<'d>> {
        let document = self.document;
        (self.index..self.row().skip).map(move |index| Item { document, index })
    }

    /// Of two values the one that begins later.
    pub(crate) fn later(self, other: Self) -> Self {
        if other.index > self.index {
            other
        } else {
            self
        }
    }

    /// Whether the value's own bytes are its canonical form.
    pub(crate) fn is_canonical(self) -> bool {
        self.row().canonical
    }

    /// Whether the name's spelling in the source holds no escapes.
    pub(crate) fn is_name_plain(self) -> bool {
        self.row().place == Place::Source
    }

    /// A string, unescaped; copied only where something was escaped.
    #[must_use]
    pub fn text(self) -> Option<Cow<'d, str>> {
        let row = self.row();
        if row.kind != Kind::String {
            return None;
        }
        let inner = self.bytes(row.start + 1, row.end - 1);
        if row.escaped {
            let mut out = Vec::with_capacity(inner.len());
            crate::string::decode(inner, &mut out);
            // INVARIANT: the reader admits well-formed text only.
            Some(Cow::Owned(String::from_utf8(out).unwrap_or_default()))
        } else {
            Some(Cow::Borrowed(as_text(inner)))
        }
    }

    /// Whether the value is a string of exactly this text.
    #[must_use]
    pub fn is_text(self, text: &str) -> bool {
        self.text().as_deref() == Some(text)
    }

    /// A number's lexeme, as the sender wrote it.
    #[must_use]
    pub fn lexeme(self) -> Option<&'d str> {
        (self.kind() == Kind::Number).then(|| as_text(self.raw()))
    }

    /// A number written `0` or `-?[1-9][0-9]*` and within `i64`.
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        if self.kind() == Kind::Number {
            crate::number::integer(self.raw())
        } else {
            None
        }
    }

    /// `true` or `false`.
    #[must_use]
    pub fn boolean(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The value in canonical form, as the profile `exact` writes it.
    #[must_use]
    pub fn canonical(self) -> Vec<u8> {
        let mut out = Vec::new();
        crate::write::value(&mut out, self);
        out
    }

    /// RFC 6901 pointer from the root; cut after the last whole step within
    /// 256 bytes.
    #[must_use]
    pub fn pointer(self) -> String {
        crate::pointer::of_item(self)
    }
}

/// The children of one container, in the order of their bytes.
#[derive(Clone, Debug)]
pub struct Children<'d> {
    document: &'d Document<'d>,
    next: u32,
    left: u32,
}

impl<'d> Iterator for Children<'d> {
    type Item = Item<'d>;

    fn next(&mut self) -> Option<Item<'d>> {
        self.left = self.left.checked_sub(1)?;
        let item = Item {
            document: self.document,
            index: self.next,
        };
        self.next = item.row().skip;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Children<'_> {}

/// The children of one container, in canonical order.
#[derive(Clone, Debug)]
pub(crate) enum InOrder<'d> {
    AsWritten(Children<'d>),
    Sorted(&'d Document<'d>, core::slice::Iter<'d, u32>),
}

impl<'d> Iterator for InOrder<'d> {
    type Item = Item<'d>;

    fn next(&mut self) -> Option<Item<'d>> {
        match self {
            Self::AsWritten(children) => children.next(),
            Self::Sorted(document, members) => members.next().map(|index| Item {
                document,
                index: *index,
            }),
        }
    }
}

impl Name {
    /// The name of the root and of items.
    pub(crate) const NONE: Self = Self {
        place: Place::Nowhere,
        start: 0,
        end: 0,
    };
}

impl Row {
    pub(crate) const NOTHING: Self = Self {
        kind: Kind::Null,
        canonical: true,
        escaped: false,
        place: Place::Nowhere,
        name_start: 0,
        name_end: 0,
        start: 0,
        end: 0,
        count: 0,
        skip: 0,
        order: IN_ORDER,
    };

    pub(crate) fn name(&self) -> Name {
        Name {
            place: self.place,
            start: self.name_start,
            end: self.name_end,
        }
    }
}

/// INVARIANT: only spans that the reader found to be well-formed get here.
fn as_text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}
