//! What one running gateway holds; made by `start`, shared by every request.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use countersign_canon::Digest;
use countersign_engine::Profiles;
use countersign_evidence::{Agent, Draft, Kind, ServerName, Time};
use countersign_identity::Aliases;
use countersign_ledger::{Epochs, InForce, Ledger};
use countersign_mcp::ErrorCode;
use countersign_policy::PolicySet;

use crate::answers::Answers;
use crate::catalog::{Catalog, Listing, Looked, Need};
use crate::config::Required;
use crate::environment::Environment;
use crate::front::tasks::Observed;
use crate::identity::Identities;
use crate::limits::Limits;
use crate::session::Sessions;
use crate::shutdown::Running;
use crate::suppressed::Suppressed;
use crate::telemetry::Telemetry;
use crate::upstream::{Reason, Upstream};

/// How long the ledger may take to say that it is there.
const READY: std::time::Duration = std::time::Duration::from_secs(1);

/// One running gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) environment: Environment,
    pub(crate) profiles: Profiles,
    pub(crate) ledger: Ledger,
    pub(crate) answers: Answers,
    pub(crate) tasks: Observed,
    /// How long a task may stay open.
    pub(crate) task_timeout: std::time::Duration,
    pub(crate) decisions: Decisions,
    pub(crate) identities: Arc<Identities>,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Arc<Limits>,
    pub(crate) required: Required,
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
}

/// What decisions rest on: the policies and the epochs under which they, and
/// the catalogs, came into force. Read together, changed together.
#[derive(Debug)]
pub(crate) struct Decisions(RwLock<Basis>);

/// One reading of [`Decisions`].
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) epochs: Epochs,
}

impl Decisions {
    pub(crate) fn new(policies: Arc<PolicySet>, epochs: Epochs) -> Self {
        Self(RwLock::new(Basis { policies, epochs }))
    }

    pub(crate) fn current(&self) -> Basis {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes over the epochs that the ledger says are in force.
    pub(crate) fn adopt(&self, epochs: Epochs) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .epochs = epochs;
    }
}

/// The entries that say what a gateway decides by, from its start on.
pub(crate) fn in_force(
    environment: &Environment,
    profiles: &Profiles,
    policies: &PolicySet,
    aliases: &Aliases,
) -> Vec<(Draft, InForce)> {
    let now = environment.now();
    let mut entries = vec![(Draft::new(Kind::Start, now), InForce::Unchanged)];
    for profile in profiles.iter() {
        let mut loaded = Draft::new(Kind::ProfileLoaded, now);
        loaded.profile = Some(profile.id().to_string());
        loaded.world = Some(profile.world().to_owned());
        loaded.component = Some(profile.component_digest());
        entries.push((loaded, InForce::Unchanged));
    }
    for (agent, before) in aliases.iter() {
        let mut alias = Draft::new(Kind::Alias, now);
        alias.agent = Some(agent.clone());
        alias.agent_before = Some(before.clone());
        entries.push((alias, InForce::Unchanged));
    }
    let mut loaded = Draft::new(Kind::PolicyLoaded, now);
    loaded.policy_digest = Some(policies.digest());
    loaded.evaluator = Some(PolicySet::evaluator().to_owned());
    entries.push((loaded, InForce::Policy));
    entries
}

impl Gateway {
    /// The entries that say what this gateway decides by.
    pub(crate) fn in_force(&self) -> Vec<(Draft, InForce)> {
        let basis = self.decisions.current();
        let aliases = self.identities.aliases();
        in_force(&self.environment, &self.profiles, &basis.policies, aliases)
    }

    /// Whether calls are admitted; nothing is told of why not. The ledger is
    /// asked, since a database can be away.
    pub(crate) async fn is_ready(&self) -> bool {
        if self.running.is_draining() || self.ledger.failed() || self.ledger.rolled_back() {
            return false;
        }
        let Ok(nobody) = self.environment.call_id() else {
            return false;
        };
        let asked = tokio::time::timeout(READY, self.ledger.lookup_call(&nobody)).await;
        matches!(asked, Ok(Ok(_)))
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
    /// changed leaves its entry before anything rests on it.
    pub(crate) async fn tools(
        &self,
        server: &Server,
        agent: &Agent,
        need: Need<'_>,
    ) -> Result<Arc<Listing>, Reason> {
        let now = self.environment.monotonic();
        let Looked { listing, changed } = server
            .catalog
            .look(&server.upstream, agent, need, now)
            .await?;
        if changed {
            let mut draft = Draft::new(Kind::Discovery, self.environment.now());
            draft.server = Some(server.name.clone());
            draft.server_digest = Some(server.digest);
            draft.catalog.discovered = Some(listing.digest);
            match self.ledger.append(draft, InForce::Catalog).await {
                Ok((_, epochs)) => self.decisions.adopt(epochs),
                Err(error) => tracing::warn!("a discovery left no entry: {error}"),
            }
        }
        Ok(listing)
    }
}
