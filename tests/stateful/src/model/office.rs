//! What operators do: resolutions, approvals, reloads, and what they accept.

use super::call::about;
use super::{Approved, Died, Line, Model, State, Told, Wrote};
use crate::plan::{Office, Server};

/// That an operator says why.
pub(super) fn because() -> Option<String> {
    Some("yes".to_owned())
}

impl Model {
    pub(super) fn office(&mut self, office: &Office) -> Result<Told, Died> {
        match office {
            Office::List => Ok(Told::word("done")),
            Office::Resolve {
                agent,
                id,
                outcome,
                reason,
            } => self.resolve((*agent, *id), outcome, *reason),
            Office::Abandon { agent, id } => self.abandon((*agent, *id)),
            Office::Reload => self.put_in_force(self.lock.clone()),
            Office::Approve { server, without } => {
                if self.policies_on_disk == 9 {
                    return Ok(Told::word("reload-refused"));
                }
                let approved = Approved {
                    version: self.offered[server],
                    without: without.clone(),
                };
                self.lock.insert(*server, approved);
                self.put_in_force(self.lock.clone())
            }
            Office::Accept => Ok(self.accept()),
            // Operators have an address of their own.
            Office::Intrude(_) => Ok(Told::word("http-404")),
        }
    }

    /// Only what is blocked is resolved; beside an outcome others may be stated.
    fn resolve(&mut self, key: (usize, u8), outcome: &str, reason: bool) -> Result<Told, Died> {
        if !reason {
            return Ok(Told::word("operator-request"));
        }
        if self.rolled_back {
            return Ok(Told::word(self.unavailable()));
        }
        let Some(known) = self.executions.get(&key) else {
            return Ok(Told::word("execution-unknown"));
        };
        let (blocked, settled) = match known.state {
            State::Blocked => (true, false),
            State::Settled(_) => (false, true),
            _ => (false, false),
        };
        let nothing_left = known.orphan && !known.answered && known.claimed.is_empty();
        let possible = outcome != "not-attempted" || nothing_left;
        if !(blocked || settled) || !possible {
            return Ok(Told::word("execution-state"));
        }
        let line = Line {
            outcome: Some(outcome.to_owned()),
            because: because(),
            ..about("resolution", key.0, Some(key.1))
        };
        self.acts(key, line, |known| {
            if blocked {
                known.state = State::Settled(outcome.to_owned());
            }
        })
    }

    /// Only what is awaited is given up.
    fn abandon(&mut self, key: (usize, u8)) -> Result<Told, Died> {
        if self.rolled_back {
            return Ok(Told::word(self.unavailable()));
        }
        let Some(known) = self.executions.get(&key) else {
            return Ok(Told::word("execution-unknown"));
        };
        if !matches!(known.state, State::Awaiting(_)) {
            return Ok(Told::word("execution-state"));
        }
        let line = Line {
            outcome: Some("outcome-unknown".to_owned()),
            code: Some("abandoned".to_owned()),
            because: because(),
            ..about("terminal", key.0, Some(key.1))
        };
        self.acts(key, line, |known| {
            known.state = State::Settled("outcome-unknown".to_owned());
        })
    }

    fn acts(
        &mut self,
        key: (usize, u8),
        line: Line,
        becomes: impl FnOnce(&mut super::Execution),
    ) -> Result<Told, Died> {
        let before = self.lines.len();
        let wrote = self.boundary([line]);
        if self.lines.len() > before
            && let Some(known) = self.executions.get_mut(&key)
        {
            becomes(known);
        }
        Ok(match wrote? {
            Wrote::Yes => Told::word("done"),
            Wrote::No => Told::word(self.unavailable()),
        })
    }

    /// Policies and approvals come into force together, or not at all.
    fn put_in_force(
        &mut self,
        lock: std::collections::BTreeMap<Server, Approved>,
    ) -> Result<Told, Died> {
        if self.policies_on_disk == 9 {
            return Ok(Told::word("reload-refused"));
        }
        let changed = lock
            .iter()
            .filter(|(server, approved)| self.approved.get(server) != Some(approved));
        let mut lines = vec![Line {
            policy: Some(format!("P{}", self.policies_on_disk)),
            because: because(),
            ..Line::of("policy-loaded")
        }];
        lines.extend(changed.map(|(server, approved)| Line {
            target: Some(server.name().to_owned()),
            approved: Some(approved.name()),
            because: because(),
            ..Line::of("catalog-approved")
        }));
        for (number, line) in lines.into_iter().enumerate() {
            if self.boundary([line])? == Wrote::No {
                self.unsure = true;
                self.stale |= number > 0;
                return Ok(Told::word("reload-refused"));
            }
        }
        self.policy = self.policies_on_disk;
        self.approved = lock;
        self.unsure = false;
        self.stale = false;
        Ok(Told::word("done"))
    }

    /// Nothing is admitted on an old ledger before somebody accepts it.
    fn accept(&mut self) -> Told {
        if !self.rolled_back {
            return Told::word("ledger-not-rolled-back");
        }
        self.rolled_back = false;
        self.lines.push(Line {
            because: because(),
            ..Line::of("rollback")
        });
        self.lines.push(Line::of("start"));
        let lines = self.in_force();
        self.lines.extend(lines);
        Told::word("done")
    }
}
