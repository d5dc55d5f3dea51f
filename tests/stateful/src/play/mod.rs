//! Plays a plan on a stage, beside the model: after each act what its sender was
//! told is compared, at the end everything else (`check`). `office` is what its
//! operators do.

mod office;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use countersign_gateway::catalog::office as catalogs;
use countersign_gateway::config::{Config, KeyFrom};
use countersign_gateway::environment::Environment;
use countersign_gateway::export::Wanted;
use countersign_gateway::operator::{self, Office as Answers, OperatorError, api};
use countersign_gateway::rotation;
use countersign_ledger::Selection;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::check;
use crate::client::{Clients, Received};
use crate::model::{Model, Told};
use crate::plan::{Act, Asks, Call, Does, Office, Plan, Server, Status, Step};
use crate::stage::{self, On, Stage};
use crate::upstream::{Script, Upstream};

/// How often it is looked whether what is in force is known, and how many times.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
const LOOKS: usize = 1_200;

/// How long after a look tools are read again, in seconds.
const STALE_S: u64 = 31;

/// What a plan came to.
#[derive(Clone, Debug)]
pub struct Played {
    /// What the sender of the mutated act was told.
    pub finding: String,
    /// Entries that were compared.
    pub entries: usize,
    /// Calls that reached the upstream.
    pub arrivals: usize,
}

/// Plays a plan.
///
/// # Errors
///
/// Everything that is not as the model has it.
///
/// # Panics
///
/// When the stage itself breaks.
pub fn play(plan: &Plan, on: On) -> Result<Played, Vec<String>> {
    let one = |why: String| vec![why];
    let mut player = Player::new(on);
    player.begin().map_err(one)?;
    let mut finding = "nothing".to_owned();
    for (number, step) in plan.steps.iter().enumerate() {
        let told = player
            .step(step)
            .map_err(|why| vec![format!("step {number}: {why}: {step:?}")])?;
        if number == plan.at {
            finding = told.word;
        }
    }
    player.end().map_err(one)?;
    let entries = player.model.lines.len();
    let arrivals = player.model.arrivals.len();
    let broken = check::check(&player);
    if broken.is_empty() {
        Ok(Played {
            finding,
            entries,
            arrivals,
        })
    } else {
        Err(broken)
    }
}

/// What something was received in answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The attempt of this number.
    Attempt(usize),
    /// A question for the answer of an execution: whose, and which.
    Fetch(usize, u8),
}

/// A stage with all that is around it.
pub(crate) struct Player {
    pub(crate) runtime: Runtime,
    pub(crate) upstream: Upstream,
    pub(crate) stage: Stage,
    pub(crate) model: Model,
    clients: Clients,
    attempts: usize,
    /// What each attempt sent, by its number.
    pub(crate) sent: HashMap<usize, String>,
    /// What was received, and in answer to what.
    pub(crate) received: Vec<(Sent, Received)>,
    /// How much had arrived and been received when the ledger was copied.
    copied: Option<(usize, usize)>,
    /// The arrivals of which no copy of the ledger knows that came back.
    pub(crate) lost: BTreeSet<usize>,
    /// The names of what was approved, by its digest.
    pub(crate) approved: HashMap<String, String>,
}

