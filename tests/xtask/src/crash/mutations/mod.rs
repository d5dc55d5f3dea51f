//! `cargo xtask crash --mutations`: the ledger and the gateway are broken on
//! purpose, one way at a time, and each must be caught.
//!
//! 1. The sources are copied under target/mutations; the originals stay as they
//!    are.
//! 2. What is to catch mutations is run on the copy, unbroken.
//! 3. Each mutation is written into the copy and built in a folder of its own. The
//!    ledger's are tested first where they ought to be caught, then everywhere;
//!    those of the gateway meet the crash harness, which is not built again, or the
//!    stateful one, which holds the gateway in it.
//! 4. What caught it is printed: a test only where it fails a second time, alone.
//!    One that survives fails the run.

mod copy;
mod harness;
mod stateful;
mod table;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::{Command, Output},
    time::Instant,
};

use harness::HARNESS;
use stateful::STATEFUL;
use table::{By, LEDGER, Mutation};

use crate::{
    chore::{self, Failure, Outcome},
    tools, workspace,
};

/// What the harness runs.
const HARNESS_BINARIES: &[&str] = &["--bin", "countersign", "--bin", "crash"];

/// Where the mutations' texts are.
const SOURCES: [&str; 2] = ["host/ledger/src", "host/gateway/src"];

/// A test that hangs is stopped, and has caught the mutation.
const NEXTEST: &str =
    "[profile.default]\nslow-timeout = { period = \"60s\", terminate-after = 5 }\n";

/// What became of a mutation.
enum Became {
    Caught(String),
    Survived,
    /// A test failed once and then passed: that proves nothing.
    Unsteady(String),
    /// It does not build: the table is at fault.
    Broken(String),
}

/// Tries the mutations whose name holds `only`, or that `only` is to catch; the
/// empty text is in each.
pub(super) fn run(only: &str) -> Outcome {
    if !tools::nextest() {
        let install = "cargo install cargo-nextest --locked";
        return Err(Failure::new(format!("this needs cargo-nextest: {install}")));
    }
    let chosen = |one: &&Mutation| one.name.contains(only) || one.by.name() == only;
    let mutations: Vec<&Mutation> = all().filter(chosen).collect();
    let bench = Workbench::prepare(&mutations)?;
    let mut failed = 0;
    let began = now();
    for (index, mutation) in mutations.iter().enumerate() {
        let began = now();
        let became = bench.try_out(mutation)?;
        let (verdict, good) = match became {
            Became::Caught(by) => (format!("caught by {by}"), true),
            Became::Survived => ("SURVIVED".to_owned(), false),
            Became::Unsteady(by) => (format!("SURVIVED where {by} was asked again"), false),
            Became::Broken(why) => (format!("DOES NOT BUILD: {why}"), false),
        };
        failed += usize::from(!good);
        println!(
            "{:>3}/{} {:>4} s  {}: {verdict}",
            index + 1,
            mutations.len(),
            began.elapsed().as_secs(),
            mutation.name
        );
    }
    println!(
        "\n{} mutations, {} caught, {failed} not, in {} s",
        mutations.len(),
        mutations.len() - failed,
        began.elapsed().as_secs()
    );
    if failed == 0 {
        Ok(())
    } else {
        Err(Failure::new("a mutation was not caught"))
    }
}

/// Every mutation.
fn all() -> impl Iterator<Item = &'static Mutation> {
    LEDGER.iter().chain(HARNESS).chain(STATEFUL)
}

/// The copy, and where it is built.
struct Workbench {
    sources: PathBuf,
    build: PathBuf,
    config: PathBuf,
}

