//! What a gateway costs: calls straight to a server, through a plain reverse
//! proxy, and through Countersign with its durability and without.

mod load;
mod memory;
mod proxy;
pub(crate) mod rules;
mod server;
mod stages;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign_tests::measure::processor_time_of;
use countersign_tests::{Gateway, Plan, Process, SERVER, Server as Behind};

use crate::report::{self, Goal, Report, Turns, no_goal};
pub(crate) use load::Load;
use load::Turn;
pub(crate) use proxy::serve as plain_proxy;
use rules::{APPLICABLE, RULES, TOOL};
use server::Server;
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

/// What clients call.
struct Side {
    name: &'static str,
    load: Load,
    /// The process that stands between, where one does.
    process: Option<u32>,
    /// One for each concurrency.
    seen: [Seen; CONCURRENCY.len()],
}

/// What the turns at one concurrency came to.
#[derive(Default)]
struct Seen {
    rate: Turns,
    p50: Turns,
    p99: Turns,
    /// What the process between used for a call, in microseconds.
    used: Turns,
}

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
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut proxy = Process::start(
        Command::new(std::env::current_exe().unwrap()).args(["plain-proxy", server.address()]),
        folder.path().join("proxy.log"),
    );
    let proxied = proxy.says("listening on ", 0).await;
    let mut durable = start(&server, None).await;
    let program = without_durability.map(|folder| folder.join("countersign"));
    let mut undurable = match program {
        Some(program) => Some(start(&server, Some(program)).await),
        None => None,
    };
    let mut sides = vec![
        Side::new("straight to the server", server.url(), None),
        Side::new(
            "a plain reverse proxy",
            format!("{proxied}/mcp"),
            Some(proxy.id()),
        ),
        Side::new("Countersign", durable.url(), durable.process()),
    ];
    if let Some(gateway) = &undurable {
        sides.push(Side::new(
            "Countersign, nothing synced",
            gateway.url(),
            gateway.process(),
        ));
    }
    for side in &sides {
        side.load.run("warm", 16, TURN).await;
    }
    for turn in 0..TURNS {
        for (place, clients) in CONCURRENCY.into_iter().enumerate() {
            // In turns, so that all see the same machine.
            for side in &mut sides {
                side.turn(place, &format!("e-{turn}-{clients}")).await;
            }
        }
    }
    let busy = memory::resident(&durable);
    let mut way = vec![passing(&sides[2], &durable).await];
    if let Some(gateway) = &undurable {
        way.push(passing(&sides[3], gateway).await);
    }
    assert!(durable.stop().await, "{}", durable.log());
    if let Some(gateway) = &mut undurable {
        assert!(gateway.stop().await, "{}", gateway.log());
    }
    tell(&mut report, &sides);
    tell_of_stages(&mut report, &way);
    let (rest, held) = with_sessions(&server).await;
    report.table(
        [
            "resident memory of the gateway, MiB",
            "measured",
            "goal",
            "met",
        ],
        &[
            row("at rest", rest, Goal::AtMost(60.0)),
            row(
                "at 1,000 open sessions, each with a stream that is held open",
                held,
                Goal::AtMost(200.0),
            ),
            with("after the calls above", report::number(busy), no_goal()),
        ],
    );
    report
}

fn row(name: &str, value: f64, goal: Goal) -> [String; 4] {
    with(name, report::number(value), goal.cells(value))
}

fn with(name: &str, value: String, [goal, met]: [String; 2]) -> [String; 4] {
    [name.to_owned(), value, goal, met]
}

impl Side {
    fn new(name: &'static str, url: String, process: Option<u32>) -> Self {
        let load = Load {
            url,
            tool: TOOL,
            arguments: rules::arguments(),
        };
        Self {
            name,
            load,
            process,
            seen: Default::default(),
        }
    }

    async fn turn(&mut self, place: usize, name: &str) {
        let used = || self.process.and_then(processor_time_of);
        let before = used();
        let done = self.load.run(name, CONCURRENCY[place], TURN).await;
        let used = used().zip(before).map(|(after, before)| after - before);
        let seen = &mut self.seen[place];
        seen.add(&done);
        if let Some(used) = used {
            let calls = done.took.count().max(1) as f64;
            seen.used.add(used.as_secs_f64() * 1e6 / calls);
        }
    }
}

