//! The released components that are part of this binary, with their pins.
//!
//! The files stand in `guest/released` and are never rebuilt in place;
//! `profiles.lock` beside them says what each must hash to.

use std::sync::LazyLock;

use countersign_canon::ProfileId;

use crate::pin::Pin;

/// The lock file of the released components.
pub const LOCK: &str = include_str!("../../../guest/released/profiles.lock");

/// The profile that is used where none is asked for.
pub const DEFAULT: &str = "exact@1.0.0";

const FILES: &[(&str, &[u8])] = &[
    (
        "exact@1.0.0",
        include_bytes!("../../../guest/released/exact@1.0.0.wasm"),
    ),
    (
        "jcs-integer@1.0.0",
        include_bytes!("../../../guest/released/jcs-integer@1.0.0.wasm"),
    ),
];

/// A component that is built in.
#[derive(Clone, Debug)]
pub struct Component {
    pin: Pin,
    bytes: &'static [u8],
}

impl Component {
    /// What the lock file says that it is.
    #[must_use]
    pub fn pin(&self) -> &Pin {
        &self.pin
    }

    /// The component file.
    #[must_use]
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

static COMPONENTS: LazyLock<Vec<Component>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|(id, bytes)| {
            let id: ProfileId = id.parse().ok()?;
            let digest = locked(&id)?.parse().ok()?;
            Some(Component {
                pin: Pin { id, digest },
                bytes,
            })
        })
        .collect()
});

/// The digest that the lock file gives for a profile.
///
/// The file is part of this binary and written by our own tool, one
/// `key = "value"` a line, so that reading it takes no library.
fn locked(id: &ProfileId) -> Option<&'static str> {
    LOCK.split("[[profile]]").skip(1).find_map(|profile| {
        let value = |key| {
            let lines = profile.lines().filter_map(|line| line.split_once(" = "));
            lines
                .filter(|(name, _)| *name == key)
                .map(|(_, value)| value.trim_matches('"'))
                .next()
        };
        let is_it = value("name") == Some(id.name()) && value("version") == Some(id.version());
        value("component").filter(|_| is_it)
    })
}

/// Every component that is built in, in the order of the lock file.
#[must_use]
pub fn all() -> &'static [Component] {
    &COMPONENTS
}

/// The built-in component of that name and version.
#[must_use]
pub fn get(id: &ProfileId) -> Option<&'static Component> {
    COMPONENTS.iter().find(|component| component.pin.id == *id)
}

/// The built-in component that is used where none is asked for.
#[must_use]
pub fn default() -> Option<&'static Component> {
    COMPONENTS
        .iter()
        .find(|component| component.pin.id.as_str() == DEFAULT)
}

#[cfg(test)]
mod tests {
    use countersign_canon::Digest;

    use super::*;

    #[test]
    fn every_profile_of_the_lock_file_is_built_in_and_hashes_to_what_it_says() {
        assert_eq!(LOCK.matches("[[profile]]").count(), FILES.len());
        assert_eq!(all().len(), FILES.len());
        for component in all() {
            assert_eq!(Digest::of(&[component.bytes()]), component.pin().digest);
        }
        assert_eq!(default().unwrap().pin().id.as_str(), DEFAULT);
    }
}
