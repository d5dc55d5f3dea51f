//! The head of a log: what an append needs to know of everything before it.
//!
//! The ledger keeps one head for each log that it writes, stores
//! [`Head::encode`] in the transaction that stores the entries, and takes it up
//! again at start. A head that was advanced in a transaction that failed must
//! be thrown away with it: append to a clone.

use countersign_canon::Digest;

use crate::tree::{Frontier, Hash};
use crate::{Draft, Entry, LogId};

/// The end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    log_id: LogId,
    last: Option<Digest>,
    frontier: Frontier,
}

/// The place of an entry on its own execution's chain, across logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// 0 for the first entry of an execution, then one more for each.
    pub execution_seq: u64,
    /// The hash of the entry before it on the same execution, in whichever
    /// log; none for the first.
    pub execution_previous: Option<Digest>,
}

/// Stored bytes that are not a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored head of the log is damaged")]
pub struct MalformedHead;

impl Head {
    /// The head of a log without entries.
    #[must_use]
    pub fn new(log_id: LogId) -> Self {
        Self {
            log_id,
            last: None,
            frontier: Frontier::new(),
        }
    }

    /// The log.
    #[must_use]
    pub fn log_id(&self) -> &LogId {
        &self.log_id
    }

    /// How many entries the log has, which is the sequence of the next one.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The hash of the last entry; none while there is no entry.
    #[must_use]
    pub fn last(&self) -> Option<Digest> {
        self.last
    }

    /// The root of the Merkle tree over all entries.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.frontier.root()
    }

    /// Gives a draft its place at the end of the log. `link` is the place on
    /// the execution's chain; none where the attempt has no row.
    pub fn append(&mut self, draft: Draft, link: Option<Link>) -> Entry {
        let entry = Entry::place(draft, self.log_id.clone(), self.size(), self.last, link);
        self.frontier.append(entry.hash().to_bytes());
        self.last = Some(entry.hash());
        entry
    }

    /// The head as bytes to be stored: the size (8 bytes, big endian), the last
    /// hash (32 bytes, zero while there is none), then the frontier's hashes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(40 + 32 * self.frontier.peaks().len());
        bytes.extend_from_slice(&self.size().to_be_bytes());
        bytes.extend_from_slice(&self.last.map_or([0; 32], Digest::to_bytes));
        for peak in self.frontier.peaks() {
            bytes.extend_from_slice(peak);
        }
        bytes
    }

    /// Takes up a log where [`Head::encode`] left it.
    ///
    /// # Errors
    /// Bytes that `encode` does not write.
    pub fn decode(log_id: LogId, bytes: &[u8]) -> Result<Self, MalformedHead> {
        let (size, rest) = bytes.split_first_chunk::<8>().ok_or(MalformedHead)?;
        let (last, rest) = rest.split_first_chunk::<32>().ok_or(MalformedHead)?;
        let (peaks, rest) = rest.as_chunks::<32>();
        let size = u64::from_be_bytes(*size);
        if !rest.is_empty() || (size == 0 && *last != [0; 32]) {
            return Err(MalformedHead);
        }
        let frontier = Frontier::from_parts(size, peaks.to_vec()).ok_or(MalformedHead)?;
        let last = (size > 0).then(|| Digest::from_bytes(*last));
        Ok(Self {
            log_id,
            last,
            frontier,
        })
    }
}
