//! From a configuration to a running gateway, and back to rest.
//!
//! 1. **init**: what can be read without changing anything: profiles, policies,
//!    tokens. A mistake in any of them stops here.
//! 2. **configure**: the address is bound, then the ledger is opened, which
//!    recovers what an earlier start left; entries say what started.
//! 3. **prepare**: the operator's socket, the background tasks.
//! 4. **run**, until it is told to stop; see `shutdown` for the way down.
//!
//! `chores` is what is done from time to time meanwhile, `error` why nothing ran.

mod chores;
mod error;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use countersign_evidence::key::{SigningKey, VerifyingKey};
use countersign_evidence::keyfile;
use countersign_evidence::{Draft, LogId};
use countersign_ledger::{AnswerBounds, Epochs, InForce, Ledger, LedgerError};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::answers::Answers;
use crate::archive::Archive;
use crate::bodies::Bodies;
use crate::catalog::Catalog;
use crate::catalog::approved::{Approved, ApprovedError};
use crate::config::{self, Config, KeyFrom};
use crate::decisions::{Basis, Decisions, in_force};
use crate::environment::{Environment, hex};
use crate::export::Source;
use crate::front::listener::{self, Bounds};
use crate::front::tasks::Observed;
use crate::front::{Allowed, router};
use crate::handles;
use crate::identity::Identities;
use crate::limits::Limits;
use crate::operator;
use crate::profiles::InUse;
use crate::reload::{self, InForceNow, ReloadError};
use crate::rotation;
use crate::session::Sessions;
use crate::shutdown::Running;
use crate::state::{Gateway, Server, Sources};
use crate::store;
use crate::suppressed::Suppressed;
use crate::telemetry::{self, Telemetry};
use crate::tls;
use crate::upstream::Upstream;
use chores::chores;
pub use error::StartError;

/// How a gateway came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything that ran was settled.
    Settled,
    /// Something did not settle in time: it is blocked at the next start.
    Unsettled,
    /// The ledger failed under it; the next start recovers what is there.
    LedgerFailed,
}

/// A gateway that is ready to run.
pub struct Prepared {
    gateway: Arc<Gateway>,
    listener: TcpListener,
    address: SocketAddr,
    allowed: Allowed,
    front: Option<Arc<tls::Front>>,
    watched: Option<(SocketAddr, TcpListener)>,
    operator: operator::Listening,
    source: Source,
    config: Config,
}

