//! What the ledger's tests share: a clock that only tests move, attempts by
//! name, and the check that every test ends with.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use countersign_canon::{Classification, Digest};
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::tree::Frontier;
use countersign_evidence::{
    Agent, CallId, Draft, Entry, ExecutionId, Head, Kind, LogId, RefusalCode, Time,
};
use countersign_ledger::{
    Answer, Answered, Attempt, Clock, Epochs, Ledger, OpenError, Options, Refused, Reserved,
    Selection, Settlement, Token, Verdict,
};

/// A clock that moves by a microsecond at each look, and as tests say.
#[derive(Default)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn advance(&self, by: Duration) {
        self.0
            .fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn wall_us(&self) -> i64 {
        1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst).unsigned_abs())
    }
}

pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub clock: Arc<TestClock>,
    pub options: Options,
}

pub fn key() -> SigningKey {
    SigningKey::from_seed(log_id(), &[7; 32])
}

pub fn log_id() -> LogId {
    LogId::new("ledger.test/1").unwrap()
}

pub fn options_in(folder: &Path) -> Options {
    Options::new(folder.join("ledger.db"), folder.join("anchor"))
}

impl Fixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options_in(folder.path());
        Self {
            folder,
            clock: Arc::default(),
            options,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.options.path.clone()
    }

    pub fn try_open(&self) -> Result<Ledger, OpenError> {
        let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(&self.clock);
        Ledger::open_sqlite(self.options.clone(), clock, key())
    }

    pub fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    /// A second connection of SQLite, for looking and for doing damage.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
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

/// Every entry of the log, in order.
pub fn entries(ledger: &Ledger, selection: &Selection) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = ledger.entries(selection, at, 100).unwrap();
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

/// Every test ends here: the log is whole from its first entry to its head,
/// every execution's chain is, and all checkpoints are of this very log. Returns
/// the entries.
pub fn verify(ledger: &Ledger) -> Vec<Entry> {
    // The queue is in order: what dropped tokens left behind is settled first.
    drop(ledger.checkpoint().wait());
    let all = entries(ledger, &Selection::All);
    let mut previous = None;
    let mut tree = Frontier::new();
    let mut roots = vec![tree.root()];
    let mut chains: HashMap<(Agent, ExecutionId), Vec<&Entry>> = HashMap::new();
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
        let said = entry.said();
        if let (Some(agent), Some(id), Some(_)) = (&said.agent, &said.execution_id, entry.link()) {
            chains
                .entry((agent.clone(), id.clone()))
                .or_default()
                .push(entry);
        }
    }
    let head = ledger.head().unwrap();
    assert_eq!((head.size, head.last), (all.len() as u64, previous));
    assert_eq!(head.root, tree.root());
    for stored in ledger.checkpoints(0, 1_000).unwrap() {
        let signed = SignedCheckpoint::parse(&stored.text).unwrap();
        assert!(signed.verify(&key().verifying_key()));
        assert_eq!(signed.unverified().size, stored.size);
        assert_eq!(
            signed.unverified().root,
            roots[usize::try_from(stored.size).unwrap()]
        );
    }
    for ((agent, id), chain) in &chains {
        let mut link = Head::new(log_id())
            .append(Draft::new(Kind::Start, Time::from_micros(0)), None)
            .link();
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
                // A late answer is proof of a block that another log holds.
                matches!(entry.said().kind, Kind::Blocked | Kind::LateAnswer)
            });
            let ends =
                kind == Kind::Terminal || (kind == Kind::Resolution && opened && terminals == 0);
            if terminals > 0 {
                assert!(
                    matches!(kind, Kind::Refusal | Kind::LateAnswer | Kind::Resolution),
                    "`{id}`: {kind} after the terminal"
                );
            }
            terminals += usize::from(ends);
        }
        let execution = ledger.lookup(agent, id).unwrap().unwrap();
        assert_eq!(execution.chain_length, chain.len() as u64);
        assert_eq!(
            Some(execution.last.hash),
            chain.last().map(|entry| entry.hash())
        );
        assert_eq!(execution.record.state.outcome().is_some(), terminals == 1);
        assert!(terminals <= 1, "`{id}` has {terminals} terminals");
    }
    all
}

/// How many entries are of a kind.
pub fn count(entries: &[Entry], kind: &Kind) -> usize {
    entries
        .iter()
        .filter(|entry| entry.said().kind == *kind)
        .count()
}
