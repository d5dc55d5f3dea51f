//! What decisions rest on, and the entries that say so: read together, changed
//! together, and never taken over while it is not known what came into force.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use countersign_catalog::Offer;
use countersign_engine::{Profile, Profiles};
use countersign_evidence::{Draft, Kind, ServerName, Time};
use countersign_identity::Aliases;
use countersign_ledger::{Epochs, InForce};
use countersign_policy::PolicySet;

use crate::catalog::approved::Approved;
use crate::config::Enforcement;
use crate::environment::Environment;

/// What decisions rest on: the policies, what is approved, and the epochs under
/// which they, and the catalogs, came into force.
#[derive(Debug)]
pub(crate) struct Decisions {
    basis: RwLock<Basis>,
    /// Held from before anything is read that is to come into force until it
    /// has, or has not.
    turn: tokio::sync::Mutex<()>,
    /// Held alone while something comes into force: from before its entry is
    /// written until it decides.
    changing: tokio::sync::RwLock<()>,
    /// Set where it is not known what came into force: then no epoch is taken
    /// over, so that nothing is admitted under one that may not be this basis's.
    /// The servers of which another approval may stand in the log.
    unsure: Mutex<Option<BTreeSet<String>>>,
}

/// One reading of [`Decisions`].
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) approved: Arc<Approved>,
    pub(crate) enforcement: Enforcement,
    pub(crate) epochs: Epochs,
}

impl Decisions {
    pub(crate) fn new(basis: Basis) -> Self {
        Self {
            basis: RwLock::new(basis),
            turn: tokio::sync::Mutex::default(),
            changing: tokio::sync::RwLock::default(),
            unsure: Mutex::default(),
        }
    }

    pub(crate) fn current(&self) -> Basis {
        self.basis
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes over the epochs that the ledger says are in force. While something
    /// comes into force this waits until it has: an epoch that is newer than
    /// what decides would let the old policies decide in the new one's name.
    pub(crate) async fn adopt(&self, epochs: Epochs) {
        let _settled = self.changing.read().await;
        if self.is_unsure() {
            return;
        }
        let mut basis = self.basis.write().unwrap_or_else(PoisonError::into_inner);
        basis.epochs.policy = basis.epochs.policy.max(epochs.policy);
        basis.epochs.catalog = basis.epochs.catalog.max(epochs.catalog);
    }

    /// Keeps everybody else from reading what is to come into force, until what
    /// is given back is dropped: what was read earlier never replaces what was
    /// read later.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Keeps everybody from taking over epochs, until what is given back is
    /// dropped.
    pub(crate) async fn change(&self) -> tokio::sync::RwLockWriteGuard<'_, ()> {
        self.changing.write().await
    }

    /// Notes that an entry may or may not have been written that brings other
    /// policies into force, and another approval of these servers.
    pub(crate) fn doubt(&self, servers: impl IntoIterator<Item = String>) {
        let mut unsure = self.unsure.lock().unwrap_or_else(PoisonError::into_inner);
        unsure.get_or_insert_default().extend(servers);
    }

    /// The servers of which it is not known what is approved in the log; none
    /// where everything is known.
    pub(crate) fn doubted(&self) -> Option<BTreeSet<String>> {
        let unsure = self.unsure.lock().unwrap_or_else(PoisonError::into_inner);
        unsure.clone()
    }

    pub(crate) fn is_unsure(&self) -> bool {
        let unsure = self.unsure.lock().unwrap_or_else(PoisonError::into_inner);
        unsure.is_some()
    }

    /// Puts something else in force, as the log has it; called between
    /// [`Decisions::change`] and its end.
    pub(crate) fn replace(&self, basis: Basis) {
        *self.basis.write().unwrap_or_else(PoisonError::into_inner) = basis;
        let mut unsure = self.unsure.lock().unwrap_or_else(PoisonError::into_inner);
        *unsure = None;
    }
}

/// The entries that say what a gateway decides by, from its start on. The `servers`
/// are those of which the log may say that something is approved: where nothing is
/// any more, that is withdrawn.
pub(crate) fn in_force<'s>(
    environment: &Environment,
    profiles: &Profiles,
    policies: &PolicySet,
    approved: &Approved,
    servers: impl IntoIterator<Item = &'s ServerName>,
    aliases: &Aliases,
) -> Vec<(Draft, InForce)> {
    let now = environment.now();
    let mut entries = vec![(Draft::new(Kind::Start, now), InForce::Unchanged)];
    for profile in profiles.iter() {
        entries.push((profile_loaded(now, profile), InForce::Unchanged));
    }
    for (agent, before) in aliases.iter() {
        let mut alias = Draft::new(Kind::Alias, now);
        alias.agent = Some(agent.clone());
        alias.agent_before = Some(before.clone());
        entries.push((alias, InForce::Unchanged));
    }
    entries.push((policy_loaded(now, policies), InForce::Policy));
    for offer in approved.offers() {
        let entry = catalog_approved(now, offer.name(), Some(offer));
        entries.push((entry, InForce::Catalog));
    }
    for server in servers {
        let server = server.as_str();
        if approved.offers().all(|offer| offer.name() != server) {
            let entry = catalog_approved(now, server, None);
            entries.push((entry, InForce::Catalog));
        }
    }
    entries
}

/// Calls may be admitted under this profile from here on.
pub(crate) fn profile_loaded(now: Time, profile: &Profile) -> Draft {
    let mut loaded = Draft::new(Kind::ProfileLoaded, now);
    loaded.profile = Some(profile.id().to_string());
    loaded.world = Some(profile.world().to_owned());
    loaded.component = Some(profile.component_digest());
    loaded
}

/// These policies decide from here on.
pub(crate) fn policy_loaded(now: Time, policies: &PolicySet) -> Draft {
    let mut loaded = Draft::new(Kind::PolicyLoaded, now);
    loaded.policy_digest = Some(policies.digest());
    loaded.evaluator = Some(PolicySet::evaluator().to_owned());
    loaded
}

/// This is approved of that server from here on; without an offer nothing is.
pub(crate) fn catalog_approved(now: Time, server: &str, offer: Option<&Offer>) -> Draft {
    let mut approved = Draft::new(Kind::CatalogApproved, now);
    approved.server = ServerName::new(server).ok();
    approved.server_digest = offer.map(Offer::server);
    approved.catalog.approved = offer.map(Offer::checkpoint);
    approved
}
