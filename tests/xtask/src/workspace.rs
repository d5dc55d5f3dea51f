//! Where things are: the workspace's root, and the folder for everything made.

use std::path::{Path, PathBuf};

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The build folder, wherever cargo was told to put it: the chores' own
/// program lies in `TARGET/PROFILE`, its tests in `TARGET/PROFILE/deps`.
pub(crate) fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let mut folders = own.ancestors().skip(1);
    let profile = folders.find(|folder| !folder.ends_with("deps"));
    let target = profile.and_then(Path::parent);
    target.map_or_else(|| root().join("target"), Path::to_owned)
}

/// The folder of the development builds, where the binaries are.
pub(crate) fn binaries() -> PathBuf {
    target().join("debug")
}
