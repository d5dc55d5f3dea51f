//! The foreign tools that some chores need, and what they install with them.
//!
//! Each is looked for, never installed system-wide; what is missing is said
//! with the name of what to install, but for cargo-mutants, which goes under
//! `TARGET/tools`. Packages go under `TARGET/clients`, by lock files with digests,
//! and are installed again when a lock file changes.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest as _, Sha256};

use crate::{
    chore::{self, Failure, Outcome},
    workspace,
};

/// Python 3.11 or newer.
pub(crate) fn python() -> Outcome<&'static str> {
    let newer = "import sys; sys.exit(sys.version_info < (3, 11))";
    if answers("python3", &["-c", newer]) {
        return Ok("python3");
    }
    Err(Failure::new(
        "python3 3.11 or newer is needed: install Python with its venv module",
    ))
}

/// Node 20 or newer, with npm.
pub(crate) fn node() -> Outcome<&'static str> {
    let newer = "process.exit(process.versions.node.split('.')[0] >= 20 ? 0 : 1)";
    if answers("node", &["-e", newer]) && answers("npm", &["--version"]) {
        return Ok("node");
    }
    Err(Failure::new(
        "node 20 or newer and npm are needed: install Node.js",
    ))
}

/// Whether cargo-nextest is there.
pub(crate) fn nextest() -> bool {
    answers("cargo", &["nextest", "--version"])
}

/// The version of cargo-mutants: another one knows other changes, of which none
/// may be explained yet.
const MUTANTS: &str = "27.1.0";

/// cargo-mutants, which is installed under `TARGET/tools` where it, or this
/// version of it, is not there.
pub(crate) fn mutants() -> Outcome<PathBuf> {
    let own = workspace::target().join("tools");
    let program = own.join("bin/cargo-mutants");
    let wanted = format!("cargo-mutants {MUTANTS}");
    for found in [PathBuf::from("cargo-mutants"), program.clone()] {
        if said(&found, &["mutants", "--version"]).is_some_and(|said| said.trim() == wanted) {
            return Ok(found);
        }
    }
    let install = ["install", "--quiet", "--locked", "--force", "--root"];
    let mut cargo = chore::command("cargo", install);
    chore::run(cargo.arg(own).arg(format!("cargo-mutants@{MUTANTS}")))?;
    Ok(program)
}

/// A virtual environment under `TARGET/clients/NAME` with exactly the packages
/// of a `requirements.txt`; answers its Python.
pub(crate) fn python_packages(name: &str, requirements: &Path) -> Outcome<PathBuf> {
    let system = python()?;
    let folder = workspace::target().join("clients").join(name);
    let own = folder.join("bin/python");
    installed_once(&folder, &[requirements], || {
        chore::run(chore::command(system, ["-m", "venv", "--clear"]).arg(&folder))?;
        let quietly = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let pip = &mut chore::command(&own, quietly);
        chore::run(
            pip.args(["--require-hashes", "--requirement"])
                .arg(requirements),
        )
    })?;
    Ok(own)
}

/// A folder `TARGET/clients/NAME` with exactly the packages of the lock file in
/// `source` under `node_modules`, and a copy of `source`'s modules beside them,
/// because Node looks for packages beside the module that imports them.
pub(crate) fn node_packages(name: &str, source: &Path) -> Outcome<PathBuf> {
    node()?;
    let folder = workspace::target().join("clients").join(name);
    let lock = source.join("package-lock.json");
    installed_once(&folder, &[&lock, &source.join("package.json")], || {
        for file in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(source.join(file), folder.join(file))?;
        }
        let npm = &mut chore::command("npm", ["ci", "--silent", "--ignore-scripts"]);
        chore::run(npm.current_dir(&folder))
    })?;
    for entry in fs::read_dir(source)? {
        let module = entry?.path();
        if let Some(file) = module
            .file_name()
            .filter(|_| module.extension() == Some("mjs".as_ref()))
        {
            fs::copy(&module, folder.join(file))?;
        }
    }
    Ok(folder)
}

/// Installs into `folder` unless that was done from these very files before.
fn installed_once(folder: &Path, from: &[&Path], install: impl FnOnce() -> Outcome) -> Outcome {
    let mut hasher = Sha256::new();
    for file in from {
        hasher.update(fs::read(file)?);
    }
    let wanted = hasher
        .finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    let stamp = folder.join("installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("   installing into {}", folder.display());
    fs::create_dir_all(folder)?;
    install()?;
    Ok(fs::write(stamp, wanted)?)
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    said(Path::new(program), arguments).is_some()
}

/// What a program prints where it is there and succeeds.
fn said(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}
