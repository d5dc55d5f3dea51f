//! One running process: what is written to it, and what it says.
//!
//! `ending` knows when it has ended, and ends it. `waiting` knows who waits for which of its lines. What it asks goes to a
//! client only where every request that is open is of that client's session:
//! one stream for all of them does not say for whose it asks.

use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use countersign_evidence::{Agent, ServerName};
use countersign_ledger::SendGate;
use countersign_mcp::capability::Offer;
use countersign_mcp::{envelope, incoming};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::ChildStdin;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Command;
use super::ending::{self, Alive};
use super::waiting::{Desk, Waiting, Whose};
use crate::delivery::Line;
use crate::upstream::asked::Asked;
use crate::upstream::conversation::{Around, Step, about, step};
use crate::upstream::{Reason, Signals, Topic, Trace};

/// One message, in bytes.
const MOST_BYTES: u64 = 10_485_760;
/// How long it may take to read what goes back to what it said. Meanwhile it is
/// not listened to, and may itself wait for that.
const RESPOND: Duration = Duration::from_secs(5);

/// A process that was started.
pub(in crate::upstream) struct Process {
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    desk: Desk,
    started: Instant,
    /// When it was found to have ended, or was told to.
    ended: watch::Sender<Option<Instant>>,
    server: ServerName,
    agent: Agent,
    offer: OnceLock<Offer>,
}

/// A process that was started and is not greeted yet; ended where that comes to
/// nothing, so that none is left behind.
pub(super) struct Starting {
    process: Arc<Process>,
    done: bool,
}

impl Process {
    /// Starts the process and listens to it.
    pub(super) fn start(
        server: &ServerName,
        agent: &Agent,
        command: &Command,
        signals: Signals,
        alive: Alive,
    ) -> Result<Starting, Reason> {
        let mut starting = tokio::process::Command::new(&command.program);
        starting
            .args(&command.arguments)
            .env_clear()
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What a terminal sends to the gateway's group is for the gateway,
            // which lets calls end first.
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &command.folder {
            starting.current_dir(folder);
        }
        let mut child = starting.spawn().map_err(|error| {
            tracing::warn!(%server, program = command.program, "cannot start: {error}");
            Reason::Unreachable
        })?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Reason::Unreachable);
        };
        let process = Arc::new(Self {
            input: tokio::sync::Mutex::new(Some(input)),
            desk: Desk::default(),
            started: Instant::now(),
            ended: watch::Sender::new(None),
            server: server.clone(),
            agent: agent.clone(),
            offer: OnceLock::new(),
        });
        tokio::spawn(log(server.clone(), errors));
        let heard = tokio::spawn(listen(Arc::clone(&process), output, signals));
        tokio::spawn(ending::watch(Arc::clone(&process), child, heard, alive));
        Ok(Starting {
            process,
            done: false,
        })
    }

    /// Keeps what it said that it offers.
    pub(super) fn offers(&self, offer: Offer) {
        let _ = self.offer.set(offer);
    }

    /// What it said that it offers.
    pub(super) fn offer(&self) -> Offer {
        self.offer.get().copied().unwrap_or_default()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Nothing is said to it any more, and whoever comes finds another one;
    /// `ending` sees to it that it ends.
    pub(super) fn end(&self) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(Instant::now);
            first
        });
    }

    /// Resolves once it has ended, or was told to.
    pub(super) async fn over(&self) {
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }

    pub(super) fn server(&self) -> &ServerName {
        &self.server
    }

    /// Closes its input, unless somebody writes to it for longer than that.
    pub(super) async fn close_input(&self, within: Duration) {
        if let Ok(mut input) = tokio::time::timeout(within, self.input.lock()).await {
            input.take();
        }
    }

    /// How long it lived, and when it ended; none while it runs.
    pub(super) fn life(&self) -> Option<(Duration, Instant)> {
        let ended = (*self.ended.borrow())?;
        Some((ended.saturating_duration_since(self.started), ended))
    }

    /// Mints an id and waits under it, for the client on `line`, once `trace` says
    /// that the request has begun to leave.
    pub(super) fn register(self: &Arc<Self>, line: Option<Line>, trace: &Trace) -> Waiting {
        Waiting::new(Arc::clone(self), line, trace.clone())
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Writes one message and its line end, whole, and no other line end. A process
    /// that takes no more is ended, also where it would live on.
    pub(super) async fn write(
        self: &Arc<Self>,
        mut message: Vec<u8>,
        gate: Option<&SendGate>,
        trace: &Trace,
    ) -> Result<(), Reason> {
        envelope::on_one_line(&mut message);
        message.push(b'\n');
        let mut input = self.input.lock().await;
        if self.has_ended() {
            return Err(Reason::Closed);
        }
        // Taken out while it is written to: a write that is broken off in the
        // middle of a line must not be followed by another.
        let Some(mut stream) = input.take() else {
            return Err(self.deaf());
        };
        if trace.pass(gate).is_err() {
            *input = Some(stream);
            return Err(Reason::ReservationLost);
        }
        stream.write_all(&message).await.map_err(|_| self.deaf())?;
        stream.flush().await.map_err(|_| self.deaf())?;
        *input = Some(stream);
        Ok(())
    }

    /// Writes a message that has no answer, where it can be.
    pub(in crate::upstream) async fn tell(self: &Arc<Self>, body: Vec<u8>) {
        let _ = self.write(body, None, &Trace::default()).await;
    }

    /// Nothing can be said to it any more.
    fn deaf(&self) -> Reason {
        self.end();
        Reason::Closed
    }

    /// Writes what goes back to something that it said. A write that takes too
    /// long is broken off, which closes its input and so ends it.
    async fn respond(self: &Arc<Self>, back: Vec<u8>) {
        let trace = Trace::default();
        let written = self.write(back, None, &trace);
        if tokio::time::timeout(RESPOND, written).await.is_err() {
            tracing::warn!(server = %self.server, "it does not read what goes back to it");
        }
    }
}

