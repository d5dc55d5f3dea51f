//! The way of a call: admit, classify, catalog, decide, reserve, invoke, settle
//! (`docs/spec/executions.md` §3 and §4).

use super::{Died, Execution, Line, Model, State, Told, Wrote};
use crate::plan::{AGENTS, Call, Reply, Round, Server};

/// One attempt on its way.
struct Attempt<'c> {
    call: &'c Call,
    number: usize,
    class: Option<&'static str>,
    /// The profile that it is bound under.
    profile: String,
}

impl Attempt<'_> {
    fn key(&self) -> Option<(usize, u8)> {
        self.call.id.map(|id| (self.call.agent, id))
    }

    /// What its own entry says.
    fn line(&self, kind: &str) -> Line {
        Line {
            attempt: Some(format!("w{}", self.number)),
            target: Some(format!("{}/{}", self.call.server.name(), self.call.tool)),
            class: self.class.map(str::to_owned),
            profile: Some(self.profile.clone()),
            ..about(kind, self.call.agent, self.call.id)
        }
    }
}

/// An entry on an execution.
pub(super) fn about(kind: &str, agent: usize, id: Option<u8>) -> Line {
    Line {
        agent: Some(AGENTS[agent].to_owned()),
        id: id.map(|id| format!("e{id}")),
        ..Line::of(kind)
    }
}

