//! `countersign profile build`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use countersign_engine::Profile;
use countersign_kit::{Floats, KitError, TARGET, Toolchain, Workspace};

use crate::failure::{Failure, Status};
use crate::files::{self, PUBLIC};
use crate::profiles;
use crate::text::print;

/// Build a profile's crate to a component
///
/// As the released profiles are built: optimized, with a memory that never
/// grows, and without a trace of the folder, so that the same sources and the
/// same compiler give the same bytes. The component passes every check that a
/// gateway makes at its start, or is not written. A version that was built once
/// is never written over with other bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  built; what to pin is printed
  2  a crate that cannot be read, or a version that is built already
  4  it does not build, or no gateway would load what was built")]
pub(crate) struct Build {
    /// The folder of the crate
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    /// Write the component to this file, over what is there, and release nothing
    #[arg(long, value_name = "FILE")]
    draft: Option<PathBuf>,
}

impl Build {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let toolchain = Toolchain::in_use();
        let rustc = toolchain.rustc()?;
        if !toolchain.has_target()? {
            return Err(KitError::Toolchain(format!("`{rustc}` has no target `{TARGET}`")).into());
        }
        let workspace = Workspace::read(&toolchain, &self.folder, &self.folder)?;
        let package = workspace.root_package()?;
        let built = workspace.build(&[(package, Floats::Never)])?;
        let bytes = built.into_iter().next().unwrap_or_default();
        // Nobody has vouched for it, so nothing of it is kept.
        let profile = profiles::engine(false, 1)?.load_foreign(&bytes, None)?;
        let file = match &self.draft {
            Some(draft) => {
                files::write(draft, PUBLIC, |out| {
                    out.write_all(&bytes)
                        .map_err(|error| files::at(draft, &error))
                })?;
                draft.clone()
            }
            None => release(&self.folder.join("released"), &profile)?,
        };
        print(&format!(
            "file       {}\nprofile    {}\ndigest     {}\nbytes      {}\ncompiler   {rustc}\n",
            file.display(),
            profile.id(),
            profile.component_digest(),
            bytes.len(),
        ))
    }
}

/// Writes a version that is not there yet; one of the same bytes may be.
fn release(folder: &Path, profile: &Profile) -> Result<PathBuf, Failure> {
    let file = folder.join(format!("{}.wasm", profile.id()));
    match fs::read(&file) {
        Ok(there) if there == profile.bytes() => return Ok(file),
        Ok(_) => return Err(KitError::Released(file).into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(files::at(&file, &error)),
    }
    fs::create_dir_all(folder).map_err(|error| files::at(folder, &error))?;
    files::write(&file, PUBLIC, |out| {
        out.write_all(profile.bytes())
            .map_err(|error| files::at(&file, &error))
    })?;
    Ok(file)
}
