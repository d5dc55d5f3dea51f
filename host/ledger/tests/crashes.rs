//! A process is killed (SIGKILL) at named points of the writer's way, and the
//! ledger is opened again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::Kind;
use countersign_ledger::{Fault, Ledger, Point, Probe, Settlement, State};
use support::{
    Call, Fixture, TestClock, agent, answer, call, code, count, digest, execution_id, key,
    options_in, refused, reserve, succeeded, verify,
};

/// Stops for ever at the `group`-th passage of `point`, and says that it did.
struct StopAt {
    point: String,
    group: u32,
    passed: AtomicU32,
}

impl Probe for StopAt {
    fn at(&self, point: Point) -> Result<(), Fault> {
        if point.as_str() == self.point
            && self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.group
        {
            fs::write("reached", self.point.as_bytes()).unwrap();
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }
}

/// What the child does, one group a line; it reads its part from `plan`.
fn story(ledger: &Ledger, name: &str) {
    let id = (name != "alone").then_some("pay");
    let token = reserve(ledger, &call("c1", id));
    token.gate().pass().unwrap();
    if name == "rounds" {
        let asked = Settlement::Asked {
            issued: Some(digest("s1")),
            answer: answer("?"),
            retained: b"?".to_vec(),
        };
        ledger.settle(token, asked).wait().unwrap();
        let claim = Call {
            round: Some(("yes", Some("s1"))),
            earlier: Some(Classification::Continuation),
            ..call("c2", id)
        };
        let token = reserve(ledger, &claim);
        ledger.settle(token, succeeded()).wait().unwrap();
    } else {
        ledger.settle(token, succeeded()).wait().unwrap();
    }
}

#[test]
#[ignore = "runs in a process of its own, which the tests below start and kill"]
fn child() {
    let plan = fs::read_to_string("plan").unwrap();
    let mut words = plan.split(' ');
    let (name, point, group) = (
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap().parse().unwrap(),
    );
    let mut options = options_in(Path::new("."));
    if name == "load" {
        return load(&Ledger::open_sqlite(options, Arc::<TestClock>::default(), key()).unwrap());
    }
    let passed = AtomicU32::new(0);
    options.probe = Some(Arc::new(StopAt {
        point: point.into(),
        group,
        passed,
    }));
    let ledger = Ledger::open_sqlite(options, Arc::<TestClock>::default(), key()).unwrap();
    story(&ledger, name);
    // Where the point comes after the last answer, it is being reached now.
    loop {
        std::thread::park();
    }
}

/// Eight threads write as fast as they can, and note what was acknowledged.
fn load(ledger: &Ledger) {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                let mut acknowledged = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(format!("ack-{thread}"));
                let acknowledged = acknowledged.as_mut().unwrap();
                for number in 0..u64::MAX {
                    let id = format!("{thread}-{number}");
                    let token = reserve(ledger, &call(format!("c{id}"), Some(&id)));
                    writeln!(acknowledged, "reserved {id}").unwrap();
                    ledger.settle(token, succeeded()).wait().unwrap();
                    writeln!(acknowledged, "settled {id}").unwrap();
                }
            });
        }
    });
}

fn spawn(folder: &Path, plan: &str) -> Child {
    fs::write(folder.join("plan"), plan).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--ignored", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the child where it stopped.
fn kill_at(fixture: &Fixture, plan: &str) {
    let folder = fixture.folder.path();
    let mut child = spawn(folder, plan);
    let reached = folder.join("reached");
    for _ in 0..12_000 {
        if reached.exists() {
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        assert!(
            child.try_wait().unwrap().is_none(),
            "{plan}: the child ended by itself"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("{plan}: the point was never reached");
}

/// What is found under `pay` after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    At(State),
}

const BLOCKED: Found = Found::At(State::Blocked);
const AWAITING: Found = Found::At(State::AwaitingInput);
const SUCCEEDED: Found = Found::At(State::Settled(Outcome::Succeeded));
const UNKNOWN: Found = Found::At(State::Settled(Outcome::OutcomeUnknown));

#[test]
fn whatever_group_is_cut_short_is_there_as_a_whole_or_not_at_all() {
    let mut cells = 0;
    for (name, groups) in [
        // For each group: what is found where it did not become durable, and
        // where it did.
        (
            "plain",
            vec![(Found::Nothing, BLOCKED), (BLOCKED, SUCCEEDED)],
        ),
        (
            "alone",
            vec![(Found::Nothing, UNKNOWN), (UNKNOWN, SUCCEEDED)],
        ),
        (
            "rounds",
            vec![
                (Found::Nothing, BLOCKED),
                (BLOCKED, AWAITING),
                (AWAITING, BLOCKED),
                (BLOCKED, SUCCEEDED),
            ],
        ),
    ] {
        for (group, (before, after)) in groups.into_iter().enumerate() {
            for (point, expected) in [
                (Point::Taken, before),
                (Point::Decided, before),
                (Point::Written, before),
                (Point::Committing, before),
                (Point::Committed, after),
                (Point::Answered, after),
            ] {
                let plan = format!("{name} {} {}", point.as_str(), group + 1);
                found_after(&plan, expected);
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 48);
}

fn found_after(plan: &str, expected: Found) {
    let fixture = Fixture::new();
    kill_at(&fixture, plan);
    let ledger = fixture.open();
    let execution = ledger.lookup_call(&"c1".parse().unwrap()).wait().unwrap();
    let found = execution.map_or(Found::Nothing, |execution| {
        Found::At(execution.record.state)
    });
    assert_eq!(found, expected, "{plan}");
    // Whatever was found, the identifier is fresh only where nothing is there.
    let again = ledger
        .reserve(call("again", Some("pay")).attempt())
        .wait()
        .unwrap();
    if expected == Found::Nothing || plan.starts_with("alone") {
        support::reserved(again);
    } else {
        let said = refused(again);
        let codes = ["blocked", "replay", "round-replay"].map(code);
        assert!(codes.contains(&said.code), "{plan}: {said:?}");
        assert!(!said.safe_with_new_id);
    }
    let log = verify(&ledger);
    if expected == BLOCKED {
        assert_eq!(count(&log, &Kind::Blocked), 1, "{plan}");
        let entry = log
            .iter()
            .find(|entry| entry.said().kind == Kind::Blocked)
            .unwrap();
        assert_eq!(entry.said().refusal, Some(code("owner-lost")));
    }
}

#[test]
fn what_was_acknowledged_under_load_is_there_after_a_kill() {
    for round in 0..4_u64 {
        let fixture = Fixture::new();
        let folder = fixture.folder.path();
        let mut child = spawn(folder, "load - 0");
        while !(0..8).all(|thread| folder.join(format!("ack-{thread}")).exists()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(50 + 61 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let ledger = fixture.open();
        let mut acknowledged = 0;
        for thread in 0..8 {
            let text = fs::read_to_string(folder.join(format!("ack-{thread}"))).unwrap();
            // The last line may be cut short.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            for line in whole.lines() {
                let (word, id) = line.split_once(' ').unwrap();
                let found = ledger
                    .lookup(&agent("alice"), &execution_id(id))
                    .wait()
                    .unwrap();
                let state = found.expect("what was acknowledged is there").record.state;
                if word == "settled" {
                    assert_eq!(state, State::Settled(Outcome::Succeeded), "{id}");
                } else {
                    assert_ne!(state, State::InFlight, "{id}");
                }
                acknowledged += 1;
            }
        }
        assert!(acknowledged > 0);
        verify(&ledger);
    }
}
