//! Which key may sign which checkpoints of a log that changed its key.
//!
//! The key of the store is the last one. Each `key-rotated` entry names the one
//! before it, and holds that one's signature; so the keys are found from the end
//! backwards, before the entries are read in order (`docs/spec/evidence.md`).

use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::{Entry, Kind};
use rusqlite::Connection;

use crate::error::CheckError;

/// The keys of a log, each with the sizes of the checkpoints that it may sign.
pub(super) struct Signers(Vec<Term>);

struct Term {
    key: VerifyingKey,
    from: u64,
    to: u64,
}

/// A rotation that does not lead to the key behind it.
pub(super) struct Broken {
    /// The place of its entry.
    pub(super) sequence: u64,
}

impl Signers {
    /// Follows the rotations back from the key that the store has now; what does
    /// not lead to a known key ends the way.
    pub(super) fn of(
        connection: &Connection,
        key: &VerifyingKey,
    ) -> Result<(Self, Option<Broken>), CheckError> {
        let mut terms = Vec::new();
        let (mut key, mut to) = (key.clone(), u64::MAX);
        for entry in rotations(connection)?.iter().rev() {
            let size = entry.sequence().saturating_add(1);
            let rotation = entry.said().key.as_ref();
            let previous = rotation.and_then(|rotation| {
                let previous = VerifyingKey::parse(&rotation.previous).ok()?;
                let next = previous.follow(rotation)?;
                (next.to_string() == key.to_string()).then_some(previous)
            });
            let known = Term {
                key: key.clone(),
                from: size,
                to,
            };
            terms.push(known);
            let Some(previous) = previous else {
                let sequence = entry.sequence();
                return Ok((Self(terms), Some(Broken { sequence })));
            };
            (key, to) = (previous, size);
        }
        terms.push(Term { key, from: 0, to });
        Ok((Self(terms), None))
    }

    /// Whether a key that was in force at its size signed it. The checkpoint that
    /// ends with a rotation may be either key's.
    pub(super) fn signed(&self, note: &SignedCheckpoint) -> bool {
        let size = note.unverified().size;
        let in_force = |term: &&Term| (term.from..=term.to).contains(&size);
        let mut terms = self.0.iter().filter(in_force);
        terms.any(|term| note.verify(&term.key))
    }
}

/// The entries that change the key, in order: few, so they are searched for by
/// the database and not read with all the others.
fn rotations(connection: &Connection) -> Result<Vec<Entry>, CheckError> {
    let sql = "SELECT bytes FROM entries WHERE instr(bytes, ?1) > 0 ORDER BY sequence";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([Kind::KeyRotated.as_str().as_bytes()], |row| row.get(0))?;
    let mut found = Vec::new();
    for bytes in rows {
        let bytes: Vec<u8> = bytes?;
        // One that cannot be read is found among the entries.
        let entry = Entry::parse(&bytes).ok();
        found.extend(entry.filter(|entry| entry.said().kind == Kind::KeyRotated));
    }
    Ok(found)
}
