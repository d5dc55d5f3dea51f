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
    /// for the next time.
    pub(crate) async fn write(&self, ledger: &Ledger, now: Time) {
        let counts = std::mem::take(&mut *self.counts());
        for (what, count) in counts {
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
