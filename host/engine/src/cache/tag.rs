//! What a file of compiled code is bound to: a component, and an engine.

use std::hash::{Hash as _, Hasher};

use countersign_canon::Digest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

use super::folder::Key;
use crate::check;

/// Bytes of the MAC at the start of each file.
pub(super) const TAG_BYTES: usize = 32;

/// First line of what is authenticated, so that the key serves nothing else.
const HEADING: &[u8] = b"countersign.compiled-code.v1\n";

/// Everything about an engine that compiled code depends on: its version, its
/// settings and the processor's features; and the check that a component has
/// passed before it is compiled, since what is kept does not pass it again.
pub(super) struct Compatibility([u8; 32]);

impl Compatibility {
    pub(super) fn of(engine: &Engine) -> Self {
        Self::with(engine, check::VERSION)
    }

    fn with(engine: &Engine, check: u32) -> Self {
        let mut hash = Collected(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hash);
        hash.write(&check.to_be_bytes());
        Self(hash.0.finalize().into())
    }

    /// A name that no other component or engine has.
    pub(super) fn file_name(&self, component: Digest) -> String {
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let (engine, _) = self.0.split_at(8);
        format!("{}-{}.code", hex(&component.to_bytes()), hex(engine))
    }
}

impl Key {
    pub(super) fn tag(
        &self,
        component: Digest,
        engine: &Compatibility,
        code: &[u8],
    ) -> [u8; TAG_BYTES] {
        self.mac(component, engine, code)
            .finalize()
            .into_bytes()
            .into()
    }

    /// Compares in constant time.
    pub(super) fn verifies(
        &self,
        tag: &[u8],
        component: Digest,
        engine: &Compatibility,
        code: &[u8],
    ) -> bool {
        self.mac(component, engine, code).verify_slice(tag).is_ok()
    }

    fn mac(&self, component: Digest, engine: &Compatibility, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.bytes().into());
        mac.update(HEADING);
        mac.update(&component.to_bytes());
        mac.update(&engine.0);
        mac.update(code);
        mac
    }
}

/// Collects what is hashed, whole, where a `Hasher` would keep 64 bits.
struct Collected(Sha256);

impl Hasher for Collected {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_passed_another_check_has_another_name_and_another_tag() {
        let engine = Engine::default();
        let component = Digest::of(&[b"component"]);
        let key = Key::of([7; 64]);
        let [now, before] =
            [check::VERSION, check::VERSION - 1].map(|check| Compatibility::with(&engine, check));
        let tag = key.tag(component, &before, b"code");
        assert!(key.verifies(&tag, component, &before, b"code"));
        assert!(!key.verifies(&tag, component, &now, b"code"));
        assert_ne!(now.file_name(component), before.file_name(component));
    }
}
