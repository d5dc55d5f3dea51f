//! `cargo xtask bench budget`: how many instructions one admitted call takes, so that
//! a regression is seen without a clock.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use crate::{
    chore::{self, Failure, Outcome},
    nextest, workspace,
};

/// The stages, in the order in which the benchmark program carries them out.
const STAGES: [&str; 5] = ["admit", "interpret", "decide", "reserve", "settle"];
/// What comes after the last one.
const END: &str = "end";

/// Calls that are counted together.
const ROUNDS: u64 = 20;

/// How far above its budget a stage may be, in tenths of a percent. Two runs of
/// one build on one machine differ by some 0.2 %; another processor has libraries
/// choose other code for the same work.
const TOLERANCE: u64 = 100;

/// How far below it the budget counts as loose, in tenths of a percent.
const LOOSE: u64 = 150;

const HEAD: &str = "\
# Instructions of one admitted call in the development build, by stage: what
# `cargo xtask bench budget` counts with callgrind, and holds the next build against.
# `cargo xtask bench budget --update` writes it anew; say why in the commit.
";

/// Builds what is counted, and counts.
pub(super) fn run(update: bool) -> Outcome {
    nextest::binaries()?;
    check(update)
}

/// The same with binaries that are there.
pub(crate) fn check(update: bool) -> Outcome {
    let counted = count()?;
    let path = workspace::root().join("tests/xtask/budget.txt");
    if update {
        let mut text = String::from(HEAD);
        for (stage, instructions) in STAGES.iter().zip(&counted) {
            let _ = writeln!(text, "{stage} {instructions}");
        }
        fs::write(path, text)?;
        return Ok(());
    }
    let budget = read(&fs::read_to_string(path)?)?;
    let mut over = Vec::new();
    println!("   instructions of one call, development build");
    for (stage, instructions) in STAGES.into_iter().zip(counted) {
        let allowed = budget.get(stage).copied().unwrap_or_default();
        println!("   {stage:<10} {instructions:>10} of {allowed:>10}");
        match judge(instructions, allowed) {
            Verdict::Within => {}
            Verdict::Loose => println!(
                "   {stage}: the budget is loose; `cargo xtask bench budget --update` would tighten it"
            ),
            Verdict::Over(tenths) => over.push(format!(
                "{stage} takes {instructions} instructions, {}.{} % more than its budget of {allowed}",
                tenths / 10,
                tenths % 10
            )),
        }
    }
    if over.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{}; find out why (callgrind_annotate target/budget/counted.*), or write a new budget with \
         `cargo xtask bench budget --update` and say in the commit what it buys",
        over.join("; ")
    )))
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Within,
    Loose,
    /// By so many tenths of a percent.
    Over(u64),
}

fn judge(instructions: u64, allowed: u64) -> Verdict {
    let tenths = |more: u64| more.saturating_mul(1_000) / allowed.max(1);
    if tenths(instructions.saturating_sub(allowed)) >= TOLERANCE {
        Verdict::Over(tenths(instructions.saturating_sub(allowed)))
    } else if tenths(allowed.saturating_sub(instructions)) >= LOOSE {
        Verdict::Loose
    } else {
        Verdict::Within
    }
}

fn read(text: &str) -> Outcome<BTreeMap<String, u64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (stage, number) = line
                .split_once(' ')
                .ok_or_else(|| Failure::new(format!("tests/xtask/budget.txt: `{line}`")))?;
            Ok((stage.to_owned(), number.parse()?))
        })
        .collect()
}

/// Instructions of one call, for each stage.
fn count() -> Outcome<Vec<u64>> {
    let folder = workspace::target().join("budget");
    fs::create_dir_all(&folder)?;
    for file in parts(&folder)? {
        fs::remove_file(file)?;
    }
    // Compiled code is kept here for the next time.
    let program = workspace::binaries().join("bench");
    let mut valgrind = chore::command(
        "valgrind",
        ["--tool=callgrind", "--quiet", "--dump-before=*::budgeted_*"],
    );
    valgrind
        .arg(format!(
            "--callgrind-out-file={}",
            folder.join("counted").display()
        ))
        .arg(program)
        .arg("instructions")
        .arg(&folder)
        .arg(ROUNDS.to_string());
    chore::run(&mut valgrind).map_err(|failure| {
        Failure::new(format!(
            "{failure}; this needs valgrind (apt-get install valgrind)"
        ))
    })?;
    let mut texts = Vec::new();
    for file in parts(&folder)? {
        texts.push(fs::read_to_string(file)?);
    }
    stages(&texts)
}

/// What callgrind wrote.
fn parts(folder: &Path) -> Outcome<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("counted") {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// Each part was written when the stage after it began, and says so.
fn stages(parts: &[String]) -> Outcome<Vec<u64>> {
    let mut counted = Vec::new();
    let next = STAGES.iter().skip(1).chain([&END]);
    for (stage, next) in STAGES.iter().zip(next) {
        let begun = format!("::budgeted_{next}");
        let part = parts.iter().find(|part| {
            let mut lines = part.lines();
            lines.any(|line| line.starts_with("desc: Trigger:") && line.contains(&begun))
        });
        let totals = part.and_then(|part| {
            let mut lines = part.lines();
            lines.find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok())
        });
        let totals =
            totals.ok_or_else(|| Failure::new(format!("callgrind did not count `{stage}`")))?;
        counted.push(totals / ROUNDS);
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_may_be_a_little_above_its_budget_and_not_more() {
        for (instructions, verdict) in [
            (100_000, Verdict::Within),
            (109_900, Verdict::Within),
            (110_000, Verdict::Over(100)),
            (150_000, Verdict::Over(500)),
            (85_100, Verdict::Within),
            (85_000, Verdict::Loose),
        ] {
            assert_eq!(judge(instructions, 100_000), verdict, "{instructions}");
        }
        assert_eq!(
            judge(1, 0),
            Verdict::Over(1_000),
            "a stage without a budget"
        );
    }

    #[test]
    fn what_a_part_holds_is_the_stage_before_the_one_that_began() {
        let part = |next: &str, totals: u64| {
            format!(
                "desc: Trigger: --dump-before=bench::instructions::budgeted_{next}\ntotals: {totals}\n"
            )
        };
        let mut parts = vec![
            part("admit", 7_000),
            part("interpret", 20),
            part("decide", 40),
            part("reserve", 60),
            part("settle", 80),
            part("end", 100),
            "desc: Trigger: Program termination\ntotals: 9000\n".to_owned(),
        ];
        assert_eq!(stages(&parts).unwrap(), [1, 2, 3, 4, 5]);
        parts.remove(3);
        assert!(stages(&parts).is_err(), "a stage that was not counted");
    }
}
