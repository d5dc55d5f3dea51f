//! What the ledger's tests share: a clock that only tests move, attempts by
//! name, and the check that every test ends with.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod faults;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use countersign_canon::{Classification, Digest};
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::tree::Frontier;
use countersign_evidence::{
    Agent, CallId, Draft, Entry, ExecutionId, Kind, LogId, RefusalCode, Resolution, Time,
};
use countersign_ledger::{
    Answer, Answered, Attempt, Clock, Epochs, Ledger, OpenError, Options, Postgres, Refused,
    Reserved, Selection, Settlement, Token, Verdict, Which,
};
use countersign_test_postgres::{Cluster, Database};

/// A clock that moves by a microsecond at each look, and as tests say. That of a
/// store that others share moves by itself too, since its leases do.
#[derive(Default)]
pub struct TestClock {
    moved_us: AtomicI64,
    /// Moves the clock that counts suspension, and no other.
    slept_us: AtomicI64,
    began: Option<Instant>,
}

impl TestClock {
    #[allow(clippy::disallowed_methods, reason = "leases run by themselves")]
    pub fn that_runs() -> Self {
        Self {
            began: Some(Instant::now()),
            ..Self::default()
        }
    }

    pub fn advance(&self, by: Duration) {
        let by_us = i64::try_from(by.as_micros()).unwrap();
        self.moved_us.fetch_add(by_us, Ordering::SeqCst);
    }

    /// As if the machine had been suspended.
    pub fn sleep(&self, by: Duration) {
        let by_us = i64::try_from(by.as_micros()).unwrap();
        self.slept_us.fetch_add(by_us, Ordering::SeqCst);
    }

    fn ran(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}

impl Clock for TestClock {
    fn wall_us(&self) -> i64 {
        let moved_us = self.moved_us.fetch_add(1, Ordering::SeqCst);
        let ran_us = i64::try_from(self.ran().as_micros()).unwrap();
        1_700_000_000_000_000 + moved_us + ran_us
    }

    fn monotonic(&self) -> Duration {
        let moved_us = self.moved_us.load(Ordering::SeqCst).unsigned_abs();
        self.ran() + Duration::from_micros(moved_us)
    }

    fn since_boot(&self) -> Duration {
        let slept_us = self.slept_us.load(Ordering::SeqCst).unsigned_abs();
        match self.began {
            // Its leases run with the database's own clock.
            Some(_) => self.ran() + Duration::from_micros(slept_us),
            None => self.monotonic() + Duration::from_micros(slept_us),
        }
    }
}

/// The store on which a case is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Sqlite,
    Postgres,
}

pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub clock: Arc<TestClock>,
    pub options: Options,
    pub lease: Duration,
    database: Option<Database>,
}

/// A copy of all that a store holds.
pub enum Backup {
    File(Vec<u8>),
    Database(Database),
}

pub fn key() -> SigningKey {
    key_of(1)
}

/// The key of one replica of a fleet.
pub fn key_of(replica: u8) -> SigningKey {
    let log_id = LogId::new(&format!("ledger.test/{replica}")).unwrap();
    SigningKey::from_seed(log_id, &[6 + replica; 32])
}

pub fn log_id() -> LogId {
    LogId::new("ledger.test/1").unwrap()
}

pub fn options_in(folder: &Path) -> Options {
    Options::new(folder.join("ledger.db"), folder.join("anchor"))
}

impl Fixture {
    pub fn new() -> Self {
        Self::on(Kept::Sqlite)
    }

    pub fn on(kept: Kept) -> Self {
        Self::with_lease(kept, Duration::from_secs(15))
    }

