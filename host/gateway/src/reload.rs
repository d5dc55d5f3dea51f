//! Putting policies, approvals and profiles in force again: from a start on, on
//! a signal, and on an operator's word. All or nothing.
//!
//! 0. One comes after the other: whatever is in force was read after what it
//!    replaced had been. Calls go on meanwhile.
//! 1. All are read, compiled and checked, policies and approvals against each
//!    other, components against their pins. A mistake stops here, and what was in
//!    force stays so.
//! 2. What is new is kept for exports.
//! 3. With everybody kept from taking over epochs, the entries are written.
//!    From the first of them on, whatever was decided before is decided again.
//! 4. The new basis decides, and new calls are admitted under the profile that
//!    is the default now. What is under way goes on under its own.

use std::sync::Arc;

use countersign_canon::Digest;
use countersign_catalog::Offer;
use countersign_engine::Profiles;
use countersign_evidence::{Draft, Resolution};
use countersign_ledger::{InForce, LedgerError};
use countersign_policy::{Bundle, PolicySet};
use thiserror::Error;

use crate::catalog::approved::{Approved, ApprovedError, read_lock};
use crate::catalog::office::{CatalogError, write_lock};
use crate::config::{Config, ConfigError};
use crate::profiles::ProfilesError;
use crate::state::{
    Basis, Decisions, Gateway, Sources, catalog_approved, policy_loaded, profile_loaded,
};

