//! `countersign agent`: who may call, in the token file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use countersign_gateway::environment::Environment;
use countersign_gateway::identity::{Token, TokenFile};
use countersign_gateway::replace;

use crate::failure::{Failure, Status};
use crate::text::print;

/// Manage the agents of a token file
///
/// The file holds hashes of tokens, never tokens. A running gateway reads it
/// again within about a second.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    Add(Add),
    List(List),
    Revoke(Revoke),
}

/// Give an agent a token, and print it, this once
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The token file; it is made where there is none
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// The agent: 1 to 200 visible ASCII characters
    subject: String,
}

/// Print the agents and when each was given a token
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The token file
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

/// Take all tokens from an agent
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  revoked
  1  the agent has no token
  2  wrong usage, or a file that cannot be read or written")]
pub(crate) struct Revoke {
    /// The token file
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// The agent
    subject: String,
}

impl Agent {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Add(add) => add.run(),
            Self::List(list) => list.run(),
            Self::Revoke(revoke) => revoke.run(),
        }
    }
}

impl Add {
    fn run(&self) -> Result<Status, Failure> {
        let environment = Environment::system();
        let _alone = lock(&self.tokens)?;
        let mut file = match read(&self.tokens) {
            Err(error) if !self.tokens.exists() => {
                drop(error);
                TokenFile::default()
            }
            file => file?,
        };
        let random = environment.bytes().map_err(|error| usage(&error))?;
        let token = Token::from_random(random);
        file.add(&self.subject, &token, &environment.now().to_string())
            .map_err(|error| usage(&error))?;
        write(&self.tokens, &file)?;
        print(&format!("{}\n", token.reveal()))
    }
}

impl List {
    fn run(&self) -> Result<Status, Failure> {
        let lines: String = read(&self.tokens)?
            .grants()
            .iter()
            .map(|grant| format!("{}\t{}\n", grant.subject, grant.added))
            .collect();
        print(&lines)
    }
}

impl Revoke {
    fn run(&self) -> Result<Status, Failure> {
        let _alone = lock(&self.tokens)?;
        let mut file = read(&self.tokens)?;
        if file.revoke(&self.subject) == 0 {
            return Ok(Status::DOES_NOT_HOLD);
        }
        write(&self.tokens, &file)?;
        Ok(Status::OK)
    }
}

fn read(path: &Path) -> Result<TokenFile, Failure> {
    let text = fs::read_to_string(path).map_err(|error| at(path, &error))?;
    TokenFile::parse(&text).map_err(|error| usage(&error))
}

/// A gateway never reads half of it, and can read it as before.
fn write(path: &Path, file: &TokenFile) -> Result<(), Failure> {
    let replaced = replace::replace(path, replace::PRIVATE, file.to_text().as_bytes());
    replaced.map_err(|error| at(path, &error))
}

/// Keeps others who change the file waiting: what they write rests on what they read.
fn lock(path: &Path) -> Result<fs::File, Failure> {
    replace::lock(path).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::path(&path.display().to_string(), error)
}

fn usage(error: &dyn std::error::Error) -> Failure {
    Failure::new(Status::USAGE, error.to_string())
}
