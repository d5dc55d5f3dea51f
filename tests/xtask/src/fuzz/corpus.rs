//! Inputs: those under the build folder, which grow as long as they please,
//! and the few that are kept with the project.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{
    chore::{self, Outcome},
    workspace,
};

/// Of what the engine made at most so much is kept for one target, in bytes.
const KEPT_BYTES: u64 = 40_000;
/// And at most so many files.
const KEPT_FILES: usize = 60;

/// The folder of the targets.
pub(super) fn root() -> PathBuf {
    workspace::root().join("tests/fuzz")
}

/// The folder in which the engine keeps what it made for a target.
pub(super) fn working(target: &str) -> Outcome<PathBuf> {
    let folder = workspace::target().join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Replaces what the engine made once with the few files that reach what all
/// known ones reach. Files with a name were chosen by somebody, and stay.
pub(super) fn minimize(engine: &Path, target: &str) -> Outcome {
    let merged = workspace::target().join("fuzz/merged").join(target);
    if merged.exists() {
        fs::remove_dir_all(&merged)?;
    }
    fs::create_dir_all(&merged)?;
    let kept = root().join("corpus").join(target);
    let mut command = chore::command(engine, ["-set_cover_merge=1"]);
    command.env("COUNTERSIGN_FUZZ_TARGET", target);
    chore::run(command.args([&merged, &kept, &working(target)?]))?;
    let mut made: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(&merged)? {
        let entry = entry?;
        made.push((entry.metadata()?.len(), entry.path()));
    }
    made.sort();
    for entry in fs::read_dir(&kept)? {
        let file = entry?.path();
        if is_made(&file) {
            fs::remove_file(file)?;
        }
    }
    // Of each size some: short ones alone would reach little.
    let step = made.len().div_ceil(KEPT_FILES).max(1);
    let (mut bytes, mut files) = (0, 0);
    for (length, file) in made.into_iter().step_by(step) {
        let Some(name) = file.file_name().filter(|_| is_made(&file)) else {
            continue;
        };
        if bytes + length > KEPT_BYTES {
            break;
        }
        fs::copy(&file, kept.join(name))?;
        bytes += length;
        files += 1;
    }
    println!("   {target}: {files} files, {bytes} bytes");
    Ok(())
}

/// Whether the engine named a file: by the digest of its content.
fn is_made(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.len() == 40 && name.bytes().all(|b| b.is_ascii_hexdigit()))
}
