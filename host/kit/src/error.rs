//! Why the kit could not do what it was asked for: one stable code each.

use std::path::{Path, PathBuf};

/// Why there is no scaffold, or no component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// The name is none that a vendor's profile may have.
    #[error("`{name}` is no name for a profile: {why}")]
    Name {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is something already where the scaffold would stand.
    #[error("`{}` is there already, and nothing is overwritten", .0.display())]
    Exists(PathBuf),
    /// A file or folder cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program of the Rust toolchain, or the target, is missing.
    #[error("{0}")]
    Toolchain(String),
    /// The crate does not build.
    #[error("it does not build: {0}")]
    Build(String),
    /// What was built is no component that a host would take.
    #[error("what was built is no component of a profile: {0}")]
    Component(String),
    /// The version was released with other bytes.
    #[error("`{}` is released, and what is built now differs", .0.display())]
    Released(PathBuf),
}

impl KitError {
    /// The stable code, as in `docs/errors`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "profile-name",
            Self::Exists(_) => "profile-folder-exists",
            Self::File { .. } => "profile-folder-unusable",
            Self::Toolchain(_) => "profile-toolchain",
            Self::Build(_) => "profile-build",
            Self::Component(_) => "profile-build-unusable",
            Self::Released(_) => "profile-released",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Name { .. } => "write 1 to 64 of a-z, 0-9 and `-`, beginning with a letter",
            Self::Exists(_) => "choose another folder, or move away what is there",
            Self::File { .. } => "check the path, and who may read and write there",
            Self::Toolchain(_) => {
                "install Rust from https://rustup.rs, then `rustup target add wasm32-unknown-unknown`"
            }
            Self::Build(_) => "what cargo said stands above",
            Self::Component(_) => {
                "a profile computes without floats, imports nothing, and exports the world alone"
            }
            Self::Released(_) => {
                "raise the version in `Cargo.toml`: a released component never changes"
            }
        }
    }

    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
