//! What a configuration or a lock file says that a component must be.

use std::fmt;

use countersign_canon::{Digest, ProfileId};

/// A name, a version and the digest of the component's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The profile that the component must describe itself as.
    pub id: ProfileId,
    /// SHA-256 of the component file.
    pub digest: Digest,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.digest)
    }
}
