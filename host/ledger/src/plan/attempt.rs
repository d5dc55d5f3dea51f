//! Decides an attempt: reserve, claim, refuse, or send back.
//!
//! The classification that counts is made here, on the row as the transaction
//! reads it (`docs/spec/executions.md` §3); the caller's earlier one only says
//! what it has decided already.

use std::sync::Arc;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{
    Classified, Draft, EffectBoundary, ExecutionIdStatus, Kind, Link, RefusalCode, Salt,
};

use crate::attempt::{Attempt, DecideAgain, Known, Position, Refused};
use crate::error::LedgerError;
use crate::execution::{Context, Execution, Presenting, classify_attempt};
use crate::plan::{Nearing, Plan, Planned, Retain, Row, Rows, Said, Working, draft, position};
use crate::record::{Record, State};
use crate::request::Intent;
use crate::step::{Effects, Event, Owner, step};
use crate::store::StoreError;
use crate::token::{Given, Inner};

/// What an attempt is told once its group is durable. No token exists before.
#[derive(Debug)]
pub(crate) enum Answer {
    Reserved {
        permit: Inner,
        entry: Position,
        classification: Option<Classification>,
    },
    Refused(Box<Refused>),
    DecideAgain(Box<DecideAgain>),
}

impl<R: Rows> Plan<'_, R> {
    pub(crate) fn attempt(&mut self, attempt: &Attempt, intent: &Intent) -> Said<Answer> {
        let index = match &attempt.execution_id {
            Some(id) => self.find(&attempt.agent, id)?,
            None => None,
        };
        let classification = match (&attempt.execution_id, &attempt.admitted) {
            (Some(_), Some(admitted)) => {
                let presenting = Presenting {
                    admitted,
                    continuation: attempt.draft.continuation,
                    request_state: attempt.draft.request_state_presented,
                };
                Some(classify_attempt(&presenting, self.execution(index)))
            }
            _ => None,
        };
        if let Some(code) = classification.and_then(refusal_code) {
            return self.refuse(attempt, index, classification, code);
        }
        match intent {
            Intent::Refuse(Some(code)) => self.refuse(attempt, index, classification, code.clone()),
            Intent::Refuse(None) if classification.is_none() => Ok(Err(LedgerError::Unclassified)),
            Intent::Refuse(None) => Ok(Ok(self.again(index, classification))),
            Intent::Reserve => self.permit(attempt, index, classification),
        }
    }

    fn permit(
        &mut self,
        attempt: &Attempt,
        index: Option<usize>,
        classification: Option<Classification>,
    ) -> Said<Answer> {
        let stale = attempt.epochs != self.base.epochs;
        if stale || classification != attempt.earlier {
            return Ok(Ok(self.again(index, classification)));
        }
        if let (Some(index), Some(Classification::Continuation)) = (index, classification) {
            return Ok(self.claim(attempt, index, classification));
        }
        let foreign = attempt.execution_id.is_none() && self.foreign_state(attempt)?;
        let held = self.held_by(attempt)?;
        let code = if foreign {
            Some("request-state-unknown")
        } else if held >= self.agent_rows {
            Some("execution-quota")
        } else {
            None
        };
        match code.map(RefusalCode::new) {
            // INVARIANT: both codes are made of letters and `-`.
            Some(Err(_)) => Ok(Err(LedgerError::Unclassified)),
            Some(Ok(code)) => self.refuse(attempt, index, classification, code),
            None => self.insert(attempt, classification, held),
        }
    }

    /// Whether an attempt without identifier brings a state that nobody issued
    /// to this agent (`docs/spec/executions.md` §6).
    fn foreign_state(&self, attempt: &Attempt) -> Result<bool, StoreError> {
        let Some(state) = attempt.draft.request_state_presented else {
            return Ok(false);
        };
        let issued = self.working.iter().any(|working| {
            let execution = &working.row.execution;
            execution.record.issued == Some(state) && execution.agent == attempt.agent
        });
        Ok(!issued && !self.rows.issued_to(&attempt.agent, &state)?)
    }

    fn held_by(&mut self, attempt: &Attempt) -> Result<u64, StoreError> {
        if let Some(held) = self.held.get(&attempt.agent) {
            return Ok(*held);
        }
        self.rows.held_by(&attempt.agent)
    }

    fn insert(
        &mut self,
        attempt: &Attempt,
        classification: Option<Classification>,
        held: u64,
    ) -> Said<Answer> {
        // A call that has a row already opens no second one.
        let taken = self.find_call(&attempt.call_id)?;
        let record = self
            .execution(taken)
            .map(|execution| execution.record.clone());
        let identified = attempt.execution_id.is_some();
        let event = Event::Reserve {
            identified,
            by: self.me,
        };
        Ok(match step(record.as_ref(), &event) {
            Ok((record, effects)) => {
                self.insert_row(attempt, classification, held, record, &effects)
            }
            Err(illegal) => Err(LedgerError::Illegal(illegal)),
        })
    }

    fn insert_row(
        &mut self,
        attempt: &Attempt,
        classification: Option<Classification>,
        held: u64,
        record: Record,
        effects: &Effects,
    ) -> Result<Answer, LedgerError> {
        let admitted = attempt.admitted.clone().ok_or(LedgerError::Unclassified)?;
        let draft = draft::finished(classified(attempt, classification), &record, effects);
        let admission = Box::new(draft.clone());
        let first = Link {
            execution_seq: 0,
            execution_previous: None,
        };
        let salt = match self.blind {
            Some(salts) => Some(Salt::new(salts().ok_or(LedgerError::Unavailable)?)),
            None => None,
        };
        let entry = self.place_on(draft, first, salt.as_ref())?;
        let number = self.base.next_number;
        self.base.next_number = number.saturating_add(1);
        let held = held.saturating_add(1);
        self.held.insert(attempt.agent.clone(), held);
        if held == warned_at(self.agent_rows) {
            self.nearing.push(Nearing {
                agent: attempt.agent.clone(),
                held,
                limit: self.agent_rows,
            });
        }
        let owner = Owner {
            incarnation: record.owner,
            fence: record.fence,
        };
        let execution = Execution {
            agent: attempt.agent.clone(),
            execution_id: attempt.execution_id.clone(),
            call_id: attempt.call_id.clone(),
            admitted,
            context: context(attempt),
            salt,
            record,
            chain_length: 1,
            last: position(&entry),
            terminal: None,
            reserved_us: self.now.micros(),
            changed_us: self.now.micros(),
        };
        let row = Row { number, execution };
        let place = position(&entry);
        self.entries.push(Planned::on(&row, entry));
        self.working.push(Working {
            row,
            was: None,
            changed: true,
            retain: Retain::Leave,
        });
        let permit = Inner {
            row: number,
            owner,
            given: self.given(&place),
            gate: Arc::default(),
            draft: admission,
        };
        Ok(Answer::Reserved {
            permit,
            entry: place,
            classification,
        })
    }

    fn claim(
        &mut self,
        attempt: &Attempt,
        index: usize,
        classification: Option<Classification>,
    ) -> Result<Answer, LedgerError> {
        let working = self.working.get(index).ok_or(LedgerError::NotFound)?;
        let number = working.row.number;
        let continuation = attempt
            .draft
            .continuation
            .ok_or(LedgerError::Unclassified)?;
        let event = Event::Claim {
            by: self.me,
            continuation,
        };
        let (record, effects) = step(Some(&working.row.execution.record), &event)?;
        let owner = Owner {
            incarnation: record.owner,
            fence: record.fence,
        };
        let draft = classified(attempt, classification);
        let entry = self.advance(index, record, &effects, draft.clone())?;
        if let Some(working) = self.working.get_mut(index) {
            // What was kept belongs to the round that is now answered.
            working.retain = Retain::Drop;
        }
        let permit = Inner {
            row: number,
            owner,
            given: self.given(&entry),
            gate: Arc::default(),
            draft: Box::new(draft),
        };
        Ok(Answer::Reserved {
            permit,
            entry,
            classification,
        })
    }

    fn given(&self, place: &Position) -> Box<Given> {
        Box::new(Given {
            era: self.era,
            sequence: place.sequence,
            hash: place.hash,
        })
    }

    fn refuse(
        &mut self,
        attempt: &Attempt,
        index: Option<usize>,
        classification: Option<Classification>,
        code: RefusalCode,
    ) -> Said<Answer> {
        let mut draft = classified(attempt, classification);
        draft.refusal = Some(code.clone());
        let retained = self.awaited_answer(attempt, index, classification)?;
        let answer_until_us = self.answer_until(index, classification)?;
        let known = self.execution(index).map(|execution| Known {
            state: execution.record.state,
            call_id: execution.call_id.clone(),
            last: execution.last.clone(),
        });
        let entry = match index {
            Some(index) => self.refuse_on(index, draft),
            None => {
                draft.kind = Kind::Refusal;
                self.place_alone(draft).map(|entry| {
                    let place = position(&entry);
                    self.entries.push(Planned::alone(entry));
                    place
                })
            }
        };
        Ok(entry.map(|entry| {
            let outcome = known.as_ref().and_then(Known::outcome);
            Answer::Refused(Box::new(Refused {
                code,
                classification,
                safe_with_new_id: classification == Some(Classification::Fresh)
                    || outcome == Some(Outcome::NotAttempted) && !self.was_answered(index),
                known,
                receipt: self.receipt(index),
                entry,
                retained,
                answer_until_us,
            }))
        }))
    }

    /// Whether anything came back, were it after the outcome was stated.
    fn was_answered(&self, index: Option<usize>) -> bool {
        let execution = self.execution(index);
        execution
            .is_some_and(|execution| execution.record.boundary == EffectBoundary::ResponseReceived)
    }

    fn refuse_on(&mut self, index: usize, draft: Draft) -> Result<Position, LedgerError> {
        let working = self.working.get(index).ok_or(LedgerError::NotFound)?;
        let (record, effects) = step(Some(&working.row.execution.record), &Event::Refuse)?;
        self.advance(index, record, &effects, draft)
    }

    /// The answer that is given again: only to a repeat of the request that the
    /// awaited round was asked in answer to.
    fn awaited_answer(
        &self,
        attempt: &Attempt,
        index: Option<usize>,
        classification: Option<Classification>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(working) = index.and_then(|index| self.working.get(index)) else {
            return Ok(None);
        };
        let record = &working.row.execution.record;
        let asked_in_answer = record.claimed.last().copied();
        if classification != Some(Classification::RoundReplay)
            || record.state != State::AwaitingInput
            || attempt.draft.continuation != asked_in_answer
        {
            return Ok(None);
        }
        match &working.retain {
            Retain::Keep(bytes) => Ok(Some(bytes.clone())),
            Retain::Drop | Retain::Answer(_) => Ok(None),
            Retain::Leave => self.rows.retained(working.row.number),
        }
    }

    /// Until when the answer of a settled execution can be fetched.
    fn answer_until(
        &self,
        index: Option<usize>,
        classification: Option<Classification>,
    ) -> Result<Option<i64>, StoreError> {
        let working = index.and_then(|index| self.working.get(index));
        match (working, classification) {
            (Some(working), Some(Classification::Replay(_))) => match &working.retain {
                Retain::Answer(kept) => Ok(Some(kept.expires_us)),
                _ => self.rows.kept_until(working.row.number, self.now.micros()),
            },
            _ => Ok(None),
        }
    }

    fn again(&self, index: Option<usize>, classification: Option<Classification>) -> Answer {
        Answer::DecideAgain(Box::new(DecideAgain {
            classification,
            execution: self.execution(index).cloned(),
            epochs: self.base.epochs,
        }))
    }
}

