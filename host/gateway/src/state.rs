//! What one running gateway holds; made by `start`, shared by every request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use countersign_canon::Digest;
use countersign_catalog::Offer;
use countersign_engine::{Profile, Profiles};
use countersign_evidence::{Agent, Draft, Kind, ServerName, Time};
use countersign_identity::Aliases;
use countersign_ledger::{Epochs, InForce, Ledger};
use countersign_mcp::ErrorCode;
use countersign_mcp::methods::Passed;
use countersign_policy::{Class, PolicySet};

use crate::answers::Answers;
use crate::archive::Archive;
use crate::bodies::Bodies;
use crate::catalog::approved::Approved;
use crate::catalog::{Catalog, Listing, Looked, Need};
use crate::config::{self, Enforcement, OnDisconnect, Required};
use crate::delivery::Cancel;
use crate::environment::Environment;
use crate::front::tasks::Observed;
use crate::identity::Identities;
use crate::issued::Issued;
use crate::limits::Limits;
use crate::profiles::InUse;
use crate::session::Sessions;
use crate::shutdown::Running;
use crate::suppressed::Suppressed;
use crate::telemetry::Telemetry;
use crate::upstream::{Condition, Unready, Upstream};

/// How long the ledger may take to say that it is there.
const READY: std::time::Duration = std::time::Duration::from_secs(1);
/// Differences that one discovery writes one by one; all are in its own entry's
/// digest.
const MOST_DRIFTS: usize = 64;

/// One running gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) environment: Environment,
    pub(crate) profiles: Arc<InUse>,
    pub(crate) ledger: Ledger,
    pub(crate) answers: Answers,
    pub(crate) tasks: Observed,
    /// How long a task may stay open.
    pub(crate) task_timeout: std::time::Duration,
    pub(crate) decisions: Decisions,
    /// Where the policies and the lock are read from, again and again.
    pub(crate) sources: Sources,
    pub(crate) identities: Arc<Identities>,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Arc<Limits>,
    pub(crate) required: Required,
    /// Messages that arrive, until they are classified.
    pub(crate) bodies: Arc<Bodies>,
    /// What goes out and was not taken yet.
    pub(crate) untaken: Arc<Bodies>,
    /// Actions that were admitted, while their calls are in flight.
    pub(crate) actions: Arc<Bodies>,
    pub(crate) body_timeout: std::time::Duration,
    pub(crate) servers: BTreeMap<ServerName, Arc<Server>>,
    pub(crate) suppressed: Suppressed,
    pub(crate) running: Running,
    pub(crate) telemetry: Telemetry,
}

/// One upstream with what is known of it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: ServerName,
    pub(crate) digest: Digest,
    pub(crate) upstream: Upstream,
    pub(crate) catalog: Catalog,
    pub(crate) send_call_id: bool,
    /// Methods beside tools that pass to it.
    pub(crate) passed: Passed,
    on_disconnect: BTreeMap<String, OnDisconnect>,
    /// States of rounds that it issued for requests that are no calls.
    pub(crate) issued: Issued,
}

impl Server {
    /// A server as it is configured.
    pub(crate) fn new(configured: &config::Server, upstream: Upstream, catalog: Catalog) -> Self {
        Self {
            name: configured.name.clone(),
            digest: configured.digest(),
            upstream,
            catalog,
            send_call_id: configured.send_call_id,
            passed: configured.passed.clone(),
            on_disconnect: configured.on_disconnect.clone(),
            issued: Issued::default(),
        }
    }

    /// What becomes of a call whose client goes away, where that is a cancel.
    pub(crate) fn on_disconnect(&self, tool: &str, class: Class) -> OnDisconnect {
        let default = match class {
            Class::ReadOnly => OnDisconnect::Forward,
            Class::SideEffecting | Class::Destructive => OnDisconnect::Finish,
        };
        let configured = self.on_disconnect.get(tool).copied();
        configured.unwrap_or(default)
    }
}

/// Where what decisions rest on is read from.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The configuration, whose profiles are read again; none where it did not
    /// come from a file.
    pub(crate) config: Option<std::path::PathBuf>,
    /// The folder of policies; without one the shipped ones decide.
    pub(crate) policies: Option<std::path::PathBuf>,
    pub(crate) catalog: config::Catalog,
    /// Where every version is kept for exports.
    pub(crate) archive: Archive,
}

/// What decisions rest on: the policies, what is approved, and the epochs under
/// which they, and the catalogs, came into force. Read together, changed
/// together.
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
    unsure: AtomicBool,
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
            unsure: AtomicBool::new(false),
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
        if self.unsure.load(Ordering::SeqCst) {
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

    /// Notes that an entry may or may not have been written.
    pub(crate) fn doubt(&self) {
        self.unsure.store(true, Ordering::SeqCst);
    }

    /// Puts something else in force; called between [`Decisions::change`] and
    /// its end.
    pub(crate) fn replace(&self, basis: Basis) {
        *self.basis.write().unwrap_or_else(PoisonError::into_inner) = basis;
        self.unsure.store(false, Ordering::SeqCst);
    }
}

