//! What a verifier brings: everything that it trusts, and what it holds.

use std::collections::BTreeMap;

use countersign_canon::Digest;
use countersign_evidence::Receipt;
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_policy::PolicySet;

use crate::component::Components;

/// Everything besides the bundle.
#[derive(Default)]
pub struct Inputs {
    /// Requests exactly as they were sent, to be admitted and decided again.
    /// Whoever brings one says that the log should hold it: where the log holds
    /// other actions under its `execution_id`, and not this one, that is a
    /// contradiction.
    pub requests: Vec<RequestFile>,
    /// Receipts that came with answers.
    pub receipts: Vec<Receipt>,
    /// The keys that are trusted, each for the log whose name it has.
    pub trusted: Vec<VerifyingKey>,
    /// Checkpoints that were seen before.
    pub since: Vec<SignedCheckpoint>,
    /// The components that are approved.
    pub components: Components,
    /// The sets of policies that are approved, by digest.
    pub policies: BTreeMap<Digest, PolicySet>,
    /// How many threads read and hash entries; up to 1, the caller's alone.
    pub threads: usize,
}

/// One request at hand.
#[derive(Clone, Debug)]
pub struct RequestFile {
    /// What it is called in the report.
    pub name: String,
    /// The message, byte for byte.
    pub message: Vec<u8>,
}

impl Inputs {
    /// Approves a set of policies.
    pub fn approve_policies(&mut self, set: PolicySet) {
        self.policies.insert(set.digest(), set);
    }
}
