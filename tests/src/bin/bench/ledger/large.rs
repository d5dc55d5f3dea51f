//! A ledger of millions of executions against one of ten thousand: what is
//! asked of it stays as fast, memory stays flat, and it opens at once.

use std::path::{Path, PathBuf};
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

/// Slices of a second that each is loaded for, in turns.
const SLICES: usize = 5;

/// Executions that each is asked about, in turns.
const ASKED: u64 = 997;

/// A ledger, how many it holds, and how long what was asked of it took.
struct Asked {
    ledger: Ledger,
    folder: PathBuf,
    executions: u64,
    open: Duration,
    reserve: Samples,
    pairs: f64,
    /// The part of `classify` that looks the row up.
    look: Samples,
    /// Looked up, classified again in the writer, and the refusal committed.
    classify: Samples,
    list: Samples,
}

pub(crate) fn large(executions: u64) -> Report {
    let mut report = Report::new("A large ledger");
    // Many gigabytes: with what is built, where there is room, if that is here.
    let folder = tempfile::tempdir_in("target").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let [in_small, in_large] = ["small", "large"].map(|name| folder.path().join(name));
    let resident_small = prepared(&in_small, SMALL);
    let resident_large = prepared(&in_large, executions);
    let size = std::fs::metadata(in_large.join("ledger.db")).unwrap();
    let (small, large) = in_turns(
        Asked::open(in_small, SMALL),
        Asked::open(in_large, executions),
    );
    report.say(&format!(
        "`cargo xtask bench ledger-large={executions}`: a ledger filled with {executions} executions through the writer, \
         {} MiB on disk, against one of {SMALL}, both asked in turns.",
        size.len() >> 20
    ));
    let mut rows = Vec::new();
    let goal = Some(Goal::AtMost(2.0));
    for (name, small, large, goal) in [
        (
            "reserve and settle, 1 client, µs",
            &small.reserve,
            &large.reserve,
            goal,
        ),
        (
            "classify and refuse a replay, µs",
            &small.classify,
            &large.classify,
            goal,
        ),
        (
            "of it, the look-up, on pages nobody read before, µs",
            &small.look,
            &large.look,
            None,
        ),
        (
            "list 100 that are blocked, µs",
            &small.list,
            &large.list,
            goal,
        ),
    ] {
        let ratio = large.median().as_secs_f64() / small.median().as_secs_f64();
        rows.push(row(
            name,
            report::micros(small),
            report::micros(large),
            Some(ratio),
            goal.map(|goal| (goal, ratio)),
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
        "resident memory when filled, MiB",
        (resident_small >> 10).to_string(),
        (resident_large >> 10).to_string(),
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

/// Fills a new ledger, and says what memory this process held at its end, in KiB.
fn prepared(folder: &Path, executions: u64) -> u64 {
    std::fs::create_dir(folder).unwrap();
    let ledger = stage::open(folder, Kept::GROUPED);
    let (mut from, began) = (0, Instant::now());
    while from < executions {
        let to = executions.min(from + 250_000);
        fill(&ledger, from, to);
        from = to;
        println!("  {from} executions after {} s", began.elapsed().as_secs());
    }
    let resident = resident_kib();
    leave_open(&ledger);
    resident
}

/// Asks the same of two, one after the other, so that whatever else goes on
/// on the machine meets both.
fn in_turns(mut small: Asked, mut large: Asked) -> (Asked, Asked) {
    for slice in 0..SLICES {
        small.load(slice);
        large.load(slice);
    }
    for round in 0..ASKED {
        small.ask(round);
        large.ask(round);
    }
    small.ledger.stop().unwrap();
    large.ledger.stop().unwrap();
    (small, large)
}

impl Asked {
    fn open(folder: PathBuf, executions: u64) -> Self {
        let (ledger, open) = wall(|| stage::open(&folder, Kept::GROUPED));
        Self {
            ledger,
            folder,
            executions,
            open,
            reserve: Samples::default(),
            pairs: 0.0,
            classify: Samples::default(),
            look: Samples::default(),
            list: Samples::default(),
        }
    }

    /// One client for a slice, and 64 for another.
    fn load(&mut self, slice: usize) {
        let second = Duration::from_secs(1);
        let on = |clients: usize| {
            let name = format!("s{slice}-{clients}");
            load::on(&self.ledger, &self.folder, &name, clients, second)
        };
        self.pairs += on(64).rate / SLICES as f64;
        for sample in on(1).took.iter() {
            self.reserve.add(sample);
        }
    }

    /// Spread over all of them, so that no page is asked for twice.
    fn ask(&mut self, round: u64) {
        let id = format!(
            "f-{}",
            round * (self.executions / ASKED).max(1) % self.executions
        );
        let (found, took) = wall(|| {
            let of = (&stage::agent(), &stage::execution_id(&id));
            self.ledger.lookup(of.0, of.1).wait().unwrap()
        });
        assert!(found.is_some(), "`{id}` is there");
        let looked = took;
        self.look.add(looked);
        let replay = Classification::Replay(Outcome::Succeeded);
        let attempt = stage::attempt(&format!("r-{round}"), &id, replay);
        let (said, took) = wall(|| self.ledger.reserve(attempt).wait().unwrap());
        assert!(matches!(said, Verdict::Refused(_)), "{said:?}");
        self.classify.add(looked + took);
        let (blocked, took) = wall(|| self.ledger.list(Standing::Blocked, 0, 100).wait().unwrap());
        assert_eq!(blocked.len(), 100);
        self.list.add(took);
    }
}

/// How much memory this process holds, in KiB; 0 where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
