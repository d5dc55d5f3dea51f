//! `cargo xtask guest`: the released components, rebuilt and compared.
//!
//! 1. build the profiles' crates for WebAssembly, with the pinned compiler and
//!    without a trace of the folders they were built in;
//! 2. wrap each core module as a component, and check what a host would;
//! 3. write it, or compare it, under `guest/released`, with `profiles.lock`;
//!    the broken profile that certification is tried on, under `tests/profiles`.
//!
//! The components are checked in, so nothing else needs a WebAssembly target.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use crate::{
    chore::{self, Failure, Outcome},
    workspace,
};

const TARGET: &str = "wasm32-unknown-unknown";
const WORLD: &str = "countersign:admission@1.0.0";
/// The compiler that released components are built with, bit for bit.
const RUSTC: &str = "1.95.0";
const PREFIX: &str = "countersign-profile-";
/// The fixture, which is never released.
const BROKEN: &str = "countersign-broken";
/// Enough for a reader that never recurses and keeps its tables on the heap.
const STACK_BYTES: u32 = 128 << 10;
/// All memory that a component ever has: it is sized in advance and never
/// grows. What is not touched costs nothing.
const MEMORY_BYTES: u32 = 128 << 20;

/// The WebAssembly components of the profiles, as they are released
///
/// Rebuilds every profile under guest/profiles with the pinned compiler and
/// writes guest/released/NAME@VERSION.wasm and profiles.lock. Installs the
/// WebAssembly target with rustup, and the pinned toolchain if the one in use
/// is another. A released version never changes: a build that differs is
/// refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail if a released component is not what its sources build
    #[arg(long)]
    check: bool,
    /// Overwrite a version that was never released
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Build twice, in two folders with two cargo homes, and compare the bytes
    #[arg(long, conflicts_with_all = ["check", "replace"])]
    reproduce: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.check {
        check()
    } else if arguments.reproduce {
        reproduce()
    } else {
        release(arguments.replace)
    }
}

/// A component as it was built.
struct Built {
    name: String,
    version: String,
    bytes: Vec<u8>,
}

impl Built {
    fn file(&self) -> PathBuf {
        if self.is_fixture() {
            return workspace::root().join("tests/profiles/broken.wasm");
        }
        released().join(format!("{}@{}.wasm", self.name, self.version))
    }

    fn is_fixture(&self) -> bool {
        self.name == BROKEN
    }

    fn digest(&self) -> String {
        let hex = Sha256::digest(&self.bytes)
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        format!("sha256:{hex}")
    }
}

fn released() -> PathBuf {
    workspace::root().join("guest/released")
}

/// Fails if a released component is not what its sources build.
pub(crate) fn check() -> Outcome {
    let toolchain = toolchain()?;
    let built = build(&toolchain, workspace::root(), None)?;
    for component in &built {
        let file = component.file();
        if fs::read(&file).ok().as_ref() != Some(&component.bytes) {
            return Err(Failure::new(format!(
                "`{}` is not what its sources build: `cargo xtask guest` writes a new version, \
                 `--replace` one that was never released",
                shown(&file)
            )));
        }
        println!(
            "   {}@{} {}",
            component.name,
            component.version,
            component.digest()
        );
    }
    let lock = released().join("profiles.lock");
    if fs::read_to_string(&lock)? != lock_text(&built) {
        return Err(Failure::new(format!(
            "`{}` does not say what was built",
            shown(&lock)
        )));
    }
    Ok(())
}

fn release(replace: bool) -> Outcome {
    let toolchain = toolchain()?;
    let built = build(&toolchain, workspace::root(), None)?;
    fs::create_dir_all(released())?;
    for component in &built {
        let file = component.file();
        let differs = fs::read(&file).is_ok_and(|bytes| bytes != component.bytes);
        if differs && !replace && !component.is_fixture() {
            return Err(Failure::new(format!(
                "`{}` is released and would change: raise the version of `{PREFIX}{}`",
                shown(&file),
                component.name
            )));
        }
        fs::write(&file, &component.bytes)?;
        println!(
            "   {} {} {} bytes",
            shown(&file),
            component.digest(),
            component.bytes.len()
        );
    }
    Ok(fs::write(
        released().join("profiles.lock"),
        lock_text(&built),
    )?)
}