impl Seen {
    fn add(&mut self, turn: &Turn) {
        let micros = |percent| turn.took.percentile(percent).as_secs_f64() * 1e6;
        self.rate.add(turn.rate);
        self.p50.add(micros(50));
        self.p99.add(micros(99));
    }
}

/// A gateway with the bundle, its tools approved.
async fn start(server: &Server, program: Option<PathBuf>) -> Gateway {
    let plan = Plan::new(Behind::Http(server.url())).permit_everything();
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
    let mut gateway = start(server, None).await;
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

fn tell_of_stages(report: &mut Report, way: &[[f64; STAGES.len()]]) {
    report.say(
        "Where the time of a call goes, by the gateway's own histograms, with one client: the mean of each stage. What \
         a stage waits for is in it: the writer's thread and the commit in *reserve* and *settle*, the server in \
         *invoke*.",
    );
    let rows: Vec<[String; 3]> = STAGES
        .iter()
        .enumerate()
        .map(|(stage, name)| {
            let of = |side: usize| way.get(side).map_or(f64::NAN, |took| took[stage]);
            [
                (*name).to_owned(),
                report::number(of(1)),
                report::number(of(0)),
            ]
        })
        .collect();
    report.table(["stage", "nothing synced, µs", "as it ships, µs"], &rows);
}

fn tell(report: &mut Report, sides: &[Side]) {
    report.say(&format!(
        "`cargo xtask bench gateway`: clients that call as fast as they are answered, over loopback, each on a \
         connection of its own; a call of a kibibyte, its arguments held against their approved schema, and a bundle \
         of {RULES} rules of which {APPLICABLE} are about its tool, nearly all of these about other accounts and \
         agents. The plain proxy has the same HTTP library, keeps connections, streams both ways and reads nothing. \
         Clients, server and what stands between share the processors. {TURNS} turns of {} s of each side in \
         alternation: the middle one, and between which all lie. *Nothing synced* is a build made for this alone that \
         writes the same and never waits for the disk; the shipped program has no such switch. The server is named \
         `{SERVER}`, and one agent makes all calls, its limits raised. What stands between *used* so much time of \
         processors for a call.",
        TURN.as_secs_f64()
    ));
    let mut rows = Vec::new();
    for (place, clients) in CONCURRENCY.into_iter().enumerate() {
        let proxy = sides
            .get(1)
            .map_or(0.0, |side| side.seen[place].rate.middle());
        for side in sides {
            let seen = &side.seen[place];
            rows.push([
                clients.to_string(),
                side.name.to_owned(),
                seen.rate.shown(),
                report::number(seen.rate.middle() / proxy),
                seen.p50.shown(),
                seen.p99.shown(),
                side.process.map_or(String::new(), |_| seen.used.shown()),
            ]);
        }
    }
    report.table(
        [
            "clients",
            "through",
            "calls in a second",
            "to the proxy's",
            "p50, µs",
            "p99, µs",
            "it used, µs a call",
        ],
        &rows,
    );
    let rate = |side: usize, place: usize| {
        sides
            .get(side)
            .map_or(f64::NAN, |side| side.seen[place].rate.middle())
    };
    let p50 = |side: usize| {
        sides
            .get(side)
            .map_or(f64::NAN, |side| side.seen[0].p50.middle())
    };
    let mut rows = vec![row(
        "calls with durability at 64 clients, to the plain proxy's",
        rate(2, 2) / rate(1, 2),
        Goal::AtLeast(0.3),
    )];
    if sides.len() > 3 {
        rows.insert(
            0,
            row(
                "calls with nothing synced at 16 clients, to the plain proxy's",
                rate(3, 1) / rate(1, 1),
                Goal::AtLeast(0.4),
            ),
        );
        rows.push(row(
            "p50 at 1 client that admission, policy and evidence add to the plain proxy, nothing synced, µs",
            p50(3) - p50(1),
            Goal::AtMost(150.0),
        ));
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // What the processors give in the time of a call at the goal, without what
    // client and server need of it.
    let left = processors as f64 * 1e6 * (1.0 / (0.4 * rate(1, 1)) - 1.0 / rate(0, 1));
    let name = format!(
        "what 0.4 of the proxy leaves to the gateway, on {processors} processors, µs a call"
    );
    rows.push(with(&name, report::number(left), no_goal()));
    report.table(["", "measured", "goal", "met"], &rows);
}