/// Reads everything that a configuration names, and opens the ledger.
///
/// # Errors
/// [`StartError`]; nothing is admitted then.
pub async fn prepare(mut config: Config, environment: Environment) -> Result<Prepared, StartError> {
    // init
    handles::bound(&mut config.limits, &config.servers, handles::raise())?;
    let archive = Archive::new(config.store.archive.clone());
    let profiles = InUse::open(&config.profiles, archive.clone(), &environment)?;
    let sources = Sources {
        config: config.file.clone(),
        policies: config.policies.clone(),
        catalog: config.catalog.clone(),
        archive: archive.clone(),
    };
    let (policies, approved) = reload::read(&sources)?;
    if config.enforcement == config::Enforcement::Observe {
        tracing::warn!("policies are observed and not enforced: no call is denied by them");
    }
    let identities = Arc::new(Identities::open(&config.identity, &environment).await?);
    let front = config.tls.clone().map(tls::Front::open).transpose()?;
    let front = front.map(Arc::new);
    let telemetry = Telemetry::new(&config.telemetry)?;
    let (hurry, hurried) = watch::channel(false);
    let servers = servers(&config, &environment, &hurried)?;

    // configure
    let refused = |source| StartError::Listen {
        address: config.listen,
        source,
    };
    let listener = TcpListener::bind(config.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let watched = match config.telemetry.listen {
        None => None,
        Some(address) => {
            let refused = |source| StartError::Listen { address, source };
            let listener = TcpListener::bind(address).await.map_err(refused)?;
            Some((listener.local_addr().map_err(refused)?, listener))
        }
    };
    let (key, verifying) = key(&config.store, &environment)?;
    let answers =
        Answers::open(&config.answers, &environment).map_err(|source| StartError::AnswersKey {
            path: config.answers.key.clone(),
            source,
        })?;
    let bounds = AnswerBounds {
        count: config.answers.most,
        bytes: config.answers.all_bytes,
    };
    let untaken = Bodies::new(config.limits.bodies_bytes);
    let ledger = store::open(&config.store, &environment, key, bounds)?;
    let in_use = profiles.current();
    reload::keep(&sources, &in_use, &policies, &approved).map_err(StartError::Archive)?;
    let epochs = if ledger.rolled_back() {
        tracing::error!("the ledger is older than its anchor: nothing is admitted");
        Epochs::default()
    } else {
        let aliases = identities.aliases();
        // A log that begins has nothing to withdraw: it holds that it was opened.
        let begins = ledger.head().await?.size <= 1;
        let known = servers.keys().filter(|_| !begins);
        let entries = in_force(&environment, &in_use, &policies, &approved, known, aliases);
        first_entries(&ledger, entries).await?
    };

    // prepare
    let operator = operator::Listening::open(&config.store.operator)
        .map_err(|error| StartError::Operator(error.to_string()))?;
    let source = Source {
        ledger: ledger.clone(),
        archive,
        key: verifying,
    };
    let gateway = Arc::new(Gateway {
        profiles: Arc::new(profiles),
        decisions: Decisions::new(Basis {
            policies: Arc::new(policies),
            approved: Arc::new(approved),
            enforcement: config.enforcement,
            epochs,
        }),
        sources,
        identities,
        sessions: Sessions::new(config.limits.sessions),
        limits: Arc::new(Limits::new(config.limits, Arc::clone(&untaken))),
        required: config.required,
        bodies: Bodies::new(config.limits.bodies_bytes),
        untaken,
        actions: Bodies::new(config.limits.bodies_bytes),
        body_timeout: config.limits.body_timeout,
        servers,
        suppressed: Suppressed::default(),
        running: Running::new(hurry),
        answers,
        tasks: Observed::default(),
        task_timeout: config.limits.task_timeout,
        ledger,
        environment,
        telemetry,
    });
    let allowed = Allowed::new(address, &config.hosts, &config.origins);
    Ok(Prepared {
        gateway,
        listener,
        address,
        allowed,
        front,
        watched,
        operator,
        source,
        config,
    })
}

impl Prepared {
    /// How agents speak to it: `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.front.is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// Where agents are served; the port is the one that was taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where numbers and health are asked for, if anywhere.
    #[must_use]
    pub fn telemetry(&self) -> Option<SocketAddr> {
        self.watched.as_ref().map(|(address, _)| *address)
    }

    /// The text by which verifiers know this log's key.
    #[must_use]
    pub fn verifying_key(&self) -> String {
        self.source.key.to_string()
    }

    /// By which policies, approvals and profiles are read again while it runs.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        Reloader(Arc::clone(&self.gateway))
    }

    /// Serves until `stop` resolves, or the ledger fails; then stops admitting,
    /// drains, settles, cuts the last checkpoint and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Ended {
        let Self {
            gateway,
            listener,
            allowed,
            front,
            watched,
            operator,
            source,
            config,
            ..
        } = self;
        let draining = gateway.running.draining();
        let (all_ended, ended) = watch::channel(false);
        let agents = tokio::spawn(listener::serve(
            listener,
            router(Arc::clone(&gateway), allowed),
            Bounds::of(&config.limits),
            front.clone(),
            draining.clone(),
            ended,
        ));
        let operators = tokio::spawn(operator::serve(
            operator,
            source,
            Arc::clone(&gateway),
            draining.clone(),
        ));
        let chores = tokio::spawn(chores(Arc::clone(&gateway), front));
        let fresh = Arc::clone(&gateway.identities).chores(gateway.environment.clone());
        let fresh = tokio::spawn(fresh);
        let watched = watched
            .map(|(_, listener)| tokio::spawn(telemetry::serve(listener, Arc::clone(&gateway))));
        let failed = tokio::select! {
            () = stop => false,
            () = gateway.ledger.fatal() => true,
        };
        tracing::info!(failed, "no more calls are admitted");
        let settled = gateway.running.end(config.limits.drain).await;
        all_ended.send_replace(true);
        let _ = agents.await;
        chores.abort();
        fresh.abort();
        let mut closing = tokio::task::JoinSet::new();
        for server in gateway.servers.values().cloned() {
            closing.spawn(async move { server.upstream.close().await });
        }
        while closing.join_next().await.is_some() {}
        gateway
            .suppressed
            .write(&gateway.ledger, gateway.environment.now())
            .await;
        operators.abort();
        gateway.telemetry.flush().await;
        if let Some(watched) = watched {
            watched.abort();
        }
        let ledger = gateway.ledger.clone();
        let stopped = tokio::task::spawn_blocking(move || ledger.stop()).await;
        match (failed || !matches!(stopped, Ok(Ok(()))), settled) {
            (true, _) => Ended::LedgerFailed,
            (false, true) => Ended::Settled,
            (false, false) => Ended::Unsettled,
        }
    }
}

