//! Tasks (`docs/spec/executions.md` §6): bound to the agent that received them;
//! what is observed of one is in the log before its agent sees it.

use super::call::about;
use super::{Died, Line, Model, State, Told, Wrote};
use crate::plan::{Asks, Server, Status};

impl Model {
    pub(super) fn about_task(&mut self, agent: usize, id: &str, asks: Asks) -> Result<Told, Died> {
        let issued = |state: &State| matches!(state, State::TaskOpen(open) if open == id);
        let known = self.executions.iter().find(|((whose, _), known)| {
            *whose == agent && known.server == Server::Tasks && known.task_id.as_deref() == Some(id)
        });
        let Some((key, open)) = known.map(|(key, known)| (*key, issued(&known.state))) else {
            return self.unread(agent, "task-unknown");
        };
        if !open {
            return Ok(Told::word("result"));
        }
        let (says, outcome) = match asks {
            Asks::Get(Status::Working) => ("working", None),
            Asks::Get(Status::Completed) => ("completed", Some("succeeded")),
            Asks::Get(Status::Failed) => ("failed", Some("tool-error")),
            Asks::Get(Status::Cancelled) | Asks::Cancel => ("cancelled", Some("outcome-unknown")),
            Asks::Result => ("ended", Some("succeeded")),
        };
        let line = |kind| Line {
            says: Some(says.to_owned()),
            outcome: outcome.map(str::to_owned),
            ..about(kind, key.0, Some(key.1))
        };
        let Some(outcome) = outcome else {
            let before = self.observed.insert(id.to_owned(), says.to_owned());
            if before.as_deref() == Some(says) {
                return Ok(Told::word("result"));
            }
            return match self.boundary([line("task")])? {
                Wrote::Yes => Ok(Told::word("result")),
                Wrote::No => {
                    let code = self.unavailable();
                    self.unread(agent, code)
                }
            };
        };
        let before = self.lines.len();
        let wrote = self.boundary([line("terminal")]);
        if self.lines.len() > before
            && let Some(known) = self.executions.get_mut(&key)
        {
            known.state = State::Settled(outcome.to_owned());
        }
        match wrote? {
            Wrote::Yes => Ok(Told::word("result")),
            // The end is not in the log, so it is not told as if it were.
            Wrote::No => self.unread(agent, "settlement-failed"),
        }
    }
}
