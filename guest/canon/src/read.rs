//! The strict reader (`docs/spec/action-binding.md` §1).
//!
//! One pass over the bytes, with a stack of open containers instead of
//! recursion. It fills the table of a [`Document`] and derives nothing else; on
//! a fault, [`crate::earliest`] decides which one is reported, and where.

use alloc::vec::Vec;

use crate::document::{IN_ORDER, Kind, Name, OPEN, Place, Row};
use crate::fault::{Stop, misplaced};
use crate::order::{Sorter, utf16};
use crate::{Code, Document, Limits, Refusal, earliest, number, string};

/// A container that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Its row in the table.
    pub(crate) row: u32,
    /// How many of its items or members have begun.
    pub(crate) begun: u32,
    pub(crate) object: bool,
    /// Whether it is in canonical form so far.
    canonical: bool,
    /// Whether its names ascend in canonical order so far, so that none can
    /// occur twice.
    pub(crate) ascending: bool,
    /// The name of its latest member.
    last: Name,
}

/// A fault, and which value it is a fault of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) stop: Stop,
    /// How many of the open containers lead to it.
    pub(crate) depth: usize,
    /// Whether it lies in a value of the innermost of those that is being read
    /// and has no row yet.
    pub(crate) in_value: bool,
}

pub(crate) struct Reader<'a> {
    pub(crate) document: Document<'a>,
    pub(crate) frames: Vec<Frame>,
    /// The name that was read and whose value has no row yet.
    pub(crate) pending: Name,
    /// Where that name's closing quote stands.
    pub(crate) pending_quote: usize,
    limits: Limits,
    at: usize,
    sorter: Sorter,
}

/// What the reader met at a value's place.
enum Read {
    Whole,
    Opened,
}

/// Reads one text whole.
pub(crate) fn document(source: &[u8], limits: Limits) -> Result<Document<'_>, Refusal> {
    let refuse = |code, offset| Refusal {
        code,
        pointer: Default::default(),
        offset,
    };
    if source.len() > limits.message_bytes as usize {
        return Err(refuse(Code::Limit, limits.message_bytes.saturating_add(1)));
    }
    if source.starts_with(&[0xEF, 0xBB, 0xBF]) {
        return Err(refuse(Code::Encoding, 3));
    }
    // Rows are seldom denser than one for each 16 bytes; the table grows if
    // they are.
    let rows = (source.len() / 16 + 8).min(limits.nodes as usize);
    let mut reader = Reader {
        document: Document {
            source,
            decoded: Vec::new(),
            table: Vec::with_capacity(rows),
            order: Vec::new(),
        },
        frames: Vec::with_capacity(8),
        pending: Name::NONE,
        pending_quote: 0,
        limits,
        at: 0,
        sorter: Sorter::default(),
    };
    match reader.run() {
        Ok(()) => Ok(reader.document),
        Err(fault) => Err(earliest::refusal(&mut reader, fault)),
    }
}

impl<'a> Reader<'a> {
    fn run(&mut self) -> Result<(), Fault> {
        self.space();
        loop {
            if let Read::Opened = self.value()? {
                self.space();
                if !self.try_close()? {
                    self.member()?;
                    continue;
                }
            }
            // A value has ended: on to the next one, or out of containers.
            loop {
                self.space();
                if self.frames.is_empty() {
                    return match self.peek() {
                        None => Ok(()),
                        Some(_) => Err(self.in_container(misplaced(self.source(), self.at))),
                    };
                }
                if self.peek() == Some(b',') {
                    self.at += 1;
                    self.space();
                    self.member()?;
                    break;
                }
                if !self.try_close()? {
                    return Err(self.in_container(misplaced(self.source(), self.at)));
                }
            }
        }
    }

