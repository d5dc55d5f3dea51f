//! `countersign config`: what a configuration may hold, and whether one is good.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use countersign_gateway::check_profiles;
use countersign_gateway::config::{Config, schema};

use crate::failure::{Failure, Status};
use crate::text::print;

/// Check a configuration, or print what one may hold
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Check(Check),
    Schema(Schema),
}

/// Say whether a configuration is good
///
/// Reads the file as `serve` does, and the files that `serve` reads with it:
/// certificates, tokens for servers, and profiles, whose digests, signatures and
/// components are checked as at a start. Nothing is opened, bound or fetched.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it is good
  2  it is not, or cannot be read; the error says where and what to write")]
pub(crate) struct Check {
    /// The configuration
    #[arg(value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
}

/// Print the JSON Schema of configurations
///
/// For editors that complete and check TOML.
#[derive(Debug, Args)]
pub(crate) struct Schema {}

impl ConfigCommand {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Check(check) => check.run(),
            Self::Schema(Schema {}) => print(&schema()),
        }
    }
}

impl Check {
    fn run(&self) -> Result<Status, Failure> {
        let config = Config::read(&self.config)
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        check_profiles(&config.profiles)
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        let servers: Vec<&str> = config.servers.iter().map(|one| one.name.as_str()).collect();
        print(&format!("good: {}\n", servers.join(", ")))
    }
}