impl Player {
    fn new(on: On) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let upstream = runtime.block_on(Upstream::start());
        let stage = Stage::new(on, &upstream);
        Self {
            runtime,
            upstream,
            stage,
            model: Model::default(),
            clients: Clients::default(),
            attempts: 0,
            sent: HashMap::new(),
            received: Vec::new(),
            copied: None,
            lost: BTreeSet::new(),
            approved: HashMap::new(),
        }
    }

    pub(crate) fn config(&self) -> Config {
        Config::read(&self.stage.folder().join("countersign.toml")).unwrap()
    }

    /// Starts it for the first time, and approves what is offered.
    fn begin(&mut self) -> Result<(), String> {
        self.model.start(None);
        self.stage.start(None)?;
        for server in Server::ALL {
            let without = None;
            let approve = Act::Office(Office::Approve { server, without });
            self.step(&approve.into())?;
        }
        self.warm()
    }

    /// Plays one step; what was told is what was to be told.
    fn step(&mut self, step: &Step) -> Result<Told, String> {
        let expected = self.model.step(step);
        let starts = matches!(
            step.act,
            Act::Restart | Act::Rotate | Act::Profile(_) | Act::Restore
        );
        if let Some(fault) = step.fault.filter(|_| !starts) {
            self.stage.arm(fault);
        }
        let told = self.act(&step.act, step);
        let fired = self.stage.disarm();
        let told = told?;
        if fired != self.model.fired && step.fault.is_some() {
            return Err(format!(
                "its fault was to happen: {}; it did: {fired}",
                self.model.fired
            ));
        }
        if told != expected {
            return Err(format!("told {told:?}, and expected {expected:?}"));
        }
        if let Some(expected) = self.model.meanwhile.pop_front() {
            return Err(format!("{expected:?} was to be told meanwhile"));
        }
        if !self.model.runs {
            self.revive(step, starts)?;
        } else if starts {
            self.clients.forget();
            self.warm()?;
        } else if told.word == "settlement-failed" {
            self.let_it_settle()?;
        } else if told.word == "reload-refused" {
            self.let_it_be_known()?;
        }
        if self.model.writes_later {
            self.let_it_be_written()?;
        }
        Ok(told)
    }

    /// Starts again what died of a step.
    fn revive(&mut self, step: &Step, starting: bool) -> Result<(), String> {
        match step.fault {
            Some(fault) if fault.does == Does::SyncFails && self.model.fired && !starting => {
                self.stage.ended_by_itself()?;
            }
            _ => self.stage.kill(),
        }
        self.clients.forget();
        self.model.start(None);
        self.stage.start(None)?;
        self.warm()
    }

    /// What only the first use of a server causes is over.
    fn warm(&mut self) -> Result<(), String> {
        // A session that begins may bring other tools with it: those of operators and
        // of agents begin now.
        let config = self.config();
        let environment = Environment::system();
        let asked = self.ask(move || {
            let looked = catalogs::look(&config, &environment, None);
            looked
                .map(drop)
                .map_err(|error| OperatorError::Broken(error.to_string()))
        });
        if asked.word != "done" {
            return Err(format!("what is offered cannot be shown: {}", asked.word));
        }
        for server in Server::ALL {
            for agent in [1, 0] {
                let _ = self.request((agent, server), "resources/list", "");
            }
            let looked = self.model.look(server).is_ok();
            let told = self.list(server).word;
            if !looked || told != "result" {
                return Err(format!("the tools of {server:?} cannot be listed: {told}"));
            }
        }
        Ok(())
    }

    /// Time goes by, and the ledger tries again what it keeps. The writer answers
    /// the first export before it does what is due, and the second after that.
    fn let_it_settle(&self) -> Result<(), String> {
        self.stage.later(2);
        let nobody = "call_00000000000000000000000000000000".parse();
        let wanted = Wanted {
            selection: nobody.map_or(Selection::All, Selection::Call),
            salts: false,
        };
        let operator = &self.config().store.operator;
        for _ in 0..2 {
            operator::export(operator, &wanted, &mut Vec::new())
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Where it was not known what came into force, what decides is in the log again.
    fn let_it_be_known(&self) -> Result<(), String> {
        let config = self.config();
        for _ in 0..LOOKS {
            let asked = Answers::open(&config.store, &Environment::system());
            let status = asked.and_then(|answers| answers.status(()));
            let status = status.map_err(|error| error.to_string())?;
            match status.hindrance.as_deref() {
                Some("unsure") => {}
                // Before it is known, the ledger comes back.
                Some("away") => self.stage.later(2),
                _ => return Ok(()),
            }
            std::thread::sleep(LOOK);
        }
        Err("what is in force never becomes known".to_owned())
    }

    /// What the ledger did not take of a server's tools is in the log.
    fn let_it_be_written(&self) -> Result<(), String> {
        let (config, wanted) = (self.config(), self.model.lines.len());
        for _ in 0..LOOKS {
            let asked = Answers::open(&config.store, &Environment::system());
            let status = asked.and_then(|answers| answers.status(()));
            let status = status.map_err(|error| error.to_string())?;
            if usize::try_from(status.size).is_ok_and(|size| size >= wanted) {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("the log never comes to {wanted} entries"))
    }

    /// Everything comes to rest.
    fn end(&mut self) -> Result<(), String> {
        if self.model.is_rolled_back() {
            self.step(&Act::Office(Office::Accept).into())?;
        }
        self.model.stop();
        self.stage.stop()
    }

    fn act(&mut self, act: &Act, step: &Step) -> Result<Told, String> {
        let done = || Ok(Told::word("done"));
        match act {
            Act::Call(call) => self.call(call),
            Act::Task(agent, id, asks) => Ok(self.about_task(*agent, id, *asks)),
            Act::Fetch(agent, server, id) => {
                let params = format!(r#""execution_id":"e{id}""#);
                let to = (*agent, *server);
                let received = self.request(to, "countersign.dev/answer", &params);
                let told = received.told();
                self.received.push((Sent::Fetch(*agent, *id), received));
                Ok(told)
            }
            Act::Pass(agent, server, method) => {
                Ok(self.request((*agent, *server), method, "").told())
            }
            Act::Office(office) => Ok(self.office(office.clone())),
            Act::Policies(number) => {
                stage::policies_into(&self.stage.folder(), *number);
                done()
            }
            Act::Tools(server, version) => {
                self.upstream.offer(*server, *version);
                done()
            }
            Act::Look(server) => {
                self.stage.later(STALE_S);
                Ok(self.list(*server))
            }
            Act::Restart => self.restart(step, |_| Ok("done".to_owned())),
            Act::Profile(name) => self.restart(step, |player| {
                player.stage.profile(name);
                Ok("done".to_owned())
            }),
            Act::Rotate => self.restart(step, |player| {
                let config = player.config();
                let rotated = rotation::rotate(&config.store, None, &Environment::system());
                Ok(match rotated {
                    Ok(_) => "done".to_owned(),
                    Err(rotation::RotationError::Ledger(error)) => error.code().to_owned(),
                    Err(error) => error.to_string(),
                })
            }),
            Act::Kill => {
                self.stage.kill();
                Ok(Told::word("nothing"))
            }
            Act::Keep => Ok(self.keep()),
            Act::Restore => self.restart(step, |player| {
                let kept = player.kept();
                if kept.exists() {
                    player.forgets();
                    let path = player.stage.folder().join("countersign.db");
                    for ending in ["", "-wal", "-shm"] {
                        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
                    }
                    // With the key of then: the log goes on under no other.
                    for (from, to) in [(kept, path), (player.kept_key(), player.key_file())] {
                        std::fs::copy(from, to).map_err(|error| error.to_string())?;
                    }
                }
                Ok("done".to_owned())
            }),
        }
    }

    /// Stopped in good order, and started again; in between something is done.
    fn restart(
        &mut self,
        step: &Step,
        between: impl FnOnce(&mut Self) -> Result<String, String>,
    ) -> Result<Told, String> {
        self.stage.stop()?;
        let word = between(self)?;
        match self.stage.start(step.fault) {
            Ok(()) => Ok(Told::word(&word)),
            Err(_) if step.fault.is_some() => Ok(Told::word("nothing")),
            Err(why) => Err(why),
        }
    }

    fn call(&mut self, call: &Call) -> Result<Told, String> {
        let number = self.attempts;
        self.attempts += 1;
        let (held, holds) = if call.meanwhile.is_empty() {
            (None, None)
        } else {
            let (arrived, arrives) = oneshot::channel();
            let (go_on, going_on) = oneshot::channel();
            (Some((arrived, going_on)), Some((arrives, go_on)))
        };
        self.upstream.script(Script {
            reply: call.reply.clone(),
            ends: self.stage.ends(),
            held,
        });
        let to = self.stage.address();
        let ready = self.runtime.block_on(self.clients.call(to, call, number));
        self.sent.insert(number, ready.body.clone());
        let died = self.stage.died();
        let received = match holds {
            None => self.runtime.block_on(ready.send(died)),
            Some((arrives, go_on)) => {
                let mut sending = self.runtime.spawn(ready.send(died));
                let arrived = self.runtime.block_on(async {
                    tokio::select! {
                        biased;
                        arrived = arrives => arrived.is_ok(),
                        received = &mut sending => return Err(received.unwrap()),
                    }
                    .then_some(())
                    .ok_or_else(Received::default)
                });
                match arrived {
                    Ok(()) => {
                        for act in &call.meanwhile {
                            let told = self.act(act, &act.clone().into())?;
                            let expected = self.model.meanwhile.pop_front();
                            if Some(&told) != expected.as_ref() {
                                let why = format!("told {told:?}, and expected {expected:?}");
                                return Err(format!("meanwhile {why}: {act:?}"));
                            }
                            if !self.model.runs {
                                break;
                            }
                        }
                        let _ = go_on.send(());
                        self.runtime.block_on(sending).unwrap()
                    }
                    Err(received) => received,
                }
            }
        };
        let told = received.told();
        self.received.push((Sent::Attempt(number), received));
        Ok(told)
    }

    fn request(&mut self, from: (usize, Server), method: &str, params: &str) -> Received {
        let to = self.stage.address();
        let ready = self
            .runtime
            .block_on(self.clients.request(to, from, method, params));
        self.runtime.block_on(ready.send(self.stage.died()))
    }

    fn list(&mut self, server: Server) -> Told {
        self.request((0, server), "tools/list", "").told()
    }

    fn about_task(&mut self, agent: usize, id: &str, asks: Asks) -> Told {
        let (method, status) = match asks {
            Asks::Get(status) => ("tasks/get", status),
            Asks::Result => ("tasks/result", Status::Completed),
            Asks::Cancel => ("tasks/cancel", Status::Cancelled),
        };
        self.upstream.task_is(status);
        let params = format!(r#""taskId":"{id}""#);
        self.request((agent, Server::Tasks), method, &params).told()
    }

    fn kept(&self) -> PathBuf {
        self.stage.folder().join("kept.db")
    }

    /// What arrived and was received since the ledger was copied is in no entry
    /// of the copy.
    fn forgets(&mut self) {
        let (arrived, received) = self.copied.unwrap_or_default();
        self.lost.extend(arrived..self.upstream.arrivals().len());
        for (_, received) in &mut self.received[received..] {
            received.lost = true;
        }
    }

    fn keep(&mut self) -> Told {
        self.copied = Some((self.upstream.arrivals().len(), self.received.len()));
        let file = self.kept();
        let _ = std::fs::remove_file(&file);
        let file = file.display().to_string();
        std::fs::copy(self.key_file(), self.kept_key()).unwrap();
        let config = self.config();
        self.ask(move || {
            let office = Answers::open(&config.store, &Environment::system())?;
            office.backup(api::Backup { file }).map(drop)
        })
    }

    fn key_file(&self) -> PathBuf {
        match self.config().store.key {
            KeyFrom::File(path) => path,
            KeyFrom::Variable(name) => panic!("the key is in `{name}`"),
        }
    }

    fn kept_key(&self) -> PathBuf {
        self.kept().with_extension("key")
    }
}
