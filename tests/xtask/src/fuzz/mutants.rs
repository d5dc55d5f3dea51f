//! Mutation testing by cargo-mutants: small changes of the rooms on which
//! everything rests, one at a time, and their own tests before each.
//!
//! What is changed stands in `.cargo/mutants.toml`; this only says which tests
//! see which part, keeps the changed sources apart from the real ones, and
//! compares what survives with tests/mutants.md, where each is explained.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{
    chore::{self, Failure, Outcome},
    tools, workspace,
};

/// Into how many parts the canonical rooms' mutants are divided, of which the
/// tests try one: some ten mutants.
const SAMPLES: u64 = 80;

/// What is changed, and which tests are to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Subject {
    /// The strict reader, the canonical writer and the classification
    Canon,
    /// The state machine of executions
    Machine,
    /// The verifier
    Verifier,
    /// Who calls: tokens, keys, proofs of possession, SPIFFE ids
    Identity,
    /// What was approved, and what differs from it
    Catalog,
    /// What policies are given, and which of them apply
    Policy,
    /// The protocol: headers, revisions, envelopes, streams of events
    Mcp,
}

impl Subject {
    const fn name(self) -> &'static str {
        match self {
            Self::Canon => "canon",
            Self::Machine => "machine",
            Self::Verifier => "verifier",
            Self::Identity => "identity",
            Self::Catalog => "catalog",
            Self::Policy => "policy",
            Self::Mcp => "mcp",
        }
    }

    /// The folder of its workspace, and its package there.
    const fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Canon => ("guest", "countersign-canon"),
            Self::Machine => ("", "countersign-ledger"),
            Self::Verifier => ("", "countersign-verifier"),
            Self::Identity => ("", "countersign-identity"),
            Self::Catalog => ("", "countersign-catalog"),
            Self::Policy => ("", "countersign-policy"),
            Self::Mcp => ("", "countersign-mcp"),
        }
    }

    /// The tests, as `cargo test` takes them: fast ones, and its own.
    const fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Machine => &["--lib"],
            _ => &["--lib", "--tests"],
        }
    }
}

/// Tries a few mutants of the reader, the writer and the classification: each
/// commit others, and one commit always the same.
pub(crate) fn sample() -> Outcome {
    let commits = chore::command("git", ["rev-list", "--count", "HEAD"]).output()?;
    let commits = String::from_utf8_lossy(&commits.stdout);
    let commits: u64 = commits.trim().parse().unwrap_or_default();
    run(
        Subject::Canon,
        Some(&format!("{}/{SAMPLES}", commits % SAMPLES)),
    )
}

/// Tries every mutant of a subject, or of a `shard` of it like `3/20`.
pub(super) fn run(subject: Subject, shard: Option<&str>) -> Outcome {
    let program = tools::mutants()?;
    let name = subject.name();
    let tree = copy()?;
    let out = workspace::target().join("mutants").join(name);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let (folder, package) = subject.package();
    let mut command = chore::command(program, ["mutants", "--in-place", "--no-shuffle"]);
    command
        .current_dir(tree.join(folder))
        .env(
            "CARGO_TARGET_DIR",
            workspace::target().join("mutants/build"),
        )
        // One crate is compiled again and again, with one place changed.
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .args(["--package", package])
        .arg("--config")
        .arg(workspace::root().join(".cargo/mutants.toml"))
        .arg("--output")
        .arg(&out);
    if let Some(shard) = shard {
        command.args(["--shard", shard]);
    }
    let status = chore::status(command.arg("--").args(subject.tests()))?;
    if !status.code().is_some_and(tried_all) {
        return Err(Failure::new(format!(
            "cargo-mutants tried nothing, or not everything: {status}; do the tests of {package} pass?"
        )));
    }
    let missed = fs::read_to_string(out.join("mutants.out/missed.txt"))?;
    let folder = Path::new(folder);
    let survived = survivors(missed.lines().filter_map(|line| mutant(folder, line)));
    let known = explained()?;
    let mut unknown = Vec::new();
    for (mutant, times) in &survived {
        let allowed = known.get(mutant).copied().unwrap_or(0);
        if *times > allowed {
            unknown.push(format!("{} `{}`", mutant.0, mutant.1));
        }
    }
    println!(
        "   {name}: {} survived, {} of them without an explanation",
        survived.values().sum::<usize>(),
        unknown.len()
    );
    unknown.iter().for_each(|line| println!("   {line}"));
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "mutants survived that tests/mutants.md does not explain: let a test see them, or explain them there",
    ))
}