    /// Reads the value that is due.
    #[inline]
    fn value(&mut self) -> Result<Read, Fault> {
        let kind = match self.peek() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => return Err(self.in_container(misplaced(self.source(), self.at))),
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.begun += 1;
        }
        if self.document.table.len() >= self.limits.nodes as usize {
            return Err(self.in_value(Stop::at(Code::Limit, self.at)));
        }
        let start = self.at;
        let mut row = Row {
            kind,
            start: start as u32,
            ..Row::NOTHING
        };
        let end = match kind {
            Kind::Object | Kind::Array => return self.open(row),
            Kind::String => string::scan(self.source(), start + 1).map(|scanned| {
                row.escaped = scanned.escaped;
                row.canonical = scanned.canonical;
                scanned.quote + 1
            }),
            Kind::Number => number::scan(self.source(), start, self.limits.number_bytes as usize),
            Kind::True => literal(self.source(), start, b"true"),
            Kind::False => literal(self.source(), start, b"false"),
            Kind::Null => literal(self.source(), start, b"null"),
        };
        self.at = end.map_err(|stop| self.in_value(stop))?;
        row.end = self.at as u32;
        row.skip = self.document.table.len() as u32 + 1;
        if !row.canonical
            && let Some(frame) = self.frames.last_mut()
        {
            frame.canonical = false;
        }
        self.push(row);
        Ok(Read::Whole)
    }

    fn push(&mut self, row: Row) {
        let Name { place, start, end } = self.pending;
        self.pending = Name::NONE;
        self.document.table.push(Row {
            place,
            name_start: start,
            name_end: end,
            ..row
        });
    }

    fn open(&mut self, row: Row) -> Result<Read, Fault> {
        if self.frames.len() >= self.limits.depth as usize {
            return Err(self.in_value(Stop::at(Code::Limit, self.at)));
        }
        self.at += 1;
        self.frames.push(Frame {
            row: self.document.table.len() as u32,
            begun: 0,
            object: row.kind == Kind::Object,
            canonical: true,
            ascending: true,
            last: Name::NONE,
        });
        self.push(Row { skip: OPEN, ..row });
        Ok(Read::Opened)
    }

    /// Closes the innermost container if its closing bracket is here.
    fn try_close(&mut self) -> Result<bool, Fault> {
        let Some(frame) = self.frames.last().copied() else {
            return Ok(false);
        };
        if self.peek() != Some(if frame.object { b'}' } else { b']' }) {
            return Ok(false);
        }
        self.at += 1;
        let mut order = IN_ORDER;
        if !frame.ascending {
            if let Some(stop) = self.sorted(&frame) {
                return Err(self.in_container(stop));
            }
            order = self.document.order.len() as u32;
            self.document.order.extend(self.sorter.rows());
        }
        let canonical = frame.canonical && frame.ascending;
        let skip = self.document.table.len() as u32;
        if let Some(row) = self.document.table.get_mut(frame.row as usize) {
            *row = Row {
                canonical,
                end: self.at as u32,
                count: frame.begun,
                skip,
                order,
                ..*row
            };
        }
        self.frames.pop();
        if !canonical && let Some(outer) = self.frames.last_mut() {
            outer.canonical = false;
        }
        Ok(true)
    }

    /// Sorts an object's members, the pending one among them, and gives the
    /// fault of its earliest duplicate.
    pub(crate) fn sorted(&mut self, frame: &Frame) -> Option<Stop> {
        let innermost = self.frames.last().is_some_and(|last| last.row == frame.row);
        let pending = if innermost { self.pending } else { Name::NONE };
        let twice = self.sorter.sort(&self.document, frame.row, pending)?;
        let quote = match self.document.table.get(twice as usize) {
            Some(row) => quote_before(self.document.source, row.start as usize),
            None => self.pending_quote,
        };
        Some(Stop::at(Code::DuplicateMember, quote))
    }

    /// Reads, in an object, the name and the colon that are due.
    #[inline]
    fn member(&mut self) -> Result<(), Fault> {
        if !self.frames.last().is_some_and(|frame| frame.object) {
            return Ok(());
        }
        if self.peek() != Some(b'"') {
            return Err(self.in_container(misplaced(self.source(), self.at)));
        }
        let start = self.at + 1;
        let scanned = string::scan(self.source(), start).map_err(|stop| self.in_container(stop))?;
        let name = if scanned.escaped {
            let before = self.document.decoded.len() as u32;
            let content = self
                .document
                .source
                .get(start..scanned.quote)
                .unwrap_or_default();
            string::decode(content, &mut self.document.decoded);
            let end = self.document.decoded.len() as u32;
            Name {
                place: Place::Decoded,
                start: before,
                end,
            }
        } else {
            Name {
                place: Place::Source,
                start: start as u32,
                end: scanned.quote as u32,
            }
        };
        self.at = scanned.quote + 1;
        self.pending = name;
        self.pending_quote = scanned.quote;
        if let Some(frame) = self.frames.last_mut() {
            frame.canonical &= scanned.canonical;
            if frame.ascending
                && let (Some(last), Some(this)) = (
                    self.document.name_of(frame.last),
                    self.document.name_of(name),
                )
            {
                frame.ascending = utf16(last, this).is_lt();
            }
            frame.last = name;
        }
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.in_container(misplaced(self.source(), self.at)));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Steps over white space.
    #[inline]
    fn space(&mut self) {
        if !matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            return;
        }
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.canonical = false;
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.document.source.get(self.at).copied()
    }

    #[inline]
    fn source(&self) -> &'a [u8] {
        self.document.source
    }

    fn in_container(&self, stop: Stop) -> Fault {
        Fault {
            stop,
            depth: self.frames.len(),
            in_value: false,
        }
    }

    fn in_value(&self, stop: Stop) -> Fault {
        Fault {
            stop,
            depth: self.frames.len(),
            in_value: true,
        }
    }
}

fn literal(source: &[u8], start: usize, word: &[u8]) -> Result<usize, Stop> {
    for (at, byte) in (start..).zip(word) {
        if source.get(at) != Some(byte) {
            return Err(misplaced(source, at));
        }
    }
    Ok(start + word.len())
}

/// The closing quote of the name whose value begins at `at`: nothing but white
/// space and one colon lies between.
fn quote_before(source: &[u8], at: usize) -> usize {
    let before = source.get(..at).unwrap_or_default();
    before.iter().rposition(|byte| *byte == b'"').unwrap_or(0)
}
