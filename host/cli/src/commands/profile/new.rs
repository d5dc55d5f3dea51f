//! `countersign profile new`.

use std::path::{Path, PathBuf};

use clap::Args;
use countersign_kit::Scaffold;

use crate::failure::{Failure, Status};
use crate::text::print;

/// Write a crate for a profile of your own
///
/// It stands on its own: what every profile needs is in it, so that it can be
/// built, tested and certified anywhere with Rust and the target
/// wasm32-unknown-unknown. Begin with its README.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  written
  2  a name that no profile may have, a folder that is there, or one that
     cannot be written; then nothing is written")]
pub(crate) struct New {
    /// The profile's name: a-z, 0-9 and `-`, beginning with a letter
    name: String,
    /// The folder of the crate; one of the profile's name unless said
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl New {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let scaffold = Scaffold::new(&self.name)?;
        let folder = self.folder.as_deref().unwrap_or(Path::new(&self.name));
        scaffold.write(folder)?;
        let folder = folder.display();
        print(&format!(
            "{folder}: the profile {}\n  cargo test --lib            the rule, natively\n  countersign profile build   the component\n",
            scaffold.id()
        ))
    }
}
