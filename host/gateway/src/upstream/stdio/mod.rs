//! An upstream that is a process of our own: one JSON message a line.
//!
//! Each agent has a process to itself, started at its first use and again
//! after it ended; `place` says when, and `ending` how it ends. It is given a clean environment, and what
//! it writes to its standard error goes to the log of the gateway, as `server_stderr`.

mod ending;
mod place;
mod process;
mod waiting;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use countersign_canon::document::Item;
use countersign_evidence::{Agent, ServerName};
use countersign_mcp::capability::Offer;
use countersign_mcp::incoming;
use countersign_mcp::{Revision, envelope};

use self::ending::Living;
use self::place::Place;
pub(super) use self::process::Process;
use super::breaker::Unready;
use super::conversation::{Around, Step, step};
use super::seats::{Seated, Seats};
use super::slot::Slot;
use super::{Exchange, IDENTITY, Read, Reason, Request, Signals, Trace, Way};
use crate::config::Patience;

/// Processes of one server, of all agents together.
const MOST_PROCESSES: usize = 64;

/// An agent's process, while somebody uses it.
pub(crate) type Taken = Seated<Seat>;

/// What is started.
#[derive(Clone)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) folder: Option<PathBuf>,
}

/// What belongs to one agent.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    place: Slot<Place>,
    /// The process that was greeted last, for whoever only asks whether it runs:
    /// the place may be waited for.
    last: Mutex<Weak<Process>>,
}

#[derive(Debug)]
pub(super) struct Stdio {
    server: ServerName,
    command: Command,
    /// With which clients' capabilities an upstream is greeted, in JSON.
    capabilities: Vec<u8>,
    patience: Patience,
    connect_timeout: Duration,
    signals: Signals,
    seats: Seats<Seat>,
    living: Living,
}

impl Seat {
    fn end(&self) {
        if let Some(process) = self.last().upgrade() {
            process.end();
        }
    }

    fn last(&self) -> MutexGuard<'_, Weak<Process>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stdio {
    pub(super) fn new(
        server: ServerName,
        command: Command,
        capabilities: Vec<u8>,
        patience: Patience,
        connect_timeout: Duration,
        signals: Signals,
    ) -> Self {
        Self {
            server,
            command,
            capabilities,
            patience,
            connect_timeout,
            signals,
            seats: Seats::new(MOST_PROCESSES),
            living: Living::default(),
        }
    }

    /// The agent's place; the process whose place makes room for it ends.
    fn seat(&self, agent: &Agent) -> Result<Taken, Reason> {
        // What has been given up may take its time to end.
        if self.seats.find(agent).is_none() && self.living.count() >= 2 * MOST_PROCESSES {
            return Err(Reason::Crowded);
        }
        let (seat, given_up) = self.seats.take(agent)?;
        given_up.iter().for_each(Seat::end);
        Ok(seat)
    }

    /// Keeps the agent's process, where there is one, from making room.
    pub(super) fn hold(&self, agent: &Agent) -> Option<Taken> {
        self.seats.find(agent)
    }

    /// Ends the processes that nobody has used for so long.
    pub(super) fn tidy(&self, idle: Duration) {
        self.seats.give_up(idle).iter().for_each(Seat::end);
    }

    /// Whether the agent's process runs; false while it is being started.
    pub(super) fn runs(&self, agent: &Agent) -> bool {
        let process = self
            .seats
            .find(agent)
            .and_then(|seat| seat.last().upgrade());
        process.is_some_and(|process| !process.has_ended())
    }

    /// Starts the agent's process where there is none.
    pub(super) async fn prepare(&self, agent: &Agent, revision: Revision) -> Result<(), Unready> {
        let seat = self.seat(agent)?;
        self.ready(&seat, agent, revision).await.map(drop)
    }

    /// What the agent's process said that it offers.
    pub(super) async fn offer(&self, agent: &Agent, revision: Revision) -> Result<Offer, Reason> {
        let seat = self.seat(agent)?;
        match self.ready(&seat, agent, revision).await {
            Ok(process) => Ok(process.offer()),
            Err(unready) => Err(unready.reason),
        }
    }

    /// The agent's process, started and greeted where there is none.
    async fn ready(
        &self,
        seat: &Seat,
        agent: &Agent,
        revision: Revision,
    ) -> Result<Arc<Process>, Unready> {
        let mut place = seat.place.turn().await;
        if let Some(process) = place.running() {
            return Ok(process);
        }
        place.may_start(&self.server, self.patience)?;
        let starting = async {
            let alive = self.living.enter().ok_or(Reason::ShuttingDown)?;
            let signals = self.signals.clone();
            let starting = Process::start(&self.server, agent, &self.command, signals, alive)?;
            if revision.has_sessions() {
                let offer = greet(starting.process(), revision, &self.capabilities).await?;
                starting.process().offers(offer);
            }
            Ok(starting.done())
        };
        let process = place.attempt(self.connect_timeout, starting).await?;
        self.signals.greeted();
        *seat.last() = Arc::downgrade(&process);
        Ok(place.take(process))
    }

