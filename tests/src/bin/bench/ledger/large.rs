//! A ledger of millions of executions against one of ten thousand: what is
//! asked of it stays as fast, memory stays flat, and it opens at once.

use std::path::Path;
use std::time::{Duration, Instant};

use countersign_canon::{Classification, Outcome};
use countersign_ledger::{Ledger, Standing, Verdict};
use countersign_tests::measure::{Samples, wall};

use super::load::{self, fill};
use super::stage::{self, Kept};
use crate::report::{self, Goal, Report};

/// Executions of the small one.
const SMALL: u64 = 10_000;

/// Executions that are left without an outcome, to be listed.
const LEFT_OPEN: u64 = 200;

/// What is asked of a ledger, and how long it took.
struct Asked {
    reserve: Samples,
    pairs: f64,
    classify: Samples,
    look: Samples,
    list: Samples,
    open: Duration,
    resident_kib: u64,
}

pub(crate) fn large(executions: u64) -> Report {
    let mut report = Report::new("A large ledger");
    // Many gigabytes: with what is built, where there is room, if that is here.
    let folder = tempfile::tempdir_in("target").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let ledger = stage::open(folder.path(), Kept::GROUPED);
    fill(&ledger, 0, SMALL);
    leave_open(&ledger);
    drop(ledger);
    let small = ask(folder.path(), "s", SMALL);
    let ledger = stage::open(folder.path(), Kept::GROUPED);
    let (mut from, began) = (SMALL, Instant::now());
    while from < executions {
        let to = executions.min(from + 250_000);
        fill(&ledger, from, to);
        from = to;
        println!("  {from} executions after {} s", began.elapsed().as_secs());
    }
    ledger.stop().unwrap();
    drop(ledger);
    let size = std::fs::metadata(folder.path().join("ledger.db")).unwrap();
    let large = ask(folder.path(), "l", executions);
    report.say(&format!(
        "`cargo xtask bench ledger-large={executions}`: a ledger filled with {executions} executions through the writer, \
         {} MiB on disk, against one of {SMALL}.",
        size.len() >> 20
    ));
    let mut rows = Vec::new();
    for (name, small, large) in [
        (
            "reserve and settle, 1 client, µs",
            &small.reserve,
            &large.reserve,
        ),
        (
            "classify and refuse a replay, µs",
            &small.classify,
            &large.classify,
        ),
        ("look one up, µs", &small.look, &large.look),
        ("list 100 that are blocked, µs", &small.list, &large.list),
    ] {
        let ratio = large.median().as_secs_f64() / small.median().as_secs_f64();
        rows.push(row(
            name,
            report::micros(small),
            report::micros(large),
            Some(ratio),
            Some((Goal::AtMost(2.0), ratio)),
        ));
    }
    let ratio = large.pairs / small.pairs;
    rows.push(row(
        "pairs in a second, 64 clients",
        report::number(small.pairs),
        report::number(large.pairs),
        Some(ratio),
        Some((Goal::AtLeast(0.5), ratio)),
    ));
    let [of_small, of_large] = [&small, &large].map(|asked| asked.open.as_secs_f64() * 1e3);
    rows.push(row(
        "opening, ms",
        report::number(of_small),
        report::number(of_large),
        None,
        Some((Goal::AtMost(1_000.0), of_large)),
    ));
    rows.push(row(
        "resident memory, MiB",
        (small.resident_kib >> 10).to_string(),
        (large.resident_kib >> 10).to_string(),
        None,
        None,
    ));
    let head = [
        "",
        &report::number(SMALL as f64),
        &report::number(executions as f64),
    ];
    let [first, second, third] = head;
    report.table([first, second, third, "ratio", "goal", "met"], &rows);
    report
}

fn row(
    name: &str,
    small: String,
    large: String,
    ratio: Option<f64>,
    goal: Option<(Goal, f64)>,
) -> [String; 6] {
    let [goal, met] = goal.map_or_else(report::no_goal, |(goal, value)| goal.cells(value));
    let ratio = ratio.map(report::number).unwrap_or_default();
    [name.to_owned(), small, large, ratio, goal, met]
}

/// What is left so is blocked by the next start.
fn leave_open(ledger: &Ledger) {
    let mut tokens = Vec::new();
    for number in 0..LEFT_OPEN {
        let name = format!("open-{number}");
        let attempt = stage::attempt(&format!("c-{name}"), &name, Classification::Fresh);
        match ledger.reserve(attempt).wait().unwrap() {
            Verdict::Reserved(reserved) => tokens.push(reserved.token),
            other => panic!("not reserved: {other:?}"),
        }
    }
    // Its queue is closed before they are dropped.
    ledger.stop().unwrap();
    drop(tokens);
}

fn ask(folder: &Path, name: &str, executions: u64) -> Asked {
    let (ledger, open) = wall(|| stage::open(folder, Kept::GROUPED));
    let lasting = Duration::from_secs(3);
    let reserve = load::on(&ledger, folder, &format!("{name}1"), 1, lasting).took;
    let pairs = load::on(&ledger, folder, &format!("{name}64"), 64, lasting).rate;
    let (mut classify, mut look, mut list) =
        (Samples::default(), Samples::default(), Samples::default());
    // Spread over all of them, so that no page is asked for twice.
    let step = (executions / 997).max(1);
    for round in 0..997 {
        let id = format!("f-{}", round * step % executions);
        let found = wall(|| {
            ledger
                .lookup(&stage::agent(), &stage::execution_id(&id))
                .wait()
                .unwrap()
        });
        assert!(found.0.is_some(), "`{id}` is there");
        look.add(found.1);
        let replay = Classification::Replay(Outcome::Succeeded);
        let attempt = stage::attempt(&format!("{name}-r-{round}"), &id, replay);
        let (said, took) = wall(|| ledger.reserve(attempt).wait().unwrap());
        assert!(matches!(said, Verdict::Refused(_)), "{said:?}");
        classify.add(took);
        let (blocked, took) = wall(|| ledger.list(Standing::Blocked, 0, 100).wait().unwrap());
        assert_eq!(blocked.len(), 100);
        list.add(took);
    }
    let resident_kib = resident_kib();
    ledger.stop().unwrap();
    Asked {
        reserve,
        pairs,
        classify,
        look,
        list,
        open,
        resident_kib,
    }
}

/// How much memory this process holds, in KiB; 0 where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
