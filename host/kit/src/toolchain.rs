//! The Rust toolchain that components are built with, as commands that are free
//! of whatever shapes other builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::KitError;

/// The target of every profile: nothing of a system beneath it.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Variables that would change what is built, or where.
const SHAPING: [&str; 6] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
];

/// How all others of that sort begin.
const SHAPING_TOO: [&str; 3] = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_"];

/// A toolchain: the one in use, or one that rustup knows by name.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    name: Option<String>,
    home: Option<PathBuf>,
}

impl Toolchain {
    /// The toolchain that is in use.
    #[must_use]
    pub fn in_use() -> Self {
        Self::default()
    }

    /// The toolchain of that name, by rustup.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            home: None,
        }
    }

    /// With a cargo home of its own.
    #[must_use]
    pub fn with_home(&self, home: Option<&Path>) -> Self {
        Self {
            name: self.name.clone(),
            home: home.map(Path::to_owned),
        }
    }

    /// The name by which rustup knows it, where it is not the one in use.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A command of this toolchain, which reads nothing.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        for variable in SHAPING {
            command.env_remove(variable);
        }
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            if SHAPING_TOO.iter().any(|begins| name.starts_with(begins)) {
                command.env_remove(variable);
            }
        }
        if let Some(name) = &self.name {
            command.env("RUSTUP_TOOLCHAIN", name);
        }
        if let Some(home) = &self.home {
            command.env("CARGO_HOME", home);
        }
        command
    }

    /// What `rustc --version` prints, as in `rustc 1.95.0 (…)`.
    ///
    /// # Errors
    /// [`KitError::Toolchain`] where there is no such compiler.
    pub fn rustc(&self) -> Result<String, KitError> {
        let said = said(self.command("rustc").arg("--version"))?;
        Ok(said.trim().to_owned())
    }

    /// Whether it can build for [`TARGET`].
    ///
    /// # Errors
    /// [`KitError::Toolchain`] where there is no such compiler.
    pub fn has_target(&self) -> Result<bool, KitError> {
        let mut command = self.command("rustc");
        let libraries = said(command.args(["--print", "target-libdir", "--target", TARGET]))?;
        Ok(Path::new(libraries.trim()).exists())
    }
}

/// What a command prints; its complaints go to the terminal.
pub(crate) fn said(command: &mut Command) -> Result<String, KitError> {
    let program = command.get_program().display().to_string();
    let failed = |why: String| KitError::Toolchain(format!("`{program}`: {why}"));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
}