fn lock_text(built: &[Built]) -> String {
    let mut text = String::from(
        "# The released components and what each must hash to.\n\
         # Written by `cargo xtask guest`, compared by `cargo xtask guest --check`.\n",
    );
    for component in built.iter().filter(|component| !component.is_fixture()) {
        let Built { name, version, .. } = component;
        let digest = component.digest();
        let _ = write!(
            text,
            "\n[[profile]]\nname = \"{name}\"\nversion = \"{version}\"\nworld = \"{WORLD}\"\n\
             component = \"{digest}\"\nrustc = \"{RUSTC}\"\n"
        );
    }
    text
}

/// Builds twice in folders that have nothing in common, and compares.
pub(crate) fn reproduce() -> Outcome {
    let toolchain = toolchain()?;
    let home = cargo_home(&metadata(&toolchain, workspace::root(), None)?);
    let room = tempfile::tempdir()?;
    let mut builds = Vec::new();
    for place in ["a", "another place/that is longer"] {
        let place = room.path().join(place);
        for part in ["guest", "wit"] {
            copy(
                &workspace::root().join(part),
                &place.join("source").join(part),
            )?;
        }
        let own = place.join("cargo home");
        if let Some(home) = &home {
            lend(home, &own)?;
        }
        builds.push(build(&toolchain, &place.join("source"), Some(&own))?);
    }
    let [first, second] = builds.as_slice() else {
        return Err(Failure::new("not two builds"));
    };
    for (one, other) in first.iter().zip(second) {
        if one.bytes != other.bytes {
            return Err(Failure::new(format!(
                "`{}` depends on where it is built",
                one.name
            )));
        }
        println!("   {}@{} {} in both", one.name, one.version, one.digest());
    }
    Ok(())
}

/// Copies a folder without what was built in it.
fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if kind.is_dir() && name != "target" && name != "released" {
            copy(&entry.path(), &to.join(&name))?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

/// Lends a new cargo home what the old one has downloaded; sources are
/// unpacked anew.
fn lend(home: &Path, own: &Path) -> Outcome {
    fs::create_dir_all(own.join("registry"))?;
    if home.join("config.toml").exists() {
        fs::copy(home.join("config.toml"), own.join("config.toml"))?;
    }
    #[cfg(unix)]
    for part in ["registry/index", "registry/cache"] {
        std::os::unix::fs::symlink(home.join(part), own.join(part))?;
    }
    Ok(())
}

/// The pinned toolchain's name for rustup, or nothing if the one in use is it.
/// Installs what is missing.
fn toolchain() -> Outcome<Option<&'static str>> {
    let pinned = |toolchain: Option<&'static str>| {
        let version = said(tool("rustc", toolchain, None).arg("--version"));
        version.is_ok_and(|version| version.starts_with(&format!("rustc {RUSTC} ")))
    };
    let toolchain = if pinned(None) { None } else { Some(RUSTC) };
    if toolchain.is_some() && !pinned(toolchain) {
        println!("   installing the toolchain {RUSTC}, which released components are built with");
        chore::run(&mut chore::command(
            "rustup",
            ["toolchain", "install", "--profile", "minimal", RUSTC],
        ))?;
    }
    let mut libraries = tool("rustc", toolchain, None);
    let libraries = said(libraries.args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(libraries.trim()).exists() {
        println!("   installing the target {TARGET}");
        let mut add = chore::command("rustup", ["target", "add", TARGET]);
        chore::run(add.args(toolchain.into_iter().flat_map(|name| ["--toolchain", name])))?;
    }
    Ok(toolchain)
}

/// A command of the Rust toolchain, free of whatever shapes other builds.
fn tool(program: &str, toolchain: Option<&str>, home: Option<&Path>) -> Command {
    let mut command = chore::command(program, [""; 0]);
    for variable in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_INCREMENTAL",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
    ] {
        command.env_remove(variable);
    }
    if let Some(toolchain) = toolchain {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    if let Some(home) = home {
        command.env("CARGO_HOME", home);
    }
    command
}

