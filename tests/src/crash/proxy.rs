//! What stands between a replica and its PostgreSQL, and understands enough of
//! the protocol to cut at a commit: before it arrives, before it is
//! acknowledged, after that.
//!
//! Only commits of transactions that append to the log count, or that keep a
//! checkpoint where that is asked for; a renewed lease is no boundary. What it
//! does counts when it has met something: a connection that ended, a message that
//! was held, an answer that said that there was no room.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::plan::Cut;

/// What is done to the replica, its back ends or the server when it is its turn;
/// whether there was anything to do it to.
type Act = Box<dyn Fn(Cut, Table) -> bool + Send + Sync>;

/// The rows by which a commit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Entries of the log.
    Entries,
    /// Checkpoints.
    Checkpoints,
}

impl Table {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entries => "countersign.entries",
            Self::Checkpoints => "countersign.checkpoints",
        }
    }
}

/// What a server says that finds no room.
const NO_ROOM: &[u8] = b"C53100\0";

/// A running proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    server: SocketAddr,
    /// What the next commit meets, of which transaction.
    armed: Mutex<Option<(Cut, Table)>>,
    fired: AtomicU32,
    /// Until when nothing comes through, and until when nobody is let in.
    silent: watch::Sender<bool>,
    out: AtomicBool,
    /// Ends every connection that is open.
    ended: watch::Sender<u64>,
    /// The ports by which the server knows the connections.
    ports: Mutex<Vec<u16>>,
    act: Act,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "to {}, armed {:?}", self.server, self.armed)
    }
}

impl Proxy {
    /// Starts one in front of a server on a port of loopback. `act` is told when
    /// a commit is reached at which something is to be killed or stopped.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub(super) fn start(server: u16, act: Act) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server: SocketAddr::from(([127, 0, 0, 1], server)),
            armed: Mutex::default(),
            fired: AtomicU32::new(0),
            silent: watch::Sender::new(false),
            out: AtomicBool::new(false),
            ended: watch::Sender::new(0),
            ports: Mutex::default(),
            act,
        });
        let accepting = Arc::clone(&state);
        let task = runtime().spawn(async move {
            accept(TcpListener::from_std(listener).unwrap(), accepting).await;
        });
        Self { port, state, task }
    }

    /// Where it listens.
    #[must_use]
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The ports by which the server knows its connections.
    ///
    /// # Panics
    ///
    /// Never, unless a thread panicked.
    #[must_use]
    pub(super) fn ports(&self) -> Vec<u16> {
        self.state.ports.lock().unwrap().clone()
    }

    /// Whether what was done last has happened.
    #[must_use]
    pub(super) fn fired(&self) -> bool {
        self.state.fired.load(Ordering::SeqCst) > 0
    }

    /// Does something to the connections or the server: now, or at the next
    /// commit of a transaction that writes to `table`.
    ///
    /// # Panics
    ///
    /// Never, unless a thread panicked.
    pub(super) fn suffer(&self, cut: Cut, table: Table) {
        let state = Arc::clone(&self.state);
        state.fired.store(0, Ordering::SeqCst);
        let later = |ms: u32, then: fn(&State)| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(ms.into()));
                then(&state);
            });
        };
        match cut {
            Cut::Silence(ms) => {
                state.silent.send_replace(true);
                later(ms, |state| {
                    state.silent.send_replace(false);
                });
            }
            Cut::Outage(ms) => {
                self.shut(true);
                later(ms, |state| state.out.store(false, Ordering::SeqCst));
            }
            Cut::Terminate | Cut::Crash | Cut::Down(_) => {
                if (state.act)(cut, table) {
                    state.fired();
                }
            }
            // The server says when it happened.
            Cut::NoRoom | Cut::NoRoomAtCommit => {
                (state.act)(cut, table);
            }
            _ => *state.armed.lock().unwrap() = Some((cut, table)),
        }
    }

    /// Ends every connection and lets nobody in, or lets them in again.
    pub(super) fn shut(&self, out: bool) {
        self.state.out.store(out, Ordering::SeqCst);
        if out {
            self.state.ended.send_modify(|count| *count += 1);
        }
    }

    /// Lets everything through again.
    ///
    /// # Panics
    ///
    /// Never, unless a thread panicked.
    pub(super) fn calm(&self) {
        *self.state.armed.lock().unwrap() = None;
        self.state.silent.send_replace(false);
        self.state.out.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn fired(&self) {
        self.fired.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Threads of its own: a harness that waits for a process must not hold up what
/// that process waits for.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().build().unwrap()
    })
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        if state.out.load(Ordering::SeqCst) {
            state.fired();
            continue;
        }
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(state.server).await else {
                return;
            };
            let _ = client.set_nodelay(true);
            let _ = server.set_nodelay(true);
            let port = server.local_addr().map_or(0, |address| address.port());
            state.ports.lock().unwrap().push(port);
            let mut ended = state.ended.subscribe();
            // What has been committed and is not acknowledged yet.
            let waiting = Mutex::new(None);
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                _ = forth(&state, from_client, to_server, &waiting) => {}
                _ = back(&state, from_server, to_client, &waiting) => {}
                _ = ended.changed() => state.fired(),
            }
            state.ports.lock().unwrap().retain(|other| *other != port);
        });
    }
}

