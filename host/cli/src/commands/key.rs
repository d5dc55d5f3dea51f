//! `countersign key`: the key that signs a log's checkpoints.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use countersign_gateway::environment::Environment;
use countersign_gateway::rotation;

use super::audit;
use crate::failure::{Failure, Status};
use crate::files;

/// The key that signs a log's checkpoints
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    Show(Show),
    Next(Next),
    Rotate(Rotate),
}

/// Print the public key that verifiers trust
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  wrong usage, or a key that cannot be read")]
pub(crate) struct Show {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Write another key for the same log, to be kept in a variable
///
/// It signs nothing before the log was given it with `key rotate
/// --next-variable`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the key is written, and its public half printed
  2  wrong usage, a file that is there, or a key that cannot be read")]
pub(crate) struct Next {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// A new file, which its owner alone can read
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Give the log of a stopped gateway a new key
///
/// The old key signs the log as it is and the statement that the new one
/// follows, which becomes an entry; then it is destroyed. Verifiers who trust
/// the old key go on trusting the log. Broken off in the middle, it is
/// finished by running it again; until then the gateway does not start.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the new key is in place, and printed
  2  wrong usage, a gateway that runs, or something that cannot be written")]
pub(crate) struct Rotate {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Where the present key is in a variable of the environment: the variable
    /// that holds the next one, in the form of a key file
    #[arg(long, value_name = "NAME")]
    next_variable: Option<String>,
}

impl Key {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        let shown = match self {
            Self::Show(show) => {
                let config = audit::config(&show.config)?;
                rotation::read(&config.store.key, &Environment::system())
                    .map(|key| key.verifying_key())
            }
            Self::Next(next) => {
                let config = audit::config(&next.config)?;
                rotation::next(&config.store, &next.output, &Environment::system())
            }
            Self::Rotate(rotate) => {
                let config = audit::config(&rotate.config)?;
                let next = rotate.next_variable.as_deref();
                rotation::rotate(&config.store, next, &Environment::system())
            }
        };
        let shown = shown.map_err(|error| files::unusable(&error))?;
        writeln!(io::stdout().lock(), "{shown}").map_err(|error| Failure::output(&error))?;
        Ok(Status::OK)
    }
}
