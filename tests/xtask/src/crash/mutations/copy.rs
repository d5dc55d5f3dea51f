//! Copies of the workspace's sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::chore::{Failure, Outcome};

/// What no build needs, and what would be copied into itself.
const LEFT_OUT: &[&str] = &[".git", "target", "node_modules"];

/// Makes `to` a copy of the sources in `from`. What is the same already stays as
/// it is, so that it is not built again.
pub(super) fn tree(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        if fs::read(from)? != fs::read(to).unwrap_or_default() {
            fs::copy(from, to)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !from.join(entry.file_name()).exists() {
            let path = entry.path();
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if !LEFT_OUT.iter().any(|left_out| name == *left_out) {
            tree(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

/// The one file under these folders that holds a text.
pub(super) fn holder(folders: &[PathBuf], text: &str) -> Outcome<PathBuf> {
    let mut holders: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
    holders.retain(|path| fs::read_to_string(path).is_ok_and(|held| held.contains(text)));
    match holders.pop() {
        Some(path) if holders.is_empty() => Ok(path),
        _ => Err(Failure::new(format!("`{text}` is not in exactly one file"))),
    }
}

/// What every file under `folder` holds.
#[cfg(test)]
pub(super) fn texts(folder: &Path) -> Vec<String> {
    let texts = files(folder).into_iter();
    texts
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}
