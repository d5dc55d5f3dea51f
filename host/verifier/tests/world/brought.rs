//! What a verifier brings to the world's bundles, and what its caller holds.

use std::io::Cursor;

use countersign_evidence::bundle::Proof;
use countersign_evidence::proof::Collector;
use countersign_evidence::{Entry, Kind, Receipt};
use countersign_policy::{Bundle, PolicySet};
use countersign_verifier::{Inputs, Report, RequestFile, verify};

use super::{Export, World, key_of, native};

impl World {
    pub fn export(&self) -> Vec<u8> {
        let lines: Vec<Vec<u8>> = self
            .entries
            .iter()
            .map(|entry| entry.bytes().to_vec())
            .collect();
        Export {
            lines,
            ..Export::of(self)
        }
        .bundle()
    }

    pub fn inputs(&self) -> Inputs {
        let mut inputs = Inputs {
            trusted: self
                .heads()
                .map(|head| key_of(head.log_id(), 1).verifying_key())
                .collect(),
            ..Inputs::default()
        };
        inputs.components.approve(native(&self.component));
        inputs.approve_policies(PolicySet::load(Bundle::shipped()).unwrap());
        inputs.requests = self
            .requests
            .iter()
            .map(|(name, message)| RequestFile {
                name: name.clone(),
                message: message.clone(),
            })
            .collect();
        inputs
    }

    pub fn receipts(&self) -> Vec<Receipt> {
        let terminal = |entry: &&Entry| entry.said().kind == Kind::Terminal;
        self.entries
            .iter()
            .filter(terminal)
            .filter_map(Receipt::of)
            .collect()
    }

    /// The inclusion proofs of the entries with these bytes.
    pub fn proofs(&self, lines: &[Vec<u8>]) -> Vec<Proof> {
        let chosen: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| lines.iter().any(|line| line == entry.bytes()))
            .collect();
        let mut collector = Collector::new(self.head.size());
        chosen
            .iter()
            .for_each(|entry| collector.want_inclusion(entry.sequence()));
        self.entries
            .iter()
            .for_each(|entry| collector.leaf(entry.hash().to_bytes()));
        let proof = |entry: &&Entry| Proof {
            log_id: self.head.log_id().clone(),
            sequence: entry.sequence(),
            size: self.head.size(),
            path: collector.inclusion(entry.sequence()).unwrap(),
        };
        chosen.iter().map(proof).collect()
    }

    pub fn check(&self, bundle: &[u8]) -> Report {
        verify(Cursor::new(bundle), &self.inputs()).unwrap()
    }
}
