//! `cargo xtask bench`: what the binding, the ledger and verification cost, side
//! by side.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    chore::{self, Failure, Outcome},
    workspace,
};

/// What a call costs: WebAssembly against native code, commits shared and not
///
/// Builds optimized and runs the benchmark program of tests/src/bin/bench,
/// which prints its tables and what it measures: the binding, the ledger, and
/// verification. With the name of a section, that one alone; `ledger-large` and
/// `verify-large` fill a ledger with millions of entries and take long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Sections of the benchmark program; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Components hash in software, so native code does too; in a folder of its
    // own, since the flag would have everything else built anew.
    let optimized = |words: &[&str]| {
        let mut command = chore::command("cargo", words);
        command
            .env("RUSTFLAGS", r#"--cfg sha2_backend="soft""#)
            .env("CARGO_TARGET_DIR", workspace::target().join("bench"));
        command
    };
    if arguments
        .arguments
        .iter()
        .any(|word| word == "verify-large")
    {
        // The shipped command is measured, in a process of its own.
        let build = ["build", "--quiet", "--release", "--bin", "countersign"];
        chore::run(&mut optimized(&build))?;
    }
    if arguments.arguments == ["log"] {
        return log(&optimized);
    }
    let bench = ["run", "--quiet", "--release", "--bin", "bench", "--"];
    chore::run(optimized(&bench).args(&arguments.arguments))
}

/// Turns of each build.
const TURNS: usize = 7;

/// What the log costs in the path of a call: the same benchmark with it and in
/// a build, made for this alone, that leaves it out.
fn log(optimized: &dyn Fn(&[&str]) -> Command) -> Outcome {
    const BUILD: [&str; 5] = ["build", "--quiet", "--release", "--bin", "bench"];
    const WITHOUT: [&str; 2] = ["--features", "countersign-tests/bench-without-log"];
    let folder = workspace::target().join("bench/release");
    let built = |name: &str, features: &[&str]| -> Outcome<PathBuf> {
        chore::run(&mut optimized(&[&BUILD, features].concat()))?;
        let kept = folder.join(name);
        fs::copy(folder.join("bench"), &kept)?;
        Ok(kept)
    };
    let without = built("bench-without-log", &WITHOUT)?;
    let with = built("bench-with-log", &[])?;
    let turn = |program: &PathBuf| -> Outcome<f64> {
        let said = Command::new(program).arg("log-turn").output()?;
        let text = String::from_utf8_lossy(&said.stdout);
        let number = text.trim().parse();
        number.map_err(|_| Failure::new(format!("`{}` says `{text}`", program.display())))
    };
    let (mut left_out, mut kept) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        left_out.push(turn(&without)?);
        kept.push(turn(&with)?);
    }
    left_out.sort_by(f64::total_cmp);
    kept.sort_by(f64::total_cmp);
    let middle = |rates: &[f64]| rates.get(TURNS / 2).copied().unwrap_or_default();
    println!("pairs of reserve and settle in a second, 64 clients, {TURNS} turns each");
    println!("  without the log {:>8.0}", middle(&left_out));
    println!("  with the log    {:>8.0}", middle(&kept));
    let ratio = middle(&kept) / middle(&left_out);
    println!("  ratio           {ratio:>8.2} (at least 0.9)");
    Ok(())
}
