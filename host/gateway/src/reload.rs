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
//!
//! Where step 3 breaks off, the log may name what does not decide. Nothing that it
//! names is taken over then, and what does decide is written once more, as soon as
//! the ledger takes it.

use std::sync::Arc;

use countersign_canon::Digest;
use countersign_catalog::Offer;
use countersign_engine::Profiles;
use countersign_evidence::{Draft, Resolution};
use countersign_ledger::{InForce, LedgerError, Position};
use countersign_policy::{Bundle, PolicySet};
use thiserror::Error;

use crate::catalog::approved::{Approved, ApprovedError, read_lock};
use crate::catalog::office::{CatalogError, KeptLock, write_lock};
use crate::config::{Config, ConfigError};
use crate::decisions::{Basis, Decisions, catalog_approved, policy_loaded, profile_loaded};
use crate::profiles::ProfilesError;
use crate::state::{Gateway, Sources};

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
        self.keep(profiles.as_ref(), &policies, &approved)?;
        self.put_in_force(policies, approved, profiles, by).await
    }

    /// Approves offers beside what is approved, with the policies as they are on
    /// the disk. The lock is written once everything holds, and before anything
    /// rests on it; where it does not come into force, it is again what it was.
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
        self.keep(None, &policies, &approved)?;
        let before = KeptLock::read(path)?;
        write_lock(path, &lock)?;
        let put = self.put_in_force(policies, approved, None, Some(by)).await;
        if put.is_err()
            && let Err(error) = before.restore(path)
        {
            tracing::error!("the lock holds what is not in force: {error}");
        }
        put
    }

    /// Admits again on a ledger that went back in time: what decides stands in
    /// the log before anything is admitted, and its epochs are the log's.
    pub(crate) async fn accept_rollback(&self, draft: Draft) -> Result<Position, LedgerError> {
        let _turn = self.decisions.turn().await;
        let _changing = self.decisions.change().await;
        let first = self.in_force();
        let (place, epochs) = self.ledger.accept_rollback(draft, first).await?;
        let basis = self.decisions.current();
        self.decisions.replace(Basis { epochs, ..basis });
        Ok(place)
    }

    /// Where it is not known what came into force: writes what decides, so that it
    /// does.
    pub(crate) async fn settle_doubt(&self) {
        // A ledger that is rolled back waits for an operator, whose word settles this.
        let waits = self.ledger.rolled_back() || self.ledger.failed();
        if waits || !self.decisions.is_unsure() {
            return;
        }
        let _turn = self.decisions.turn().await;
        let _changing = self.decisions.change().await;
        let Some(servers) = self.decisions.doubted() else {
            return;
        };
        let basis = self.decisions.current();
        let now = self.environment.now();
        let mut drafts = vec![(policy_loaded(now, &basis.policies), InForce::Policy)];
        for server in &servers {
            let offer = basis.approved.offers().find(|offer| offer.name() == server);
            drafts.push((catalog_approved(now, server, offer), InForce::Catalog));
        }
        let mut epochs = basis.epochs;
        for (draft, in_force) in drafts {
            match self.ledger.append(draft, in_force).await {
                Ok((_, now)) => epochs = now,
                // Tried again; the ledger itself says what is wrong.
                Err(_) => return,
            }
        }
        tracing::info!(policies = %basis.policies.digest(), ?servers, "in force again");
        self.decisions.replace(Basis { epochs, ..basis });
    }

    fn keep(
        &self,
        profiles: Option<&Profiles>,
        policies: &PolicySet,
        approved: &Approved,
    ) -> Result<(), ReloadError> {
        let known = self.profiles.current();
        let in_use = profiles.unwrap_or(&known);
        keep(&self.sources, in_use, policies, approved).map_err(ReloadError::Archive)
    }

    /// Called by whoever has the turn, and has kept what entries will name.
    async fn put_in_force(
        &self,
        policies: PolicySet,
        approved: Approved,
        profiles: Option<Profiles>,
        by: Option<Resolution>,
    ) -> Result<InForceNow, ReloadError> {
        let known = self.profiles.current();
        let in_use = profiles.as_ref().unwrap_or(&known);
        let profile = in_use.default().id().to_string();
        let changing = self.decisions.change().await;
        let before = self.decisions.current();
        let now = self.environment.now();
        let mut changed = changed(&before.approved, &approved);
        // What an earlier change may have said of a server is said anew.
        for server in self.decisions.doubted().unwrap_or_default() {
            if changed.iter().all(|(known, _)| *known != server) {
                let offer = approved.offers().find(|offer| offer.name() == server);
                changed.push((server, offer));
            }
        }
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
        let servers: Vec<String> = changed.into_iter().map(|(server, _)| server).collect();
        let mut epochs = before.epochs;
        let mut unsure = Unsure(Some((&self.decisions, servers.clone())));
        for (number, (mut draft, in_force)) in drafts.into_iter().enumerate() {
            draft.resolution.clone_from(&by);
            let appended = self.ledger.append(draft, in_force).await;
            if number == 0 && appended.as_ref().is_err_and(was_not_written) {
                unsure.settled();
            }
            (_, epochs) = appended?;
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

/// Whether an entry that was refused so is certainly not in the log.
const fn was_not_written(error: &LedgerError) -> bool {
    matches!(
        error,
        LedgerError::RolledBack | LedgerError::Overloaded { .. } | LedgerError::EntryTooLong
    )
}

/// A change that is being written. However it breaks off, what is in the log may
/// differ from what would decide, so nothing of the log's is taken over from there
/// on, until what decides is written. The servers are those whose approval changes.
struct Unsure<'d>(Option<(&'d Decisions, Vec<String>)>);

impl Unsure<'_> {
    /// What was written decides, or nothing was.
    fn settled(&mut self) {
        self.0 = None;
    }
}

impl Drop for Unsure<'_> {
    fn drop(&mut self) {
        if let Some((decisions, servers)) = self.0.take() {
            tracing::warn!("it is not known what came into force: what decides is written again");
            decisions.doubt(servers);
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