/// Reads policies, approvals and profiles again while a gateway runs.
#[derive(Clone)]
pub struct Reloader(Arc<Gateway>);

impl Reloader {
    /// Reads them again, and puts them in force; all or nothing.
    ///
    /// # Errors
    /// [`ReloadError`]; then what was in force stays so.
    pub async fn reload(&self) -> Result<InForceNow, ReloadError> {
        self.0.reload(None).await
    }
}

/// What policies are checked against for a configuration: the approved tools;
/// none where nobody approves.
///
/// # Errors
/// A lock that cannot be used.
pub fn policy_tools(
    config: &Config,
) -> Result<Option<Vec<countersign_policy::OwnedTool>>, ApprovedError> {
    let approved = Approved::read(&config.catalog)?;
    let tools = approved.tools();
    Ok(tools.map(|tools| {
        tools
            .iter()
            .map(countersign_policy::Typed::to_owned)
            .collect()
    }))
}

fn servers(
    config: &Config,
    environment: &Environment,
    hurried: &watch::Receiver<bool>,
) -> Result<BTreeMap<countersign_evidence::ServerName, Arc<Server>>, StartError> {
    let mut servers = BTreeMap::new();
    for server in &config.servers {
        let upstream = Upstream::new(server, &environment.inherited, hurried.clone())?;
        let catalog = Catalog::new(server.name.as_str(), server.digest(), config.catalog.poll);
        let known = Server::new(server, upstream, catalog);
        servers.insert(server.name.clone(), Arc::new(known));
    }
    Ok(servers)
}

/// The log's key; made where there is none, under a name that is unique.
fn key(
    store: &config::Store,
    environment: &Environment,
) -> Result<(SigningKey, VerifyingKey), StartError> {
    let key = if let KeyFrom::File(path) = &store.key
        && !path.exists()
    {
        let name = format!("{}/{}", store.origin, hex(&environment.bytes::<8>()?));
        // INVARIANT: an origin is at most 90 characters of a log's name.
        let name = LogId::new(&name).unwrap_or_else(|_| store.origin.clone());
        let key = SigningKey::from_seed(name, &environment.bytes()?);
        keyfile::create(path, &key).map_err(|source| StartError::Key {
            path: path.clone(),
            source,
        })?;
        key
    } else {
        rotation::read(&store.key, environment)?
    };
    let verifying = key.verifying_key();
    Ok((key, verifying))
}

/// Says what started, and what it decides by.
async fn first_entries(
    ledger: &Ledger,
    entries: Vec<(Draft, InForce)>,
) -> Result<Epochs, LedgerError> {
    let mut epochs = Epochs::default();
    for (draft, in_force) in entries {
        (_, epochs) = ledger.append(draft, in_force).await?;
    }
    Ok(epochs)
}
