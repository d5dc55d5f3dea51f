//! A world to play in: replicas of the real gateway, their store, the upstream
//! that counts, and the clients' account.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use countersign_test_postgres::{Cluster, Database, Shutdown};
use rustix::process::{Pid, Signal, kill_process};

use super::account::{Account, Caller, Sent, Told};
use super::faults::{Does, Fault, Faults, Ports, Recorded};
use super::log::{self, Line};
use super::plan::{Call, Cut, Deed};
use super::proxy::Proxy;
use super::upstream::{Counting, Script};
use crate::{Gateway, Plan, Revision, Server, environment, said};

/// The agents of a world.
pub const AGENTS: [&str; 3] = ["alice", "bob", "carol"];

/// How long the gateway may take to be itself again once everything is well.
const RECOVERY: Duration = Duration::from_secs(30);

/// How often an export is tried.
const EXPORT_TRIES: u32 = 50;

/// How often a process that may be dying is looked at before it counts as alive.
const DYING_LOOKS: u32 = 20;

/// Until then a second gateway on one store has ended.
const SECOND_ENDS: Duration = Duration::from_secs(20);

/// Which store the gateways have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    /// The embedded one.
    Sqlite,
    /// PostgreSQL, with several replicas.
    Postgres,
}

impl Store {
    /// Every store.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The store of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|store| store.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// What is shared with whatever happens at moments: the process as such.
#[derive(Debug)]
pub struct Victim {
    faults: Faults,
    folder: PathBuf,
    process: AtomicU32,
    upstream: u16,
    gateway: AtomicU32,
    /// Whether something is wrong with it, or with another replica that it
    /// shares a database with.
    stormy: Arc<AtomicBool>,
    /// What stands between it and its database, where that is a server.
    shared: Option<Shared>,
    /// The fault that was armed last, and the WAL as it was then.
    armed: Mutex<Option<(Fault, Option<Vec<u8>>)>>,
    generation: AtomicU32,
    /// Whether what was done last was done to its database.
    to_database: AtomicBool,
}

/// The shared database of a replica, and the way to it.
#[derive(Debug)]
pub(super) struct Shared {
    proxy: Proxy,
    database: Database,
}

impl Victim {
    fn ports(&self) -> Ports {
        let gateway = self.gateway.load(Ordering::SeqCst);
        Ports {
            upstream: self.upstream,
            gateway: u16::try_from(gateway).unwrap_or(0),
        }
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.load(Ordering::SeqCst);
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        if let Some(process) = process {
            // It may have ended by itself.
            let _ = kill_process(process, signal);
        }
    }

    /// What happens where a commit is cut.
    fn at_commit(self: &Arc<Self>, cut: Cut) {
        match cut {
            Cut::KillBeforeCommit | Cut::KillWithinCommit | Cut::KillAfterCommit => {
                self.signal(Signal::KILL);
            }
            Cut::PauseWithinCommit(ms) => {
                self.signal(Signal::STOP);
                self.go_on_after(ms);
            }
            Cut::Terminate | Cut::TerminateAtCommit => {
                let Some(shared) = &self.shared else { return };
                let ports = shared.proxy.ports();
                let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
                shared.database.query(&format!(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE client_port = ANY ('{{{}}}')",
                    ports.join(",")
                ));
            }
            Cut::Crash => {
                let Some(shared) = &self.shared else { return };
                shared.database.cluster().stop(Shutdown::Immediate);
                shared.database.cluster().start_again();
            }
            _ => {}
        }
    }

    /// Does something to it, now. What is for a database server happens only
    /// where there is one.
    pub fn suffer(self: &Arc<Self>, deed: &Deed) {
        self.stormy.store(true, Ordering::SeqCst);
        let to_database = matches!(deed, Deed::Database(_));
        self.to_database.store(to_database, Ordering::SeqCst);
        match deed {
            Deed::Kill => self.signal(Signal::KILL),
            Deed::Pause(ms) => {
                self.signal(Signal::STOP);
                self.go_on_after(*ms);
            }
            Deed::Arm(fault) => self.arm(fault),
            Deed::Clock(seconds) => self.faults.move_clock(*seconds),
            Deed::Database(cut) => {
                if let Some(shared) = &self.shared {
                    shared.proxy.suffer(*cut);
                }
            }
        }
    }

