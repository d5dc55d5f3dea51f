//! `cargo xtask bench`: what the binding, the ledger and verification cost, side
//! by side.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

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
        return log();
    }
    let bench = ["run", "--quiet", "--release", "--bin", "bench", "--"];
    chore::run(optimized(&bench).args(&arguments.arguments))
}

/// Turns of each build.
const TURNS: usize = 7;

/// What the log costs in the path of a call: the same benchmark with it and in
/// a build, made for this alone, that leaves it out. Hashed as the shipped
/// program hashes, with what the processor has for that.
fn log() -> Outcome {
    const BUILD: [&str; 7] = [
        "build",
        "--quiet",
        "--release",
        "--bin",
        "bench",
        "--bin",
        "countersign",
    ];
    const WITHOUT: [&str; 2] = ["--features", "countersign-tests/bench-without-log"];
    let target = workspace::target().join("bench-log");
    let built = |name: &str, features: &[&str]| -> Outcome<PathBuf> {
        let mut build = chore::command("cargo", [&BUILD, features].concat());
        chore::run(build.env("CARGO_TARGET_DIR", &target))?;
        let kept = target.join(name);
        fs::create_dir_all(&kept)?;
        for program in ["bench", "countersign"] {
            fs::copy(target.join("release").join(program), kept.join(program))?;
        }
        Ok(kept)
    };
    let without = built("without-log", &WITHOUT)?;
    let with = built("with-log", &[])?;
    let (mut left_out, mut kept) = (Rates::default(), Rates::default());
    for _ in 0..TURNS {
        left_out.add(&turn(&without)?);
        kept.add(&turn(&with)?);
    }
    println!("64 clients, {TURNS} turns each: the middle one of each build, in a second");
    let row = |name: &str, left_out: &mut Vec<f64>, kept: &mut Vec<f64>, goal: &str| {
        let (without, with) = (middle(left_out), middle(kept));
        let ratio = with / without;
        println!(
            "  {name:<28} {without:>8.0} without the log, {with:>8.0} with it: {ratio:.2}{goal}"
        );
        println!("  {:<28} {} and {}", "", spread(left_out), spread(kept));
    };
    let goal = " (at least 0.9)";
    row(
        "calls through the gateway",
        &mut left_out.calls,
        &mut kept.calls,
        goal,
    );
    row(
        "reserve and settle alone",
        &mut left_out.pairs,
        &mut kept.pairs,
        "",
    );
    Ok(())
}

/// What the turns of one build came to, in a second.
#[derive(Default)]
struct Rates {
    calls: Vec<f64>,
    pairs: Vec<f64>,
}

impl Rates {
    fn add(&mut self, (calls, pairs): &(f64, f64)) {
        self.calls.push(*calls);
        self.pairs.push(*pairs);
    }
}

/// One turn of the build in `folder`.
fn turn(folder: &Path) -> Outcome<(f64, f64)> {
    let said = Command::new(folder.join("bench"))
        .arg("log-turn")
        .env("COUNTERSIGN_BINARIES", folder)
        .output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(calls)), Some(Ok(pairs))) => Ok((calls, pairs)),
        _ => {
            let why = String::from_utf8_lossy(&said.stderr).into_owned();
            Err(Failure::new(format!(
                "`{}` says `{text}`: {why}",
                folder.display()
            )))
        }
    }
}

fn middle(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(TURNS / 2).copied().unwrap_or_default()
}

fn spread(rates: &[f64]) -> String {
    let of = |rate: Option<&f64>| rate.copied().unwrap_or_default();
    format!("({:.0} to {:.0})", of(rates.first()), of(rates.last()))
}
