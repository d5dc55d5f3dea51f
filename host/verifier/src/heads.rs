//! The heads at hand: those in the bundle, and those that the verifier kept.
//!
//! Of a filtered log nothing is rebuilt, so a head there is worth what its
//! signature is, and two heads might be of two histories. One is the measure of
//! each log therefore: the newest that a trusted key signed. Every other one
//! has to be shown to be its beginning, and what lies under one that is not is
//! not shown.

use std::collections::BTreeMap;

use countersign_evidence::LogId;
use countersign_evidence::bundle::Consistency;
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::proof::verify_consistency;
use countersign_evidence::tree::{Frontier, Hash};

use crate::claim::Claim;
use crate::findings::Findings;
use crate::inputs::Inputs;
use crate::keys::Signed;

/// All heads at hand.
pub(crate) struct Heads {
    all: Vec<Seen>,
    /// The root at each size that a head which counts has.
    roots: BTreeMap<LogId, BTreeMap<u64, Hash>>,
}

/// A head at hand.
pub(crate) struct Seen {
    name: String,
    note: SignedCheckpoint,
    /// It came from the verifier's side, not in the bundle.
    kept: bool,
    signed: Signed,
    /// It is the newest that counts, or was shown to be the beginning of that.
    continues: bool,
}

impl Seen {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it says; whether it is signed is [`Self::signed`].
    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        self.note.unverified()
    }

    pub(crate) fn signed(&self) -> Signed {
        self.signed
    }

    pub(crate) fn continues(&self) -> bool {
        self.continues
    }

    /// Whether it must agree with the others: nobody answers for what only the
    /// predecessor of a trusted key signed, but the verifier, who kept it.
    pub(crate) fn counts(&self) -> bool {
        self.kept || self.measures()
    }

    /// Whether entries can be proved under it. Where no key is trusted nothing
    /// is shown thereby, but what is wrong can be told.
    fn measures(&self) -> bool {
        matches!(self.signed, Signed::Trusted | Signed::NoKey)
    }
}

impl Heads {
    /// The heads of a bundle, and those that were kept.
    pub(crate) fn read(
        notes: &[(String, Vec<u8>)],
        inputs: &Inputs,
        findings: &mut Findings,
    ) -> Self {
        let seen = |name: String, note: SignedCheckpoint, kept| Seen {
            name,
            note,
            kept,
            signed: Signed::Other,
            continues: false,
        };
        let mut all = Vec::new();
        for (name, note) in notes {
            let text = std::str::from_utf8(note).ok();
            match text.and_then(|text| SignedCheckpoint::parse(text).ok()) {
                Some(note) => all.push(seen(name.clone(), note, false)),
                None => findings.contradict(Claim::Integrity, None, || {
                    format!("`{name}` is not a signed checkpoint")
                }),
            }
        }
        for note in &inputs.since {
            let name = "the checkpoint seen before".to_owned();
            all.push(seen(name, note.clone(), true));
        }
        Self {
            all,
            roots: BTreeMap::new(),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Seen> {
        self.all.iter()
    }

    /// Learns who signed each head, and which is the measure of its log.
    pub(crate) fn judge(
        &mut self,
        who: impl Fn(&SignedCheckpoint) -> Option<Signed>,
        findings: &mut Findings,
    ) {
        for seen in &mut self.all {
            seen.signed = who(&seen.note).unwrap_or(Signed::Other);
            if !seen.measures() {
                continue;
            }
            let checkpoint = seen.note.unverified();
            let roots = self.roots.entry(checkpoint.log_id.clone()).or_default();
            let first = roots.entry(checkpoint.size).or_insert(checkpoint.root);
            if *first != checkpoint.root {
                findings.contradict(Claim::Integrity, None, || {
                    format!(
                        "two heads of `{}` have {} entries and different roots",
                        checkpoint.log_id, checkpoint.size
                    )
                });
            }
        }
        for seen in &mut self.all {
            let checkpoint = seen.note.unverified();
            seen.continues = match newest(&self.roots, &checkpoint.log_id) {
                Some((size, root)) if size == checkpoint.size => root == checkpoint.root,
                Some(_) => checkpoint.size == 0 && checkpoint.root == Frontier::default().root(),
                None => false,
            };
        }
    }

    /// The root that heads which count have at a size.
    pub(crate) fn root(&self, log_id: &LogId, size: u64) -> Option<Hash> {
        self.roots.get(log_id)?.get(&size).copied()
    }

    /// Takes a proof that a head is the beginning of its log's newest.
    pub(crate) fn consistency(&mut self, proof: &Consistency, findings: &mut Findings) {
        let Some((size, newest)) = newest(&self.roots, &proof.log_id) else {
            return;
        };
        // Every log begins with none of its entries, and ends with itself.
        if proof.to != size || proof.from == 0 || proof.from >= size {
            return;
        }
        // Heads of one size have one root, or are contradicted already.
        let mut leads: Option<(Hash, bool)> = None;
        for seen in &mut self.all {
            let checkpoint = seen.note.unverified();
            let its = checkpoint.log_id == proof.log_id && checkpoint.size == proof.from;
            if !its || !seen.counts() {
                continue;
            }
            let root = checkpoint.root;
            let shown = match leads {
                Some((known, shown)) if known == root => shown,
                _ => verify_consistency((proof.from, &root), (size, &newest), &proof.path),
            };
            leads = Some((root, shown));
            seen.continues = shown;
            if !shown {
                let name = &seen.name;
                findings.contradict(Claim::Integrity, None, || {
                    format!("the checkpoint of size {size} is no continuation of {name}")
                });
            }
        }
    }
}

/// The newest head that counts.
fn newest(roots: &BTreeMap<LogId, BTreeMap<u64, Hash>>, log_id: &LogId) -> Option<(u64, Hash)> {
    let (size, root) = roots.get(log_id)?.last_key_value()?;
    Some((*size, *root))
}
