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
                let mut lock = self.lock.clone();
                lock.insert(*server, approved);
                let told = self.put_in_force(lock.clone());
                // Who dies in between leaves the lock that was written.
                if told.as_ref().map_or(true, |told| told.word == "done") {
                    self.lock = lock;
                }
                let done = told.as_ref().is_ok_and(|told| told.word == "done");
                // What is offered is looked at again, where it is in use.
                if done && self.discovered.contains_key(server) {
                    self.look(*server)?;
                }
                told
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
        let changed: Vec<(Server, Approved)> = lock
            .iter()
            .filter(|(server, approved)| self.approved.get(server) != Some(approved))
            .map(|(server, approved)| (*server, approved.clone()))
            .collect();
        let mut lines = vec![Line {
            policy: Some(format!("P{}", self.policies_on_disk)),
            because: because(),
            ..Line::of("policy-loaded")
        }];
        lines.extend(changed.iter().map(|(server, approved)| Line {
            because: because(),
            ..approval(*server, Some(approved))
        }));
        for line in lines {
            if self.boundary([line])? == Wrote::No {
                if !self.rolled_back && !self.failed {
                    self.settles(&changed);
                }
                return Ok(Told::word("reload-refused"));
            }
        }
        self.policy = self.policies_on_disk;
        self.approved = lock;
        Ok(Told::word("done"))
    }

    /// It is not known what came into force, and what decides is written again.
    fn settles(&mut self, changed: &[(Server, Approved)]) {
        self.owed.push(Line {
            policy: Some(format!("P{}", self.policy)),
            ..Line::of("policy-loaded")
        });
        for (server, _) in changed {
            let approved = self.approved.get(server).cloned();
            self.owed.push(approval(*server, approved.as_ref()));
        }
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
        let lines = self.in_force(false);
        self.lines.extend(lines);
        Told::word("done")
    }
}

/// What is approved of a server from there on.
fn approval(server: Server, approved: Option<&Approved>) -> Line {
    Line {
        target: Some(server.name().to_owned()),
        approved: approved.map(Approved::name),
        ..Line::of("catalog-approved")
    }
}
