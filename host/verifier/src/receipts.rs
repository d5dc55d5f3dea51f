//! Receipts at hand: each names an entry that must stand where it says.

use std::collections::BTreeMap;

use countersign_evidence::bundle::Manifest;
use countersign_evidence::{Entry, LogId, Receipt};

use crate::claim::Claim;
use crate::findings::{Findings, Place};

/// Receipts by the place that they name.
pub(crate) struct Receipts<'i> {
    open: BTreeMap<(LogId, u64), Vec<&'i Receipt>>,
    found: u64,
}

impl<'i> Receipts<'i> {
    pub(crate) fn new(receipts: &'i [Receipt]) -> Self {
        let mut open: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for receipt in receipts {
            let place = (receipt.log_id.clone(), receipt.sequence);
            open.entry(place).or_default().push(receipt);
        }
        Self { open, found: 0 }
    }

    /// Compares an entry with the receipts for its place.
    pub(crate) fn entry(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        if self.open.is_empty() {
            return;
        }
        let named = self.open.remove(&(place.log_id.clone(), place.sequence));
        for receipt in named.into_iter().flatten() {
            if receipt.entry_hash != entry.hash() {
                findings.contradict(Claim::Integrity, Some(place), || {
                    format!(
                        "the receipt of call `{}` names another entry here, `{}`",
                        receipt.call_id, receipt.entry_hash
                    )
                });
            } else if !Receipt::of(entry).is_some_and(|of| of.agrees(receipt)) {
                findings.contradict(Claim::Integrity, Some(place), || {
                    format!(
                        "the receipt of call `{}` says something else than the entry",
                        receipt.call_id
                    )
                });
            } else {
                self.found = self.found.saturating_add(1);
            }
        }
    }

    /// Says what became of the others.
    pub(crate) fn finish(self, manifest: &Manifest, findings: &mut Findings) {
        for ((log_id, sequence), receipts) in self.open {
            let place = Place { log_id, sequence };
            for receipt in receipts {
                let reason = || {
                    format!(
                        "the entry that the receipt of call `{}` names is not in the bundle",
                        receipt.call_id
                    )
                };
                if manifest.filter.is_none() {
                    findings.contradict(Claim::Completeness, Some(&place), || {
                        format!("{}: it was exported before the answer, or cut", reason())
                    });
                } else {
                    findings.leave_open(Claim::Completeness, Some(&place), reason);
                }
            }
        }
        if self.found > 0 {
            findings.show(
                Claim::Integrity,
                format!(
                    "{} receipts name entries that stand where they say",
                    self.found
                ),
            );
        }
    }
}
