//! A world to play in: replicas of the real gateway, their store, the upstream
//! that counts, and the clients' account.

mod evidence;
mod replica;
mod restore;
mod server;
mod store;
mod victim;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_test_postgres::{Cluster, Database};

use super::account::{Account, Caller, Sent, Told};
use super::faults::Fault;
use super::plan::Call;
use super::upstream::{Counting, Script};
use crate::environment;

pub use replica::Replica;
use server::Server;
pub use store::Store;
pub use victim::Victim;

/// The agents of a world.
pub const AGENTS: [&str; 3] = ["alice", "bob", "carol"];

/// How long the gateway may take to be itself again once everything is well.
const RECOVERY: Duration = Duration::from_secs(300);

/// How often a process that may be dying is looked at before it counts as alive.
const DYING_LOOKS: u32 = 20;

/// Replicas, store, upstream, account.
#[derive(Debug)]
pub struct World {
    /// Which store.
    pub store: Store,
    /// The upstream.
    pub upstream: Arc<Counting>,
    /// The clients' account.
    pub account: Account,
    /// The gateways.
    pub replicas: Vec<Replica>,
    agents: Vec<(String, String)>,
    /// The entries of each log as they were seen last.
    grown: BTreeMap<String, Vec<String>>,
    /// An old copy of the shared database, and the real one while that is in use.
    old: Option<Database>,
    kept: Option<Database>,
}

/// The replicas of a world on PostgreSQL.
const REPLICAS: usize = 2;
/// Their leases: the shortest that there may be.
pub(super) const LEASE_MS: u32 = 3_000;
/// Longer than a lease.
pub(super) const PAST_LEASE_MS: u32 = LEASE_MS + LEASE_MS / 2;

fn named(agents: &[&str]) -> Vec<(String, String)> {
    let named = agents
        .iter()
        .map(|agent| ((*agent).to_owned(), format!("csgn_{agent}")));
    named.collect()
}

impl World {
    /// A new world, running.
    ///
    /// # Panics
    ///
    /// When the gateways do not start.
    pub async fn new(store: Store) -> Self {
        match store {
            Store::Sqlite => Self::sqlite().await,
            Store::Postgres => Self::postgres(REPLICAS, LEASE_MS).await,
        }
    }

    /// A new world on SQLite, running.
    ///
    /// # Panics
    ///
    /// When the gateway does not start.
    pub async fn sqlite() -> Self {
        let upstream = Arc::new(Counting::start().await);
        let agents = named(&AGENTS);
        let replica = Replica::new(&upstream, &agents, &Arc::default(), None).await;
        let mut world = Self {
            store: Store::Sqlite,
            upstream,
            account: Account::default(),
            replicas: vec![replica],
            agents,
            grown: BTreeMap::new(),
            old: None,
            kept: None,
        };
        // What only the first call causes (the discovery of the tools) is over.
        world.calm("first").await.unwrap();
        world
    }

    /// A new world on a PostgreSQL of its own, running, with so many replicas
    /// that have leases of so many milliseconds.
    ///
    /// # Panics
    ///
    /// When PostgreSQL or the gateways do not start.
    pub async fn postgres(replicas: usize, lease_ms: u32) -> Self {
        let upstream = Arc::new(Counting::start().await);
        let agents = named(&AGENTS);
        let stormy = Arc::<AtomicBool>::default();
        let cluster = tokio::task::spawn_blocking(|| Arc::new(Cluster::start(&[])));
        let database = cluster.await.unwrap().database();
        let server = Arc::new(Server::of(database.clone()));
        let mut all = Vec::new();
        for _ in 0..replicas {
            let shared = Some((Arc::clone(&server), lease_ms));
            all.push(Replica::new(&upstream, &agents, &stormy, shared).await);
        }
        for replica in &mut all {
            assert!(replica.gateway.stop().await, "{}", replica.gateway.log());
        }
        let old = database.backup();
        for replica in &mut all {
            replica.start(None).await.unwrap();
        }
        let mut world = Self {
            store: Store::Postgres,
            upstream,
            account: Account::default(),
            replicas: all,
            agents,
            grown: BTreeMap::new(),
            old: Some(old),
            kept: None,
        };
        world.calm("first").await.unwrap();
        world
    }

    /// The process of a replica.
    #[must_use]
    pub fn victim(&self, replica: usize) -> Arc<Victim> {
        Arc::clone(&self.replicas[replica].victim)
    }

