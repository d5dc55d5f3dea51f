//! What must come of each act, by the specification alone.
//!
//! The model shares nothing with the gateway. It knows executions by what was
//! asked for and never by digests, and it says two things of every act: what its
//! sender is told, and which entries the log gains. `docs/spec/executions.md` §3
//! is `call`, §4 is [`Model::boundary`], §6 is `task`; `office` is what operators
//! do, `start` what a start finds.

mod call;
mod line;
mod office;
mod start;
mod task;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::plan::{AGENTS, Act, Does, Fault, Round, Server, Step};
pub use line::Line;

/// What an act's sender is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// `result`, `tool-error`, `error`, `asked`, `task`, `done`, `nothing`, or a code.
    pub word: String,
    /// Whether another identifier is said to be safe.
    pub safe: bool,
}

impl Told {
    /// A word, and nothing is said to be safe.
    #[must_use]
    pub fn word(word: &str) -> Self {
        Self {
            word: word.to_owned(),
            safe: false,
        }
    }
}

/// Where an execution stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    /// Asked, with this state.
    Awaiting(String),
    /// A task of this name runs.
    TaskOpen(String),
    Blocked,
    Settled(String),
}

/// One execution.
#[derive(Clone, Debug)]
struct Execution {
    server: Server,
    tool: String,
    number: String,
    task: bool,
    profile: String,
    state: State,
    claimed: Vec<Round>,
    /// The round in answer to which the upstream asked last.
    asked_in: Option<Round>,
    /// Whether the upstream has ever answered.
    answered: bool,
    /// Whether its owner is gone.
    orphan: bool,
    /// Whether its answer is kept, and which word it is.
    kept: Option<String>,
    /// The task that it became.
    task_id: Option<String>,
}

/// What of a server's tools is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Approved {
    version: u8,
    without: Option<String>,
}

impl Approved {
    fn name(&self) -> String {
        let Self { version, without } = self;
        match without {
            None => format!("v{version}"),
            Some(tool) => format!("v{version}-without-{tool}"),
        }
    }
}

/// The gateway died; nobody was told anything.
#[derive(Debug)]
pub struct Died;

/// Whether what was to be written is durable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Yes,
    No,
}

/// The whole model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Every entry that the log must hold, in order.
    pub lines: Vec<Line>,
    /// How often each execution's rounds may have reached the upstream.
    pub arrivals: Vec<(usize, Option<u8>, Option<Round>)>,
    executions: BTreeMap<(usize, u8), Execution>,
    /// Those of attempts without identifier that are in flight: whose.
    alone: Vec<usize>,
    policy: u8,
    policies_on_disk: u8,
    profile: String,
    offered: BTreeMap<Server, u8>,
    discovered: BTreeMap<Server, u8>,
    /// The servers of whose tools the log is to be told as soon as it can be.
    unfound: BTreeSet<Server>,
    /// Whether the last step leaves entries that the gateway writes by itself.
    pub writes_later: bool,
    approved: BTreeMap<Server, Approved>,
    /// What the lock on the disk says.
    lock: BTreeMap<Server, Approved>,
    observed: BTreeMap<String, String>,
    /// The states that upstreams issued, and to whom.
    issued: BTreeSet<(usize, String)>,
    suppressed: BTreeMap<(usize, String), u64>,
    rolled_back: bool,
    restored: bool,
    failed: bool,
    /// Whether it runs.
    pub runs: bool,
    kept: Option<Box<Model>>,
    attempts: usize,
    fault: Option<Fault>,
    boundary: usize,
    /// Whether the fault of the act has happened.
    pub fired: bool,
    /// Settlements that failed, and what decides where something else may be in the
    /// log: written once that is possible.
    owed: Vec<Line>,
    /// What the senders of acts during a call are told, in order.
    pub meanwhile: VecDeque<Told>,
    /// The attempts that are asked again what they were asked: with the question
    /// as it was kept, which holds no receipt.
    pub asked_again: BTreeSet<usize>,
}

impl Default for Model {
    /// Nothing was ever started.
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            arrivals: Vec::new(),
            executions: BTreeMap::new(),
            alone: Vec::new(),
            policy: 0,
            policies_on_disk: 0,
            profile: "exact@1.0.0".to_owned(),
            offered: Server::ALL.into_iter().map(|server| (server, 0)).collect(),
            discovered: BTreeMap::new(),
            unfound: BTreeSet::new(),
            writes_later: false,
            approved: BTreeMap::new(),
            lock: BTreeMap::new(),
            observed: BTreeMap::new(),
            issued: BTreeSet::new(),
            suppressed: BTreeMap::new(),
            rolled_back: false,
            restored: false,
            failed: false,
            runs: false,
            kept: None,
            attempts: 0,
            fault: None,
            boundary: 0,
            fired: false,
            owed: Vec::new(),
            meanwhile: VecDeque::new(),
            asked_again: BTreeSet::new(),
        }
    }
}