/// Whether cargo-mutants came to its end, by its status: all were caught (0),
/// some survived (2), or some made the tests run for ever (3), which is seen
/// too. Which survivors are known is judged here. Everything else is a fault of
/// its own: tests that fail without a change (4), for example.
fn tried_all(status: i32) -> bool {
    matches!(status, 0 | 2 | 3)
}

/// A mutant: its file, and what was done there.
type Mutant = (String, String);

/// `FILE:LINE:COLUMN: WHAT`, without the place, which moves.
fn mutant(folder: &Path, line: &str) -> Option<Mutant> {
    let (place, what) = line.split_once(": ")?;
    let file = place.split(':').next()?;
    Some((folder.join(file).display().to_string(), what.to_owned()))
}

fn survivors(mutants: impl Iterator<Item = Mutant>) -> BTreeMap<Mutant, usize> {
    let mut all = BTreeMap::new();
    for mutant in mutants {
        *all.entry(mutant).or_default() += 1;
    }
    all
}

/// Those that are explained, and how many of each there are.
fn explained() -> Outcome<BTreeMap<Mutant, usize>> {
    let text = fs::read_to_string(workspace::root().join("tests/mutants.md"))?;
    Ok(text.lines().filter_map(row).collect())
}

/// `| FILE | `WHAT` | TIMES | WHY |`
fn row(line: &str) -> Option<(Mutant, usize)> {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [file, what, times, _why] = cells.as_slice() else {
        return None;
    };
    let what = what.strip_prefix('`')?.strip_suffix('`')?;
    // A bar would end the cell.
    let what = what.replace("\\|", "|");
    Some((((*file).to_owned(), what), times.parse().ok()?))
}

/// The sources as they are now, in a folder where they may be changed; files
/// that are as before keep their time, so that little is built again.
fn copy() -> Outcome<PathBuf> {
    let tree = workspace::target().join("mutants/tree");
    let listed = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let listed = chore::command("git", listed).output()?;
    for file in String::from_utf8_lossy(&listed.stdout).split('\0') {
        let (from, to) = (workspace::root().join(file), tree.join(file));
        if file.is_empty() || !from.is_file() {
            continue;
        }
        let content = fs::read(&from)?;
        if fs::read(&to).is_ok_and(|known| known == content) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&to, content)?;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{explained, mutant, row, tried_all};

    #[test]
    fn a_survivor_is_known_by_what_was_done_and_not_by_its_line() {
        let said = "canon/src/string.rs:57:13: replace | with ^ in plain";
        let known = "| guest/canon/src/string.rs | `replace \\| with ^ in plain` | 2 | why |";
        let (explained, times) = row(known).unwrap();
        assert_eq!(mutant(Path::new("guest"), said), Some(explained));
        assert_eq!(times, 2);
        assert_eq!(row("| file | mutant | times | why |"), None);
    }

    #[test]
    fn tests_that_fail_without_a_change_are_no_mutant_that_was_caught() {
        for (status, whole) in [(0, true), (2, true), (3, true), (1, false), (4, false)] {
            assert_eq!(tried_all(status), whole, "{status}");
        }
    }

    #[test]
    fn what_is_explained_is_in_files_that_there_are() {
        let known = explained().unwrap();
        for (file, what) in known.keys() {
            let path = crate::workspace::root().join(file);
            assert!(path.is_file(), "{file} `{what}`");
        }
    }
}