    /// Prepares a call: who sends it where, and what it meets. What it answers
    /// is run beside everything else.
    ///
    /// # Panics
    ///
    /// When the account is broken.
    pub fn call(&self, prefix: &str, call: &Call) -> impl Future<Output = Told> + use<> {
        let (subject, token) = self.agents[call.agent % self.agents.len()].clone();
        let replica = &self.replicas[call.replica % self.replicas.len()];
        let victim = Arc::clone(&replica.victim);
        let execution_id = call.id.map(|id| format!("{prefix}-{id}"));
        let mut sent = Sent {
            number: 0,
            subject: subject.clone(),
            execution_id: execution_id.clone(),
            key: String::new(),
            action: call.action,
            round: call.round.clone(),
            replica: call.replica,
            stormy: false,
            told: Told::Nothing,
            safe: false,
            call_id: None,
            after: 0,
            over: false,
        };
        let alone = self.account.len();
        sent.key = match &execution_id {
            Some(id) => format!("{subject}/{id}"),
            None => format!("{subject}/{prefix}-alone-{alone}"),
        };
        if let Some(deed) = &call.before {
            victim.suffer(deed);
        }
        let at = call.meanwhile.clone().map(|(moment, deed)| {
            let victim = Arc::clone(&victim);
            let act: super::upstream::Act = Box::new(move || victim.suffer(&deed));
            (moment, act)
        });
        self.upstream.script(
            &sent.key,
            Script {
                reply: call.reply.clone(),
                at,
            },
        );
        sent.stormy = victim.stormy.load(Ordering::SeqCst);
        sent.number = self.account.open(sent.clone());
        let caller = Caller {
            url: replica.gateway.url(),
            token,
        };
        let (account, call) = (self.account.clone(), call.clone());
        async move {
            let answer = caller.send(&sent, &call).await;
            let stormy = victim.stormy.load(Ordering::SeqCst);
            account.close(sent.number, stormy, answer.as_ref());
            account.told(sent.number)
        }
    }

    /// Starts a replica where it does not run.
    ///
    /// # Errors
    ///
    /// What it said instead of starting.
    pub async fn start(&mut self, replica: usize, fault: Option<&Fault>) -> Result<(), String> {
        let count = self.replicas.len();
        let sent = self.account.len();
        let replica = &mut self.replicas[replica % count];
        // Whoever was killed may still be about to die.
        for _ in 0..DYING_LOOKS {
            if !replica.runs() || !replica.victim.stormy.load(Ordering::SeqCst) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if !replica.runs() {
            replica.excused = sent;
        }
        replica.start(fault).await
    }

    /// Whether a replica may be without its database.
    #[must_use]
    pub fn troubled(&self, replica: usize) -> bool {
        let victim = &self.replicas[replica % self.replicas.len()].victim;
        victim.shared.is_some() && victim.stormy.load(Ordering::SeqCst)
    }

    /// Starts the process of a replica and does not wait; answers how much it had
    /// said before. A cut that was armed for the one that died is not for this
    /// one, which could not open its database then.
    pub fn spawn(&mut self, replica: usize) -> usize {
        if let Some(shared) = &self.replicas[replica].victim.shared {
            shared.proxy.calm();
        }
        let sent = self.account.len();
        self.replicas[replica].excused = sent;
        self.replicas[replica].spawn()
    }

    /// Whether a process that was started has said that it listens.
    #[must_use]
    pub fn says(&self, replica: usize, from: usize) -> bool {
        let log = self.replicas[replica].gateway.log();
        log.get(from..).is_some_and(|new| new.contains("log key "))
    }

    /// Waits until a process that was started listens.
    ///
    /// # Errors
    ///
    /// What it said instead.
    pub async fn listening(&mut self, replica: usize, from: usize) -> Result<(), String> {
        self.replicas[replica].listening(from).await
    }

    /// Everything goes well again: faults are disarmed, whoever is stopped goes
    /// on, whoever is dead starts. Answers once each replica admits calls.
    ///
    /// # Errors
    ///
    /// Where one does not come back, or was dead for no reason.
    pub async fn calm(&mut self, prefix: &str) -> Result<(), String> {
        self.upstream.forget_scripts();
        for replica in &mut self.replicas {
            let victim = &replica.victim;
            victim.faults.disarm();
            victim.faults.move_clock(0);
            if let Some(shared) = &victim.shared {
                shared.proxy.calm();
                tokio::task::block_in_place(|| shared.server.calm());
            }
            tokio::task::block_in_place(|| victim.wake());
        }
        let began = environment::now();
        for number in 0..self.replicas.len() {
            let mut probe = 0;
            loop {
                let replica = &mut self.replicas[number];
                if !replica.runs() {
                    if !replica.victim.stormy.load(Ordering::SeqCst) {
                        return Err(format!("it ended by itself:\n{}", replica.gateway.log()));
                    }
                    self.start(number, None).await?;
                }
                let mut call = Call::new(1_000_000 + probe);
                call.replica = number;
                if self.call(prefix, &call).await == Told::Result {
                    break;
                }
                if began.elapsed() > RECOVERY {
                    let log = self.replicas[number].gateway.log();
                    return Err(format!("it did not come back:\n{log}"));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                probe += 1;
            }
        }
        for replica in &self.replicas {
            replica.victim.stormy.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}
