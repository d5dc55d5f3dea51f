//! What a gateway costs: calls straight to a server, through a plain reverse
//! proxy, and through Countersign with its durability and without.

mod load;
mod memory;
mod proxy;
pub(crate) mod rules;
mod sdk;
mod server;
mod side;
mod stages;
mod tell;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign_tests::{Gateway, Plan, Process, Server as Behind};
use tempfile::TempDir;

use crate::report::Report;
pub(crate) use load::Load;
pub(crate) use proxy::serve as plain_proxy;
pub(crate) use sdk::serve as sdk_server;
use server::Server;
use side::Side;
use stages::{Passed, STAGES};

const CONCURRENCY: [usize; 3] = [1, 16, 64];
/// Turns of each side at each concurrency, and how long one is.
const TURNS: usize = 7;
const TURN: Duration = Duration::from_millis(1_500);
/// One agent may have all of the calls in flight, as often as it can.
const LIMITS: &str = "[limits]\ncalls_per_server = 512\ncalls_per_agent = 512\n\
                      requests_per_second = 1000000\nburst = 1000000\n\
                      connections_per_peer = 4096\n[catalog]\nfile = \"catalog.json\"\n\
                      [telemetry]\nlisten = \"127.0.0.1:0\"\n";

/// `without_durability` is the folder of the build that never waits for a disk.
pub(crate) fn run(without_durability: Option<&Path>) -> Report {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure(without_durability))
}

async fn measure(without_durability: Option<&Path>) -> Report {
    let mut report = Report::new("The gateway");
    tell::method(&mut report);
    let program = without_durability.map(|folder| folder.join("countersign"));
    let folder = tempfile::tempdir().unwrap();
    let mut real = part("sdk-server", None, &folder.path().join("server.log"));
    let url = format!("{}/mcp", real.says("listening on ", 0).await);
    let mut before = Before::new(url, program.clone()).await;
    before.turns().await;
    let busy = memory::resident(&before.durable);
    let way = before.ways().await;
    tell::sides(&mut report, tell::REAL, &before.sides);
    tell::ratios(&mut report, &before.sides, true);
    tell::stages(&mut report, &way);
    before.end().await;
    drop(real);
    let empty = Server::start().await;
    let mut before = Before::new(empty.url(), program).await;
    before.turns().await;
    tell::sides(&mut report, tell::EMPTY, &before.sides);
    tell::ratios(&mut report, &before.sides, false);
    before.end().await;
    let (rest, held) = with_sessions(&empty).await;
    tell::memory(&mut report, rest, held, busy);
    report
}

/// A part of this program, in a process of its own.
fn part(name: &str, argument: Option<&str>, log: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    Process::start(command.arg(name).args(argument), log.to_owned())
}

/// Everything that stands before one server.
struct Before {
    sides: Vec<Side>,
    durable: Gateway,
    undurable: Option<Gateway>,
    _proxy: Process,
    _folder: TempDir,
}

impl Before {
    /// `program` is the gateway that never waits for a disk.
    async fn new(url: String, program: Option<PathBuf>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let log = folder.path().join("proxy.log");
        let mut proxy = part("plain-proxy", Some(address), &log);
        let proxied = format!("{}/mcp", proxy.says("listening on ", 0).await);
        let durable = start(&url, None).await;
        let undurable = match program {
            Some(program) => Some(start(&url, Some(program)).await),
            None => None,
        };
        let mut sides = vec![
            Side::new("straight to the server", url, None),
            Side::new("a plain reverse proxy", proxied, Some(proxy.id())),
            Side::new("Countersign", durable.url(), durable.process()),
        ];
        if let Some(gateway) = &undurable {
            let (url, process) = (gateway.url(), gateway.process());
            sides.push(Side::new("Countersign, nothing synced", url, process));
        }
        Self {
            sides,
            durable,
            undurable,
            _proxy: proxy,
            _folder: folder,
        }
    }

    async fn turns(&mut self) {
        for side in &self.sides {
            side.load.run("warm", 16, TURN).await;
        }
        for turn in 0..TURNS {
            for (place, clients) in CONCURRENCY.into_iter().enumerate() {
                // In turns, so that all see the same machine.
                for side in &mut self.sides {
                    side.turn(place, &format!("e-{turn}-{clients}")).await;
                }
            }
        }
    }

    /// Microseconds of each stage of a call, as it ships and with nothing synced.
    async fn ways(&self) -> Vec<[f64; STAGES.len()]> {
        let mut ways = vec![passing(&self.sides[2], &self.durable).await];
        if let Some(gateway) = &self.undurable {
            ways.push(passing(&self.sides[3], gateway).await);
        }
        ways
    }

    async fn end(mut self) {
        for gateway in [Some(&mut self.durable), self.undurable.as_mut()] {
            let Some(gateway) = gateway else { continue };
            assert!(gateway.stop().await, "{}", gateway.log());
        }
    }
}

/// A gateway with the bundle, its tools approved.
async fn start(url: &str, program: Option<PathBuf>) -> Gateway {
    let plan = Plan::new(Behind::Http(url.to_owned())).permit_everything();
    let plan = match program {
        Some(program) => plan.program(program),
        None => plan,
    };
    let mut gateway = plan.also(LIMITS).prepare();
    let approved = gateway.run(&["catalog", "approve", "--config", "countersign.toml"]);
    assert!(approved.status.success(), "{approved:?}");
    let policies = gateway.folder().join("permit-everything/default.cedar");
    std::fs::write(policies, rules::policies()).unwrap();
    gateway.start().await;
    gateway
}

/// A gateway that has served nobody, and the same with its sessions.
async fn with_sessions(server: &Server) -> (f64, f64) {
    let mut gateway = start(&server.url(), None).await;
    let rest = memory::resident(&gateway);
    let streams = memory::sessions(&gateway).await;
    let held = memory::resident(&gateway);
    drop(streams);
    gateway.stop().await;
    (rest, held)
}

/// Microseconds of each stage of a call while one client calls.
async fn passing(side: &Side, gateway: &Gateway) -> [f64; STAGES.len()] {
    let before = Passed::of(gateway).await;
    side.load.run("way", 1, 2 * TURN).await;
    Passed::of(gateway).await.since(&before)
}
