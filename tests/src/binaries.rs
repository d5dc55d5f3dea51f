//! Where the built binaries are.
//!
//! Cargo tells a test only about binaries of its own package. So these are
//! built here, once for each test process, into the build folder that the test
//! itself lies in; `cargo xtask test` builds them first and says where they
//! are, which saves that.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::environment;

/// The gateway and its command line.
///
/// # Panics
///
/// When it cannot be built.
#[must_use]
pub fn countersign() -> PathBuf {
    folder().join("countersign")
}

/// The ledger server.
pub(crate) fn ledger_server() -> PathBuf {
    folder().join("countersign-ledger-server")
}

/// The server that the conformance suite asks for.
pub(crate) fn conformance_server() -> PathBuf {
    folder().join("countersign-conformance-server")
}

/// The client on `rmcp`.
pub(crate) fn rmcp_client() -> PathBuf {
    folder().join("countersign-rmcp-client")
}

/// The library of faults that is preloaded into a gateway under test.
pub(crate) fn faults() -> PathBuf {
    folder().join("libcountersign_faults.so")
}

/// The workspace's root.
///
/// # Panics
///
/// Never.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the workspace")
}

/// The build folder: a test lies in `TARGET/debug/deps`, a program in
/// `TARGET/debug`.
///
/// # Panics
///
/// When this lies elsewhere.
#[must_use]
pub fn target() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own path");
    let mut folders = own.ancestors().skip(1);
    let profile = folders.find(|folder| !folder.ends_with("deps"));
    let target = profile.and_then(Path::parent);
    target.expect("a test lies in the build folder").to_owned()
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| environment::binaries().unwrap_or_else(build))
}

fn build() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--lib",
            "--bins",
            "--target-dir",
        ])
        .arg(target())
        .current_dir(root())
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "the binaries can not be built"
    );
    target().join("debug")
}