fn is_integer(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Model {
    pub(super) fn call(&mut self, call: &Call) -> Result<Told, Died> {
        let number = self.attempts;
        self.attempts += 1;
        if call.stranger {
            // Nobody can fill the log from outside.
            return Ok(Told::word("unauthenticated"));
        }
        let profile = self.profile.clone();
        if profile.starts_with("jcs-integer") && !is_integer(&call.number) {
            // What was recorded under another one is read by that.
            let key = call.id.map(|id| (call.agent, id));
            let known = key.and_then(|key| self.executions.get(&key));
            if known.is_none_or(|known| known.profile == profile) {
                return self.unread(call.agent, "number");
            }
        }
        if call.server == Server::Tasks && call.session.is_some_and(|whose| whose != call.agent) {
            return self.unread(call.agent, "unknown-session");
        }
        let misplaced = match call.server {
            Server::Rounds => call.task,
            Server::Tasks => call.round.is_some(),
        };
        if misplaced {
            return self.unread(call.agent, "params");
        }
        let mut attempt = Attempt {
            call,
            number,
            class: None,
            profile,
        };
        if let Some(told) = self.classify(&mut attempt)? {
            return Ok(told);
        }
        if let Some(told) = self.offered(&attempt)? {
            return Ok(told);
        }
        self.decide(&attempt)
    }

    /// What the attempt is, and what it is told where it may not go on.
    fn classify(&mut self, attempt: &mut Attempt<'_>) -> Result<Option<Told>, Died> {
        let call = attempt.call;
        let Some(key) = attempt.key() else {
            return Ok(None);
        };
        let known = self.executions.get(&key).cloned();
        let class = match &known {
            None if call.round.is_none() => "fresh",
            None => "continuation-mismatch",
            Some(known) => {
                // From here on everything is the recorded profile's.
                attempt.profile.clone_from(&known.profile);
                if known.profile.starts_with("jcs-integer") && !is_integer(&call.number) {
                    attempt.class = Some("not-admissible");
                    return self
                        .refused(attempt, "collision", Line::default())
                        .map(Some);
                }
                against(known, call)
            }
        };
        attempt.class = Some(class);
        if class == "fresh" || class == "continuation" {
            return Ok(None);
        }
        let told = self.refused(attempt, class, Line::default())?;
        let again = known.is_some_and(|known| {
            class == "round-replay"
                && matches!(known.state, State::Awaiting(_))
                && known.asked_in == call.round
        });
        // The round that is awaited is asked again.
        let recorded = told.word == class;
        Ok(Some(if again && recorded {
            self.asked_again.insert(attempt.number);
            Told::word("asked")
        } else {
            told
        }))
    }

    /// A refusal of what was bound, with what its entry says besides.
    fn refused(&mut self, attempt: &Attempt<'_>, code: &str, more: Line) -> Result<Told, Died> {
        let line = Line {
            code: Some(code.to_owned()),
            policy: more.policy,
            approved: more.approved,
            ..attempt.line("refusal")
        };
        if self.boundary([line])? == Wrote::No {
            return Ok(self.unrecorded(attempt));
        }
        let settled = attempt.key().and_then(|key| self.executions.get(&key));
        let not_attempted =
            settled.is_some_and(|known| known.state == State::Settled("not-attempted".into()));
        Ok(Told {
            word: code.to_owned(),
            safe: attempt.class == Some("fresh") || not_attempted,
        })
    }

    fn unrecorded(&mut self, attempt: &Attempt<'_>) -> Told {
        let code = self.unavailable();
        self.suppress(attempt.call.agent, code);
        Told::word(code)
    }

    /// Whether the server offers what was approved, and the arguments fit it.
    fn offered(&mut self, attempt: &Attempt<'_>) -> Result<Option<Told>, Died> {
        let Call { server, tool, .. } = attempt.call;
        let approved = self.approved.get(server).cloned();
        let left_out = |approved: &super::Approved| approved.without.as_ref() == Some(tool);
        let code = match &approved {
            _ if tool != "pay" && tool != "look" => "unknown-tool",
            None => "tool-not-approved",
            Some(approved) if left_out(approved) => "tool-not-approved",
            // Versions differ in `pay` alone.
            Some(approved)
                if tool == "pay" && self.discovered.get(server) != Some(&approved.version) =>
            {
                "catalog-drift"
            }
            // The odd versions take small numbers only.
            Some(approved)
                if tool == "pay" && approved.version % 2 == 1 && attempt.call.number == "90" =>
            {
                "arguments-invalid"
            }
            Some(_) => return Ok(None),
        };
        let more = self.approved_of(*server);
        self.refused(attempt, code, more).map(Some)
    }

    fn approved_of(&self, server: Server) -> Line {
        let approved = self.approved.get(&server);
        Line {
            approved: approved.map(super::Approved::name),
            ..Line::default()
        }
    }

    fn decide(&mut self, attempt: &Attempt<'_>) -> Result<Told, Died> {
        let Call { agent, server, .. } = attempt.call;
        let denied = match self.policy {
            1 => AGENTS[*agent] == "bob",
            2 => *server == Server::Rounds,
            _ => false,
        };
        let more = Line {
            policy: Some(format!("P{}", self.policy)),
            ..self.approved_of(*server)
        };
        if denied {
            return self.refused(attempt, "policy-denied", more);
        }
        self.reserve(attempt, more)
    }

    fn reserve(&mut self, attempt: &Attempt<'_>, more: Line) -> Result<Told, Died> {
        let call = attempt.call;
        let claims = attempt.class == Some("continuation");
        let line = Line {
            policy: more.policy,
            approved: more.approved,
            says: claims.then(|| "claimed".to_owned()),
            ..attempt.line(if claims { "round" } else { "admission" })
        };
        // Without an identifier a state is taken that was issued to the same agent.
        let state = call.round.as_ref().and_then(|round| round.state.as_ref());
        if let (None, Some(state)) = (call.id, state)
            && !self.issued.contains(&(call.agent, state.clone()))
        {
            let more = Line {
                policy: line.policy,
                approved: line.approved,
                ..Line::default()
            };
            return self.refused(attempt, "request-state-unknown", more);
        }
        let before = self.lines.len();
        let wrote = self.boundary([line]);
        if self.lines.len() > before {
            self.begun(attempt);
        }
        if wrote? == Wrote::No {
            return Ok(self.unrecorded(attempt));
        }
        self.invoke(call, attempt)
    }

    /// The row that goes with the entry.
    fn begun(&mut self, attempt: &Attempt<'_>) {
        let call = attempt.call;
        let Some(key) = attempt.key() else {
            self.alone.push(call.agent);
            return;
        };
        match self.executions.get_mut(&key) {
            Some(known) => {
                known.state = State::InFlight;
                known.orphan = false;
                known.claimed.extend(call.round.clone());
            }
            None => {
                let execution = Execution {
                    server: call.server,
                    tool: call.tool.clone(),
                    number: call.number.clone(),
                    task: call.task,
                    profile: attempt.profile.clone(),
                    state: State::InFlight,
                    claimed: Vec::new(),
                    asked_in: None,
                    answered: false,
                    orphan: false,
                    kept: None,
                    task_id: None,
                };
                self.executions.insert(key, execution);
            }
        }
    }

    fn invoke(&mut self, call: &Call, attempt: &Attempt<'_>) -> Result<Told, Died> {
        self.arrivals
            .push((call.agent, call.id, call.round.clone()));
        for act in &call.meanwhile {
            let told = self.act(act);
            let word = |_: &Died| Told::word("nothing");
            let heard = told.as_ref().map_or_else(word, Told::clone);
            self.meanwhile.push_back(heard);
            told?;
        }
        match &call.reply {
            Reply::DiesOnArrival | Reply::DiesAfterEffect => Err(Died),
            Reply::Result => self.settle(attempt, "succeeded", "result", None),
            Reply::ToolError => self.settle(attempt, "tool-error", "tool-error", None),
            Reply::Error => self.settle(attempt, "upstream-error", "error", None),
            Reply::Garbage => self.unanswered(attempt, "upstream-unreadable"),
            Reply::HangUp => self.unanswered(attempt, "upstream-closed"),
            Reply::Ask(state) => self.asked(attempt, state),
            Reply::Task(id) if call.task => self.task_opened(attempt, id),
            Reply::Task(_) => self.settle(attempt, "succeeded", "result", None),
        }
    }

    fn unanswered(&mut self, attempt: &Attempt<'_>, code: &str) -> Result<Told, Died> {
        self.settle(attempt, "outcome-unknown", "outcome-unknown", Some(code))
    }

    fn settle(
        &mut self,
        attempt: &Attempt<'_>,
        outcome: &str,
        word: &str,
        code: Option<&str>,
    ) -> Result<Told, Died> {
        let line = Line {
            outcome: Some(outcome.to_owned()),
            code: code.map(str::to_owned),
            ..about("terminal", attempt.call.agent, attempt.call.id)
        };
        let kept = code.is_none().then(|| word.to_owned());
        let after = State::Settled(outcome.to_owned());
        self.ends(attempt, line, word, |known, whole| {
            known.state = after;
            known.answered |= code.is_none();
            known.kept = kept.filter(|_| whole);
        })
    }

    fn asked(&mut self, attempt: &Attempt<'_>, state: &str) -> Result<Told, Died> {
        let call = attempt.call;
        if call.server == Server::Tasks {
            return self.settle(attempt, "succeeded", "result", None);
        }
        if call.id.is_none() {
            return self.settle(attempt, "succeeded", "asked", None);
        }
        self.issued.insert((call.agent, state.to_owned()));
        let line = Line {
            says: Some("asked".to_owned()),
            ..about("round", call.agent, call.id)
        };
        self.ends(attempt, line, "asked", |known, _| {
            known.state = State::Awaiting(state.to_owned());
            known.asked_in.clone_from(&call.round);
            known.answered = true;
        })
    }

    fn task_opened(&mut self, attempt: &Attempt<'_>, id: &str) -> Result<Told, Died> {
        let line = Line {
            says: Some("working".to_owned()),
            ..about("task", attempt.call.agent, attempt.call.id)
        };
        self.ends(attempt, line, "task", |known, _| {
            known.state = State::TaskOpen(id.to_owned());
            known.task_id = Some(id.to_owned());
            known.answered = true;
        })
    }

    /// The second boundary: the outcome and its entry, and only then an answer.
    fn ends(
        &mut self,
        attempt: &Attempt<'_>,
        line: Line,
        word: &str,
        becomes: impl FnOnce(&mut Execution, bool),
    ) -> Result<Told, Died> {
        let before = self.lines.len();
        let wrote = self.boundary([line.clone()]);
        let written = self.lines.len() > before;
        let owed = !written && wrote.is_ok() && !self.failed;
        if owed {
            self.owed.push(line);
        }
        if written || owed {
            match attempt.key() {
                Some(key) => {
                    if let Some(known) = self.executions.get_mut(&key) {
                        becomes(known, written);
                    }
                }
                None => drop(self.alone.pop()),
            }
        }
        Ok(match wrote? {
            Wrote::Yes => Told::word(word),
            Wrote::No => Told::word("settlement-failed"),
        })
    }
}

/// What an attempt at a known execution is, in the order of the table.
fn against(known: &Execution, call: &Call) -> &'static str {
    let same = known.server == call.server
        && known.tool == call.tool
        && known.number == call.number
        && known.task == call.task;
    if !same {
        return "collision";
    }
    let presented: Option<&Round> = call.round.as_ref();
    match (&known.state, presented) {
        (State::Settled(_), _) => "replay",
        (State::Blocked, _) => "blocked",
        (_, Some(round)) if known.claimed.contains(round) => "round-replay",
        (State::Awaiting(_), None) => "round-replay",
        (State::Awaiting(issued), Some(round)) if round.state.as_ref() == Some(issued) => {
            "continuation"
        }
        (State::Awaiting(_), Some(_)) => "continuation-mismatch",
        (State::InFlight | State::TaskOpen(_), _) => "in-flight",
    }
}
