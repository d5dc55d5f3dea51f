//! One gateway of a world: its process, its folder, and what is done to both.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use super::super::faults::{Fault, Faults};
use super::super::proxy::Proxy;
use super::super::upstream::Counting;
use super::RECOVERY;
use super::server::Server;
use super::victim::{Shared, Victim};
use crate::{Gateway, Plan, Revision, Server as Upstream, environment, said};

/// How many ports are tried.
const PORTS: u32 = 5;

/// Until then a second gateway on one store has ended.
const SECOND_ENDS: Duration = Duration::from_secs(120);

/// What bounds a fleet of clients is not what is tried here.
const LIMITS: &str = "[limits]\ncalls_per_agent = 512\ncalls_per_server = 512\n\
                      requests_per_second = 100000\nburst = 100000";

/// One gateway of a world.
#[derive(Debug)]
pub struct Replica {
    pub(super) gateway: Gateway,
    pub(super) victim: Arc<Victim>,
    /// An old copy of its store.
    pub(super) old: PathBuf,
    /// How much had been sent when it died last: what it had only counted until
    /// then is lost.
    pub(super) excused: usize,
}

impl Replica {
    pub(super) async fn new(
        upstream: &Arc<Counting>,
        agents: &[(String, String)],
        stormy: &Arc<AtomicBool>,
        database: Option<(Arc<Server>, u32)>,
    ) -> Self {
        let slot = Arc::new(OnceLock::<Weak<Victim>>::new());
        let (mut more, mut shared) = (String::new(), None);
        if let Some((server, lease_ms)) = database {
            let slot = Arc::clone(&slot);
            let act = move |cut, table| {
                let victim = slot.get().and_then(Weak::upgrade);
                victim.is_some_and(|victim| {
                    tokio::task::block_in_place(|| victim.at_commit(cut, table))
                })
            };
            let database = server.database();
            let proxy = Proxy::start(database.cluster().port(), Box::new(act));
            let url = database.url_through(proxy.port());
            more = format!("[store]\nkind = \"postgres\"\nurl = \"{url}\"\nlease_ms = {lease_ms}");
            shared = Some(Shared { proxy, server });
        }
        let url = format!("http://127.0.0.1:{}/mcp", upstream.port());
        let mut gateway = Plan::new(Upstream::Http(url))
            .permit_everything()
            .upstream_revision(Revision::July2026)
            .agents(agents)
            .server_also("call_timeout_ms = 20000\nconnect_timeout_ms = 10000")
            .also(&format!("{LIMITS}\n{more}"))
            .preload(Faults::library(), "faults".into())
            .prepare();
        let faults = Faults::new(&gateway.folder().join("faults"));
        gateway.start().await;
        assert!(gateway.stop().await, "{}", gateway.log());
        let old = gateway.folder().join("old");
        fs::create_dir(&old).unwrap();
        copy_store(gateway.folder(), &old);
        let victim = Arc::new(Victim {
            faults,
            folder: gateway.folder().to_owned(),
            process: AtomicU32::new(0),
            upstream: upstream.port(),
            gateway: AtomicU32::new(0),
            stormy: Arc::clone(stormy),
            shared,
            to_database: AtomicBool::new(false),
            armed: Mutex::default(),
            generation: AtomicU32::new(0),
            woken: AtomicU32::new(0),
        });
        let _ = slot.set(Arc::downgrade(&victim));
        let mut replica = Self {
            gateway,
            victim,
            old,
            excused: 0,
        };
        replica.start(None).await.unwrap();
        replica
    }

    /// Whether it runs.
    pub fn runs(&mut self) -> bool {
        self.gateway.process().is_some() && self.gateway.ended().is_none()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    ///
    /// Where it goes on.
    pub async fn ends(&mut self) -> Result<(), String> {
        let began = environment::now();
        while self.runs() {
            if began.elapsed() > RECOVERY {
                return Err("it goes on where it must end".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    pub(super) async fn start(&mut self, fault: Option<&Fault>) -> Result<(), String> {
        if self.runs() {
            return Ok(());
        }
        self.gateway.kill();
        self.victim.lose_power();
        self.victim.faults.disarm();
        if let Some(fault) = fault {
            self.victim.stormy.store(true, Ordering::SeqCst);
            self.victim.arm(fault);
        }
        let from = self.spawn();
        self.listening(from).await
    }

    /// Starts its process.
    pub(super) fn spawn(&mut self) -> usize {
        let from = self.gateway.spawn();
        let process = self.gateway.process().unwrap_or(0);
        self.victim.process.store(process, Ordering::SeqCst);
        from
    }

    /// Waits until the process that was started listens. While it was down
    /// somebody else may have taken its port: then it starts on another.
    pub(super) async fn listening(&mut self, mut from: usize) -> Result<(), String> {
        let mut tries = 0;
        let started = loop {
            let started = self.gateway.listening(from).await;
            let taken = |said: &String| said.contains("cannot listen on");
            tries += 1;
            if !started.as_ref().is_err_and(taken) || tries > PORTS {
                break started;
            }
            self.gateway.move_elsewhere();
            from = self.spawn();
        };
        let port = self.gateway.address().rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        self.victim.gateway.store(port, Ordering::SeqCst);
        started
    }

    /// Stops it in an orderly way; whether it settled everything.
    pub async fn stop(&mut self) -> bool {
        self.victim.stormy.store(true, Ordering::SeqCst);
        self.gateway.stop().await
    }

    /// What a second gateway on its store says instead of starting; none where
    /// it starts, and is ended again.
    #[must_use]
    pub fn second(&self) -> Option<String> {
        let folder = self.gateway.folder();
        let config = fs::read_to_string(folder.join("countersign.toml")).unwrap();
        let (_, rest) = config.split_once('\n').unwrap_or_default();
        let config = format!("listen = \"127.0.0.1:0\"\n{rest}");
        fs::write(folder.join("second.toml"), config).unwrap();
        let serve = ["serve", "--config", "second.toml"];
        let done = self.gateway.run_for(&serve, SECOND_ENDS)?;
        (!done.status.success()).then(|| said(&done))
    }

    /// Starts it on an old copy of its store, hands it over, and gives it back
    /// its own. It is down before and after.
    ///
    /// # Errors
    ///
    /// Where it does not start.
    pub async fn restored(&mut self) -> Result<(), String> {
        self.victim.stormy.store(true, Ordering::SeqCst);
        self.gateway.kill();
        // What the power took away was never in the store that is kept.
        self.victim.lose_power();
        let kept = self.gateway.folder().join("kept");
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir(&kept).unwrap();
        copy_store(self.gateway.folder(), &kept);
        copy_store(&self.old, self.gateway.folder());
        self.start(None).await
    }

    /// Gives it back the store that [`Replica::restored`] took.
    pub fn give_back(&mut self) {
        self.gateway.kill();
        copy_store(&self.gateway.folder().join("kept"), self.gateway.folder());
    }
}

/// Copies the database with its WAL; what is not there is not there afterwards.
fn copy_store(from: &Path, to: &Path) {
    for name in ["countersign.db", "countersign.db-wal", "countersign.db-shm"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}
