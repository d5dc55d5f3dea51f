//! Outcomes that could not be made durable, tried again a few at a time.
//!
//! One that cannot be written must not keep the others from it, so a group that
//! fails is halved until what is at fault stands alone. What hinders it may be the
//! answer that is kept with it: that is let go before the outcome is.

use std::collections::VecDeque;

use super::Writer;
use crate::request::Request;
use crate::settlement::Settlement;
use crate::store::Store;
use crate::token::Closed;

/// Outcomes that share a commit.
const AT_ONCE: usize = 64;

/// Bytes of their answers that do: what a database far away takes in time.
const BYTES_AT_ONCE: usize = 1 << 20;

/// How often an outcome is tried alone with the answer that is kept with it.
const TRIES_WITH_ANSWER: u8 = 3;

/// How many tries of one look through what is kept may fail, and of the last one:
/// after each a connection is opened again, and requests wait meanwhile.
const FAILURES: u32 = 64;
const LAST_FAILURES: u32 = 512;

/// An outcome, and whose it is.
pub(super) type Outcome = (Closed, Settlement);

impl<S: Store> Writer<S> {
    /// Tries what is kept; for the `last` time, what hinders it is let go at once.
    pub(super) fn retry(&mut self, last: bool) {
        let mut waiting = VecDeque::new();
        let mut hopeless = Vec::new();
        let mut most = AT_ONCE;
        // More than it takes to find each that fails, with its answer and without.
        let mut tries = self.kept.len().saturating_mul(8).saturating_add(16);
        let mut failures = if last { LAST_FAILURES } else { FAILURES };
        while tries > 0 && failures > 0 && !self.queue.failed() && self.connect() {
            tries -= 1;
            // What was in doubt is among them now.
            waiting.extend(self.kept.drain(..));
            let group = first(&mut waiting, most);
            let size = group.len();
            if size == 0 {
                break;
            }
            self.serve(group.into_iter().map(again).collect());
            let failed = std::mem::take(&mut self.kept);
            failures -= u32::from(!failed.is_empty());
            if failed.is_empty() {
                most = most.saturating_mul(2).min(AT_ONCE);
            } else if size > 1 {
                most = (size / 2).max(1);
                failed
                    .into_iter()
                    .rev()
                    .for_each(|outcome| waiting.push_front(outcome));
            } else {
                for mut outcome in failed {
                    outcome.0.failed_alone = outcome.0.failed_alone.saturating_add(1);
                    let patient = !last && outcome.0.failed_alone < TRIES_WITH_ANSWER;
                    if !patient && let_answer_go(&mut outcome) {
                        tracing::warn!("an answer is not kept, so that its outcome can be");
                        waiting.push_front(outcome);
                    } else {
                        hopeless.push(outcome);
                    }
                }
            }
            // It may take long, and a lease does not wait.
            self.keep_store();
        }
        // What was not come to is first next time.
        self.kept.extend(waiting);
        self.kept.append(&mut hopeless);
        self.tried = self.clock.monotonic();
    }
}

fn again((closed, settlement): Outcome) -> Request {
    Request::Settle {
        closed,
        settlement,
        reply: None,
    }
}

/// Takes the first `most`, or fewer where their answers are long.
fn first(waiting: &mut VecDeque<Outcome>, most: usize) -> Vec<Outcome> {
    let mut group: Vec<Outcome> = Vec::new();
    let mut bytes = 0_usize;
    while group.len() < most {
        let Some(next) = waiting.front() else {
            break;
        };
        bytes = bytes.saturating_add(answer_bytes(next));
        if bytes > BYTES_AT_ONCE && !group.is_empty() {
            break;
        }
        group.extend(waiting.pop_front());
    }
    group
}

fn answer_bytes((closed, settlement): &Outcome) -> usize {
    let kept = closed.keep.as_ref().map_or(0, |kept| kept.bytes.len());
    let asked = match settlement {
        Settlement::Asked { retained, .. } => retained.len(),
        _ => 0,
    };
    kept.saturating_add(asked)
}

/// Whether there was an answer to let go.
fn let_answer_go((closed, settlement): &mut Outcome) -> bool {
    if closed.keep.take().is_some() {
        return true;
    }
    match settlement {
        Settlement::Asked { retained, .. } if !retained.is_empty() => {
            retained.clear();
            true
        }
        _ => false,
    }
}