impl Model {
    /// What a step's sender is told; the log has grown by then.
    pub fn step(&mut self, step: &Step) -> Told {
        self.fault = step.fault;
        self.boundary = 0;
        self.fired = false;
        self.writes_later = false;
        self.meanwhile.clear();
        let told = self.act(&step.act).unwrap_or_else(|Died| self.dies());
        self.fault = None;
        if self.failed {
            self.dies();
        } else {
            // Settling is tried again while the process lives.
            self.lines.append(&mut self.owed);
            self.writes_later = !self.rolled_back && !self.unfound.is_empty();
            if self.writes_later {
                for server in std::mem::take(&mut self.unfound) {
                    self.lines.extend(self.found(server));
                }
            }
        }
        told
    }

    /// Whether nothing is admitted before an operator accepts it.
    #[must_use]
    pub fn is_rolled_back(&self) -> bool {
        self.rolled_back
    }

    /// Whether a copy of the ledger was ever put in its place.
    #[must_use]
    pub fn was_restored(&self) -> bool {
        self.restored
    }

    /// The version of its tools that a server offers.
    #[must_use]
    pub fn offers(&self, server: Server) -> u8 {
        self.offered[&server]
    }

    fn dies(&mut self) -> Told {
        self.runs = false;
        self.owed.clear();
        Told::word("nothing")
    }

    fn act(&mut self, act: &Act) -> Result<Told, Died> {
        Ok(match act {
            Act::Call(call) => return self.call(call),
            Act::Task(agent, id, asks) => return self.about_task(*agent, id, *asks),
            Act::Fetch(agent, server, id) => return self.fetch(*agent, *server, *id),
            Act::Pass(agent, _, method) => return self.pass(*agent, method),
            Act::Office(office) => return self.office(office),
            Act::Policies(number) => {
                self.policies_on_disk = *number;
                Told::word("done")
            }
            Act::Tools(server, version) => {
                self.offered.insert(*server, *version);
                Told::word("done")
            }
            Act::Look(server) => return self.look(*server),
            Act::Restart => return self.restart(),
            Act::Rotate => return self.rotate(),
            Act::Profile(name) => {
                self.profile.clone_from(name);
                return self.restart();
            }
            Act::Kill => return Err(Died),
            Act::Keep => {
                let mut copy = self.clone();
                copy.kept = None;
                self.kept = Some(Box::new(copy));
                Told::word("done")
            }
            Act::Restore => return self.restore(),
        })
    }

    /// A durable boundary: these entries are written in one transaction with
    /// what they are about, or nothing of it is.
    fn boundary(&mut self, lines: impl IntoIterator<Item = Line>) -> Result<Wrote, Died> {
        if self.failed || self.rolled_back {
            return Ok(Wrote::No);
        }
        let fault = self.fault.filter(|fault| {
            fault.boundary == self.boundary
                || fault.does == Does::DiskFull && fault.boundary < self.boundary
        });
        self.boundary += 1;
        let Some(fault) = fault else {
            self.lines.extend(lines);
            return Ok(Wrote::Yes);
        };
        self.fired = true;
        match fault.does {
            Does::DiesBefore => Err(Died),
            Does::DiesAfter => {
                self.lines.extend(lines);
                Err(Died)
            }
            Does::CommitLost | Does::DiskFull => Ok(Wrote::No),
            Does::Unacknowledged => {
                self.lines.extend(lines);
                Ok(Wrote::Yes)
            }
            Does::SyncFails => {
                self.failed = true;
                Ok(Wrote::No)
            }
        }
    }

    /// The code where nothing can be written.
    fn unavailable(&self) -> &'static str {
        if self.rolled_back {
            "ledger-rolled-back"
        } else {
            "ledger-unavailable"
        }
    }

    /// A refusal of what was not bound: in the log, or counted.
    fn unread(&mut self, agent: usize, code: &str) -> Result<Told, Died> {
        let line = Line {
            agent: Some(AGENTS[agent].to_owned()),
            code: Some(code.to_owned()),
            ..Line::of("refusal")
        };
        if self.boundary([line])? == Wrote::No {
            self.suppress(agent, code);
        }
        Ok(Told::word(code))
    }

    fn suppress(&mut self, agent: usize, code: &str) {
        *self.suppressed.entry((agent, code.to_owned())).or_default() += 1;
    }

    /// A request that is no call: passed on where an operator lets it pass.
    fn pass(&mut self, agent: usize, method: &str) -> Result<Told, Died> {
        match method {
            "resources/list" => Ok(Told::word("result")),
            _ => self.unread(agent, "method-not-supported"),
        }
    }

    /// A settled answer is its owner's, where it was kept.
    fn fetch(&mut self, agent: usize, server: Server, id: u8) -> Result<Told, Died> {
        let known = self.executions.get(&(agent, id));
        let known = known.filter(|known| known.server == server);
        let code = match known.map(|known| (&known.state, &known.kept)) {
            None => "execution-unknown",
            Some((State::Settled(_), Some(word))) => return Ok(Told::word(&word.clone())),
            Some((State::Settled(_), None)) => "answer-not-retained",
            Some((State::Blocked, _)) => "blocked",
            Some(_) => "in-flight",
        };
        let safe = known.is_some_and(|known| known.state == State::Settled("not-attempted".into()));
        let told = self.unread(agent, code)?;
        Ok(Told { safe, ..told })
    }
}
