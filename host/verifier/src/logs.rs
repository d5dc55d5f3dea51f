//! Integrity and completeness: hashes, links, the tree, what was signed, and
//! whether anything is missing.
//!
//! Entries pass through once, in the order of the bundle. A log that stands in
//! it whole is rebuilt, so that its root can be compared with every checkpoint;
//! of a filtered one the inclusion proofs are checked instead. Either way
//! nothing is shown of a log but what lies under a head that a trusted key
//! signed ([`crate::heads`]).

use std::collections::{BTreeMap, BTreeSet};

use countersign_canon::Digest;
use countersign_evidence::bundle::{Consistency, Manifest, Proof};
use countersign_evidence::proof::verify_inclusion;
use countersign_evidence::tree::{Frontier, Hash};
use countersign_evidence::{Entry, Kind, LogId};

use crate::claim::Claim;
use crate::findings::{Findings, Place};
use crate::heads::{Heads, Seen};
use crate::inputs::Inputs;
use crate::keys::{FOLLOWED, Keys, Signed};

/// All logs of a bundle.
pub(crate) struct Logs {
    logs: BTreeMap<LogId, Log>,
    heads: Heads,
    whole: bool,
    entries: u64,
}

#[derive(Default)]
struct Log {
    /// How many entries the bundle says that there are.
    extent: u64,
    /// The sequence after the last entry.
    next: u64,
    last: Option<Digest>,
    tree: Frontier,
    /// The roots at the sizes of checkpoints, once they are reached.
    roots: BTreeMap<u64, Option<Hash>>,
    /// The leaves of a filtered log, in ascending order.
    leaves: Vec<Leaf>,
    /// An entry is missing, or out of place: roots would say nothing more.
    broken: bool,
    count: u64,
    keys: Keys,
}

/// An entry of a filtered log.
struct Leaf {
    sequence: u64,
    hash: Hash,
    /// The size of the largest head under which it was proved to lie.
    under: Option<u64>,
}

impl Logs {
    /// Prepares for the logs that a bundle names.
    pub(crate) fn new(
        manifest: &Manifest,
        notes: &[(String, Vec<u8>)],
        inputs: &Inputs,
        findings: &mut Findings,
    ) -> Self {
        let mut logs = Self {
            logs: BTreeMap::new(),
            heads: Heads::read(notes, inputs, findings),
            whole: manifest.filter.is_none(),
            entries: 0,
        };
        for extent in &manifest.logs {
            let mut log = Log {
                extent: extent.size,
                ..Log::default()
            };
            for key in inputs
                .trusted
                .iter()
                .filter(|key| *key.name() == extent.log_id)
            {
                log.keys.trust(key.clone());
            }
            logs.logs.insert(extent.log_id.clone(), log);
        }
        for key in &inputs.trusted {
            if !logs.logs.contains_key(key.name()) {
                findings.leave_open(Claim::Completeness, None, || {
                    format!(
                        "you trust a key of `{}`, a log that is not in the bundle",
                        key.name()
                    )
                });
            }
        }
        if logs.logs.is_empty() {
            for claim in [Claim::Integrity, Claim::Completeness] {
                findings.leave_open(claim, None, || "the bundle names no log".to_owned());
            }
        }
        for checkpoint in logs.heads.all().map(Seen::checkpoint) {
            if let Some(log) = logs.logs.get_mut(&checkpoint.log_id) {
                // The root at its size is kept, once that is reached.
                let root = (checkpoint.size == 0).then(|| log.tree.root());
                log.roots.insert(checkpoint.size, root);
            }
        }
        logs
    }

    /// Takes the next entry of the bundle.
    pub(crate) fn entry(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        self.entries = self.entries.saturating_add(1);
        let Some(log) = self.logs.get_mut(entry.log_id()) else {
            findings.contradict(Claim::Completeness, Some(place), || {
                "the bundle does not name the log of this entry".to_owned()
            });
            return;
        };
        log.count = log.count.saturating_add(1);
        log.position(entry, place, self.whole, findings);
        if entry.said().kind == Kind::KeyRotated
            && let Some(rotation) = &entry.said().key
        {
            log.keys.rotate(rotation, entry.sequence());
        }
    }

