//! A world to play in: replicas of the real gateway, their store, the upstream
//! that counts, and the clients' account.

mod replica;
mod server;
mod store;
mod victim;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_test_postgres::{Cluster, Database};

use super::account::{Account, Caller, Sent, Told};
use super::faults::Fault;
use super::log::{self, Line};
use super::plan::Call;
use super::upstream::{Counting, Script};
use crate::{environment, said};

pub use replica::Replica;
use server::Server;
pub use store::Store;
pub use victim::Victim;

/// The agents of a world.
pub const AGENTS: [&str; 3] = ["alice", "bob", "carol"];

/// How long the gateway may take to be itself again once everything is well.
const RECOVERY: Duration = Duration::from_secs(300);

/// How often an export is tried.
const EXPORT_TRIES: u32 = 50;

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

    /// Plays with the replicas on an old copy of their store, and gives it back
    /// to them afterwards. On a shared database all of them are down before.
    ///
    /// # Errors
    ///
    /// Where one does not start.
    pub async fn restored(&mut self, replica: usize) -> Result<(), String> {
        if self.old.is_none() {
            return self.replicas[replica].restored().await;
        }
        self.clear();
        for replica in &mut self.replicas {
            replica.gateway.kill();
        }
        self.replace_database();
        for replica in &mut self.replicas {
            replica.start(None).await?;
        }
        Ok(())
    }

    /// The same while they run: their connections end, and behind the next ones
    /// is an old copy. Whether there is such a database.
    pub fn restored_below(&mut self) -> bool {
        self.clear();
        for replica in &self.replicas {
            replica.victim.shut(true);
        }
        self.replace_database();
        for replica in &self.replicas {
            replica.victim.shut(false);
        }
        self.kept.is_some()
    }

    /// What was armed does not happen to the copy.
    fn clear(&self) {
        for Replica { victim, .. } in &self.replicas {
            victim.stormy.store(true, Ordering::SeqCst);
            victim.faults.disarm();
            if let Some(shared) = &victim.shared {
                shared.proxy.calm();
            }
        }
    }

    /// Nobody is connected to it.
    fn replace_database(&mut self) {
        let Some(old) = &self.old else { return };
        let Some(server) = self.server() else { return };
        server.calm();
        let kept = server.database().backup();
        server.database().restore(old);
        self.kept = Some(kept);
    }

    /// Gives back what [`World::restored`] took; nothing runs afterwards.
    pub fn give_back(&mut self, replica: usize) {
        let Some(kept) = self.kept.take() else {
            return self.replicas[replica].give_back();
        };
        for replica in &mut self.replicas {
            replica.gateway.kill();
        }
        if let Some(server) = self.server() {
            server.database().restore(&kept);
        }
    }

    fn server(&self) -> Option<Arc<Server>> {
        let shared = self.replicas.first()?.victim.shared.as_ref()?;
        Some(Arc::clone(&shared.server))
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
    /// said before.
    pub fn spawn(&mut self, replica: usize) -> usize {
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

    /// Every entry of every log, as exported now.
    ///
    /// # Errors
    ///
    /// Where a log does not read back, or is no continuation of what it was.
    pub fn lines(&mut self) -> Result<Vec<Line>, String> {
        let mut logs = BTreeMap::<String, Vec<Line>>::new();
        for replica in &self.replicas {
            // Right after a fault the readers' connections may be broken still.
            let mut tries = 0;
            let bundle = loop {
                match replica.gateway.try_export() {
                    Ok(bundle) => break bundle,
                    Err(said) if tries >= EXPORT_TRIES => return Err(said),
                    Err(_) => std::thread::sleep(Duration::from_millis(200)),
                }
                tries += 1;
            };
            let mut own = BTreeMap::<String, Vec<Line>>::new();
            for line in log::read(&bundle)? {
                own.entry(line.log.clone()).or_default().push(line);
            }
            // Each replica's bundle holds the logs of all; the later one more of it.
            logs.append(&mut own);
        }
        for (log, lines) in &logs {
            let hashes: Vec<_> = lines.iter().map(|line| line.hash.clone()).collect();
            let before = self.grown.insert(log.clone(), hashes.clone());
            if before.is_some_and(|before| !hashes.starts_with(&before)) {
                return Err(format!("the log {log} did not only grow"));
            }
        }
        Ok(logs.into_values().flatten().collect())
    }

    /// Stops everything in an orderly way, and has the bundles verified by the
    /// real `countersign verify`.
    ///
    /// # Errors
    ///
    /// Where one did not settle, or is not verified.
    pub async fn end(&mut self) -> Result<Vec<Line>, String> {
        for replica in &mut self.replicas {
            if !replica.gateway.stop().await {
                return Err(format!("it did not settle:\n{}", replica.gateway.log()));
            }
        }
        let keys = self.replicas.iter().map(|one| one.gateway.public_key());
        let trusted = keys.flat_map(|key| ["--trust".to_owned(), key]);
        let trusted: Vec<String> = trusted.collect();
        for replica in &self.replicas {
            // Each one's bundle holds the logs of all.
            let bundle = replica.gateway.export();
            let mut verify = vec!["verify", bundle.to_str().unwrap_or_default()];
            verify.extend(trusted.iter().map(String::as_str));
            let done = replica.gateway.run(&verify);
            let verified = done.status.success() && !said(&done).contains("contradicted");
            if !verified {
                return Err(said(&done));
            }
        }
        let lines = self.lines()?;
        self.everyone_is_counted(&lines)?;
        Ok(lines)
    }

    /// What was refused without an entry stands in one that counts it, unless
    /// the process that had counted it was killed.
    fn everyone_is_counted(&self, lines: &[Line]) -> Result<(), String> {
        let entries = lines.iter().filter_map(|line| line.workflow.as_deref());
        let entries: BTreeSet<&str> = entries.collect();
        let written = |sent: &Sent| entries.contains(&*sent.workflow());
        let mut missing = self.account.all();
        missing.retain(|sent| {
            let of = &self.replicas[sent.replica % self.replicas.len()];
            let refused = matches!(sent.told, Told::Code(_));
            refused && sent.number >= of.excused && !written(sent)
        });
        let counted: u64 = lines.iter().map(|line| line.suppressed).sum();
        if missing.len() as u64 <= counted {
            Ok(())
        } else {
            Err(format!("counted {counted}, and in no entry: {missing:?}"))
        }
    }
}
