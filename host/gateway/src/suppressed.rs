//! Attempts that are counted instead of written one by one.
//!
//! Those over an agent's rate, and those met while the ledger was away, must
//! not be able to fill the log; their number is in it all the same
//! (`docs/spec/evidence.md` §1).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_evidence::{self as evidence, Agent, Draft, Kind, RefusalCode, Time};
use countersign_ledger::{InForce, Ledger};
use countersign_mcp::ErrorCode;

/// What was counted since it was written last.
#[derive(Debug, Default)]
pub(crate) struct Suppressed(Mutex<HashMap<(Agent, &'static str), Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    count: u64,
    from: Time,
    to: Time,
}

impl Suppressed {
    /// Counts one attempt.
    pub(crate) fn count(&self, agent: &Agent, code: ErrorCode, now: Time) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts
            .entry((agent.clone(), code.as_str()))
            .or_insert(Count {
                count: 0,
                from: now,
                to: now,
            });
        count.count += 1;
        count.to = now;
    }

    /// Writes one entry for each agent and code. What the ledger does not take
    /// is kept for the next time.
    pub(crate) async fn write(&self, ledger: &Ledger, now: Time) {
        let counts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for ((agent, code), count) in counts {
            let mut draft = Draft::new(Kind::Suppressed, now);
            draft.agent = Some(agent.clone());
            draft.refusal = RefusalCode::new(code).ok();
            draft.suppressed = Some(evidence::Suppressed {
                count: count.count,
                from: count.from,
                to: count.to,
            });
            if ledger.append(draft, InForce::Unchanged).await.is_err() {
                let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = counts
                    .entry((agent, code))
                    .or_insert(Count { count: 0, ..count });
                kept.count += count.count;
                kept.from = kept.from.min(count.from);
            }
        }
    }
}
