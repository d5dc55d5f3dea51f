//! A ledger to measure, and attempts to give it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_canon::{Classification, Digest};
use countersign_evidence::key::SigningKey;
use countersign_evidence::{Agent, CallId, Draft, ExecutionId, Kind, LogId, Time};
use countersign_ledger::{
    Answer, Answered, Attempt, Clock, Epochs, Fault, Ledger, Options, Point, Postgres, Probe,
    Settlement, Verdict,
};

/// The machine's own time.
struct Real(Instant);

impl Clock for Real {
    fn wall_us(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn since_boot(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Makes the sync of each commit take longer, as on a slow disk.
struct SlowSync(Duration);

impl Probe for SlowSync {
    fn at(&self, point: Point) -> Result<(), Fault> {
        if point == Point::Committing {
            std::thread::sleep(self.0);
        }
        Ok(())
    }
}

/// How requests share a commit, and what a sync costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) group: usize,
    pub(super) slower: Duration,
}

impl Kept {
    /// As the gateway keeps it.
    pub(super) const GROUPED: Self = Self {
        group: 256,
        slower: Duration::ZERO,
    };

    /// A transaction for each request.
    pub(super) const ALONE: Self = Self {
        group: 1,
        slower: Duration::ZERO,
    };

    pub(super) fn with_slow_disk(self) -> Self {
        Self {
            slower: Duration::from_millis(4),
            ..self
        }
    }
}

/// A ledger on a PostgreSQL database; what is its own lies in `folder`.
pub(super) fn open_postgres(folder: &Path, url: &str, kept: Kept) -> Ledger {
    let mut options = Options::shared(folder.join("anchor"));
    options.group = kept.group;
    options.agent_share = 4_096;
    let postgres = Postgres::new(url.parse().unwrap());
    let clock = Arc::new(Real(Instant::now()));
    Ledger::open_postgres(postgres, options, clock, key()).unwrap()
}

fn key() -> SigningKey {
    let log_id = LogId::new("bench.example/1").unwrap();
    SigningKey::from_seed(log_id, &[7; 32])
}

/// The same, by another clock.
pub(crate) fn open_with(folder: &Path, clock: Arc<dyn Clock>) -> Ledger {
    let options = Options::new(folder.join("ledger.db"), folder.join("anchor"));
    Ledger::open_sqlite(options, clock, key()).unwrap()
}

pub(super) fn open(folder: &Path, kept: Kept) -> Ledger {
    let mut options = Options::new(folder.join("ledger.db"), folder.join("anchor"));
    options.group = kept.group;
    options.agent_share = 4_096;
    if !kept.slower.is_zero() {
        options.probe = Some(Arc::new(SlowSync(kept.slower)));
    }
    Ledger::open_sqlite(options, Arc::new(Real(Instant::now())), key()).unwrap()
}

pub(super) fn agent() -> Agent {
    Agent {
        method: "token".into(),
        issuer: String::new(),
        subject: "payments-agent".into(),
    }
}

pub(super) fn execution_id(name: &str) -> ExecutionId {
    ExecutionId::new(name).unwrap()
}

/// An attempt with everything that an entry of the gateway's holds.
pub(crate) fn attempt(call: &str, id: &str, earlier: Classification) -> Attempt {
    let digest = |text: &str| Digest::of(&[text.as_bytes()]);
    let mut draft = Draft::new(Kind::Admission, Time::from_micros(0));
    draft.agent = Some(agent());
    draft.call_id = Some(CallId::new(call).unwrap());
    draft.execution_id = Some(execution_id(id));
    draft.profile = Some("exact@1.0.0".into());
    draft.component = Some(digest("component"));
    draft.binding = Some(digest("binding"));
    draft.server = Some("bank".parse().unwrap());
    draft.server_digest = Some(digest("https://bank.example"));
    draft.tool = Some("transfer".into());
    draft.policy_digest = Some(digest("policies"));
    draft.client_digest = Some(digest("client"));
    Attempt::new(draft, Some(earlier), Epochs::default()).unwrap()
}

/// Reserves and settles one execution.
pub(super) async fn pair(ledger: &Ledger, name: &str) {
    let attempt = attempt(&format!("c-{name}"), name, Classification::Fresh);
    let verdict = ledger.reserve(attempt).await.unwrap();
    let Verdict::Reserved(reserved) = verdict else {
        panic!("not reserved: {verdict:?}");
    };
    reserved.token.gate().pass().unwrap();
    ledger.settle(reserved.token, answered()).await.unwrap();
}

/// A result came.
pub(crate) fn answered() -> Settlement {
    Settlement::Answered {
        with: Answered::Succeeded,
        answer: Answer {
            digest: Digest::of(&[b"answer"]),
            bytes: 512,
        },
    }
}
