//! What a store says when it fails.

/// Why a store could not do what was planned. The detail is for the operator's
/// log and holds no caller's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// The statement or the commit failed; what was written of the group is
    /// gone, once the connection is closed.
    #[error("the store failed: {0}")]
    Failed(String),
    /// A sync failed: what the disk holds is not known, and asking again could
    /// be answered from memory.
    #[error("a sync failed: {0}")]
    Sync(String),
    /// A row is not as the transaction read it, or holds what is never written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}
