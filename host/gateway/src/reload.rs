//! Putting policies and approvals in force again: from a start on, on a signal,
//! and on an operator's word. All or nothing.
//!
//! 1. Both are read, compiled and checked against each other. A mistake stops
//!    here, and what was in force stays so.
//! 2. What is new is kept for exports.
//! 3. With everybody kept from taking over epochs, the entries are written.
//!    From the first of them on, whatever was decided before is decided again.
//! 4. The new basis decides.

use std::sync::Arc;

use countersign_canon::Digest;
use countersign_catalog::{Lock, Offer};
use countersign_evidence::{Draft, Resolution};
use countersign_ledger::{InForce, LedgerError};
use countersign_policy::{Bundle, PolicySet};
use thiserror::Error;

use crate::catalog::approved::{Approved, ApprovedError};
use crate::state::{Basis, Gateway, Sources, catalog_approved, policy_loaded};

/// Why nothing came into force.
#[derive(Debug, Error)]
pub enum ReloadError {
    /// The policy files cannot be read.
    #[error(transparent)]
    PolicyFiles(#[from] countersign_policy::BundleError),
    /// The policies do not hold.
    #[error(transparent)]
    Policies(#[from] countersign_policy::LoadError),
    /// What was approved cannot be held against.
    #[error(transparent)]
    Approved(#[from] ApprovedError),
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
    policies: &PolicySet,
    approved: &Approved,
) -> std::io::Result<()> {
    sources.archive.keep_policies(policies)?;
    approved
        .offers()
        .try_for_each(|offer| sources.archive.keep_offer(offer))
}

impl Gateway {
    /// Reads everything again and puts it in force.
    pub(crate) async fn reload(&self, by: Option<Resolution>) -> Result<InForceNow, ReloadError> {
        let (policies, approved) = read(&self.sources)?;
        self.put_in_force(policies, approved, by).await
    }

    /// Puts a lock in force, with the policies as they are on the disk. It is
    /// written by `write` once everything holds, and before anything rests on
    /// it.
    pub(crate) async fn approve<E>(
        &self,
        lock: Lock,
        by: Option<Resolution>,
        write: impl FnOnce(&Lock) -> Result<(), E>,
    ) -> Result<Result<InForceNow, ReloadError>, E> {
        let checked = Approved::locked(lock.clone(), self.sources.catalog.on_drift)
            .map_err(ReloadError::from)
            .and_then(|approved| Ok((policies(&self.sources, &approved)?, approved)));
        let (policies, approved) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        write(&lock)?;
        Ok(self.put_in_force(policies, approved, by).await)
    }

    async fn put_in_force(
        &self,
        policies: PolicySet,
        approved: Approved,
        by: Option<Resolution>,
    ) -> Result<InForceNow, ReloadError> {
        keep(&self.sources, &policies, &approved).map_err(ReloadError::Archive)?;
        let changing = self.decisions.change().await;
        let before = self.decisions.current();
        let now = self.environment.now();
        let changed = changed(&before.approved, &approved);
        let mut drafts: Vec<(Draft, InForce)> =
            vec![(policy_loaded(now, &policies), InForce::Policy)];
        for (server, offer) in &changed {
            drafts.push((catalog_approved(now, server, *offer), InForce::Catalog));
        }
        let servers = changed.into_iter().map(|(server, _)| server).collect();
        let mut epochs = before.epochs;
        for (mut draft, in_force) in drafts {
            draft.resolution.clone_from(&by);
            (_, epochs) = match self.ledger.append(draft, in_force).await {
                Ok(written) => written,
                Err(error) => {
                    // Where it may be written or not, nobody knows by what to
                    // decide; a reload that succeeds settles it.
                    self.decisions.doubt();
                    return Err(error.into());
                }
            };
        }
        let now = InForceNow {
            policies: policies.digest(),
            servers,
        };
        self.decisions.replace(Basis {
            policies: Arc::new(policies),
            approved: Arc::new(approved),
            enforcement: before.enforcement,
            epochs,
        });
        drop(changing);
        for server in &now.servers {
            if let Some(server) = self.server(Some(server)) {
                server.upstream.tell_of_tools();
            }
        }
        tracing::info!(policies = %now.policies, servers = ?now.servers, "in force");
        Ok(now)
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