/// The code by which a classification refuses; `None` where it lets an attempt
/// go on.
fn refusal_code(classification: Classification) -> Option<RefusalCode> {
    let code = match classification {
        Classification::Fresh | Classification::Continuation => return None,
        other => Classified::Verdict(other).as_str(),
    };
    // INVARIANT: the words of verdicts are made of letters and `-`.
    RefusalCode::new(code).ok()
}

/// How many rows of one agent are worth a warning: 80 % of what it may hold,
/// rounded up. Rows are never deleted, so each agent passes this once.
fn warned_at(limit: u64) -> u64 {
    limit.saturating_sub(limit / 5)
}

fn classified(attempt: &Attempt, classification: Option<Classification>) -> Draft {
    let mut draft = attempt.draft.clone();
    draft.classification = match classification {
        Some(verdict) => Some(Classified::Verdict(verdict)),
        // Said by the host, since there is no binding to compare.
        None => draft
            .classification
            .filter(|said| *said == Classified::NotAdmissible),
    };
    draft.execution_id_status = draft
        .execution_id_status
        .or(Some(match attempt.execution_id {
            Some(_) => ExecutionIdStatus::Present,
            None => ExecutionIdStatus::Absent,
        }));
    draft
}

fn context(attempt: &Attempt) -> Context {
    let draft = &attempt.draft;
    Context {
        client_digest: draft.client_digest,
        workflow_id: draft.workflow_id.clone(),
        represented_user: draft.represented_user.clone(),
        authority: draft.authority.clone(),
        policy_digest: draft.policy_digest,
        catalog: draft.catalog.attributed,
        epochs: attempt.epochs,
    }
}

#[cfg(test)]
mod tests {
    use super::warned_at;

    #[test]
    fn an_operator_is_warned_when_an_agent_holds_four_fifths_of_its_rows() {
        for (limit, at) in [(10_000_000, 8_000_000), (5, 4), (4, 4), (1, 1), (0, 0)] {
            assert_eq!(warned_at(limit), at, "{limit}");
        }
    }
}
