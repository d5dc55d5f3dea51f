//! Sequences that failed once: kept in a file, and played again ever since.
//!
//! `tests/kept-sequences.jsonl` holds one a line, as a failing run prints it,
//! with the store before it.

use std::fmt;

use super::campaign::{Failure, in_one_world};
use super::plan::Sequence;
use super::world::Store;
use crate::binaries;

/// The sequences that are kept for a store.
///
/// # Panics
///
/// When the file is not what it should be.
#[must_use]
pub fn kept(store: Store) -> Vec<Sequence> {
    let path = binaries::root().join("tests/kept-sequences.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let own = lines.filter(|(name, _)| *name == store.name());
    own.map(|(_, sequence)| serde_json::from_str(sequence).unwrap())
        .collect()
}

/// Plays one again.
///
/// # Errors
///
/// What does not hold.
pub async fn replay(store: Store, sequence: Sequence) -> Result<(), Failure> {
    in_one_world(store, vec![sequence], || {}).await.map(drop)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            store,
            sequence,
            broken,
        } = self;
        writeln!(f, "seed {} fails on {}:", sequence.seed, store.name())?;
        for step in &sequence.steps {
            writeln!(f, "  {step:?}")?;
        }
        for why in broken {
            writeln!(f, "- {why}")?;
        }
        let kept = serde_json::to_string(sequence).unwrap_or_default();
        write!(
            f,
            "keep it in tests/kept-sequences.jsonl:\n{} {kept}",
            store.name()
        )
    }
}