    /// Where incarnations have leases, as long as `lease`.
    pub fn with_lease(kept: Kept, lease: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options_in(folder.path());
        let (database, clock) = match kept {
            Kept::Sqlite => (None, TestClock::default()),
            Kept::Postgres => (Some(Cluster::shared().database()), TestClock::that_runs()),
        };
        Self {
            folder,
            clock: Arc::new(clock),
            options,
            lease,
            database,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.options.path.clone()
    }

    pub fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    /// Puts another database in place of the fixture's own.
    pub fn use_database(&mut self, database: Database) {
        self.database = Some(database);
    }

    /// The shared database, as replicas are given it.
    pub fn postgres(&self) -> Postgres {
        let mut postgres = Postgres::new(self.database().url().parse().unwrap());
        postgres.lease = self.lease;
        postgres
    }

    pub fn try_open(&self) -> Result<Ledger, OpenError> {
        let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(&self.clock);
        match &self.database {
            None => Ledger::open_sqlite(self.options.clone(), clock, key()),
            Some(_) => Ledger::open_postgres(self.postgres(), self.options.clone(), clock, key()),
        }
    }

    pub fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    /// Another replica on the same database, with a log, an anchor and a clock of
    /// its own.
    pub fn replica(&self, number: u8) -> (Ledger, Arc<TestClock>) {
        self.replica_with(number, self.postgres(), self.options.clone())
    }

    pub fn replica_with(
        &self,
        number: u8,
        postgres: Postgres,
        mut options: Options,
    ) -> (Ledger, Arc<TestClock>) {
        options.anchor = self.folder.path().join(format!("anchor-{number}"));
        let clock = Arc::new(TestClock::that_runs());
        let theirs: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
        let ledger = Ledger::open_postgres(postgres, options, theirs, key_of(number)).unwrap();
        (ledger, clock)
    }

    /// A second connection of SQLite, for looking and for doing damage.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// Changes rows behind the ledger's back.
    pub fn tamper(&self, sql: &str) {
        match &self.database {
            None => self.sql().execute_batch(sql).unwrap(),
            Some(database) => {
                database.query(&format!("SET search_path = countersign; {sql}"));
            }
        }
    }

    /// Copies the store, as a backup would, while the ledger is closed.
    pub fn backup(&self) -> Backup {
        match &self.database {
            None => Backup::File(std::fs::read(self.path()).unwrap()),
            Some(database) => Backup::Database(database.backup()),
        }
    }

    pub fn restore(&self, backup: &Backup) {
        match (backup, &self.database) {
            (Backup::File(bytes), _) => std::fs::write(self.path(), bytes).unwrap(),
            (Backup::Database(backup), Some(database)) => database.restore(backup),
            (Backup::Database(_), None) => panic!("a backup of another store"),
        }
    }

    /// An owner that is gone may have bytes on their way until then.
    pub fn wait_until_the_gone_are_proved_dead(&self) {
        if self.database.is_some() {
            std::thread::sleep(self.lease * 3 + Duration::from_millis(100));
        }
    }
}

pub fn pay() -> Which {
    Which::Execution(agent("alice"), execution_id("pay"))
}

pub fn operator() -> Draft {
    let mut draft = Draft::new(Kind::Resolution, Time::from_micros(0));
    draft.resolution = Some(Resolution {
        operator: "olga".into(),
        reason: "asked the bank".into(),
        evidence: Some(digest("statement.pdf")),
    });
    draft
}

/// Leaves one execution in flight behind a process that is gone.
pub fn orphan(fixture: &Fixture, id: Option<&str>) {
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", id));
    ledger.stop().unwrap();
    // The queue is closed: what is dropped now is never settled.
    drop(token);
}

pub fn agent(name: &str) -> Agent {
    Agent {
        method: "token".into(),
        issuer: String::new(),
        subject: name.into(),
    }
}

pub fn execution_id(id: &str) -> ExecutionId {
    ExecutionId::new(id).unwrap()
}

pub fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

pub fn code(text: &str) -> RefusalCode {
    RefusalCode::new(text).unwrap()
}

/// One attempt, described by name.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub call: String,
    pub agent: &'a str,
    pub id: Option<&'a str>,
    pub action: &'a str,
    pub tool: &'a str,
    pub profile: &'a str,
    pub round: Option<(&'a str, Option<&'a str>)>,
    pub earlier: Option<Classification>,
    pub epochs: Epochs,
}

pub fn call<'a>(call: impl Into<String>, id: Option<&'a str>) -> Call<'a> {
    Call {
        call: call.into(),
        agent: "alice",
        id,
        action: "transfer 5",
        tool: "transfer",
        profile: "exact@1.0.0",
        round: None,
        earlier: id.map(|_| Classification::Fresh),
        epochs: Epochs::default(),
    }
}

impl Call<'_> {
    pub fn draft(&self) -> Draft {
        let mut draft = Draft::new(Kind::Admission, Time::from_micros(0));
        draft.agent = Some(agent(self.agent));
        draft.call_id = Some(CallId::new(&self.call).unwrap());
        draft.execution_id = self.id.map(execution_id);
        draft.profile = Some(self.profile.into());
        draft.component = Some(digest("component"));
        draft.binding = Some(digest(self.action));
        draft.server = Some("bank".parse().unwrap());
        draft.server_digest = Some(digest("https://bank.example"));
        draft.tool = Some(self.tool.into());
        if let Some((continuation, state)) = self.round {
            draft.continuation = Some(digest(continuation));
            draft.request_state_presented = state.map(digest);
        }
        draft
    }

    pub fn attempt(&self) -> Attempt {
        Attempt::new(self.draft(), self.earlier, self.epochs).unwrap()
    }
}

pub fn reserved(verdict: Verdict) -> Reserved {
    match verdict {
        Verdict::Reserved(reserved) => *reserved,
        other => panic!("not reserved: {other:?}"),
    }
}

pub fn refused(verdict: Verdict) -> Refused {
    match verdict {
        Verdict::Refused(refused) => *refused,
        other => panic!("not refused: {other:?}"),
    }
}

pub fn reserve(ledger: &Ledger, call: &Call<'_>) -> Token {
    reserved(ledger.reserve(call.attempt()).wait().unwrap()).token
}

pub fn answer(text: &str) -> Answer {
    Answer {
        digest: digest(text),
        bytes: text.len() as u64,
    }
}

pub fn succeeded() -> Settlement {
    Settlement::Answered {
        with: Answered::Succeeded,
        answer: answer("done"),
    }
}

pub fn not_sent() -> Settlement {
    Settlement::NotSent {
        reason: code("upstream-unreachable"),
    }
}

