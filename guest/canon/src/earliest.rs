//! Which fault is reported, and where.
//!
//! A member name that occurs twice is certain where its second spelling
//! closes, which may be long before the fault that ended the reading. So the
//! objects that are still open are looked through, and the earliest wins.

use crate::Refusal;
use crate::fault::Stop;
use crate::pointer::Pointer;
use crate::read::{Fault, Reader};

/// The refusal for a text in which `fault` ended the reading.
pub(crate) fn refusal(reader: &mut Reader<'_>, fault: Fault) -> Refusal {
    let mut earliest = fault;
    let rank = |stop: Stop| (stop.offset, stop.code);
    for depth in 1..=reader.frames.len() {
        let Some(frame) = reader.frames.get(depth - 1).copied() else {
            break;
        };
        if frame.ascending {
            continue;
        }
        if let Some(stop) = reader.sorted(&frame)
            && rank(stop) < rank(earliest.stop)
        {
            earliest = Fault {
                stop,
                depth,
                in_value: false,
            };
        }
    }
    Refusal {
        code: earliest.stop.code,
        pointer: pointer(reader, earliest),
        offset: u32::try_from(earliest.stop.offset).unwrap_or(u32::MAX),
    }
}

/// The pointer of the innermost value that was being read.
fn pointer(reader: &Reader<'_>, fault: Fault) -> alloc::string::String {
    let mut pointer = Pointer::default();
    let frames = reader.frames.get(..fault.depth).unwrap_or_default();
    for pair in frames.windows(2) {
        let [outer, inner] = pair else { continue };
        let name = reader
            .document
            .table
            .get(inner.row as usize)
            .map(|row| row.name());
        match name.and_then(|name| reader.document.name_of(name)) {
            Some(name) => pointer.name(name),
            None => pointer.index(outer.begun.saturating_sub(1)),
        }
    }
    if let (true, Some(innermost)) = (fault.in_value, frames.last()) {
        match reader.document.name_of(reader.pending) {
            Some(name) => pointer.name(name),
            None => pointer.index(innermost.begun.saturating_sub(1)),
        }
    }
    pointer.finish()
}
