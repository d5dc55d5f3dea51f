//! One running process, and who waits for which of its lines.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use countersign_evidence::{Agent, ServerName};
use countersign_ledger::SendGate;
use countersign_mcp::capability::Offer;
use countersign_mcp::incoming;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;

use super::Command;
use crate::upstream::conversation::{Around, Step, about, step};
use crate::upstream::{Reason, Signals, Trace};

/// One message, in bytes.
const MOST_BYTES: u64 = 10_485_760;
/// Lines that wait for one request: progress, and then the answer.
const MOST_LINES: usize = 256;
/// How long a process may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);

/// A process that was started.
pub(super) struct Process {
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    child: tokio::sync::Mutex<Child>,
    waiting: Mutex<HashMap<u64, mpsc::Sender<Vec<u8>>>>,
    last_id: AtomicU64,
    ended: AtomicBool,
    server: ServerName,
    agent: Agent,
    offer: OnceLock<Offer>,
}

/// One request's place in the id map; gives it back when dropped.
pub(super) struct Waiting {
    process: Arc<Process>,
    id: u64,
    lines: mpsc::Receiver<Vec<u8>>,
}

impl Process {
    /// Starts the process and listens to it.
    pub(super) fn start(
        server: &ServerName,
        agent: &Agent,
        command: &Command,
        signals: Signals,
    ) -> Result<Arc<Self>, Reason> {
        let mut starting = tokio::process::Command::new(&command.program);
        starting
            .args(&command.arguments)
            .env_clear()
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
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
            child: tokio::sync::Mutex::new(child),
            waiting: Mutex::default(),
            last_id: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            server: server.clone(),
            agent: agent.clone(),
            offer: OnceLock::new(),
        });
        tokio::spawn(log(server.clone(), errors));
        tokio::spawn(listen(Arc::clone(&process), output, signals));
        Ok(process)
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
        self.ended.load(Ordering::SeqCst)
    }

    /// Mints an id and waits under it.
    pub(super) fn register(self: &Arc<Self>) -> Waiting {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        let (sender, lines) = mpsc::channel(MOST_LINES);
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, sender);
        if self.has_ended() {
            // Whoever ended the process may have looked before this was there.
            self.waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
        Waiting {
            process: Arc::clone(self),
            id,
            lines,
        }
    }

    /// Writes one message and its line end, whole.
    pub(super) async fn write(
        &self,
        mut message: Vec<u8>,
        gate: Option<&SendGate>,
        trace: &Trace,
    ) -> Result<(), Reason> {
        message.push(b'\n');
        let mut input = self.input.lock().await;
        if self.has_ended() {
            return Err(Reason::Closed);
        }
        // Taken out while it is written to: a write that is broken off in the
        // middle of a line must not be followed by another.
        let Some(mut stream) = input.take() else {
            return Err(Reason::Closed);
        };
        if trace.pass(gate).is_err() {
            *input = Some(stream);
            return Err(Reason::ReservationLost);
        }
        stream
            .write_all(&message)
            .await
            .map_err(|_| Reason::Closed)?;
        stream.flush().await.map_err(|_| Reason::Closed)?;
        *input = Some(stream);
        Ok(())
    }

    /// Closes its input, and ends it where it does not end by itself.
    pub(super) async fn end(&self) {
        self.input.lock().await.take();
        let mut child = self.child.lock().await;
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
        tracing::info!(server = %self.server, "the server's process has ended");
    }

    fn route(&self, line: Vec<u8>) {
        let Ok(Some(id)) = about(&line) else {
            return;
        };
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.get(&id) {
            // A full channel loses progress, and in the end the answer: then
            // the upstream said more than anyone reads.
            Some(sender) => drop(sender.try_send(line)),
            None => tracing::warn!(server = %self.server, "an answer that nobody waits for"),
        }
    }
}

impl Waiting {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The next line for this request; none once the process has ended.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.lines.recv().await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self
            .process
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.remove(&self.id);
    }
}

/// Reads lines until the process closes its output or breaks the rules.
async fn listen(process: Arc<Process>, output: impl AsyncRead + Unpin, signals: Signals) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = (&mut output)
            .take(MOST_BYTES + 2)
            .read_until(b'\n', &mut line)
            .await;
        if !matches!(read, Ok(1..)) || line.pop_if(|byte| *byte == b'\n').is_none() {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let back = {
            let Ok(document) = incoming::read(&line) else {
                // Programs write to the wrong stream; an answer among such
                // lines is missed, and its call ends without one.
                tracing::warn!(server = %process.server, "a line that cannot be read; dropped");
                continue;
            };
            let around = Around {
                agent: &process.agent,
                ours: None,
                line: None,
                signals: &signals,
            };
            match incoming::message(&document) {
                Ok(incoming::Incoming::Reply { .. }) => None,
                // It is about one request, whose waiting side reads it.
                Ok(incoming::Incoming::Notification { .. })
                    if matches!(about(&line), Ok(Some(_))) =>
                {
                    None
                }
                Ok(message) => match step(message, around) {
                    Step::Respond(back) => Some(back),
                    _ => None,
                },
                Err(_) => None,
            }
        };
        match back {
            Some(back) => drop(process.write(back, None, &Trace::default()).await),
            None => process.route(line),
        }
    }
    process.ended.store(true, Ordering::SeqCst);
    process
        .waiting
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    process.end().await;
}

/// What a server writes to its standard error, line by line.
async fn log(server: ServerName, errors: impl AsyncRead + Unpin) {
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        let read = (&mut errors).take(8_192).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        tracing::info!(%server, "{}", String::from_utf8_lossy(&line).trim_end());
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
