//! `countersign profile`: what profiles there are, what a file is, whether a
//! profile is adequate, and what a vendor needs to make one.

mod build;
mod certify;
mod inspect;
mod list;
mod new;
mod sign;

use std::fs::File;
use std::io::Read as _;

use clap::Subcommand;
use countersign_canon::ProfileId;
use countersign_engine::embedded;

use crate::failure::{Failure, Status};

/// See which profiles there are, make one, and certify it
#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    List(list::List),
    Inspect(inspect::Inspect),
    Certify(certify::Certify),
    New(new::New),
    Build(build::Build),
    Key(sign::Key),
    Sign(sign::Sign),
    Verify(sign::Verify),
}

impl Profile {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::List(list) => list.run(),
            Self::Inspect(inspect) => inspect.run(),
            Self::Certify(certify) => certify.run(),
            Self::New(new) => new.run(),
            Self::Build(build) => build.run(),
            Self::Key(key) => key.run(),
            Self::Sign(sign) => sign.run(),
            Self::Verify(verify) => verify.run(),
        }
    }
}

/// One byte more than any component may have.
const MOST_BYTES: u64 = (16 << 20) + 1;

/// The bytes of a component: of one that is built in, by its name and version,
/// or of a file.
fn component(named: &str) -> Result<Vec<u8>, Failure> {
    let built_in = named.parse::<ProfileId>().ok();
    if let Some(found) = built_in.and_then(|id| embedded::get(&id)) {
        return Ok(found.bytes().to_vec());
    }
    let mut bytes = Vec::new();
    File::open(named)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
        .map_err(|error| Failure::path(named, &error))?;
    Ok(bytes)
}
