//! What is counted instead of written one by one.
//!
//! Attempts over an agent's rate, those met while the ledger was away, and the
//! changes of a list that does not come to rest must not be able to fill the log;
//! their number is in it all the same (`docs/spec/evidence.md` §1).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_evidence::{self as evidence, Agent, Draft, Kind, RefusalCode, ServerName, Time};
use countersign_ledger::{InForce, Ledger};
use countersign_mcp::ErrorCode;

/// What was counted since it was written last.
#[derive(Debug, Default)]
pub(crate) struct Suppressed(Mutex<HashMap<What, Count>>);

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum What {
    /// Attempts of an agent, by the code that refused them.
    Attempts(Agent, &'static str),
    /// Discoveries of a server's tools.
    Discoveries(ServerName),
}

#[derive(Clone, Copy, Debug)]
struct Count {
    count: u64,
    from: Time,
    to: Time,
}

impl Suppressed {
    /// Counts one attempt.
    pub(crate) fn count(&self, agent: &Agent, code: ErrorCode, now: Time) {
        self.add(What::Attempts(agent.clone(), code.as_str()), now);
    }

    /// Counts one discovery.
    pub(crate) fn count_discovery(&self, server: &ServerName, now: Time) {
        self.add(What::Discoveries(server.clone()), now);
    }

    fn add(&self, what: What, now: Time) {
        let mut counts = self.counts();
        let count = counts.entry(what).or_insert(Count {
            count: 0,
            from: now,
            to: now,
        });
        count.count += 1;
        count.to = now;
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<What, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one entry for each of them. What the ledger does not take is kept
    /// for the next time. Each is taken out when it is its turn, so that all that
    /// the ledger was not given is there still where this breaks off.
    pub(crate) async fn write(&self, ledger: &Ledger, now: Time) {
        let counted: Vec<What> = self.counts().keys().cloned().collect();
        for what in counted {
            let Some(count) = self.counts().remove(&what) else {
                continue;
            };
            let mut draft = Draft::new(Kind::Suppressed, now);
            match &what {
                What::Attempts(agent, code) => {
                    draft.agent = Some(agent.clone());
                    draft.refusal = RefusalCode::new(code).ok();
                }
                What::Discoveries(server) => draft.server = Some(server.clone()),
            }
            draft.suppressed = Some(evidence::Suppressed {
                count: count.count,
                from: count.from,
                to: count.to,
            });
            if ledger.append(draft, InForce::Unchanged).await.is_err() {
                let mut counts = self.counts();
                let kept = counts.entry(what).or_insert(Count { count: 0, ..count });
                kept.count += count.count;
                kept.from = kept.from.min(count.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_evidence::LogId;
    use countersign_evidence::key::SigningKey;
    use countersign_ledger::{Options, Selection};

    use super::*;
    use crate::environment::Environment;
    use crate::sample::agent;

    #[tokio::test]
    async fn what_was_counted_is_written_whole_wherever_writing_it_breaks_off() {
        let environment = Environment::system();
        let now = environment.now();
        for polls in 0..12 {
            let folder = tempfile::tempdir().unwrap();
            let path = |name| folder.path().join(name);
            let key = SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[7; 32]);
            let options = Options::new(path("ledger.db"), path("anchor"));
            let ledger = Ledger::open_sqlite(options, environment.clock.clone(), key).unwrap();
            let suppressed = Arc::new(Suppressed::default());
            for number in 0..20 {
                for _ in 0..=number {
                    let agent = agent(&format!("agent-{number}"));
                    suppressed.count(&agent, ErrorCode::RateLimited, now);
                }
            }
            let mut writing = Box::pin(suppressed.write(&ledger, now));
            for _ in 0..polls {
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                if writing.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
            drop(writing);
            suppressed.write(&ledger, now).await;
            let page = ledger.entries(&Selection::All, 0, 1_000).await.unwrap();
            let counts = page.entries.iter().filter_map(|entry| {
                let entry: serde_json::Value = serde_json::from_slice(&entry.bytes).unwrap();
                entry["suppressed"]["count"].as_u64()
            });
            assert_eq!(counts.sum::<u64>(), (1..=20).sum::<u64>(), "{polls}");
            ledger.stop().unwrap();
        }
    }
}