    pub(super) async fn exchange<T: Send>(
        &self,
        agent: &Agent,
        revision: Revision,
        request: Request<'_>,
        trace: &Trace,
        read: impl Read<T>,
    ) -> Exchange<T> {
        let seat = match self.seat(agent) {
            Ok(seat) => seat,
            Err(reason) => return Exchange::NotSent(reason),
        };
        let process = match self.ready(&seat, agent, revision).await {
            Ok(process) => process,
            Err(unready) => return Exchange::NotSent(unready.reason),
        };
        let mut waiting = process.register(request.line.clone(), trace);
        let id = waiting.id();
        trace.goes(Way::Process(Arc::clone(&process)), id);
        let Some(body) = (request.body)(id) else {
            return Exchange::NotSent(Reason::Unwritable);
        };
        if let Err(reason) = process.write(body, request.gate.as_ref(), trace).await {
            return if trace.left() {
                Exchange::Unanswered {
                    reason,
                    received: false,
                }
            } else {
                Exchange::NotSent(reason)
            };
        }
        let mut read = Some(read);
        while let Some(line) = waiting.next().await {
            let unreadable = Exchange::Unanswered {
                reason: Reason::Unreadable,
                received: true,
            };
            let Ok(document) = incoming::read(&line) else {
                return unreadable;
            };
            let Ok(message) = incoming::message(&document) else {
                return unreadable;
            };
            let around = Around {
                agent,
                ours: Some(id),
                line: request.line.as_ref(),
                signals: &self.signals,
            };
            if let Step::Answer(answer) = step(message, around) {
                return match read.take().and_then(|read| read(answer)) {
                    Some(value) => Exchange::Answered(value),
                    None => unreadable,
                };
            }
        }
        Exchange::Unanswered {
            reason: Reason::Closed,
            received: false,
        }
    }

    /// Writes a message that has no answer to the process that the agent has now.
    pub(super) async fn tell(&self, agent: &Agent, body: Vec<u8>) {
        let Some(seat) = self.seats.find(agent) else {
            return;
        };
        let process = seat.place.turn().await.running();
        if let Some(process) = process {
            process.tell(body).await;
        }
    }

    /// Ends all processes at once, also those that are being started; no more
    /// are started then.
    pub(super) async fn close(&self) {
        self.living.end().await;
    }
}

async fn greet(
    process: &Arc<Process>,
    revision: Revision,
    capabilities: &[u8],
) -> Result<Offer, Reason> {
    let trace = Trace::default();
    let mut waiting = process.register(None, &trace);
    let params = IDENTITY.greeting(revision, capabilities);
    let body = envelope::message(Some(waiting.id()), "initialize", Some(&params));
    process.write(body, None, &trace).await?;
    let line = waiting.next().await.ok_or(Reason::Unreachable)?;
    let agreed = agreed(&line, waiting.id()).filter(|(agreed, _)| agreed.has_sessions());
    let Some((_, offer)) = agreed else {
        tracing::warn!("the server did not answer `initialize`");
        return Err(Reason::Unreachable);
    };
    let body = envelope::message(None, "notifications/initialized", None);
    process.write(body, None, &Trace::default()).await?;
    Ok(offer)
}

fn agreed(line: &[u8], ours: u64) -> Option<(Revision, Offer)> {
    let document = incoming::read(line).ok()?;
    let incoming::Incoming::Reply {
        id,
        answer: Ok(result),
    } = incoming::message(&document).ok()?
    else {
        return None;
    };
    let version = result.get("protocolVersion").and_then(Item::text)?;
    let revision = version.parse().ok()?;
    incoming::is_ours(id, ours).then(|| (revision, Offer::of(result)))
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and variables may hold secrets.
        f.debug_struct("Command")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What reads and says nothing; without sessions nobody greets it.
    pub(super) fn stdio() -> Stdio {
        let (_, hurry) = tokio::sync::watch::channel(false);
        let command = Command {
            program: "/bin/cat".to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            folder: None,
        };
        let patience = Patience {
            failures: 1,
            first: SECOND,
            longest: SECOND,
        };
        let signals = Signals {
            tools_changed: Arc::default(),
            greeted: Arc::default(),
            news: crate::upstream::news::Desk::default(),
            hurry,
        };
        let name = ServerName::new("up").unwrap();
        Stdio::new(name, command, Vec::new(), patience, SECOND, signals)
    }

    #[tokio::test]
    async fn a_process_that_runs_is_seen_to_run_whoever_has_its_place() {
        let (stdio, revision) = (stdio(), Revision::R2026_07_28);
        let [agent, other] = ["a", "b"].map(|name| Agent {
            method: "token".to_owned(),
            issuer: String::new(),
            subject: name.to_owned(),
        });
        assert!(!stdio.runs(&agent));
        stdio.prepare(&agent, revision).await.unwrap();
        let seat = stdio.seat(&agent).unwrap();
        let held = seat.place.turn().await;
        assert!(stdio.runs(&agent));
        assert!(!stdio.runs(&other));
        let process = held.running().unwrap();
        process.end();
        drop(held);
        for _ in 0..400 {
            if process.has_ended() {
                break;
            }
            tokio::time::sleep(SECOND / 100).await;
        }
        assert!(!stdio.runs(&agent), "it ended");
    }

    #[test]
    fn of_a_command_the_program_is_shown_and_nothing_that_may_be_a_secret() {
        let command = Command {
            program: "/bin/cat".to_owned(),
            arguments: vec!["--key=hunter2".to_owned()],
            variables: vec![("KEY".to_owned(), "hunter2".to_owned())],
            folder: None,
        };
        let shown = format!("{command:?}");
        assert!(
            shown.contains("/bin/cat") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
