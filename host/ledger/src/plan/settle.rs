//! Decides what an owner's settlement does.

use crate::error::LedgerError;
use crate::execution::Execution;
use crate::identity::Fence;
use crate::plan::{Plan, Retain, Rows, Said, draft};
use crate::record::State;
use crate::settlement::{Answer, Settled, Settlement};
use crate::step::{Event, Illegal, step};
use crate::token::{Closed, Given};

impl<R: Rows> Plan<'_, R> {
    pub(crate) fn settle(&mut self, closed: &Closed, settlement: &Settlement) -> Said<Settled> {
        // A store that was rolled back gives numbers a second time, and incarnations
        // and fences: an older permit counts only where what gave it is still there.
        let Given {
            era,
            sequence,
            hash,
        } = *closed.given;
        if era != self.era && !self.rows.holds(sequence, hash)? {
            return Ok(Err(LedgerError::NotFound));
        }
        let found = self.find_number(closed.row)?;
        let Some(index) = found.filter(|index| self.is_of(*index, closed)) else {
            return Ok(Err(LedgerError::NotFound));
        };
        Ok(self.settle_at(index, closed, settlement))
    }

    /// Whether a row is that of the attempt that brings a settlement.
    fn is_of(&self, index: usize, closed: &Closed) -> bool {
        let (Some(execution), draft) = (self.execution(Some(index)), &closed.draft) else {
            return false;
        };
        // The first owner is the attempt that opened it.
        let opened = closed.owner.fence == Fence::FIRST;
        draft.agent.as_ref() == Some(&execution.agent)
            && draft.execution_id == execution.execution_id
            && (!opened || draft.call_id.as_ref() == Some(&execution.call_id))
    }

    fn settle_at(
        &mut self,
        index: usize,
        closed: &Closed,
        settlement: &Settlement,
    ) -> Result<Settled, LedgerError> {
        let working = self.working.get(index).ok_or(LedgerError::NotFound)?;
        let record = &working.row.execution.record;
        let event = event(closed, settlement);
        let (record, effects) = match step(Some(record), &event) {
            Ok(next) => next,
            Err(illegal) => {
                return match settled_before(&working.row.execution, closed) {
                    // The acknowledgement was lost, not the settlement.
                    Some(settled) => Ok(settled),
                    None => Err(self.late(index, closed, settlement, illegal)),
                };
            }
        };
        let state = record.state;
        let draft = self.draft(closed, settlement);
        let entry = self.advance(index, record, &effects, draft)?;
        if let (Settlement::Asked { retained, .. }, State::AwaitingInput) = (settlement, state)
            // It was let go so that this can be written.
            && !retained.is_empty()
            && let Some(working) = self.working.get_mut(index)
        {
            working.retain = Retain::Keep(retained.clone());
        }
        if let (Some(keep), Settlement::Answered { .. }, State::Settled(_)) =
            (&closed.keep, settlement, state)
            && let Some(working) = self.working.get_mut(index)
        {
            working.retain = Retain::Answer(keep.clone());
        }
        let receipt = self.receipt(Some(index)).ok_or(LedgerError::NotFound)?;
        Ok(Settled {
            receipt,
            entry,
            state,
        })
    }

    /// What a fenced owner brought is evidence, and settles nothing.
    fn late(
        &mut self,
        index: usize,
        closed: &Closed,
        settlement: &Settlement,
        illegal: Illegal,
    ) -> LedgerError {
        let Some(working) = self.working.get(index) else {
            return LedgerError::NotFound;
        };
        let Settlement::Answered { with, .. } = settlement else {
            return fenced_or(illegal);
        };
        let event = Event::LateAnswer {
            by: closed.owner,
            with: *with,
        };
        match step(Some(&working.row.execution.record), &event) {
            Ok((record, effects)) => {
                let draft = self.draft(closed, settlement);
                match self.advance(index, record, &effects, draft) {
                    Ok(_) => LedgerError::Fenced,
                    Err(error) => error,
                }
            }
            Err(illegal) => fenced_or(illegal),
        }
    }

    fn draft(&self, closed: &Closed, settlement: &Settlement) -> countersign_evidence::Draft {
        let mut draft = draft::repeated(&closed.draft, self.now);
        let answer = match settlement {
            Settlement::NotSent { reason } | Settlement::Unanswered { reason, .. } => {
                draft.refusal = Some(reason.clone());
                None
            }
            Settlement::Answered { answer, .. } => Some(answer),
            Settlement::Asked { issued, answer, .. } => {
                draft.request_state_issued = *issued;
                Some(answer)
            }
            Settlement::TaskOpened {
                task,
                status,
                answer,
            } => {
                draft.task = Some(draft::task(task, status.clone()));
                Some(answer)
            }
        };
        if let Some(Answer { digest, bytes }) = answer {
            draft.answer_digest = Some(*digest);
            draft.answer_bytes = Some(*bytes);
        }
        draft
    }
}

fn event(closed: &Closed, settlement: &Settlement) -> Event {
    let by = closed.owner;
    match settlement {
        Settlement::NotSent { .. } if !closed.passed => Event::NotSent { by },
        Settlement::NotSent { .. } => Event::Unanswered {
            by,
            received: false,
        },
        Settlement::Unanswered { received, .. } => Event::Unanswered {
            by,
            received: *received,
        },
        Settlement::Answered { with, .. } => Event::Answered { by, with: *with },
        Settlement::Asked { issued, .. } => Event::Asked {
            by,
            issued: *issued,
        },
        Settlement::TaskOpened { task, .. } => Event::TaskOpened {
            by,
            task: task.clone(),
        },
    }
}

fn fenced_or(illegal: Illegal) -> LedgerError {
    match illegal {
        Illegal::Fenced | Illegal::Transition { .. } => LedgerError::Fenced,
        other => LedgerError::Illegal(other),
    }
}

/// Reads back a settlement that this owner made before: nobody else moves an
/// execution out of in-flight without raising its fence.
fn settled_before(execution: &Execution, closed: &Closed) -> Option<Settled> {
    let record = &execution.record;
    let by = closed.owner;
    let same = record.owner == by.incarnation && record.fence == by.fence;
    if !same || record.state == State::InFlight {
        return None;
    }
    let entry = execution
        .terminal
        .clone()
        .unwrap_or_else(|| execution.last.clone());
    let mut receipt = execution.receipt();
    // After rounds the call that settled is not the one that opened.
    if let Some(call_id) = &closed.draft.call_id {
        receipt.call_id = call_id.clone();
    }
    Some(Settled {
        receipt,
        entry,
        state: record.state,
    })
}
