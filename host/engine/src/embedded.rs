//! The released components that are part of this binary, with their pins.
//!
//! The files stand in `guest/released` and are never rebuilt in place;
//! `profiles.lock` beside them says what each must hash to.

use std::sync::LazyLock;

use countersign_canon::ProfileId;

use crate::pin::Pin;

/// The lock file of the released components.
pub const LOCK: &str = "";

/// The profile that is used where none is asked for.
pub const DEFAULT: &str = "exact@1.0.0";

const FILES: &[(&str, &[u8])] = &[];

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
            Some(Component { pin: Pin { id, digest }, bytes })
        })
        .collect()
});

/// The digest that the lock file gives for a profile.
fn locked(id: &ProfileId) -> Option<&'static str> {
    LOCK.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(locked, _)| *locked == id.as_str())
        .map(|(_, digest)| digest.trim())
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
    COMPONENTS.iter().find(|component| component.pin.id.as_str() == DEFAULT)
}