/// The entries that say what a gateway decides by, from its start on.
pub(crate) fn in_force(
    environment: &Environment,
    profiles: &Profiles,
    policies: &PolicySet,
    approved: &Approved,
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

impl Gateway {
    /// The entries that say what this gateway decides by.
    pub(crate) fn in_force(&self) -> Vec<(Draft, InForce)> {
        let basis = self.decisions.current();
        let aliases = self.identities.aliases();
        in_force(
            &self.environment,
            &self.profiles.current(),
            &basis.policies,
            &basis.approved,
            aliases,
        )
    }

    /// Whether calls are admitted; nothing is told of why not. The ledger is
    /// asked, since a database can be away, and its writer has a connection of its
    /// own.
    pub(crate) async fn is_ready(&self) -> bool {
        if self.running.is_draining() || !self.ledger.admits() {
            return false;
        }
        let Ok(nobody) = self.environment.call_id() else {
            return false;
        };
        let asked = tokio::time::timeout(READY, self.ledger.lookup_call(&nobody)).await;
        matches!(asked, Ok(Ok(_))) && self.ledger.admits()
    }

    /// The servers by name, each with the condition of its breaker.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = (String, Condition)> {
        let servers = self.servers.values();
        servers.map(|server| (server.name.to_string(), server.upstream.condition()))
    }

    /// Counts an attempt that is not written by itself.
    pub(crate) fn suppress(&self, agent: &Agent, code: ErrorCode, at: Time) {
        self.telemetry.metrics.suppressed(code.as_str());
        self.suppressed.count(agent, code, at);
    }

    /// The server of that name; without a name the only one there is.
    pub(crate) fn server(&self, name: Option<&str>) -> Option<&Arc<Server>> {
        match name {
            Some(name) => self.servers.get(&ServerName::new(name).ok()?),
            None if self.servers.len() == 1 => self.servers.values().next(),
            None => None,
        }
    }

    /// The tools of a server, discovered where that is due. A list that has
    /// changed leaves its entry before anything rests on it; one that changes
    /// all the time is counted.
    ///
    /// # Errors
    /// As [`Catalog::look`].
    pub(crate) async fn tools(
        &self,
        server: &Server,
        agent: &Agent,
        need: Need<'_>,
        cancel: &Cancel,
    ) -> Result<Arc<Listing>, Unready> {
        let now = self.environment.monotonic();
        let Looked {
            listing,
            changed,
            renewed,
        } = server
            .catalog
            .look(&server.upstream, agent, need, now, cancel)
            .await?;
        let found = self.environment.monotonic();
        if changed && server.catalog.changes.found(listing.digest, found) {
            self.record_discovery(server, &listing).await;
        } else if changed {
            self.suppressed
                .count_discovery(&server.name, self.environment.now());
        }
        // Where somebody approves, what is shown stays what is approved.
        if renewed && !self.decisions.current().approved.governs() {
            server.upstream.tell_of_tools();
        }
        Ok(listing)
    }

    /// Writes what was discovered, and what differs in it from what was
    /// approved; attempts that were decided before are decided again.
    pub(crate) async fn record_discovery(&self, server: &Server, listing: &Listing) {
        let basis = self.decisions.current();
        let name = server.name.as_str();
        let now = self.environment.now();
        let about = |kind| {
            let mut draft = Draft::new(kind, now);
            draft.server = Some(server.name.clone());
            draft.server_digest = Some(server.digest);
            draft.catalog = basis.approved.digests(name, listing, None);
            draft
        };
        let mut drafts = vec![(about(Kind::Discovery), InForce::Catalog)];
        let drift = basis.approved.drift(name, listing);
        for (index, drifted) in drift.iter().enumerate() {
            tracing::warn!(server = name, "{}", drifted.said);
            if index < MOST_DRIFTS {
                let mut draft = about(Kind::CatalogDrift);
                draft.tool.clone_from(&drifted.tool);
                draft.catalog.approved = drifted.approved;
                draft.catalog.discovered = drifted.discovered;
                drafts.push((draft, InForce::Unchanged));
            }
        }
        for (draft, in_force) in drafts {
            match self.ledger.append(draft, in_force).await {
                Ok((_, epochs)) => self.decisions.adopt(epochs).await,
                Err(error) => tracing::warn!("a discovery left no entry: {error}"),
            }
        }
    }

    /// Asks a server that is in use for its tools, where that is due or it says
    /// that its list has changed; gives up sessions and processes that are not
    /// used.
    pub(crate) async fn poll_catalog(&self, server: &Server) {
        server.upstream.tidy();
        let now = self.environment.monotonic();
        let due = server.catalog.is_due(now) || server.upstream.tools_may_have_changed();
        if let (true, Some(agent)) = (due, server.catalog.asked()) {
            // A server that is away is found out by whoever calls it.
            let _ = self
                .tools(server, &agent, Need::Poll, &Cancel::default())
                .await;
        }
        if let Some(listing) = server.catalog.current()
            && server.catalog.changes.owes(listing.digest, now)
        {
            self.record_discovery(server, &listing).await;
        }
    }
}