impl Starting {
    pub(super) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// It was greeted.
    pub(super) fn done(mut self) -> Arc<Process> {
        self.done = true;
        Arc::clone(&self.process)
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.done {
            self.process.end();
        }
    }
}

/// Reads lines until the process closes its output or breaks the rules.
async fn listen(process: Arc<Process>, output: impl AsyncRead + Unpin, signals: Signals) {
    let mut output = BufReader::new(output);
    let mut asked = Asked::default();
    let mut line = Vec::new();
    loop {
        // What was read of a line stays in it when an answer comes in between.
        let room = (MOST_BYTES + 2).saturating_sub(line.len() as u64);
        let mut rest = (&mut output).take(room);
        let read = tokio::select! {
            biased;
            read = rest.read_until(b'\n', &mut line) => read,
            answer = asked.next() => {
                process.respond(answer).await;
                continue;
            }
        };
        if !matches!(read, Ok(1..)) || line.pop_if(|byte| *byte == b'\n').is_none() {
            break;
        }
        let line = std::mem::take(&mut line);
        if !line.iter().all(u8::is_ascii_whitespace)
            && let Some(back) = process.hear(line, &signals, &mut asked)
        {
            process.respond(back).await;
        }
        // Whoever waits for these lines may have to run on this thread.
        tokio::task::coop::consume_budget().await;
    }
    process.desk.close();
    process.end();
}

impl Process {
    /// What goes back to one line at once; whoever waits for it is given it.
    fn hear(&self, line: Vec<u8>, signals: &Signals, asked: &mut Asked) -> Option<Vec<u8>> {
        let Ok(document) = incoming::read(&line) else {
            // Programs write to the wrong stream; an answer among such lines is
            // missed, and its call ends without one.
            tracing::warn!(server = %self.server, "a line that cannot be read; dropped");
            return None;
        };
        let message = incoming::message(&document).ok()?;
        let mut whose = None;
        match &message {
            incoming::Incoming::Reply { .. } => {
                drop(document);
                if let Ok(Some(id)) = about(&line)
                    && !self.desk.reply(id, line)
                {
                    tracing::warn!(server = %self.server, "an answer that nobody waits for");
                }
                return None;
            }
            incoming::Incoming::Notification { method, params } => {
                let tools = Topic::of(*method, *params) == Some(Topic::Tools);
                // It is about one request, whose waiting side reads it.
                if let Ok(Some(id)) = about(&line) {
                    drop(document);
                    if !self.desk.note(id, line) && tools {
                        // That is looked into, whoever it was told.
                        signals.tools_changed.fetch_add(1, Ordering::SeqCst);
                    }
                    return None;
                }
            }
            incoming::Incoming::Request { .. } => whose = self.desk.whose(),
        }
        let around = Around {
            agent: &self.agent,
            ours: None,
            line: whose.as_ref().map(Whose::line),
            signals,
        };
        match step(message, around) {
            Step::Respond(back) => Some(back),
            Step::Asked(id, pending, line) => {
                let ended = whose.map(Whose::ended);
                asked.add(id.raw(), pending, line, async move {
                    match ended {
                        Some(ended) => ended.await,
                        None => std::future::pending().await,
                    }
                });
                None
            }
            Step::Withdrawn(id) => {
                asked.withdraw(id.raw());
                None
            }
            Step::Answer(_) | Step::GoOn => None,
        }
    }
}

/// What a server writes to its standard error, line by line. These are its own
/// words, arguments and secrets among them as it likes: they are logged where an
/// operator asks for them.
async fn log(server: ServerName, errors: impl AsyncRead + Unpin) {
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        let read = (&mut errors).take(8_192).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        tracing::debug!(target: "server_stderr", %server, "{}", String::from_utf8_lossy(&line).trim_end());
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