impl Workbench {
    fn prepare(mutations: &[&Mutation]) -> Outcome<Self> {
        let folder = workspace::target().join("mutations");
        let bench = Self {
            sources: folder.join("sources"),
            build: folder.join("build"),
            config: folder.join("nextest.toml"),
        };
        copy::tree(workspace::root(), &bench.sources)?;
        std::fs::write(&bench.config, NEXTEST)?;
        println!("Building the copy in {}, unbroken", folder.display());
        if mutations.iter().any(|one| matches!(one.by, By::Tests(_))) {
            unbroken(&bench.tests(&[]).output()?)?;
        }
        let cells: BTreeSet<_> = mutations.iter().filter_map(|one| cells(one.by)).collect();
        if !cells.is_empty() {
            unbroken(&bench.build(HARNESS_BINARIES).output()?)?;
        }
        for (store, cells) in cells {
            unbroken(&bench.harness(store, cells).output()?)?;
        }
        if mutations.iter().any(|one| matches!(one.by, By::Stateful)) {
            unbroken(&bench.build(STATEFUL_BINARIES).output()?)?;
            unbroken(&bench.stateful().output()?)?;
        }
        Ok(bench)
    }

    /// Cargo on the copy, in a folder of its own.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = chore::command("cargo", arguments);
        command
            .current_dir(&self.sources)
            .arg("--offline")
            // Nobody debugs a mutant, and most of its time is its build.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_TARGET_DIR", &self.build);
        command
    }

    /// What is built of the copy.
    fn build(&self, what: &[&str]) -> Command {
        let mut command = self.cargo(&["build", "--workspace"]);
        command.args(what);
        command
    }

    /// The ledger's tests in the copy.
    fn tests(&self, selection: &[&str]) -> Command {
        let mut command = self.cargo(&["nextest", "run"]);
        command
            .args(["--package", "countersign-ledger", "--no-tests", "pass"])
            .arg("--config-file")
            .arg(&self.config)
            .args(selection);
        command
    }

    /// Some cells of the crash harness, on the gateway that was built of the copy.
    fn harness(&self, store: &str, cells: &str) -> Command {
        let binaries = self.build.join("debug");
        let mut command = chore::command(binaries.join("crash"), [""; 0]);
        command
            .env("COUNTERSIGN_BINARIES", binaries)
            .args(["--only", "matrix", "--store", store, "--until", cells]);
        command
    }

    /// Each row of the stateful harness's matrix once.
    fn stateful(&self) -> Command {
        let binaries = self.build.join("debug");
        let mut command = chore::command(binaries.join("stateful"), [""; 0]);
        command.env("COUNTERSIGN_BINARIES", binaries).args([
            "--seed",
            "1",
            "--sequences",
            "rows",
            "--binary",
            "0",
        ]);
        command
    }

    fn try_out(&self, mutation: &Mutation) -> Outcome<Became> {
        let folders = SOURCES.map(|folder| self.sources.join(folder));
        let mut undo = Vec::new();
        for (find, replace) in mutation.edits {
            let path = copy::holder(&folders, find)?;
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(&path, text.replacen(find, replace, 1))?;
            undo.push((path, text));
        }
        let became = match mutation.by {
            By::Tests(first) => self.judge_by_tests(first),
            By::Harness(store, cells) => self.judge_by_harness(store, cells),
            By::Stateful => self.judge_by_model(),
        };
        for (path, text) in undo.into_iter().rev() {
            std::fs::write(path, text)?;
        }
        became
    }

    fn judge_by_tests(&self, first: &[&str]) -> Outcome<Became> {
        // The model checker sees the state machine alone, and takes long.
        for selection in [first, &["-E", "not binary(checked)"]] {
            let output = self.tests(selection).output()?;
            if !output.status.success() {
                return self.confirmed(caught_by(&output));
            }
        }
        Ok(Became::Survived)
    }

    /// A test that failed has caught a mutation where it fails again, alone.
    fn confirmed(&self, became: Became) -> Outcome<Became> {
        let by = match became {
            Became::Caught(by) if !by.ends_with(HUNG) => by,
            other => return Ok(other),
        };
        let name = by.split_whitespace().last().unwrap_or_default();
        let only = format!("test(={name})");
        let again = self.tests(&["-E", &only]).output()?;
        Ok(if again.status.success() {
            Became::Unsteady(by)
        } else {
            Became::Caught(by)
        })
    }

    fn judge_by_harness(&self, store: &str, cells: &str) -> Outcome<Became> {
        let build = self.build(&["--bin", "countersign"]).output()?;
        if !build.status.success() {
            return Ok(caught_by(&build));
        }
        let output = self.harness(store, cells).output()?;
        if output.status.success() {
            return Ok(Became::Survived);
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = said.lines().find_map(|line| line.strip_prefix("FAILED "));
        let how: String = failed.unwrap_or(&said).chars().take(HOW).collect();
        Ok(Became::Caught(format!("the harness, {store}: {how}")))
    }

    fn judge_by_model(&self) -> Outcome<Became> {
        let build = self.build(STATEFUL_BINARIES).output()?;
        if !build.status.success() {
            return Ok(caught_by(&build));
        }
        let output = self.stateful().output()?;
        if output.status.success() {
            return Ok(Became::Survived);
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let row = said.lines().find(|line| line.starts_with("seed "));
        let why = said.lines().find_map(|line| line.strip_prefix("- "));
        let how = [row, why]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let how: String = how.chars().take(HOW).collect();
        Ok(Became::Caught(format!("the stateful harness: {how}")))
    }
}

/// What the stateful harness is, and the gateway that it starts for the plans that
/// are kept.
const STATEFUL_BINARIES: &[&str] = &["--bin", "countersign", "--bin", "stateful"];

/// What is said of a test that had to be stopped; once is enough.
const HUNG: &str = " (it hung)";

/// How much of what the harness says is printed, in characters.
const HOW: usize = 200;

fn cells(by: By) -> Option<(&'static str, &'static str)> {
    match by {
        By::Tests(_) | By::Stateful => None,
        By::Harness(store, cells) => Some((store, cells)),
    }
}

fn unbroken(output: &Output) -> Outcome {
    if output.status.success() {
        return Ok(());
    }
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    Err(Failure::new(format!(
        "it fails unbroken: {}",
        said.concat()
    )))
}

/// The first test that failed, from what nextest prints.
fn caught_by(output: &Output) -> Became {
    let said = String::from_utf8_lossy(&output.stderr);
    let failed = |line: &&str| {
        let line = line.trim_start();
        ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV ["]
            .iter()
            .any(|verdict| line.starts_with(verdict))
    };
    match said.lines().find(failed) {
        Some(line) => {
            let verdict = line.split_whitespace().next().unwrap_or_default();
            let mut words: Vec<&str> = line.split_whitespace().rev().take(2).collect();
            words.reverse();
            let how = match verdict {
                "TIMEOUT" => HUNG.to_owned(),
                _ => String::new(),
            };
            Became::Caught(words.join(" ") + &how)
        }
        None => {
            let error = said.lines().find(|line| line.starts_with("error"));
            Became::Broken(error.unwrap_or("for no reason that was printed").to_owned())
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a chore tells how long it took")]
fn now() -> Instant {
    Instant::now()
}

/// Which mutations' texts do not occur exactly once under `root`.
#[cfg(test)]
fn rotten(root: &std::path::Path) -> Vec<String> {
    let folders = SOURCES.map(|folder| root.join(folder));
    let sources: Vec<String> = folders
        .iter()
        .flat_map(|folder| copy::texts(folder))
        .collect();
    let edits = all().flat_map(|mutation| {
        let name = mutation.name;
        mutation.edits.iter().map(move |(find, _)| (name, *find))
    });
    edits
        .filter_map(|(name, find)| {
            let times: usize = sources.iter().map(|text| text.matches(find).count()).sum();
            (times != 1).then(|| format!("{name}: `{find}` occurs {times} times"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mutation_finds_its_text_once() {
        let rotten = rotten(workspace::root());
        assert!(rotten.is_empty(), "{}", rotten.join("\n"));
    }

    #[test]
    fn a_text_that_is_gone_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(rotten(folder.path()).len() >= all().count());
    }

    #[test]
    fn no_two_mutations_have_one_name() {
        let names: BTreeSet<_> = all().map(|one| one.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
