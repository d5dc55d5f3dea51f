//! `cargo xtask crash --mutations`: the ledger is broken on purpose, one way at
//! a time, and its own tests must catch each.
//!
//! 1. The sources are copied under target/mutations; the originals stay as they
//!    are.
//! 2. Each mutation is written into the copy, built in a folder of its own, and
//!    tested: first where it ought to be caught, then everywhere.
//! 3. What caught it is printed. One that survives fails the run.

mod copy;
mod table;

use std::{
    path::PathBuf,
    process::{Command, Output},
    time::Instant,
};

use table::{MUTATIONS, Mutation};

use crate::{
    chore::{self, Failure, Outcome},
    tools, workspace,
};

/// A test that hangs is stopped, and has caught the mutation.
const NEXTEST: &str =
    "[profile.default]\nslow-timeout = { period = \"60s\", terminate-after = 5 }\n";

/// What became of a mutation.
enum Became {
    Caught(String),
    Survived,
    /// It does not build: the table is at fault.
    Broken(String),
}

/// Tries the mutations whose name holds `only`; the empty text is in each.
pub(super) fn run(only: &str) -> Outcome {
    if !tools::nextest() {
        let install = "cargo install cargo-nextest --locked";
        return Err(Failure::new(format!("this needs cargo-nextest: {install}")));
    }
    let bench = Workbench::prepare()?;
    let chosen = |mutation: &&Mutation| mutation.name.contains(only);
    let mutations: Vec<&Mutation> = MUTATIONS.iter().filter(chosen).collect();
    let mut failed = 0;
    let began = now();
    for (index, mutation) in mutations.iter().enumerate() {
        let began = now();
        let became = bench.try_out(mutation)?;
        let (verdict, good) = match became {
            Became::Caught(by) => (format!("caught by {by}"), true),
            Became::Survived => ("SURVIVED".to_owned(), false),
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
        Err(Failure::new("a mutation of the ledger was not caught"))
    }
}

/// The copy, and where it is built.
struct Workbench {
    sources: PathBuf,
    build: PathBuf,
    config: PathBuf,
}

impl Workbench {
    fn prepare() -> Outcome<Self> {
        let folder = workspace::target().join("mutations");
        let bench = Self {
            sources: folder.join("sources"),
            build: folder.join("build"),
            config: folder.join("nextest.toml"),
        };
        copy::tree(workspace::root(), &bench.sources)?;
        std::fs::write(&bench.config, NEXTEST)?;
        println!("Building the copy in {}, unbroken", folder.display());
        let output = bench.tests(&[]).output()?;
        if output.status.success() {
            Ok(bench)
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Failure::new(format!(
                "the ledger's tests fail unbroken: {said}"
            )))
        }
    }

    /// The ledger's tests in the copy, alone and in a folder of its own.
    fn tests(&self, selection: &[&str]) -> Command {
        let mut command = chore::command("cargo", ["nextest", "run", "--offline"]);
        command
            .current_dir(&self.sources)
            .args(["--package", "countersign-ledger", "--no-tests", "pass"])
            .arg("--config-file")
            .arg(&self.config)
            .args(selection)
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUSTFLAGS", "-Awarnings");
        command
    }

    fn try_out(&self, mutation: &Mutation) -> Outcome<Became> {
        let mut undo = Vec::new();
        for (find, replace) in mutation.edits {
            let path = copy::holder(&self.sources.join(LEDGER), find)?;
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(&path, text.replacen(find, replace, 1))?;
            undo.push((path, text));
        }
        let became = self.judge(mutation);
        for (path, text) in undo.into_iter().rev() {
            std::fs::write(path, text)?;
        }
        became
    }

    fn judge(&self, mutation: &Mutation) -> Outcome<Became> {
        // The model checker sees the state machine alone, and takes long.
        for selection in [mutation.first, &["-E", "not binary(checked)"]] {
            let output = self.tests(selection).output()?;
            if !output.status.success() {
                return Ok(caught_by(&output));
            }
        }
        Ok(Became::Survived)
    }
}

/// Where the mutations' texts are.
const LEDGER: &str = "host/ledger/src";

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
                "FAIL" => String::new(),
                other => format!(" ({other})"),
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
    let sources = copy::texts(&root.join(LEDGER));
    let edits = MUTATIONS.iter().flat_map(|mutation| {
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
        assert!(rotten(folder.path()).len() >= MUTATIONS.len());
    }
}
