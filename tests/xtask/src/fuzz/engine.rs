//! The engine: built with the project's crates instrumented, and run for a
//! time on one target.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::corpus;
use crate::{
    chore::{self, Outcome},
    workspace,
};

/// What one process may use, in MiB; an input that needs more is a finding.
const MEMORY_MB: u32 = 2_048;
/// How long one input may take, in seconds; a longer one is a finding.
const SECONDS: u32 = 20;
/// How often a line says how far it is.
const SAY_EVERY: Duration = Duration::from_secs(15);
/// How much of what the engine says last is shown where it found something.
const SHOWN: usize = 60;

/// Builds the driver; answers its path.
pub(super) fn build() -> Outcome<PathBuf> {
    // A folder of its own, since the wrapper gives other objects under the names
    // that cargo knows. The first build there takes minutes.
    let folder = workspace::target().join("fuzz/build");
    let build = ["build", "--quiet", "--workspace", "--bin", "fuzz-driver"];
    let mut command = chore::command("cargo", build);
    command.args(["--features", "countersign-fuzz-driver/engine"]);
    command.env("CARGO_TARGET_DIR", &folder);
    let wrapper = workspace::root().join("tests/fuzz/driver/instrument");
    chore::run(command.env("RUSTC_WRAPPER", wrapper))?;
    Ok(folder.join("debug/fuzz-driver"))
}

/// Tries a target for a time; false where something was found.
pub(super) fn explore(engine: &Path, target: &str, time: Duration) -> Outcome<bool> {
    let work = corpus::working(target)?;
    let found = corpus::root().join("found").join(target);
    std::fs::create_dir_all(&found)?;
    let before = files(&found)?;
    let mut command = chore::command(engine, [""; 0]);
    command
        .env("COUNTERSIGN_FUZZ_TARGET", target)
        .arg(&work)
        .args([corpus::root().join("corpus").join(target), found.clone()])
        .arg(format!("-max_total_time={}", time.as_secs()))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-timeout={SECONDS}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .arg("-print_final_stats=1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    println!("\n== {target}, for {} s", time.as_secs());
    let mut process = command.spawn()?;
    let mut last = std::collections::VecDeque::new();
    let mut said = now();
    if let Some(output) = process.stderr.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            let progress = line.starts_with('#') && line.contains(" cov: ");
            if progress && (said.elapsed() >= SAY_EVERY || line.contains(" DONE ")) {
                said = now();
                println!("   {}", short(&line));
            }
            if !progress {
                last.push_back(line);
                if last.len() > SHOWN {
                    last.pop_front();
                }
            }
        }
    }
    if process.wait()?.success() {
        return Ok(true);
    }
    last.iter().for_each(|line| println!("   {line}"));
    for file in files(&found)?.difference(&before) {
        println!("   found: {}", found.join(file).display());
    }
    Ok(false)
}

/// `#123 NEW cov: 1 ft: 2 corp: 3/4Kb lim: 5 exec/s: 6 rss: 7Mb L: …` without
/// what only the engine's authors read.
fn short(line: &str) -> &str {
    line.split(" L: ").next().unwrap_or(line)
}

fn files(folder: &Path) -> Outcome<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        files.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(files)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore tells the reader how far it is"
)]
fn now() -> Instant {
    Instant::now()
}