    fn go_on_after(self: &Arc<Self>, ms: u32) {
        let victim = Arc::clone(self);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(ms.into()));
            victim.signal(Signal::CONT);
        });
    }

    fn arm(self: &Arc<Self>, fault: &Fault) {
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        self.faults.arm(0, fault, self.ports());
        // Read only once the next sync is the one that fails: what was synced
        // before is in it, and of what was not, too much rather than too little.
        let wal = self.folder.join("countersign.db-wal");
        let wal = (fault.does == Does::PowerLoss).then(|| fs::read(wal).unwrap_or_default());
        *self.armed.lock().unwrap() = Some((*fault, wal));
        let Some(ms) = fault.pauses() else { return };
        // It stops by itself, and somebody must wake it.
        let victim = Arc::clone(self);
        std::thread::spawn(move || {
            while victim.generation.load(Ordering::SeqCst) == generation {
                if victim.faults.fired(0) > 0 {
                    return victim.go_on_after(ms);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }

    /// Records the calls that it makes to the kernel.
    pub fn record(&self) {
        self.faults.record();
    }

    /// What was recorded.
    #[must_use]
    pub fn recorded(&self) -> Vec<Recorded> {
        self.faults.recorded(self.ports())
    }

    /// Whether the fault that was armed last has acted.
    #[must_use]
    pub fn fired(&self) -> bool {
        match &self.shared {
            Some(shared) if self.to_database.load(Ordering::SeqCst) => shared.proxy.fired(),
            _ => self.faults.fired(0) > 0,
        }
    }

    /// Puts what the power's loss took away where it was.
    fn lose_power(&self) {
        let armed = self.armed.lock().unwrap().take();
        if let Some((_, Some(wal))) = armed
            && self.faults.fired(0) > 0
        {
            fs::write(self.folder.join("countersign.db-wal"), wal).unwrap();
            let _ = fs::remove_file(self.folder.join("countersign.db-shm"));
        }
    }
}

/// One gateway of a world.
#[derive(Debug)]
pub struct Replica {
    gateway: Gateway,
    victim: Arc<Victim>,
    /// An old copy of its store.
    old: PathBuf,
    /// How much had been sent when it died last: what it had only counted until
    /// then is lost.
    excused: usize,
}

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

/// What bounds a fleet of clients is not what is tried here.
const LIMITS: &str = "[limits]\ncalls_per_agent = 512\ncalls_per_server = 512\n\
                      requests_per_second = 100000\nburst = 100000";

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
        let mut all = Vec::new();
        for _ in 0..replicas {
            let shared = Some((database.clone(), lease_ms));
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
        let Some(old) = &self.old else {
            return self.replicas[replica].restored().await;
        };
        for replica in &mut self.replicas {
            replica.victim.stormy.store(true, Ordering::SeqCst);
            replica.gateway.kill();
        }
        let database = self.replicas[replica].database();
        let kept = database.backup();
        database.restore(old);
        self.kept = Some(kept);
        for replica in &mut self.replicas {
            replica.start(None).await?;
        }
        Ok(())
    }

    /// Gives back what [`World::restored`] took; nothing runs afterwards.
    pub fn give_back(&mut self, replica: usize) {
        let Some(kept) = self.kept.take() else {
            return self.replicas[replica].give_back();
        };
        for replica in &mut self.replicas {
            replica.gateway.kill();
        }
        self.replicas[replica].database().restore(&kept);
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
            }
            victim.generation.fetch_add(1, Ordering::SeqCst);
            victim.signal(Signal::CONT);
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
            let mut tries = 0..EXPORT_TRIES;
            while !replica.gateway.exports() && tries.next().is_some() {
                std::thread::sleep(Duration::from_millis(200));
            }
            let mut own = BTreeMap::<String, Vec<Line>>::new();
            for line in log::read(&replica.gateway.export())? {
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
        for replica in &self.replicas {
            let bundle = replica.gateway.export();
            let key = replica.gateway.public_key();
            let bundle = bundle.to_str().unwrap_or_default();
            let done = replica.gateway.run(&["verify", bundle, "--trust", &key]);
            // A log of one replica alone cannot show what stands in the others'.
            let whole = self.store == Store::Sqlite;
            let contradicted = said(&done).contains("contradicted");
            if contradicted || (whole && !done.status.success()) {
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
        let written = |sent: &Sent| {
            let workflow = Some(sent.workflow());
            lines.iter().any(|line| line.workflow == workflow)
        };
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

impl Replica {
    async fn new(
        upstream: &Arc<Counting>,
        agents: &[(String, String)],
        stormy: &Arc<AtomicBool>,
        database: Option<(Database, u32)>,
    ) -> Self {
        let slot = Arc::new(OnceLock::<Weak<Victim>>::new());
        let (mut more, mut shared) = (String::new(), None);
        if let Some((database, lease_ms)) = database {
            let slot = Arc::clone(&slot);
            let act = move |cut| {
                if let Some(victim) = slot.get().and_then(Weak::upgrade) {
                    tokio::task::block_in_place(|| victim.at_commit(cut));
                }
            };
            let proxy = Proxy::start(database.cluster().port(), Box::new(act));
            let url = database.url_through(proxy.port());
            more = format!("[store]\nkind = \"postgres\"\nurl = \"{url}\"\nlease_ms = {lease_ms}");
            shared = Some(Shared { proxy, database });
        }
        let url = format!("http://127.0.0.1:{}/mcp", upstream.port());
        let mut gateway = Plan::new(Server::Http(url))
            .permit_everything()
            .upstream_revision(Revision::July2026)
            .agents(agents)
            .server_also("call_timeout_ms = 4000\nconnect_timeout_ms = 2000")
            .also(&format!("{LIMITS}\n{more}"))
            .preload(Faults::library(), "faults".into())
            .prepare();
        let faults = Faults::new(&gateway.folder().join("faults"));
        gateway.start().await;
        assert!(gateway.stop().await, "{}", gateway.log());
        let old = gateway.folder().join("old");
        fs::create_dir(&old).unwrap();
        copy_store(gateway.folder(), &old);
        let victim = Arc::new(Victim {
            faults,
            folder: gateway.folder().to_owned(),
            process: AtomicU32::new(0),
            upstream: upstream.port(),
            gateway: AtomicU32::new(0),
            stormy: Arc::clone(stormy),
            shared,
            to_database: AtomicBool::new(false),
            armed: Mutex::default(),
            generation: AtomicU32::new(0),
        });
        let _ = slot.set(Arc::downgrade(&victim));
        let mut replica = Self {
            gateway,
            victim,
            old,
            excused: 0,
        };
        replica.start(None).await.unwrap();
        replica
    }

    fn database(&self) -> Database {
        let shared = self.victim.shared.as_ref();
        shared.expect("a shared database").database.clone()
    }

    /// Whether it runs.
    pub fn runs(&mut self) -> bool {
        self.gateway.process().is_some() && self.gateway.ended().is_none()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    ///
    /// Where it goes on.
    pub async fn ends(&mut self) -> Result<(), String> {
        let began = environment::now();
        while self.runs() {
            if began.elapsed() > RECOVERY {
                return Err("it goes on where it must end".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    async fn start(&mut self, fault: Option<&Fault>) -> Result<(), String> {
        if self.runs() {
            return Ok(());
        }
        self.gateway.kill();
        self.victim.lose_power();
        self.victim.faults.disarm();
        if let Some(fault) = fault {
            self.victim.stormy.store(true, Ordering::SeqCst);
            self.victim.arm(fault);
        }
        let from = self.spawn();
        self.listening(from).await
    }

    /// Starts its process.
    fn spawn(&mut self) -> usize {
        let from = self.gateway.spawn();
        let process = self.gateway.process().unwrap_or(0);
        self.victim.process.store(process, Ordering::SeqCst);
        from
    }

    /// Waits until the process that was started listens.
    async fn listening(&mut self, from: usize) -> Result<(), String> {
        let started = self.gateway.listening(from).await;
        let port = self.gateway.address().rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        self.victim.gateway.store(port, Ordering::SeqCst);
        started
    }

    /// Stops it in an orderly way; whether it settled everything.
    pub async fn stop(&mut self) -> bool {
        self.victim.stormy.store(true, Ordering::SeqCst);
        self.gateway.stop().await
    }

    /// What a second gateway on its store says instead of starting; none where
    /// it starts, and is ended again.
    #[must_use]
    pub fn second(&self) -> Option<String> {
        let folder = self.gateway.folder();
        let config = fs::read_to_string(folder.join("countersign.toml")).unwrap();
        let (_, rest) = config.split_once('\n').unwrap_or_default();
        let config = format!("listen = \"127.0.0.1:0\"\n{rest}");
        fs::write(folder.join("second.toml"), config).unwrap();
        let serve = ["serve", "--config", "second.toml"];
        let done = self.gateway.run_for(&serve, SECOND_ENDS)?;
        (!done.status.success()).then(|| said(&done))
    }

    /// Starts it on an old copy of its store, hands it over, and gives it back
    /// its own. It is down before and after.
    ///
    /// # Errors
    ///
    /// Where it does not start.
    pub async fn restored(&mut self) -> Result<(), String> {
        self.victim.stormy.store(true, Ordering::SeqCst);
        self.gateway.kill();
        let kept = self.gateway.folder().join("kept");
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir(&kept).unwrap();
        copy_store(self.gateway.folder(), &kept);
        copy_store(&self.old, self.gateway.folder());
        self.start(None).await
    }

    /// Gives it back the store that [`Replica::restored`] took.
    pub fn give_back(&mut self) {
        self.gateway.kill();
        copy_store(&self.gateway.folder().join("kept"), self.gateway.folder());
    }
}

/// Copies the database with its WAL; what is not there is not there afterwards.
fn copy_store(from: &Path, to: &Path) {
    for name in ["countersign.db", "countersign.db-wal", "countersign.db-shm"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}
