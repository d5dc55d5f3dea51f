//! Decides what operators, observers of tasks, and recovery do.

use countersign_evidence::{Draft, Kind, RefusalCode};

use crate::error::LedgerError;
use crate::execution::Execution;
use crate::plan::{Plan, Row, Rows, Said, draft};
use crate::record::State;
use crate::request::{Act, Which};
use crate::step::{Event, Owner, step};

impl<R: Rows> Plan<'_, R> {
    pub(crate) fn act(&mut self, which: &Which, act: &Act, draft: &Draft) -> Said<Execution> {
        let index = match which {
            Which::Execution(agent, id) => self.find(agent, id)?,
            Which::Call(call_id) => self.find_call(call_id)?,
        };
        let Some(index) = index else {
            return Ok(Err(LedgerError::NotFound));
        };
        Ok(self.act_at(index, act, draft))
    }

    fn act_at(&mut self, index: usize, act: &Act, draft: &Draft) -> Result<Execution, LedgerError> {
        let execution = self.execution(Some(index)).ok_or(LedgerError::NotFound)?;
        let event = match act {
            Act::Abandon => Event::Abandon,
            Act::TaskObserved => Event::TaskObserved,
            Act::TaskEnded(outcome) => Event::TaskEnded { outcome: *outcome },
            Act::Resolve(outcome) => Event::Resolve {
                outcome: *outcome,
                // One process owns the database, so every other incarnation is
                // dead.
                owner_dead: execution.record.owner != self.me,
            },
        };
        let (record, effects) = step(Some(&execution.record), &event)?;
        let draft = draft::about(draft.clone(), execution);
        self.advance(index, record, &effects, draft)?;
        self.execution(Some(index))
            .cloned()
            .ok_or(LedgerError::NotFound)
    }

    /// Gives up a row whose owner is an incarnation that is dead.
    pub(crate) fn owner_lost(&mut self, row: Row) -> Result<(), LedgerError> {
        let record = &row.execution.record;
        if record.state != State::InFlight {
            return Ok(());
        }
        let lost = Owner {
            incarnation: record.owner,
            fence: record.fence,
        };
        let (next, effects) = step(Some(record), &Event::OwnerLost { lost })?;
        let mut draft = draft::about(Draft::new(Kind::Blocked, self.now), &row.execution);
        // INVARIANT: the code is made of letters and `-`.
        draft.refusal = RefusalCode::new("owner-lost").ok();
        let index = self.take_up(row);
        self.advance(index, next, &effects, draft).map(|_| ())
    }
}
