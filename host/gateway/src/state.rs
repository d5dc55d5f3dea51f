//! What one running gateway holds; made by `start`, shared by every request.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_canon::Digest;
use countersign_evidence::{Agent, Draft, Kind, ServerName, Time};
use countersign_ledger::{InForce, Ledger};
use countersign_mcp::ErrorCode;
use countersign_mcp::methods::Passed;
use countersign_policy::Class;

use crate::answers::Answers;
use crate::archive::Archive;
use crate::bodies::Bodies;
use crate::catalog::{Catalog, Listing, Looked, Need};
use crate::config::{self, OnDisconnect, Required};
use crate::decisions::{Decisions, in_force};
use crate::delivery::Cancel;
use crate::environment::Environment;
use crate::front::tasks::Observed;
use crate::identity::Identities;
use crate::issued::Issued;
use crate::limits::Limits;
use crate::profiles::InUse;
use crate::readiness::{Hindrance, of_ledger};
use crate::session::Sessions;
use crate::shutdown::Running;
use crate::suppressed::Suppressed;
use crate::telemetry::Telemetry;
use crate::upstream::{Condition, Unready, Upstream};

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
            self.servers.keys(),
            aliases,
        )
    }

    /// Whether calls are admitted; nothing is told of why not.
    pub(crate) async fn is_ready(&self) -> bool {
        self.hindrance().await.is_none()
    }

    /// Why no call is admitted; none where calls are.
    pub(crate) async fn hindrance(&self) -> Option<Hindrance> {
        if self.running.is_draining() {
            return Some(Hindrance::Draining);
        }
        if let Some(hindrance) = of_ledger(&self.ledger, &self.environment).await {
            return Some(hindrance);
        }
        if self.decisions.is_unsure() {
            return Some(Hindrance::Unsure);
        }
        let now = self.environment.monotonic();
        self.identities.closed(now).then_some(Hindrance::Tokens)
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

    /// Asks a server for its tools again, where it is in use.
    pub(crate) async fn renew(&self, server: &Server) {
        if let Some(agent) = server.catalog.asked() {
            server.upstream.tools_have_changed();
            // A server that is away is found out by whoever calls it.
            let _ = self
                .tools(server, &agent, Need::Poll, &Cancel::default())
                .await;
        }
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
                Err(error) => {
                    tracing::warn!("a discovery left no entry, and is owed one: {error}");
                    server.catalog.changes.was_not_written();
                    return;
                }
            }
        }
    }

    /// Asks a server that is in use for its tools, where that is due or it says
    /// that its list has changed; gives up sessions and processes that are not
    /// used.
    pub(crate) async fn poll_catalog(&self, server: &Server) {
        server.upstream.tidy();
        let now = self.environment.monotonic();
        let due = server.catalog.is_due(now) || server.catalog.is_outdated(&server.upstream);
        if let (true, Some(agent)) = (due, server.catalog.asked()) {
            // A server that is away is found out by whoever calls it.
            let _ = self
                .tools(server, &agent, Need::Poll, &Cancel::default())
                .await;
        }
        // What is owed stays so while nothing is written anyhow.
        let waits = self.ledger.rolled_back() || self.ledger.failed();
        if let Some(listing) = server.catalog.current()
            && !waits
            && server.catalog.changes.owes(listing.digest, now)
        {
            self.record_discovery(server, &listing).await;
        }
    }
}
