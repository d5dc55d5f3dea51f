//! What the log costs: calls through the gateway in a build with it, and in one
//! made for this alone that leaves it out.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use countersign_tests::{Plan, Reaction, Server, Upstream};
use tokio::runtime::Builder;

use crate::gateway::Load;
use crate::ledger;
use crate::report::{self, Goal, Report, Turns};

const CLIENTS: usize = 64;
/// Turns of each build, and how long the calls of one go on.
const TURNS: usize = 15;
const TURN: Duration = Duration::from_secs(3);
const ARGUMENTS: &str =
    r#"{"from":"alice","to":"bob","amount":10,"note":"for the books and the coffee"}"#;
const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;
/// One agent may have all of the calls in flight, as often as it can.
const LIMITS: &str = "[limits]\ncalls_per_server = 512\ncalls_per_agent = 512\n\
                      requests_per_second = 1000000\nburst = 1000000\n";

/// Both builds in turns; `without` is the folder of the one without the log.
pub(crate) fn run(without: &Path) -> Report {
    let mut report = Report::new("The log");
    report.say(&format!(
        "`cargo xtask bench log` compares with a build, made for this alone, that leaves the log out: calls through \
         the whole gateway over loopback (admitted, decided, reserved, invoked, settled, delivered), and beside them \
         the pairs of reserve and settle alone, both hashed as the shipped program hashes. {CLIENTS} clients, {TURNS} \
         turns of {} s of each build in alternation, the middle one and between which all lie. Client, gateway and \
         upstream share the processors.",
        TURN.as_secs()
    ));
    let own = std::env::current_exe().unwrap();
    let own = own.parent().unwrap();
    let (mut left_out, mut kept) = (Both::default(), Both::default());
    for _ in 0..TURNS {
        // In turns, so that both see the same machine.
        left_out.add(asked(without));
        kept.add(asked(own));
    }
    let row = |name: &str, without: &Turns, with: &Turns, goal: Option<Goal>| {
        let ratio = with.middle() / without.middle();
        let [goal, met] = goal.map_or_else(report::no_goal, |goal| goal.cells(ratio));
        let name = name.to_owned();
        [
            name,
            without.shown(),
            with.shown(),
            report::number(ratio),
            goal,
            met,
        ]
    };
    let goal = Some(Goal::AtLeast(0.9));
    report.table(
        [
            "in a second",
            "without the log",
            "with it",
            "ratio",
            "goal",
            "met",
        ],
        &[
            row(
                "calls through the gateway",
                &left_out.calls,
                &kept.calls,
                goal,
            ),
            row(
                "reserve and settle alone",
                &left_out.pairs,
                &kept.pairs,
                None,
            ),
        ],
    );
    report
}

/// What the turns of one build came to.
#[derive(Default)]
struct Both {
    calls: Turns,
    pairs: Turns,
}

impl Both {
    fn add(&mut self, (calls, pairs): (f64, f64)) {
        self.calls.add(calls);
        self.pairs.add(pairs);
    }
}

/// One turn of the build in `folder`, in a process of its own.
fn asked(folder: &Path) -> (f64, f64) {
    let said = Command::new(folder.join("bench"))
        .arg("log-turn")
        .env("COUNTERSIGN_BINARIES", folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(calls)), Some(Ok(pairs))) => (calls, pairs),
        _ => panic!("{}: {said:?}", folder.display()),
    }
}

/// One turn of this build, printed: calls, and pairs of reserve and settle.
pub(crate) fn turn() {
    println!("{:.0} {:.0}", calls(), ledger::turn());
}

fn calls() -> f64 {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let upstream = Upstream::start(Reaction::Result(RESULT.to_owned())).await;
        let plan = Plan::new(Server::bytes(&upstream)).permit_everything();
        let mut gateway = plan.also(LIMITS).start().await;
        let load = Load {
            url: gateway.url(),
            tool: "anything",
            arguments: ARGUMENTS.to_owned(),
        };
        load.run("warm", CLIENTS, TURN / 8).await;
        let rate = load.run("e", CLIENTS, TURN).await.rate;
        assert!(gateway.stop().await, "{}", gateway.log());
        rate
    })
}