    /// Goes on to the proofs: all entries are in, so it is known which key may
    /// sign which head.
    pub(crate) fn entries_end(&mut self, findings: &mut Findings) {
        for log in self.logs.values_mut() {
            log.keys.settle();
        }
        let logs = &self.logs;
        self.heads.judge(
            |note| {
                let log = logs.get(&note.unverified().log_id)?;
                Some(log.keys.signed(note))
            },
            findings,
        );
    }

    /// Takes a proof of a filtered bundle.
    pub(crate) fn proof(&mut self, proof: &Proof, findings: &mut Findings) {
        let Some(root) = self.heads.root(&proof.log_id, proof.size) else {
            return;
        };
        let Some(log) = self.logs.get_mut(&proof.log_id) else {
            return;
        };
        let at = log
            .leaves
            .binary_search_by_key(&proof.sequence, |leaf| leaf.sequence);
        let Some(leaf) = at.ok().and_then(|at| log.leaves.get_mut(at)) else {
            return;
        };
        let (sequence, size) = (proof.sequence, proof.size);
        if verify_inclusion(&leaf.hash, sequence, size, &proof.path, &root) {
            leaf.under = leaf.under.max(Some(size));
        } else {
            let place = Place {
                log_id: proof.log_id.clone(),
                sequence,
            };
            findings.contradict(Claim::Integrity, Some(&place), || {
                format!("its inclusion path does not lead to the checkpoint of size {size}")
            });
        }
    }

    /// Takes a proof that an earlier checkpoint is the beginning of a later one.
    pub(crate) fn consistency(&mut self, proof: &Consistency, findings: &mut Findings) {
        // A whole log is built again, and needs none.
        if !self.whole {
            self.heads.consistency(proof, findings);
        }
    }

    /// Compares everything with what was signed, once all entries are in.
    pub(crate) fn finish(mut self, findings: &mut Findings) {
        if !self.whole {
            findings.leave_open(Claim::Completeness, None, || {
                "the bundle is filtered, so what it leaves out is not known".to_owned()
            });
        }
        let mut signed: BTreeMap<LogId, BTreeSet<u64>> = BTreeMap::new();
        for seen in self.heads.all() {
            if self.check(seen, findings) {
                let checkpoint = seen.checkpoint();
                let sizes = signed.entry(checkpoint.log_id.clone()).or_default();
                sizes.insert(checkpoint.size);
            }
        }
        for (id, log) in &mut self.logs {
            let signed = signed.remove(id).unwrap_or_default();
            log.finish(id, &signed, self.whole, findings);
        }
        findings.show(
            Claim::Integrity,
            format!("{} entries hash and link", self.entries),
        );
        let logs = self.logs.len();
        findings.show(
            Claim::Completeness,
            format!("{logs} logs without a gap, as long as was signed"),
        );
    }

    /// Checks one checkpoint; whether a trusted key signed it for this bundle, so
    /// that what lies under it is shown.
    fn check(&self, seen: &Seen, findings: &mut Findings) -> bool {
        let checkpoint = seen.checkpoint();
        let name = seen.name();
        let Some(log) = self.logs.get(&checkpoint.log_id) else {
            findings.contradict(Claim::Completeness, None, || {
                format!(
                    "{name} is of the log `{}`, which the bundle does not name",
                    checkpoint.log_id
                )
            });
            return false;
        };
        let signed = seen.signed();
        if signed == Signed::Other {
            findings.contradict(Claim::Integrity, None, || {
                format!(
                    "{name} is not signed by the key that is trusted for `{}`",
                    checkpoint.log_id
                )
            });
            return false;
        }
        if signed == Signed::Unknown && !seen.counts() {
            return false;
        }
        let held = if self.whole { log.next } else { log.extent };
        if checkpoint.size > held {
            findings.contradict(Claim::Completeness, None, || {
                format!(
                    "{name} covers {} entries of `{}`, the bundle {held}",
                    checkpoint.size, checkpoint.log_id
                )
            });
            return false;
        }
        let root = log.roots.get(&checkpoint.size).copied().flatten();
        if root.is_some_and(|root| root != checkpoint.root) {
            findings.contradict(Claim::Integrity, None, || {
                format!(
                    "the first {} entries of `{}` have another root than {name} says",
                    checkpoint.size, checkpoint.log_id
                )
            });
            return false;
        }
        if !self.whole && !seen.continues() && seen.counts() {
            findings.leave_open(Claim::Integrity, None, || {
                format!("no proof shows that {name} is the beginning of the newest head")
            });
            return false;
        }
        signed == Signed::Trusted && (root.is_some() || !self.whole)
    }
}

