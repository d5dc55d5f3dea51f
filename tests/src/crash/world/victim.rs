//! The process of a gateway, as what happens at moments reaches it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::super::faults::{Does, Fault, Faults, Ports, Recorded};
use super::super::plan::{Cut, Deed};
use super::super::proxy::{Proxy, Table};
use super::server::Server;

/// How often a process that is stopping is looked at, a millisecond apart.
const STOPPING_LOOKS: u32 = 5_000;

/// What is shared with whatever happens at moments: the process as such.
#[derive(Debug)]
pub struct Victim {
    pub(super) faults: Faults,
    pub(super) folder: PathBuf,
    pub(super) process: AtomicU32,
    pub(super) upstream: u16,
    pub(super) gateway: AtomicU32,
    /// Whether something is wrong with it, or with another replica that it
    /// shares a database with.
    pub(super) stormy: Arc<AtomicBool>,
    /// What stands between it and its database, where that is a server.
    pub(super) shared: Option<Shared>,
    /// The fault that was armed last, and the WAL as it was then.
    pub(super) armed: Mutex<Option<(Fault, Option<Vec<u8>>)>>,
    pub(super) generation: AtomicU32,
    /// Which of the faults that stop it has stopped it and let it go on.
    pub(super) woken: AtomicU32,
    /// Whether what was done last was done to its database.
    pub(super) to_database: AtomicBool,
}

/// The way of a replica to the database that it shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) proxy: Proxy,
    pub(super) server: Arc<Server>,
}

impl Victim {
    pub(super) fn ports(&self) -> Ports {
        let gateway = self.gateway.load(Ordering::SeqCst);
        Ports {
            upstream: self.upstream,
            gateway: u16::try_from(gateway).unwrap_or(0),
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        let process = self.process.load(Ordering::SeqCst);
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        if let Some(process) = process {
            // It may have ended by itself.
            let _ = kill_process(process, signal);
        }
    }

    /// What happens where a commit is cut; whether there was anything to do it to.
    pub(super) fn at_commit(self: &Arc<Self>, cut: Cut, table: Table) -> bool {
        let Some(shared) = &self.shared else {
            return false;
        };
        let server = &shared.server;
        match cut {
            Cut::KillBeforeCommit | Cut::KillWithinCommit | Cut::KillAfterCommit => {
                self.signal(Signal::KILL);
                true
            }
            Cut::PauseWithinCommit(ms) => {
                self.stop();
                self.go_on_after(ms);
                true
            }
            Cut::Terminate | Cut::TerminateAtCommit => server.terminate(&shared.proxy.ports()),
            Cut::Crash => server.crash(),
            Cut::Down(ms) => server.down(ms),
            Cut::NoRoom => server.fill(table, false),
            Cut::NoRoomAtCommit => server.fill(table, true),
            _ => true,
        }
    }

    /// Does something to it, now. What is for a database server happens only
    /// where there is one.
    pub fn suffer(self: &Arc<Self>, deed: &Deed) {
        self.stormy.store(true, Ordering::SeqCst);
        let to_database = matches!(deed, Deed::Database(_) | Deed::Checkpoint(_));
        self.to_database.store(to_database, Ordering::SeqCst);
        match deed {
            Deed::Kill => self.signal(Signal::KILL),
            Deed::Pause(ms) => {
                self.stop();
                self.go_on_after(*ms);
            }
            Deed::Arm(fault) => self.arm(fault),
            Deed::Clock(seconds) => self.faults.move_clock(*seconds),
            Deed::Database(cut) => self.suffer_between(*cut, Table::Entries),
            Deed::Checkpoint(cut) => self.suffer_between(*cut, Table::Checkpoints),
        }
    }

    /// Ends its connections to the database and lets it make none, or lets it.
    pub(super) fn shut(&self, out: bool) {
        if let Some(shared) = &self.shared {
            shared.proxy.shut(out);
        }
    }

    fn suffer_between(&self, cut: Cut, table: Table) {
        if let Some(shared) = &self.shared {
            shared.proxy.suffer(cut, table);
        }
    }

    /// Stops it; answers when all of it has stopped. The signal alone is taken by
    /// one thread, and until that is given a turn the others go on.
    fn stop(&self) {
        self.signal(Signal::STOP);
        self.wait_until_it_stands();
    }

    fn wait_until_it_stands(&self) {
        let process = self.process.load(Ordering::SeqCst);
        for _ in 0..STOPPING_LOOKS {
            if stands(process) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn go_on_after(self: &Arc<Self>, ms: u32) {
        let victim = Arc::clone(self);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(ms.into()));
            victim.signal(Signal::CONT);
        });
    }

    pub(super) fn arm(self: &Arc<Self>, fault: &Fault) {
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        self.faults.arm(0, fault, self.ports());
        // Read only once the next sync is the one that fails: what was synced
        // before is in it, and of what was not, too much rather than too little.
        let wal = self.folder.join("countersign.db-wal");
        let wal = (fault.does == Does::PowerLoss).then(|| fs::read(wal).unwrap_or_default());
        *self.armed.lock().unwrap() = Some((*fault, wal));
        let Some(ms) = fault.pauses() else { return };
        // It stops by itself, and somebody must wake it.
        let victim = Arc::clone(self);
        std::thread::spawn(move || {
            while victim.generation.load(Ordering::SeqCst) == generation {
                if victim.faults.fired(0) > 0 {
                    // It is about to.
                    victim.wait_until_it_stands();
                    std::thread::sleep(Duration::from_millis(ms.into()));
                    victim.signal(Signal::CONT);
                    victim.woken.store(generation, Ordering::SeqCst);
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }

    /// Lets it go on, once it stands where the fault that was armed last stops it.
    pub(super) fn wake(&self) {
        let armed = self.armed.lock().unwrap();
        let pauses = armed
            .as_ref()
            .is_some_and(|(fault, _)| fault.pauses().is_some());
        drop(armed);
        let generation = self.generation.load(Ordering::SeqCst);
        for _ in 0..STOPPING_LOOKS * 2 {
            let woken = self.woken.load(Ordering::SeqCst) == generation;
            if woken || !pauses || self.faults.fired(0) == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        self.woken.store(generation, Ordering::SeqCst);
        self.signal(Signal::CONT);
    }

    /// Records the calls that it makes to the kernel.
    pub fn record(&self) {
        self.faults.record();
    }

    /// What was recorded.
    #[must_use]
    pub fn recorded(&self) -> Vec<Recorded> {
        self.faults.recorded(self.ports())
    }

    /// Whether the fault that was armed last has acted.
    #[must_use]
    pub fn fired(&self) -> bool {
        match &self.shared {
            Some(shared) if self.to_database.load(Ordering::SeqCst) => shared.proxy.fired(),
            _ => self.faults.fired(0) > 0,
        }
    }

    /// Puts what the power's loss took away where it was.
    pub(super) fn lose_power(&self) {
        let armed = self.armed.lock().unwrap().take();
        if let Some((_, Some(wal))) = armed
            && self.faults.fired(0) > 0
        {
            fs::write(self.folder.join("countersign.db-wal"), wal).unwrap();
            let _ = fs::remove_file(self.folder.join("countersign.db-shm"));
        }
    }
}

/// Whether every thread of a process is stopped or gone.
fn stands(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    let mut runs = threads.flatten().filter(|thread| {
        let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The name before it may hold anything.
        let state = status.rsplit(')').next().unwrap_or_default();
        !matches!(
            state.trim_start().chars().next(),
            Some('T' | 'Z' | 'X' | 't') | None
        )
    });
    runs.next().is_none()
}
