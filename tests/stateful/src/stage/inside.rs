//! A gateway in this process: its own runtime, a clock that the harness moves, a
//! ledger that the harness makes fail.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::{Ended, prepare};
use countersign_ledger::Clock;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::Ends;
use super::folder;
use super::saboteur::Saboteur;
use crate::plan::Fault;
use crate::upstream::Upstream;

/// How long a gateway may take to come to rest.
const REST: Duration = Duration::from_secs(60);

pub(crate) struct Inside {
    root: TempDir,
    /// Each death goes on in a folder of its own.
    generation: u32,
    upstream: String,
    clock: Moved,
    saboteur: Arc<Saboteur>,
    running: Option<Running>,
    address: SocketAddr,
    key: String,
}

struct Running {
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    run: JoinHandle<Ended>,
}

impl Inside {
    pub(super) fn new(upstream: &Upstream) -> Self {
        let root = folder::temporary();
        let first = root.path().join("0");
        folder::prepare(&first, upstream.url());
        Self {
            saboteur: Arc::new(Saboteur::new(first, root.path().join("1"), None)),
            root,
            generation: 0,
            upstream: upstream.url().to_owned(),
            clock: Moved::new(),
            running: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            key: String::new(),
        }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.root.path().join(self.generation.to_string())
    }

    pub(super) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn key(&self) -> String {
        self.key.clone()
    }

    pub(super) fn later(&self, seconds: u64) {
        self.clock
            .by_ms
            .fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    pub(super) fn arm(&self, fault: Fault) {
        self.saboteur.arm(fault);
    }

    pub(super) fn disarm(&self) -> bool {
        self.saboteur.disarm()
    }

    pub(super) fn died(&self) -> watch::Receiver<bool> {
        self.saboteur.died()
    }

    pub(super) fn ends(&self) -> Ends {
        let saboteur = Arc::clone(&self.saboteur);
        Arc::new(move || saboteur.die())
    }

    pub(super) fn start(&mut self, fault: Option<Fault>) -> Result<(), String> {
        let next = self.root.path().join((self.generation + 1).to_string());
        let saboteur = Arc::new(Saboteur::new(self.folder(), next, fault));
        self.saboteur = Arc::clone(&saboteur);
        let mut environment = Environment::system();
        environment.clock = Arc::new(self.clock.clone());
        environment.probe = Some(Arc::<Saboteur>::clone(&saboteur));
        let config = Config::read(&self.folder().join("countersign.toml")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let mut died = saboteur.died();
        let prepared = runtime.block_on(async {
            let mut preparing = Box::pin(prepare(config, environment));
            let prepared = tokio::select! {
                prepared = &mut preparing => Some(prepared),
                _ = died.wait_for(|died| *died) => None,
            };
            if prepared.is_none() {
                // Its writer is held, and whoever drops it would wait.
                saboteur.release();
            }
            prepared
        });
        let prepared = match prepared {
            Some(Ok(prepared)) => prepared,
            Some(Err(error)) => {
                runtime.shutdown_background();
                return Err(error.to_string());
            }
            None => {
                runtime.shutdown_background();
                self.generation += 1;
                return Err("it died".to_owned());
            }
        };
        self.address = prepared.address();
        if self.key.is_empty() {
            self.key = prepared.verifying_key();
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let run = runtime.spawn(prepared.run(async move {
            let _ = stopped.await;
        }));
        self.running = Some(Running {
            runtime,
            stop: Some(stop),
            run,
        });
        Ok(())
    }

    pub(super) fn stop(&mut self) -> Result<(), String> {
        match self.end(true) {
            Some(Ended::Settled) => Ok(()),
            other => Err(format!("it was to come to rest: {other:?}")),
        }
    }

    pub(super) fn ended_by_itself(&mut self) -> Result<(), String> {
        match self.end(false) {
            Some(Ended::LedgerFailed) => Ok(()),
            other => Err(format!("its ledger had failed for good: {other:?}")),
        }
    }

    fn end(&mut self, ask: bool) -> Option<Ended> {
        let Running {
            runtime,
            mut stop,
            run,
        } = self.running.take()?;
        if ask {
            drop(stop.take());
        }
        let ended = runtime.block_on(async { tokio::time::timeout(REST, run).await });
        // Whatever still holds the ledger's files lets go of them.
        runtime.shutdown_timeout(REST);
        ended.ok()?.ok()
    }

    pub(super) fn kill(&mut self) {
        // Held as a whole: a gateway whose `stop` is dropped comes to rest in good
        // order, and who is killed writes nothing more.
        let Some(running) = self.running.take() else {
            return;
        };
        self.saboteur.die();
        self.saboteur.release();
        running.runtime.shutdown_background();
        self.generation += 1;
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Nothing of it goes on, and whoever drops it may be panicking.
        if let Some(Running { runtime, .. }) = self.running.take() {
            self.saboteur.abandon();
            runtime.shutdown_background();
        }
    }
}

/// The system's clock, moved on by the harness.
#[derive(Clone)]
struct Moved {
    by_ms: Arc<AtomicU64>,
    system: Arc<dyn Clock>,
}

impl Moved {
    fn new() -> Self {
        Self {
            by_ms: Arc::default(),
            system: Environment::system().clock,
        }
    }

    fn by(&self) -> Duration {
        Duration::from_millis(self.by_ms.load(Ordering::SeqCst))
    }
}

impl Clock for Moved {
    fn wall_us(&self) -> i64 {
        self.system.wall_us() + i64::try_from(self.by().as_micros()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic() + self.by()
    }

    fn since_boot(&self) -> Duration {
        self.system.since_boot() + self.by()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_can_be_dropped_whatever_became_of_its_folder() {
        let outer = Runtime::new().unwrap();
        let upstream = outer.block_on(Upstream::start());
        let mut stage = Inside::new(&upstream);
        stage.start(None).unwrap();
        std::fs::remove_dir_all(stage.folder()).unwrap();
        drop(stage);
    }
}
