//! Inputs that are kept with the project, as files.

use std::path::PathBuf;

use crate::Target;

/// One input, and where it is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The file, named as in the project.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// What is kept for a target: what led somewhere, and what once found something.
///
/// # Panics
/// Where the target has no corpus, or a file of it cannot be read.
#[must_use]
pub fn kept(target: &Target) -> Vec<Kept> {
    let mut all = Vec::new();
    for folder in ["corpus", "found"] {
        let place = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(folder)
            .join(target.name);
        if folder == "found" && !place.exists() {
            continue;
        }
        let files = std::fs::read_dir(&place)
            .unwrap_or_else(|fault| panic!("{}: {fault}", place.display()));
        for file in files {
            let file = file.unwrap();
            let name = file.file_name().to_string_lossy().into_owned();
            all.push(Kept {
                name: format!("{folder}/{}/{name}", target.name),
                bytes: std::fs::read(file.path()).unwrap(),
            });
        }
    }
    // The order of a folder is not the same everywhere.
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}