pub fn unanswered() -> Settlement {
    Settlement::Unanswered {
        reason: code("upstream-timeout"),
        received: false,
    }
}

/// Every entry of the ledger's own log, in order.
pub fn entries(ledger: &Ledger, selection: &Selection) -> Vec<Entry> {
    entries_of(ledger, ledger.log_id(), selection)
}

/// Every entry of a log, in order.
pub fn entries_of(ledger: &Ledger, log: &LogId, selection: &Selection) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = ledger.entries_of(log, selection, at, 100).wait().unwrap();
        for stored in page.entries {
            let entry = Entry::parse(&stored.bytes).unwrap();
            assert_eq!(
                (entry.sequence(), entry.hash()),
                (stored.sequence, stored.hash)
            );
            all.push(entry);
        }
        from = page.next;
    }
    all
}

/// Every test ends here: each log is whole from its first entry to its head,
/// every execution's chain is, across logs, and all checkpoints are of the very
/// log that they name. Returns the entries, log by log.
pub fn verify(ledger: &Ledger) -> Vec<Entry> {
    // The queue is in order: what dropped tokens left behind is settled first.
    drop(ledger.checkpoint().wait());
    let mut all = Vec::new();
    for log in ledger.logs().wait().unwrap() {
        all.extend(verify_log(ledger, &log.head.log_id));
    }
    verify_chains(ledger, &all);
    all
}

fn verify_log(ledger: &Ledger, log: &LogId) -> Vec<Entry> {
    let all = entries_of(ledger, log, &Selection::All);
    let mut previous = None;
    let mut tree = Frontier::new();
    let mut roots = vec![tree.root()];
    for (at, entry) in all.iter().enumerate() {
        assert_eq!(entry.sequence(), at as u64, "no gap");
        assert_eq!(
            entry.previous(),
            previous,
            "entry {at} is chained to the one before it"
        );
        previous = Some(entry.hash());
        tree.append(entry.hash().to_bytes());
        roots.push(tree.root());
    }
    let head = ledger.head_of(log).wait().unwrap();
    assert_eq!((head.size, head.last), (all.len() as u64, previous));
    assert_eq!(head.root, tree.root());
    let replica = log.as_str().rsplit('/').next().unwrap().parse().unwrap();
    for stored in ledger.checkpoints_of(log, 0, 1_000).wait().unwrap() {
        let signed = SignedCheckpoint::parse(&stored.text).unwrap();
        assert!(signed.verify(&key_of(replica).verifying_key()));
        assert_eq!(signed.unverified().size, stored.size);
        assert_eq!(
            signed.unverified().root,
            roots[usize::try_from(stored.size).unwrap()]
        );
    }
    all
}

fn verify_chains(ledger: &Ledger, all: &[Entry]) {
    let mut chains: HashMap<(Agent, ExecutionId), Vec<&Entry>> = HashMap::new();
    for entry in all {
        let said = entry.said();
        if let (Some(agent), Some(id), Some(_)) = (&said.agent, &said.execution_id, entry.link()) {
            chains
                .entry((agent.clone(), id.clone()))
                .or_default()
                .push(entry);
        }
    }
    for ((agent, id), chain) in &mut chains {
        chain.sort_by_key(|entry| entry.link().unwrap().execution_seq);
        let terminals = verify_chain(id, chain);
        let execution = ledger.lookup(agent, id).wait().unwrap().unwrap();
        assert_eq!(execution.chain_length, chain.len() as u64);
        assert_eq!(
            Some(execution.last.hash),
            chain.last().map(|entry| entry.hash())
        );
        assert_eq!(execution.record.state.outcome().is_some(), terminals == 1);
        assert!(terminals <= 1, "`{id}` has {terminals} terminals");
    }
}

/// Looks along one execution's chain; answers how many terminals it has.
fn verify_chain(id: &ExecutionId, chain: &[&Entry]) -> usize {
    let mut link = None;
    let mut terminals = 0;
    for (at, entry) in chain.iter().enumerate() {
        let here = entry.link().unwrap();
        assert_eq!(here.execution_seq, at as u64, "`{id}` has no gap");
        if at > 0 {
            assert_eq!(Some(here), link, "`{id}` is chained");
        }
        link = entry.next_link();
        let kind = entry.said().kind.clone();
        if at == 0 {
            assert_eq!(kind, Kind::Admission, "`{id}` begins with its reservation");
        }
        let opened = chain[..at].iter().any(|entry| {
            // A late answer is proof of a block too.
            matches!(entry.said().kind, Kind::Blocked | Kind::LateAnswer)
        });
        let ends = kind == Kind::Terminal || (kind == Kind::Resolution && opened && terminals == 0);
        if terminals > 0 {
            assert!(
                matches!(kind, Kind::Refusal | Kind::LateAnswer | Kind::Resolution),
                "`{id}`: {kind} after the terminal"
            );
        }
        terminals += usize::from(ends);
    }
    terminals
}

/// How many entries are of a kind.
pub fn count(entries: &[Entry], kind: &Kind) -> usize {
    entries
        .iter()
        .filter(|entry| entry.said().kind == *kind)
        .count()
}