/// What a command prints; its complaints go to the terminal.
fn said(command: &mut Command) -> Outcome<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        let program = command.get_program().display().to_string();
        return Err(Failure::new(format!("`{program}`: {}", output.status)));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// What cargo says of the guest workspace; downloads what is missing.
fn metadata(toolchain: &Option<&'static str>, root: &Path, home: Option<&Path>) -> Outcome<Value> {
    let mut command = tool("cargo", *toolchain, home);
    command.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        TARGET,
    ]);
    Ok(serde_json::from_str(&said(
        command.current_dir(root.join("guest")),
    )?)?)
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata
        .get("packages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The folder that holds the sources of what comes from the registry.
fn registry(metadata: &Value) -> Option<&Path> {
    let foreign =
        packages(metadata).find(|package| package.get("source").is_some_and(Value::is_string))?;
    Path::new(text(foreign, "manifest_path")).ancestors().nth(2)
}

fn cargo_home(metadata: &Value) -> Option<PathBuf> {
    let home = registry(metadata)?.ancestors().nth(3)?;
    home.join("registry").exists().then(|| home.to_owned())
}

/// Builds every profile of the guest workspace under `root`.
fn build(
    toolchain: &Option<&'static str>,
    root: &Path,
    home: Option<&Path>,
) -> Outcome<Vec<Built>> {
    let metadata = metadata(toolchain, root, home)?;
    let mut flags = vec![
        format!("-Clink-arg=-zstack-size={STACK_BYTES}"),
        format!("-Clink-arg=--initial-memory={MEMORY_BYTES}"),
        format!("-Clink-arg=--max-memory={MEMORY_BYTES}"),
    ];
    // The last that matches wins, so the innermost folder comes last.
    let home = cargo_home(&metadata);
    let registry = registry(&metadata).map(Path::to_owned);
    for (folder, name) in [
        (Some(root.to_owned()), "/countersign"),
        (home, "/cargo"),
        (registry, "/crates"),
    ] {
        if let Some(folder) = folder {
            flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
        }
    }
    let target = root.join("guest/target");
    let mut command = tool("cargo", *toolchain, cargo_home(&metadata).as_deref());
    command.args([
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--offline",
        "--target",
        TARGET,
    ]);
    let profiles: Vec<&Value> = packages(&metadata)
        .filter(|package| {
            let name = text(package, "name");
            name.starts_with(PREFIX) || name == BROKEN
        })
        .collect();
    for profile in &profiles {
        command.args(["--package", text(profile, "name")]);
    }
    command.arg("--target-dir").arg(&target);
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    chore::run(command.current_dir(root.join("guest")))?;
    let mut built = Vec::new();
    for profile in profiles {
        let name = text(profile, "name");
        let file = format!("{TARGET}/release/{}.wasm", name.replace('-', "_"));
        let may_float = name == BROKEN;
        let bytes = component(&fs::read(target.join(file))?, may_float)
            .map_err(|why| Failure::new(format!("`{name}`: {why}")))?;
        let name = name.trim_start_matches(PREFIX).to_owned();
        built.push(Built {
            name,
            version: text(profile, "version").to_owned(),
            bytes,
        });
    }
    built.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(built)
}

/// Wraps a core module as a component, and checks it as a host would.
fn component(module: &[u8], may_float: bool) -> Outcome<Vec<u8>> {
    let encoded = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode());
    let bytes = encoded.map_err(|error| Failure::new(format!("{error:#}")))?;
    inspect(&bytes, may_float)?;
    Ok(bytes)
}

/// No imports, no floating point, no vectors, no threads, and a memory that
/// says how large it may become.
fn inspect(component: &[u8], may_float: bool) -> Outcome {
    let mut never = WasmFeatures::SIMD | WasmFeatures::RELAXED_SIMD | WasmFeatures::THREADS;
    never.set(WasmFeatures::FLOATS, !may_float);
    Validator::new_with_features(WasmFeatures::default() - never).validate_all(component)?;
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 0 && imports.count() > 0 => {
                return Err(Failure::new("it imports something"));
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    if memory?.maximum.is_none() {
                        return Err(Failure::new("its memory declares no maximum"));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.strip_prefix(workspace::root())
        .unwrap_or(path)
        .display()
        .to_string()
}
