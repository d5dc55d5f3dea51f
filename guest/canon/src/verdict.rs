//! Faults of a message that was read whole, and which of them is reported.

use crate::document::{Item, Kind};
use crate::{Code, Refusal};

/// Collects the faults of one code; the one whose value begins first wins.
pub(crate) struct Verdict<'d> {
    code: Code,
    first: Option<Item<'d>>,
}

impl<'d> Verdict<'d> {
    pub(crate) fn new(code: Code) -> Self {
        Self { code, first: None }
    }

    /// Notes a fault of this value; a missing member is one of its object.
    pub(crate) fn fault(&mut self, item: Item<'d>) {
        if self.first.is_none_or(|first| item.index < first.index) {
            self.first = Some(item);
        }
    }

    /// Notes a fault if the value is of another kind.
    pub(crate) fn expect(&mut self, item: Item<'d>, kind: Kind) {
        if item.kind() != kind {
            self.fault(item);
        }
    }

    /// Refuses if there was a fault. All of the message had to be read.
    pub(crate) fn close(self) -> Result<(), Refusal> {
        let Some(item) = self.first else {
            return Ok(());
        };
        let offset = u32::try_from(item.document.source.len()).unwrap_or(u32::MAX);
        Err(Refusal {
            code: self.code,
            pointer: item.pointer(),
            offset,
        })
    }
}
