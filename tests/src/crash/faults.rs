//! The switch of the preloaded library: which call fails how, and whether it did.
//!
//! A fault names a **spot** (the WAL's sync, the first byte to the upstream) and
//! what happens there. The library of `tests/faults` carries it out inside of
//! the process under test; that it did is read from the file that both map, and
//! a fault that never acted counts for nothing.

#[path = "../../faults/src/layout.rs"]
#[allow(dead_code, unreachable_pub, reason = "one side uses one half of it")]
mod layout;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::binaries;

/// A place where a process meets its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Spot {
    /// A write to the WAL.
    WalWrite,
    /// The sync of the WAL, which makes a commit durable.
    WalSync,
    /// A write to the database itself, when the WAL is written back.
    DatabaseWrite,
    /// The sync of the database itself.
    DatabaseSync,
    /// The write of the new anchor.
    AnchorWrite,
    /// The sync of the new anchor.
    AnchorSync,
    /// The new anchor taking the place of the old.
    AnchorRename,
    /// The connection to the upstream.
    Connect,
    /// Bytes to the upstream.
    Send,
    /// Bytes to the caller.
    Deliver,
}

/// An error that the kernel reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Errno {
    /// The device does not answer.
    Io,
    /// The disk is full.
    Full,
}

/// What happens at a spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Does {
    /// The process is killed instead.
    KillBefore,
    /// The process is killed half-way through the write.
    KillHalf,
    /// The process is killed right after.
    KillAfter,
    /// As `KillBefore`, and what was not synced is lost: the power went.
    PowerLoss,
    /// It fails, and nothing is done.
    Fail(Errno),
    /// It fails half-way.
    FailHalf(Errno),
    /// It is done, and reported as failed: the acknowledgement is lost.
    Unacknowledged,
    /// The process stops before it, for so many milliseconds.
    PauseBefore(u32),
    /// The process stops after it, for so many milliseconds.
    PauseAfter(u32),
    /// It takes so many milliseconds longer.
    Slow(u32),
}

/// A fault that is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// Where.
    pub at: Spot,
    /// What.
    pub does: Does,
    /// At the how manyth call from when it is armed; 1 is the next.
    pub nth: u32,
    /// On how many calls from there on.
    pub times: u32,
}

impl Fault {
    /// Once, at the next call.
    #[must_use]
    pub fn next(at: Spot, does: Does) -> Self {
        Self {
            at,
            does,
            nth: 1,
            times: 1,
        }
    }

    /// At the `nth` call, once.
    #[must_use]
    pub fn nth(at: Spot, does: Does, nth: u32) -> Self {
        Self {
            nth,
            ..Self::next(at, does)
        }
    }

    /// At every call from the next one on.
    #[must_use]
    pub fn lasting(at: Spot, does: Does) -> Self {
        Self {
            times: u32::MAX,
            ..Self::next(at, does)
        }
    }

    /// Whether the process is dead once it has happened.
    #[must_use]
    pub fn kills(&self) -> bool {
        matches!(
            self.does,
            Does::KillBefore | Does::KillHalf | Does::KillAfter | Does::PowerLoss
        )
    }

    /// For how long the process stops, in milliseconds.
    #[must_use]
    pub fn pauses(&self) -> Option<u32> {
        match self.does {
            Does::PauseBefore(ms) | Does::PauseAfter(ms) => Some(ms),
            _ => None,
        }
    }
}

/// One call that the process made, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Where; none for files and sockets that nobody asks for.
    pub at: Option<Spot>,
    /// How many bytes.
    pub bytes: u32,
}

/// The ports that tell sockets apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// Of the upstream.
    pub upstream: u16,
    /// On which the gateway listens.
    pub gateway: u16,
}

/// The switch of one process.
#[derive(Debug)]
pub struct Faults {
    file: File,
    path: PathBuf,
}

