//! Decides what operators, observers of tasks, and recovery do.

use countersign_evidence::{Draft, Kind, RefusalCode};

use crate::error::LedgerError;
use crate::execution::Execution;
use crate::plan::{Plan, Retain, Row, Rows, Said, draft};
use crate::record::State;
use crate::request::{Act, Which};
use crate::step::{Event, Owner, step};
use crate::store::StoreError;

impl<R: Rows> Plan<'_, R> {
    pub(crate) fn act(&mut self, which: &Which, act: &Act, draft: &Draft) -> Said<Execution> {
        let index = match which {
            Which::Execution(agent, id) => self.find(agent, id)?,
            Which::Call(call_id) => self.find_call(call_id)?,
        };
        let Some(index) = index else {
            return Ok(Err(LedgerError::NotFound));
        };
        let owner_dead = match act {
            Act::Resolve(_) => self.owner_dead(index)?,
            _ => false,
        };
        Ok(self.act_at(index, act, owner_dead, draft))
    }

    /// Whether the owner of a row is proved dead, so that no byte of it can be
    /// on its way any more.
    fn owner_dead(&self, index: usize) -> Result<bool, StoreError> {
        let Some(execution) = self.execution(Some(index)) else {
            return Ok(false);
        };
        let owner = execution.record.owner;
        Ok(owner != self.me && self.rows.dead(owner)?)
    }

    fn act_at(
        &mut self,
        index: usize,
        act: &Act,
        owner_dead: bool,
        draft: &Draft,
    ) -> Result<Execution, LedgerError> {
        let execution = self.execution(Some(index)).ok_or(LedgerError::NotFound)?;
        let event = match act {
            Act::Abandon => Event::Abandon,
            Act::TaskObserved => Event::TaskObserved,
            Act::TaskEnded(outcome) => Event::TaskEnded { outcome: *outcome },
            Act::Resolve(outcome) => Event::Resolve {
                outcome: *outcome,
                owner_dead,
            },
        };
        let (record, effects) = step(Some(&execution.record), &event)?;
        let draft = draft::about(draft.clone(), execution);
        self.advance(index, record, &effects, draft)?;
        if let (Act::Abandon, Some(working)) = (act, self.working.get_mut(index)) {
            // Nobody is given the question again.
            working.retain = Retain::Drop;
        }
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