async fn silence_over(state: &State) {
    if *state.silent.borrow() {
        state.fired();
    }
    let _ = state.silent.subscribe().wait_for(|silent| !silent).await;
}

/// One message after another; the first of a client has no letter.
struct Messages {
    from: OwnedReadHalf,
    buffer: Vec<u8>,
    first: bool,
}

impl Messages {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let head = usize::from(!self.first);
            if let Some(length) = self.buffer.get(head..head + 4) {
                let length = u32::from_be_bytes(length.try_into().ok()?) as usize + head;
                if self.buffer.len() >= length {
                    self.first = false;
                    return Some(self.buffer.drain(..length).collect());
                }
            }
            let read = self.from.read_buf(&mut self.buffer).await.ok()?;
            if read == 0 {
                return None;
            }
        }
    }
}

async fn forth(
    state: &State,
    from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    waiting: &Mutex<Option<Cut>>,
) -> Option<()> {
    let mut messages = Messages {
        from,
        buffer: Vec::new(),
        first: true,
    };
    let mut writes: Vec<Table> = Vec::new();
    loop {
        let message = messages.next().await?;
        silence_over(state).await;
        if matches!(message.first(), Some(b'P' | b'Q')) {
            let says = |what: &[u8]| message.windows(what.len()).any(|part| part == what);
            for table in [Table::Entries, Table::Checkpoints] {
                if says(format!("INSERT INTO {}", table.name()).as_bytes()) {
                    writes.push(table);
                }
            }
            if message.starts_with(b"Q") && says(b"COMMIT") {
                let due = |armed: &mut (Cut, Table)| writes.contains(&armed.1);
                let armed = state.armed.lock().unwrap().take_if(due);
                writes.clear();
                if let Some((cut, table)) = armed {
                    at_commit(state, cut, table, waiting).await?;
                }
            } else if message.starts_with(b"Q") && (says(b"BEGIN") || says(b"ROLLBACK")) {
                writes.clear();
            }
        }
        to.write_all(&message).await.ok()?;
    }
}

/// What happens when a commit is about to be passed on; none where it is not.
async fn at_commit(
    state: &State,
    cut: Cut,
    table: Table,
    waiting: &Mutex<Option<Cut>>,
) -> Option<()> {
    match cut {
        Cut::HoldCommit(ms) => {
            state.fired();
            tokio::time::sleep(Duration::from_millis(ms.into())).await;
        }
        Cut::BeforeCommit | Cut::KillBeforeCommit | Cut::TerminateAtCommit => {
            state.fired();
            (state.act)(cut, table);
            if cut != Cut::TerminateAtCommit {
                return None;
            }
        }
        _ => *waiting.lock().unwrap() = Some(cut),
    }
    Some(())
}

async fn back(
    state: &State,
    from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    waiting: &Mutex<Option<Cut>>,
) -> Option<()> {
    let mut messages = Messages {
        from,
        buffer: Vec::new(),
        first: false,
    };
    loop {
        let message = messages.next().await?;
        silence_over(state).await;
        let acknowledges = message.starts_with(b"C") && message.ends_with(b"COMMIT\0");
        let ready = message.starts_with(b"Z");
        let full = |part: &[u8]| part == NO_ROOM;
        if message.starts_with(b"E") && message.windows(NO_ROOM.len()).any(full) {
            state.fired();
        }
        let cut = *waiting.lock().unwrap();
        match cut {
            Some(Cut::Unacknowledged | Cut::KillWithinCommit) if acknowledges => {
                state.fired();
                (state.act)(cut?, Table::Entries);
                return None;
            }
            Some(Cut::PauseWithinCommit(_)) if acknowledges => {
                *waiting.lock().unwrap() = None;
                state.fired();
                (state.act)(cut?, Table::Entries);
            }
            Some(Cut::AfterCommit | Cut::KillAfterCommit) if ready => {
                state.fired();
                let _ = to.write_all(&message).await;
                (state.act)(cut?, Table::Entries);
                return None;
            }
            _ => {}
        }
        to.write_all(&message).await.ok()?;
    }
}
