//! The profiles that a process holds, several versions side by side.

use std::collections::BTreeMap;

use countersign_canon::ProfileId;

use crate::embedded;
use crate::engine::Engine;
use crate::load_error::{LoadError, Problem};
use crate::profile::Profile;

/// Loaded profiles by name and version; one of them is the default.
#[derive(Clone, Debug)]
pub struct Profiles {
    by_id: BTreeMap<ProfileId, Profile>,
    default: ProfileId,
    // Kept apart so that there always is one.
    fallback: Profile,
}

impl Profiles {
    /// A set that holds its default and nothing else yet.
    #[must_use]
    pub fn new(default: Profile) -> Self {
        let id = default.id().clone();
        Self {
            by_id: BTreeMap::from([(id.clone(), default.clone())]),
            default: id,
            fallback: default,
        }
    }

    /// Every profile that is built in, `exact` being the default.
    ///
    /// # Errors
    ///
    /// The first one that does not load, and why.
    pub fn embedded(engine: &Engine) -> Result<Self, LoadError> {
        let default = embedded::default()
            .ok_or_else(|| LoadError::new(embedded::DEFAULT, Problem::Unknown))?;
        let mut profiles = Self::new(engine.load(default.bytes(), Some(default.pin()))?);
        for component in embedded::all()
            .iter()
            .filter(|other| other.pin() != default.pin())
        {
            profiles.insert(engine.load(component.bytes(), Some(component.pin()))?);
        }
        Ok(profiles)
    }

    /// Adds a profile, or replaces the one of the same name and version.
    pub fn insert(&mut self, profile: Profile) {
        if *profile.id() == self.default {
            self.fallback = profile.clone();
        }
        self.by_id.insert(profile.id().clone(), profile);
    }

    /// The profile of that name and version.
    #[must_use]
    pub fn get(&self, id: &ProfileId) -> Option<&Profile> {
        self.by_id.get(id)
    }

    /// The profile for calls that ask for none.
    #[must_use]
    pub fn default(&self) -> &Profile {
        &self.fallback
    }

    /// All of them, by name and then by version.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.by_id.values()
    }
}