impl Log {
    /// Checks the place of an entry against the one before it.
    fn position(&mut self, entry: &Entry, place: &Place, whole: bool, findings: &mut Findings) {
        let sequence = entry.sequence();
        if sequence < self.next {
            self.broken = true;
            findings.contradict(Claim::Integrity, Some(place), || {
                "it stands behind a later entry, or stands twice".to_owned()
            });
            return;
        }
        let follows = sequence == self.next;
        if !follows && whole {
            self.broken = true;
            findings.contradict(Claim::Completeness, Some(place), || {
                format!("the entries from {} on are missing before it", self.next)
            });
        }
        // Entry 0 alone has no predecessor, wherever the bundle begins.
        let first = sequence == 0;
        if (follows && entry.previous() != self.last) || first != entry.previous().is_none() {
            self.broken = true;
            findings.contradict(Claim::Integrity, Some(place), || {
                "it does not link to the entry before it".to_owned()
            });
        }
        self.last = Some(entry.hash());
        self.next = sequence.saturating_add(1);
        if whole {
            self.tree.append(entry.hash().to_bytes());
            if !self.broken
                && let Some(root) = self.roots.get_mut(&self.next)
            {
                *root = Some(self.tree.root());
            }
        } else {
            self.leaves.push(Leaf {
                sequence,
                hash: entry.hash().to_bytes(),
                under: None,
            });
        }
    }

    /// Compares the log with what it should be; `signed` are the sizes of the
    /// heads that a trusted key signed.
    fn finish(&mut self, id: &LogId, signed: &BTreeSet<u64>, whole: bool, findings: &mut Findings) {
        if whole && self.count < self.extent {
            findings.contradict(Claim::Completeness, None, || {
                format!(
                    "`{id}` should have {} entries, the bundle holds {}",
                    self.extent, self.count
                )
            });
        }
        if self.next > self.extent {
            findings.contradict(Claim::Completeness, None, || {
                format!(
                    "`{id}` should have {} entries, the bundle goes on to {}",
                    self.extent, self.next
                )
            });
        }
        if self.keys.foreign_rotation && self.keys.any() {
            findings.contradict(Claim::Integrity, None, || {
                format!("a key of `{id}` was replaced without the word of the key in force")
            });
        }
        if self.keys.too_many && self.keys.any() {
            findings.leave_open(Claim::Integrity, None, || {
                format!(
                    "more than {FOLLOWED} changes of the key of `{id}` come before the one that \
                     you trust: they are not followed"
                )
            });
        }
        if !self.keys.any() {
            for claim in [Claim::Integrity, Claim::Completeness] {
                findings.leave_open(claim, None, || format!("no key is trusted for `{id}`"));
            }
            return;
        }
        // An empty log is signed like any other: what is not might be anything.
        let newest = signed.last().copied();
        if newest.is_none() {
            for claim in [Claim::Integrity, Claim::Completeness] {
                findings.leave_open(claim, None, || {
                    format!("no head of `{id}` is signed by a key that you trust")
                });
            }
        } else if whole && !self.broken && newest < Some(self.next) {
            for claim in [Claim::Integrity, Claim::Completeness] {
                findings.leave_open(claim, None, || {
                    format!(
                        "{} entries of `{id}` come after its newest signed checkpoint",
                        self.next - newest.unwrap_or_default()
                    )
                });
            }
        }
        let proven = |leaf: &&Leaf| leaf.under.is_some_and(|size| signed.contains(&size));
        let unproven = self.leaves.iter().filter(|leaf| !proven(leaf)).count();
        if unproven > 0 {
            findings.leave_open(Claim::Integrity, None, || {
                format!("{unproven} entries of `{id}` have no inclusion proof under a checkpoint")
            });
        }
    }
}
