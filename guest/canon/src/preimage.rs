//! What is hashed, and under which heading (`docs/spec/action-binding.md` §4).
//!
//! Each preimage begins with a line that names its kind and version, so that
//! no digest of one kind can be passed off as one of another.

use crate::{Digest, ProfileId};

/// The action binding: what makes two requests the same request.
///
/// `action` is the canonical action that [`admit`](crate::admit) gave.
#[must_use]
pub fn binding(profile: &ProfileId, action: &[u8]) -> Digest {
    Digest::of(&[
        b"countersign.action-binding.v1\n",
        profile.as_str().as_bytes(),
        b"\n",
        action,
    ])
}

/// The digest of a continuation.
///
/// `canonical` is the canonical object of `inputResponses` and `requestState`,
/// `binding` that of the action it comes with.
#[must_use]
pub fn continuation(profile: &ProfileId, binding: &Digest, canonical: &[u8]) -> Digest {
    Digest::of(&[
        b"countersign.continuation.v1\n",
        profile.as_str().as_bytes(),
        b"\n",
        binding.as_str().as_bytes(),
        b"\n",
        canonical,
    ])
}

/// The digest of a `requestState` alone: of the unescaped string.
#[must_use]
pub fn request_state(text: &str) -> Digest {
    Digest::of(&[b"countersign.request-state.v1\n", text.as_bytes()])
}

/// The digest of a client context: of the canonical object of its members.
#[must_use]
pub fn client_context(canonical: &[u8]) -> Digest {
    Digest::of(&[b"countersign.client-context.v1\n", canonical])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_is_what_sha256sum_says_of_the_preimage() {
        // printf 'countersign.action-binding.v1\nexact@1.0.0\n{}' | sha256sum
        let profile = "exact@1.0.0".parse().unwrap();
        let binding = binding(&profile, b"{}");
        assert_eq!(
            binding,
            Digest::of(&[b"countersign.action-binding.v1\nexact@1.0.0\n{}"])
        );
        let round = continuation(&profile, &binding, b"{}");
        let whole = alloc::format!("countersign.continuation.v1\nexact@1.0.0\n{binding}\n{{}}");
        assert_eq!(round, Digest::of(&[whole.as_bytes()]));
    }
}