impl Faults {
    /// A switch in a folder, with nothing armed.
    ///
    /// # Panics
    ///
    /// When the file can't be made.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true);
        let file = file.open(path).unwrap();
        file.set_len(layout::LENGTH as u64).unwrap();
        Self {
            file,
            path: path.to_owned(),
        }
    }

    /// The library to preload.
    #[must_use]
    pub fn library() -> PathBuf {
        binaries::faults()
    }

    /// The file to name to it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Arms a fault in a slot, in place of what was there.
    ///
    /// # Panics
    ///
    /// When the file can't be written.
    pub fn arm(&self, slot: usize, fault: &Fault, ports: Ports) {
        let rule = rule(slot);
        self.put(rule + layout::ARMED, 0);
        let (calls, port, ending) = spot(fault.at, ports);
        let (action, errno, delay_ms) = action(fault.does);
        for (at, value) in [
            (layout::CALLS, calls),
            (layout::ACTION, action),
            (layout::ERRNO, errno),
            (layout::FROM, fault.nth),
            (layout::TIMES, fault.times),
            (layout::SEEN, 0),
            (layout::FIRED, 0),
            (layout::PORT, port.into()),
            (layout::DELAY_MS, delay_ms),
        ] {
            self.put(rule + at, value);
        }
        let mut bytes = [0; layout::ENDING_BYTES];
        bytes[..ending.len()].copy_from_slice(ending.as_bytes());
        let at = (rule + layout::ENDING) as u64;
        self.file.write_all_at(&bytes, at).unwrap();
        self.put(rule + layout::ARMED, 1);
    }

    /// Disarms everything.
    ///
    /// # Panics
    ///
    /// When the file can't be written.
    pub fn disarm(&self) {
        for slot in 0..layout::RULE_COUNT {
            self.put(rule(slot) + layout::ARMED, 0);
        }
    }

    /// How often the fault of a slot has acted since it was armed.
    ///
    /// # Panics
    ///
    /// When the file can't be read.
    #[must_use]
    pub fn fired(&self, slot: usize) -> u32 {
        self.get(rule(slot) + layout::FIRED)
    }

    /// Moves the wall clock of the process, in seconds from what it really is.
    ///
    /// # Panics
    ///
    /// When the file can't be written.
    pub fn move_clock(&self, seconds: i64) {
        let us = seconds.saturating_mul(1_000_000).to_le_bytes();
        let at = layout::CLOCK_US as u64;
        self.file.write_all_at(&us, at).unwrap();
    }

    /// Begins to record the calls of the process.
    ///
    /// # Panics
    ///
    /// When the file can't be written.
    pub fn record(&self) {
        self.put(layout::RECORDED, 0);
        self.put(layout::RECORDING, 1);
    }

    /// What was recorded, in order.
    ///
    /// # Panics
    ///
    /// When the file can't be read.
    #[must_use]
    pub fn recorded(&self, ports: Ports) -> Vec<Recorded> {
        self.put(layout::RECORDING, 0);
        let most = (layout::LENGTH - layout::RECORDS) / layout::RECORD_BYTES;
        let count = (self.get(layout::RECORDED) as usize).min(most);
        let calls = (0..count).map(|number| {
            let at = layout::RECORDS + number * layout::RECORD_BYTES;
            let word = |word: usize| self.get(at + word * 4);
            Recorded {
                at: recorded_at(word(0), word(1), word(3), ports),
                bytes: word(2),
            }
        });
        calls.collect()
    }

    fn put(&self, at: usize, value: u32) {
        let written = self.file.write_all_at(&value.to_le_bytes(), at as u64);
        written.unwrap();
    }

    fn get(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, at as u64).unwrap();
        u32::from_le_bytes(bytes)
    }
}

fn rule(slot: usize) -> usize {
    assert!(slot < layout::RULE_COUNT, "there are so many slots");
    layout::RULES + slot * layout::RULE_BYTES
}

/// Which calls a spot is: on sockets of a port, or on files by their ending.
fn spot(spot: Spot, ports: Ports) -> (u32, u16, &'static str) {
    match spot {
        Spot::WalWrite => (layout::CALL_WRITE, 0, "countersign.db-wal"),
        Spot::WalSync => (layout::CALL_SYNC, 0, "countersign.db-wal"),
        Spot::DatabaseWrite => (layout::CALL_WRITE, 0, "countersign.db"),
        Spot::DatabaseSync => (layout::CALL_SYNC, 0, "countersign.db"),
        Spot::AnchorWrite => (layout::CALL_WRITE, 0, ".anchor.new"),
        Spot::AnchorSync => (layout::CALL_SYNC, 0, ".anchor.new"),
        Spot::AnchorRename => (layout::CALL_RENAME, 0, ".anchor"),
        Spot::Connect => (layout::CALL_CONNECT, ports.upstream, ""),
        Spot::Send => (layout::CALL_SEND, ports.upstream, ""),
        Spot::Deliver => (layout::CALL_SEND, ports.gateway, ""),
    }
}

fn action(does: Does) -> (u32, u32, u32) {
    // As Linux numbers them.
    let number = |errno| match errno {
        Errno::Io => 5,
        Errno::Full => 28,
    };
    match does {
        Does::KillBefore | Does::PowerLoss => (layout::ACTION_KILL_BEFORE, 0, 0),
        Does::KillHalf => (layout::ACTION_KILL_HALF, 0, 0),
        Does::KillAfter => (layout::ACTION_KILL_AFTER, 0, 0),
        Does::Fail(errno) => (layout::ACTION_FAIL_BEFORE, number(errno), 0),
        Does::FailHalf(errno) => (layout::ACTION_FAIL_HALF, number(errno), 0),
        Does::Unacknowledged => (layout::ACTION_FAIL_AFTER, number(Errno::Io), 0),
        Does::PauseBefore(_) => (layout::ACTION_STOP_BEFORE, 0, 0),
        Does::PauseAfter(_) => (layout::ACTION_STOP_AFTER, 0, 0),
        Does::Slow(ms) => (layout::ACTION_DELAY, 0, ms),
    }
}

fn recorded_at(call: u32, port: u32, mark: u32, ports: Ports) -> Option<Spot> {
    let (peer, own) = (port >> 16, port & 0xffff);
    let is = |port: u16| peer == u32::from(port) || own == u32::from(port);
    match (call, &mark.to_le_bytes()) {
        (layout::CALL_SEND, _) if is(ports.upstream) => Some(Spot::Send),
        (layout::CALL_SEND, _) if is(ports.gateway) => Some(Spot::Deliver),
        (layout::CALL_CONNECT, _) if is(ports.upstream) => Some(Spot::Connect),
        (layout::CALL_WRITE, b"-wal") => Some(Spot::WalWrite),
        (layout::CALL_SYNC, b"-wal") => Some(Spot::WalSync),
        (layout::CALL_WRITE, b"n.db") => Some(Spot::DatabaseWrite),
        (layout::CALL_SYNC, b"n.db") => Some(Spot::DatabaseSync),
        (layout::CALL_WRITE, b".new") => Some(Spot::AnchorWrite),
        (layout::CALL_SYNC, b".new") => Some(Spot::AnchorSync),
        (layout::CALL_RENAME, b"chor") => Some(Spot::AnchorRename),
        _ => None,
    }
}
