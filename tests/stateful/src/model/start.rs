//! Starts and stops: what recovery finds, what comes into force, and what a copy
//! of the ledger brings back (`docs/spec/executions.md` §4 and §5).

use super::call::about;
use super::{Died, Line, Model, State, Told, Wrote};
use crate::plan::{AGENTS, Fault, Server};

impl Model {
    /// The gateway starts; with a fault on its way it may die of it.
    pub fn start(&mut self, fault: Option<Fault>) {
        self.fault = fault;
        self.boundary = 0;
        self.fired = false;
        let started = self.starts();
        self.fault = None;
        if started.is_err() || self.failed {
            self.dies();
        }
    }

    fn starts(&mut self) -> Result<(), Died> {
        self.runs = true;
        self.failed = false;
        self.suppressed.clear();
        self.observed.clear();
        self.discovered.clear();
        self.unfound.clear();
        self.policy = self.policies_on_disk;
        self.approved = self.lock.clone();
        if !self.rolled_back {
            self.lines.push(Line::of("start"));
            self.recover();
            // A log that begins has nothing to withdraw.
            let begins = self.lines.len() <= 1;
            for line in self.in_force(begins) {
                if self.boundary([line])? == Wrote::No {
                    // Without them nothing is served.
                    return Err(Died);
                }
            }
        }
        Ok(())
    }

    /// What is in flight has lost its owner, and what left is not guessed.
    fn recover(&mut self) {
        for (key, known) in &mut self.executions {
            if known.state == State::InFlight {
                known.state = State::Blocked;
                known.orphan = true;
                self.lines.push(Line {
                    code: Some("owner-lost".to_owned()),
                    ..about("blocked", key.0, Some(key.1))
                });
            }
        }
        for agent in std::mem::take(&mut self.alone) {
            self.lines.push(Line {
                outcome: Some("outcome-unknown".to_owned()),
                code: Some("owner-lost".to_owned()),
                ..about("terminal", agent, None)
            });
        }
    }

    /// What the gateway decides by, from its start on; of servers of which nothing is
    /// approved too, but in a log that begins.
    pub(super) fn in_force(&self, begins: bool) -> Vec<Line> {
        let mut lines = vec![Line::of("start")];
        lines.extend(["exact@1.0.0", "jcs-integer@1.0.0"].map(|name| Line {
            profile: Some(name.to_owned()),
            ..Line::of("profile-loaded")
        }));
        lines.push(Line {
            policy: Some(format!("P{}", self.policies_on_disk)),
            ..Line::of("policy-loaded")
        });
        lines.extend(self.lock.iter().map(|(server, approved)| Line {
            target: Some(server.name().to_owned()),
            approved: Some(approved.name()),
            ..Line::of("catalog-approved")
        }));
        let withdrawn = Server::ALL.iter().filter(|server| {
            let approved = self.lock.contains_key(server);
            !begins && !approved
        });
        lines.extend(withdrawn.map(|server| Line {
            target: Some(server.name().to_owned()),
            ..Line::of("catalog-approved")
        }));
        lines
    }

    /// The tools of a server are read; what is new, and what differs from what
    /// was approved, is in the log.
    pub fn look(&mut self, server: Server) -> Result<Told, Died> {
        let version = self.offered[&server];
        if self.discovered.insert(server, version) == Some(version) {
            return Ok(Told::word("result"));
        }
        for line in self.found(server) {
            if self.boundary([line])? == Wrote::No {
                self.unfound.insert(server);
                break;
            }
        }
        Ok(Told::word("result"))
    }

    /// What the log is told of the tools of a server.
    pub(super) fn found(&self, server: Server) -> Vec<Line> {
        let target = |tool: &str| match tool {
            "" => server.name().to_owned(),
            tool => format!("{}/{tool}", server.name()),
        };
        let line = |kind, tool| Line {
            target: Some(target(tool)),
            ..Line::of(kind)
        };
        let mut lines = vec![line("discovery", "")];
        if let Some(approved) = self.approved.get(&server) {
            let without = approved.without.as_deref();
            lines.extend(without.map(|tool| line("catalog-drift", tool)));
            if approved.version != self.offered[&server] && without != Some("pay") {
                lines.push(line("catalog-drift", "pay"));
            }
        }
        lines
    }

    /// In good order: what was counted is written.
    pub fn stop(&mut self) {
        self.runs = false;
        let counted = std::mem::take(&mut self.suppressed);
        if self.rolled_back || self.failed {
            return;
        }
        self.lines
            .extend(counted.into_iter().map(|((agent, code), count)| Line {
                agent: Some(AGENTS[agent].to_owned()),
                code: Some(code),
                count,
                ..Line::of("suppressed")
            }));
    }

    pub(super) fn restart(&mut self) -> Result<Told, Died> {
        self.stop();
        self.starts()?;
        Ok(Told::word("done"))
    }

    /// A key follows another by an entry of its own.
    pub(super) fn rotate(&mut self) -> Result<Told, Died> {
        self.stop();
        if self.rolled_back {
            self.starts()?;
            return Ok(Told::word("ledger-rolled-back"));
        }
        self.lines
            .extend([Line::of("start"), Line::of("key-rotated")]);
        self.starts()?;
        Ok(Told::word("done"))
    }

    /// What the copy does not hold is gone from the ledger; the anchor knows.
    pub(super) fn restore(&mut self) -> Result<Told, Died> {
        self.stop();
        if let Some(copy) = self.kept.clone() {
            let all = self.lines.len();
            let mut back = Self {
                attempts: self.attempts,
                asked_again: std::mem::take(&mut self.asked_again),
                arrivals: std::mem::take(&mut self.arrivals),
                policies_on_disk: self.policies_on_disk,
                profile: self.profile.clone(),
                restored: true,
                offered: self.offered.clone(),
                lock: self.lock.clone(),
                kept: Some(copy.clone()),
                fault: self.fault,
                boundary: self.boundary,
                fired: self.fired,
                ..*copy
            };
            back.rolled_back = self.rolled_back || all > back.lines.len();
            *self = back;
        }
        self.starts()?;
        Ok(Told::word("done"))
    }
}
