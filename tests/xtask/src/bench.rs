//! `cargo xtask bench`: builds what is measured, lets the benchmark program
//! measure, and makes docs/performance.md of what it says.

pub(crate) mod budget;
mod page;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    chore::{self, Failure, Outcome},
    workspace,
};

/// Every figure of the project, each beside its reference, in one run
///
/// Builds optimized and runs the benchmark program of tests/src/bin/bench,
/// section by section, prints its tables with medians and spread, and writes
/// docs/performance.md. With names of sections, those alone, and no page unless
/// `--write` says so. `log` and `gateway` are compared with builds, made for
/// this alone, that leave the log out or never wait for the disk.
///
/// `budget`, by itself, has valgrind's callgrind count the instructions of one
/// admitted call of a kibibyte under a bundle of 100 rules in the development
/// build: admit, interpret, decide, reserve and settle, each alone. It fails
/// where a stage takes a tenth more than tests/xtask/budget.txt allows, so that
/// a regression is seen without a clock.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// `machine`, `gateway`, `log`, `ledger`, `binding`, `verify`; `ledger-large=N` and
    /// `verify-large=N`, which fill a ledger with N executions or entries and take long;
    /// or `budget`
    sections: Vec<String>,

    /// With the two that take long
    #[arg(long)]
    large: bool,

    /// Write the sections that were named into docs/performance.md
    #[arg(long)]
    write: bool,

    /// With `budget`: write what was counted as the new one
    #[arg(long)]
    update: bool,
}

/// What a section is measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// As it ships.
    Shipped,
    /// Components hash in software, so native code does too.
    SoftwareHashing,
}

/// A section: its name, its heading on the page, and its build.
#[derive(Debug)]
struct Section {
    name: &'static str,
    heading: &'static str,
    build: Build,
    large: bool,
}

/// All of them, as they stand on the page.
const SECTIONS: [Section; 8] = [
    Section::new("machine", "The machine", Build::Shipped),
    Section::new("gateway", "The gateway", Build::Shipped),
    Section::new("log", "The log", Build::Shipped),
    Section::new("ledger", "The ledger", Build::Shipped),
    Section::new("ledger-large", "A large ledger", Build::Shipped).large(),
    Section::new("binding", "The binding", Build::SoftwareHashing),
    Section::new("verify", "Verification", Build::SoftwareHashing),
    Section::new(
        "verify-large",
        "Verification of a large log",
        Build::SoftwareHashing,
    )
    .large(),
];

impl Section {
    const fn new(name: &'static str, heading: &'static str, build: Build) -> Self {
        Self {
            name,
            heading,
            build,
            large: false,
        }
    }

    const fn large(self) -> Self {
        Self {
            large: true,
            ..self
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.sections == ["budget"] {
        return budget::run(arguments.update);
    }
    let asked = asked(arguments)?;
    let kept = workspace::target().join("bench-said");
    if kept.exists() {
        fs::remove_dir_all(&kept)?;
    }
    for build in [Build::Shipped, Build::SoftwareHashing] {
        let words: Vec<&str> = asked
            .iter()
            .filter(|(section, _)| section.build == build)
            .map(|(_, word)| word.as_str())
            .collect();
        if !words.is_empty() {
            measure(build, &words, &kept)?;
        }
    }
    if arguments.sections.is_empty() || arguments.write {
        page::write(&kept)?;
    }
    Ok(())
}

/// The sections that are to be measured, with the words for them.
fn asked(arguments: &Arguments) -> Outcome<Vec<(&'static Section, String)>> {
    if arguments.sections.is_empty() {
        let all = SECTIONS.iter();
        let all = all.filter(|section| arguments.large || !section.large);
        return Ok(all.map(|section| (section, section.name.into())).collect());
    }
    let of = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        let section = SECTIONS.iter().find(|section| section.name == name);
        let section =
            section.ok_or_else(|| Failure::new(format!("there is no section `{name}`")))?;
        Ok((section, word.clone()))
    };
    arguments.sections.iter().map(of).collect()
}

/// Builds, and lets the program measure so many sections.
fn measure(build: Build, words: &[&str], kept: &Path) -> Outcome {
    let folder = match build {
        Build::SoftwareHashing => software_hashing()?,
        Build::Shipped => as_shipped("with-log", None)?,
    };
    let mut bench = chore::command(folder.join("bench"), ["--keep"]);
    bench.arg(kept).env("COUNTERSIGN_BINARIES", &folder);
    if words.contains(&"log") {
        let without = as_shipped("without-log", Some("without-log"))?;
        bench.arg("--without-log").arg(without);
    }
    if words.contains(&"gateway") {
        let without = as_shipped("without-durability", Some("without-durability"))?;
        bench.arg("--without-durability").arg(without);
    }
    chore::run(bench.args(words))
}

/// Programs that hash in software everywhere: in a folder of their own, since
/// the flag has everything built anew.
fn software_hashing() -> Outcome<PathBuf> {
    let target = workspace::target().join("bench");
    let mut cargo = cargo(&target);
    chore::run(cargo.env("RUSTFLAGS", r#"--cfg sha2_backend="soft""#))?;
    Ok(target.join("release"))
}

/// Programs that hash as the shipped ones do, as they ship or without what a
/// benchmark leaves out; kept apart, since the next build takes their place.
fn as_shipped(name: &str, left_out: Option<&str>) -> Outcome<PathBuf> {
    let target = workspace::target().join("bench-log");
    let mut cargo = cargo(&target);
    if let Some(left_out) = left_out {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", wrapper(&target, left_out)?);
    }
    chore::run(&mut cargo)?;
    let kept = target.join(name);
    fs::create_dir_all(&kept)?;
    for program in ["bench", "countersign"] {
        fs::copy(target.join("release").join(program), kept.join(program))?;
    }
    Ok(kept)
}

/// A compiler for the workspace's own crates that leaves something out of them.
/// It is no feature, so that no choice of features makes such a build; as a flag
/// for everything it would have every dependency built anew.
fn wrapper(target: &Path, left_out: &str) -> Outcome<PathBuf> {
    let folder = target.join("compilers");
    fs::create_dir_all(&folder)?;
    let path = folder.join(left_out);
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'countersign_bench=\"{left_out}\"'\n");
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn cargo(target: &Path) -> std::process::Command {
    let mut words: Vec<OsString> = ["build", "--quiet", "--release"].map(Into::into).into();
    words.extend(["--bin", "bench", "--bin", "countersign"].map(Into::into));
    let mut command = chore::command("cargo", words);
    command.env("CARGO_TARGET_DIR", target);
    command
}
