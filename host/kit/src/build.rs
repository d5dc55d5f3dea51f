//! From the crates of a workspace to components.
//!
//! 1. cargo says what there is, and downloads what is missing;
//! 2. the crates are built for WebAssembly, with a memory that is sized in
//!    advance, and without a trace of the folders they were built in;
//! 3. each core module is wrapped as a component.
//!
//! The same sources and the same compiler give the same bytes anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::KitError;
use crate::component::{Floats, component};
use crate::toolchain::{TARGET, Toolchain, said};

/// Enough for a reader that never recurses and keeps its tables on the heap.
const STACK_BYTES: u32 = 128 << 10;
/// All memory that a component ever has: it is sized in advance and never
/// grows. What is not touched costs nothing.
const MEMORY_BYTES: u32 = 128 << 20;

/// A cargo workspace, as cargo itself describes it.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    root: PathBuf,
    toolchain: Toolchain,
    metadata: Value,
}

/// One crate of a workspace or of what it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package<'w> {
    /// Its name.
    pub name: &'w str,
    /// Its version.
    pub version: &'w str,
    /// The profile that it says it builds: `package.metadata.countersign`.
    pub profile: Option<&'w str>,
    manifest: &'w Path,
}

impl Workspace {
    /// Asks cargo about the workspace in `folder`. Every path under `root`,
    /// which holds all of its sources, is left out of what is built.
    ///
    /// # Errors
    /// [`KitError::File`] where there is no such folder;
    /// [`KitError::Toolchain`] where cargo does not read it as it is locked.
    pub fn read(toolchain: &Toolchain, folder: &Path, root: &Path) -> Result<Self, KitError> {
        let whole = |path: &Path| fs::canonicalize(path).map_err(|e| KitError::file(path, e));
        let (folder, root) = (whole(folder)?, whole(root)?);
        let manifest = folder.join("Cargo.toml");
        fs::metadata(&manifest).map_err(|error| KitError::file(&manifest, error))?;
        let mut command = toolchain.command("cargo");
        command.args(["metadata", "--format-version", "1", "--locked"]);
        command.args(["--filter-platform", TARGET]);
        let said = said(command.current_dir(&folder))?;
        let metadata = serde_json::from_str(&said)
            .map_err(|error| KitError::Toolchain(format!("`cargo metadata`: {error}")))?;
        Ok(Self {
            folder,
            root,
            toolchain: toolchain.clone(),
            metadata,
        })
    }

    /// Every crate, what the workspace depends on among them.
    pub fn packages(&self) -> impl Iterator<Item = Package<'_>> {
        let packages = self.metadata.get("packages").and_then(Value::as_array);
        packages.into_iter().flatten().map(|package| Package {
            name: text(package, "name"),
            version: text(package, "version"),
            profile: package
                .pointer("/metadata/countersign/profile")
                .and_then(Value::as_str),
            manifest: Path::new(text(package, "manifest_path")),
        })
    }

    /// The crate whose manifest stands in the workspace's own folder.
    ///
    /// # Errors
    /// [`KitError::Build`] where there is none.
    pub fn root_package(&self) -> Result<Package<'_>, KitError> {
        let manifest = self.folder.join("Cargo.toml");
        self.packages()
            .find(|package| package.manifest == manifest)
            .ok_or_else(|| KitError::Build(format!("`{}` is of no crate", manifest.display())))
    }

    /// The cargo home whose registry the sources come from.
    #[must_use]
    pub fn cargo_home(&self) -> Option<PathBuf> {
        let home = self.registry()?.ancestors().nth(3)?;
        home.join("registry").exists().then(|| home.to_owned())
    }

    /// The folder that holds the sources of what comes from the registry.
    fn registry(&self) -> Option<&Path> {
        let packages = self.metadata.get("packages").and_then(Value::as_array)?;
        let foreign = packages
            .iter()
            .find(|package| package.get("source").is_some_and(Value::is_string))?;
        Path::new(text(foreign, "manifest_path")).ancestors().nth(2)
    }

    /// Builds crates, and wraps each as a component.
    ///
    /// # Errors
    /// [`KitError::Build`] and [`KitError::Component`].
    pub fn build(&self, packages: &[(Package<'_>, Floats)]) -> Result<Vec<Vec<u8>>, KitError> {
        let target = self.folder.join("target");
        let home = self.cargo_home();
        let mut command = self.toolchain.with_home(home.as_deref()).command("cargo");
        command.args(["build", "--quiet", "--release", "--locked", "--offline"]);
        command.args(["--target", TARGET]);
        for (package, _) in packages {
            command.args(["--package", package.name]);
        }
        command.arg("--target-dir").arg(&target);
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags(home.as_deref()));
        let status = command
            .current_dir(&self.folder)
            .status()
            .map_err(|error| KitError::Toolchain(format!("`cargo`: {error}")))?;
        if !status.success() {
            return Err(KitError::Build(format!("`cargo build`: {status}")));
        }
        let built = packages.iter().map(|(package, floats)| {
            let file = package.name.replace('-', "_");
            let path = target.join(format!("{TARGET}/release/{file}.wasm"));
            let module = fs::read(&path).map_err(|error| KitError::file(&path, error))?;
            component(&module, *floats)
        });
        built.collect()
    }

    fn flags(&self, home: Option<&Path>) -> String {
        let mut flags = vec![
            format!("-Clink-arg=-zstack-size={STACK_BYTES}"),
            format!("-Clink-arg=--initial-memory={MEMORY_BYTES}"),
            format!("-Clink-arg=--max-memory={MEMORY_BYTES}"),
        ];
        // The last that matches wins, so the innermost folder comes last.
        for (folder, name) in [
            (Some(self.root.as_path()), "/countersign"),
            (home, "/cargo"),
            (self.registry(), "/crates"),
        ] {
            if let Some(folder) = folder {
                flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
            }
        }
        flags.join("\u{1f}")
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
