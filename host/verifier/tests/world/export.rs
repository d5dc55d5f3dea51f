//! What an exporter writes, part by part, so that each can be forged.

use countersign_canon::Digest;
use countersign_evidence::bundle::{
    Consistency, Filter, LogExtent, Manifest, Opening, Proof, Writer,
};
use countersign_evidence::{Head, LogId};

use super::{PROFILE, World, key_of};

fn extent(head: &Head) -> LogExtent {
    LogExtent {
        log_id: head.log_id().clone(),
        size: head.size(),
        key: Some(key_of(head.log_id(), 1).verifying_key().to_string()),
    }
}

/// A bundle to be written, each part of which can be forged.
#[derive(Clone)]
pub struct Export {
    pub log_id: LogId,
    pub size: u64,
    pub lines: Vec<Vec<u8>>,
    pub notes: Vec<String>,
    pub component: Vec<u8>,
    pub policies: Vec<(String, Vec<u8>)>,
    pub policy_digest: Digest,
    pub catalogs: Vec<(Digest, Vec<u8>)>,
    pub filter: Option<Filter>,
    /// The other logs of the fleet.
    pub others: Vec<LogExtent>,
    pub proofs: Vec<Proof>,
    pub consistency: Vec<Consistency>,
    /// What opens blinded executions.
    pub openings: Vec<Opening>,
}

impl Export {
    pub fn of(world: &World) -> Self {
        let files = world.policies.files();
        Self {
            log_id: world.head.log_id().clone(),
            size: world.head.size(),
            lines: world
                .entries
                .iter()
                .map(|entry| entry.bytes().to_vec())
                .collect(),
            notes: world.notes(),
            component: world.component.clone(),
            policies: files
                .iter()
                .map(|f| (f.name.to_string(), f.text.as_bytes().to_vec()))
                .collect(),
            policy_digest: world.policies.digest(),
            catalogs: vec![(super::catalog().checkpoint(), super::catalog().to_json())],
            filter: None,
            others: world.others.values().map(extent).collect(),
            proofs: Vec::new(),
            consistency: Vec::new(),
            openings: world.openings(),
        }
    }

    pub fn bundle(&self) -> Vec<u8> {
        let first = LogExtent {
            log_id: self.log_id.clone(),
            size: self.size,
            key: Some(key_of(&self.log_id, 1).verifying_key().to_string()),
        };
        let manifest = Manifest {
            exported: None,
            logs: std::iter::once(first).chain(self.others.clone()).collect(),
            filter: self.filter.clone(),
        };
        let mut writer = Writer::new(Vec::new(), &manifest).unwrap();
        for line in &self.lines {
            writer.raw_entry(line).unwrap();
        }
        for proof in &self.proofs {
            writer.proof(proof).unwrap();
        }
        for proof in &self.consistency {
            writer.consistency(proof).unwrap();
        }
        for opening in &self.openings {
            writer.opening(opening).unwrap();
        }
        for note in &self.notes {
            writer.checkpoint(note).unwrap();
        }
        writer
            .profile(&PROFILE.parse().unwrap(), &self.component)
            .unwrap();
        for (checkpoint, text) in &self.catalogs {
            writer.catalog(*checkpoint, text).unwrap();
        }
        for (path, content) in &self.policies {
            writer.policy(self.policy_digest, path, content).unwrap();
        }
        writer.finish().unwrap()
    }
}
