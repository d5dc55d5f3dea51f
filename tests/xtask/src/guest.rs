//! `cargo xtask guest`: the released components, rebuilt and compared.
//!
//! 1. build the profiles' crates as a vendor's is built (`host/kit`), with the
//!    pinned compiler;
//! 2. write each component, or compare it, under `guest/released`, with
//!    `profiles.lock`; the broken profile that certification is tried on, and the
//!    examples of the documentation, under `tests/profiles`.
//!
//! The components are checked in, so nothing else needs a WebAssembly target.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use countersign_kit::{Floats, Package, TARGET, Toolchain, Workspace};
use sha2::{Digest as _, Sha256};

use crate::{
    chore::{self, Failure, Outcome},
    workspace,
};

const WORLD: &str = "countersign:admission@1.0.0";
/// The compiler that released components are built with, bit for bit.
const RUSTC: &str = "1.95.0";
const PREFIX: &str = "countersign-profile-";
/// The fixture, which is never released.
const BROKEN: &str = "countersign-broken";
/// The profiles that the documentation explains, which are not released either.
const EXAMPLE: &str = "countersign-example-";

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

/// What a component is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Released,
    Example,
    Broken,
}

/// A component as it was built.
struct Built {
    kind: Kind,
    name: String,
    version: String,
    bytes: Vec<u8>,
}

impl Built {
    fn file(&self) -> PathBuf {
        let named = format!("{}@{}.wasm", self.name, self.version);
        let fixtures = workspace::root().join("tests/profiles");
        match self.kind {
            Kind::Released => released().join(named),
            Kind::Example => fixtures.join(named),
            Kind::Broken => fixtures.join("broken.wasm"),
        }
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
    let built = build(&toolchain, workspace::root())?;
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
    let built = build(&toolchain, workspace::root())?;
    fs::create_dir_all(released())?;
    for component in &built {
        let file = component.file();
        let differs = fs::read(&file).is_ok_and(|bytes| bytes != component.bytes);
        if differs && !replace && component.kind == Kind::Released {
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
    for component in built
        .iter()
        .filter(|component| component.kind == Kind::Released)
    {
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
    let root = workspace::root();
    let home = Workspace::read(&toolchain, &root.join("guest"), root)?.cargo_home();
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
        builds.push(build(
            &toolchain.with_home(Some(&own)),
            &place.join("source"),
        )?);
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

/// The pinned toolchain, which may be the one in use. Installs what is missing.
fn toolchain() -> Outcome<Toolchain> {
    let pinned = |toolchain: &Toolchain| {
        let version = toolchain.rustc();
        version.is_ok_and(|version| version.starts_with(&format!("rustc {RUSTC} ")))
    };
    let mut toolchain = Toolchain::in_use();
    if !pinned(&toolchain) {
        toolchain = Toolchain::named(RUSTC);
    }
    if toolchain.name().is_some() && !pinned(&toolchain) {
        println!("   installing the toolchain {RUSTC}, which released components are built with");
        chore::run(&mut chore::command(
            "rustup",
            ["toolchain", "install", "--profile", "minimal", RUSTC],
        ))?;
    }
    add_target(&toolchain)?;
    Ok(toolchain)
}

/// Installs what a vendor's profile is built for, with the toolchain in use.
pub(crate) fn target() -> Outcome {
    add_target(&Toolchain::in_use())
}

fn add_target(toolchain: &Toolchain) -> Outcome {
    if toolchain.has_target()? {
        return Ok(());
    }
    println!("   installing the target {TARGET}");
    let mut add = chore::command("rustup", ["target", "add", TARGET]);
    let named = toolchain.name().into_iter();
    chore::run(add.args(named.flat_map(|name| ["--toolchain", name])))
}

/// What a crate of the guest workspace builds, if it builds a component.
fn kind(package: &Package<'_>) -> Option<Kind> {
    if package.name == BROKEN {
        Some(Kind::Broken)
    } else if package.name.starts_with(EXAMPLE) {
        Some(Kind::Example)
    } else if package.name.starts_with(PREFIX) {
        Some(Kind::Released)
    } else {
        None
    }
}

/// Builds every profile of the guest workspace under `root`.
fn build(toolchain: &Toolchain, root: &Path) -> Outcome<Vec<Built>> {
    let workspace = Workspace::read(toolchain, &root.join("guest"), root)?;
    let kinds = workspace
        .packages()
        .filter_map(|package| Some((package, kind(&package)?)));
    let (packages, kinds): (Vec<_>, Vec<_>) = kinds.unzip();
    let floats = |kind: &Kind| match kind {
        Kind::Broken => Floats::Allowed,
        Kind::Example | Kind::Released => Floats::Never,
    };
    let wanted: Vec<_> = packages
        .iter()
        .zip(&kinds)
        .map(|(package, kind)| (*package, floats(kind)))
        .collect();
    let components = workspace.build(&wanted)?;
    let mut built: Vec<_> = packages
        .into_iter()
        .zip(kinds)
        .zip(components)
        .map(|((package, kind), bytes)| {
            let bare = package.name.trim_start_matches(PREFIX);
            Built {
                kind,
                name: package.profile.unwrap_or(bare).to_owned(),
                version: package.version.to_owned(),
                bytes,
            }
        })
        .collect();
    built.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(built)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(workspace::root())
        .unwrap_or(path)
        .display()
        .to_string()
}