/// Why nothing came into force.
#[derive(Debug, Error)]
pub enum ReloadError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A profile is not loaded.
    #[error(transparent)]
    Profiles(#[from] ProfilesError),
    /// The policy files cannot be read.
    #[error(transparent)]
    PolicyFiles(#[from] countersign_policy::BundleError),
    /// The policies do not hold.
    #[error(transparent)]
    Policies(#[from] countersign_policy::LoadError),
    /// What was approved cannot be held against.
    #[error(transparent)]
    Approved(#[from] ApprovedError),
    /// There is nowhere to write what is approved, or it cannot be written.
    #[error(transparent)]
    Lock(#[from] CatalogError),
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Archive(#[source] std::io::Error),
    /// The entries cannot be written.
    #[error("the ledger takes no entries: {0}")]
    Ledger(#[from] LedgerError),
}

/// What is in force now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForceNow {
    /// The digest of the policies.
    pub policies: Digest,
    /// The servers whose approval changed.
    pub servers: Vec<String>,
    /// The profile for new calls.
    pub profile: String,
    /// The profiles that were not loaded before.
    pub loaded: Vec<String>,
}

/// Reads policies and approvals, and checks the ones against the others.
pub(crate) fn read(sources: &Sources) -> Result<(PolicySet, Approved), ReloadError> {
    let approved = Approved::read(&sources.catalog)?;
    let policies = policies(sources, &approved)?;
    Ok((policies, approved))
}

fn policies(sources: &Sources, approved: &Approved) -> Result<PolicySet, ReloadError> {
    let bundle = match &sources.policies {
        Some(folder) => Bundle::read(folder)?,
        None => Bundle::shipped(),
    };
    Ok(match approved.tools() {
        Some(tools) => PolicySet::load_for(bundle, &tools)?,
        None => PolicySet::load(bundle)?,
    })
}

/// Keeps for exports what entries will name.
pub(crate) fn keep(
    sources: &Sources,
    profiles: &Profiles,
    policies: &PolicySet,
    approved: &Approved,
) -> std::io::Result<()> {
    profiles
        .iter()
        .try_for_each(|profile| sources.archive.keep_profile(profile))?;
    sources.archive.keep_policies(policies)?;
    approved
        .offers()
        .try_for_each(|offer| sources.archive.keep_offer(offer))
}

impl Gateway {
    /// Reads everything again and puts it in force.
    pub(crate) async fn reload(&self, by: Option<Resolution>) -> Result<InForceNow, ReloadError> {
        let _turn = self.decisions.turn().await;
        let profiles = match &self.sources.config {
            Some(file) => {
                let config = Config::read(file)?;
                Some(self.profiles.read(config.profiles).await?)
            }
            None => None,
        };
        let (policies, approved) = read(&self.sources)?;
        self.put_in_force(policies, approved, profiles, by).await
    }

    /// Approves offers beside what is approved, with the policies as they are on
    /// the disk. The lock is written once everything holds, and before anything
    /// rests on it.
    pub(crate) async fn approve(
        &self,
        offers: Vec<Offer>,
        by: Resolution,
    ) -> Result<InForceNow, ReloadError> {
        let _turn = self.decisions.turn().await;
        let path = self.sources.catalog.lock.as_ref();
        let path = path.ok_or(CatalogError::NoFile)?;
        let mut lock = read_lock(path)?;
        for offer in offers {
            lock.approve(offer);
        }
        let approved = Approved::locked(lock.clone(), self.sources.catalog.on_drift)?;
        let policies = policies(&self.sources, &approved)?;
        write_lock(path, &lock)?;
        self.put_in_force(policies, approved, None, Some(by)).await
    }

    /// Called by whoever has the turn.
    async fn put_in_force(
        &self,
        policies: PolicySet,
        approved: Approved,
        profiles: Option<Profiles>,
        by: Option<Resolution>,
    ) -> Result<InForceNow, ReloadError> {
        let known = self.profiles.current();
        let in_use = profiles.as_ref().unwrap_or(&known);
        keep(&self.sources, in_use, &policies, &approved).map_err(ReloadError::Archive)?;
        let profile = in_use.default().id().to_string();
        let changing = self.decisions.change().await;
        let before = self.decisions.current();
        let now = self.environment.now();
        let changed = changed(&before.approved, &approved);
        let unknown = in_use.iter().filter(|one| known.get(one.id()).is_none());
        let mut loaded = Vec::new();
        let mut drafts: Vec<(Draft, InForce)> = Vec::new();
        for profile in unknown {
            loaded.push(profile.id().to_string());
            drafts.push((profile_loaded(now, profile), InForce::Unchanged));
        }
        drafts.push((policy_loaded(now, &policies), InForce::Policy));
        for (server, offer) in &changed {
            drafts.push((catalog_approved(now, server, *offer), InForce::Catalog));
        }
        let servers = changed.into_iter().map(|(server, _)| server).collect();
        let mut epochs = before.epochs;
        let unsure = Unsure(Some(&self.decisions));
        for (mut draft, in_force) in drafts {
            draft.resolution.clone_from(&by);
            (_, epochs) = self.ledger.append(draft, in_force).await?;
        }
        let now = InForceNow {
            policies: policies.digest(),
            servers,
            profile,
            loaded,
        };
        self.decisions.replace(Basis {
            policies: Arc::new(policies),
            approved: Arc::new(approved),
            enforcement: before.enforcement,
            epochs,
        });
        unsure.settled();
        if let Some(profiles) = profiles {
            self.profiles.replace(profiles);
        }
        drop(changing);
        for server in &now.servers {
            if let Some(server) = self.server(Some(server)) {
                server.upstream.tell_of_tools();
            }
        }
        tracing::info!(policies = %now.policies, servers = ?now.servers, profile = %now.profile, loaded = ?now.loaded, "in force");
        Ok(now)
    }
}

/// A change that is being written. However it breaks off, what is in the log may
/// differ from what would decide, so nothing is decided from there on; a reload
/// that succeeds settles it.
struct Unsure<'d>(Option<&'d Decisions>);

impl Unsure<'_> {
    /// What was written decides.
    fn settled(mut self) {
        self.0 = None;
    }
}

impl Drop for Unsure<'_> {
    fn drop(&mut self) {
        if let Some(decisions) = self.0 {
            decisions.doubt();
        }
    }
}

/// The servers whose approval differs, with what is approved now.
fn changed<'n>(before: &Approved, now: &'n Approved) -> Vec<(String, Option<&'n Offer>)> {
    let mut changed: Vec<(String, Option<&Offer>)> = Vec::new();
    for offer in now.offers() {
        let known = before.offers().find(|before| before.name() == offer.name());
        if known.is_none_or(|known| known.checkpoint() != offer.checkpoint()) {
            changed.push((offer.name().to_owned(), Some(offer)));
        }
    }
    for before in before.offers() {
        if !now.offers().any(|offer| offer.name() == before.name()) {
            changed.push((before.name().to_owned(), None));
        }
    }
    changed
}
