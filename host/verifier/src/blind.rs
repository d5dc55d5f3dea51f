//! Blinded entries: what opens them, and whether that and they fit together.
//!
//! A salt opens an execution where the entry that reserved it holds the blinded
//! form of the binding that stands beside the salt. Without one the values of an
//! execution can still be compared with each other, since one salt serves all
//! of its entries; what they are stays closed.

use std::collections::HashMap;

use countersign_evidence::bundle::{Opened, Openings};
use countersign_evidence::{Blinding, Draft, Entry, Kind, LogId, Receipt, Salt};

use crate::claim::Claim;
use crate::findings::{Findings, Place};

/// Everything that opens an entry: the bundle's salts, and those that came with
/// receipts.
pub(crate) struct Blinds {
    openings: Openings,
    receipts: HashMap<(LogId, u64), Salt>,
    closed: u64,
    withheld: u64,
    opened: u64,
}

impl Blinds {
    pub(crate) fn new(openings: Openings, receipts: &[Receipt], findings: &mut Findings) -> Self {
        if openings.faulty > 0 {
            findings.contradict(Claim::Integrity, None, || {
                format!(
                    "{} lines with salts are none, or open an execution twice",
                    openings.faulty
                )
            });
        }
        if openings.overflowed {
            findings.leave_open(Claim::Classification, None, || {
                "more salts are there than are held".to_owned()
            });
        }
        let salt = |receipt: &Receipt| {
            let place = (receipt.log_id.clone(), receipt.sequence);
            Some((place, receipt.salt?))
        };
        Self {
            openings,
            receipts: receipts.iter().filter_map(salt).collect(),
            closed: 0,
            withheld: 0,
            opened: 0,
        }
    }

    /// What opens an entry, once it is checked that both fit.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry,
        place: &Place,
        findings: &mut Findings,
    ) -> Option<Opened> {
        let said = entry.said();
        if let Err(reason) = sound(entry) {
            findings.contradict(Claim::Integrity, Some(place), || reason.to_owned());
        }
        match said.blind {
            Blinding::Plain => return None,
            Blinding::Withheld => {
                self.withheld = self.withheld.saturating_add(1);
                return None;
            }
            Blinding::Salted => {}
        }
        let opened = self.openings.of(said);
        if let Some(opened) = &opened
            && holds_its_own(said)
            && !opened.opens(said)
        {
            findings.contradict(Claim::Integrity, Some(place), || {
                "the salt that the bundle carries for its execution does not open it".to_owned()
            });
        }
        let place_of = (place.log_id.clone(), place.sequence);
        let shown = if self.receipts.is_empty() {
            None
        } else {
            self.receipts.get(&place_of).copied()
        };
        if let (Some(opened), Some(salt)) = (&opened, shown)
            && opened.salt != salt
        {
            findings.contradict(Claim::Integrity, Some(place), || {
                "its receipt and the bundle carry different salts".to_owned()
            });
        }
        let opened = opened.or_else(|| {
            shown.map(|salt| Opened {
                salt,
                binding: None,
            })
        });
        match opened {
            Some(_) => self.opened = self.opened.saturating_add(1),
            None => self.closed = self.closed.saturating_add(1),
        }
        opened
    }

    /// Says what became of the salts; gives a note where anything is blinded.
    pub(crate) fn finish(self, findings: &mut Findings) -> Option<String> {
        let (all, unmet) = self.openings.counts();
        if unmet > 0 {
            findings.contradict(Claim::Integrity, None, || {
                format!("{unmet} of {all} salts are for executions that no blinded entry is about")
            });
        }
        let (opened, closed, withheld) = (self.opened, self.closed, self.withheld);
        (opened > 0 || closed > 0 || withheld > 0).then(|| {
            format!(
                "blinded entries: {opened} with their salt, {closed} without, {withheld} that hold nothing to open"
            )
        })
    }
}

/// Whether an entry holds the binding of its execution, and not of another
/// action that was turned away.
fn holds_its_own(said: &Draft) -> bool {
    said.kind != Kind::Refusal && said.binding.is_some()
}

/// Whether an entry says of its blinding what its members show.
fn sound(entry: &Entry) -> Result<(), &'static str> {
    let said = entry.said();
    match said.blind {
        Blinding::Plain => Ok(()),
        Blinding::Salted if entry.link().is_none() => {
            Err("it is blinded, and no row is there that could keep its salt")
        }
        Blinding::Salted if !said.has_values() => Err("it is blinded, and holds nothing that is"),
        Blinding::Withheld if entry.link().is_some() => {
            Err("it leaves out what its row could have blinded")
        }
        Blinding::Withheld if said.has_values() => Err("it leaves out what stands in it"),
        Blinding::Salted | Blinding::Withheld => Ok(()),
    }
}
