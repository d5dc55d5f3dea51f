//! `countersign executions resolve` and `abandon`

use std::path::{Path, PathBuf};

use clap::Args;
use countersign_canon::Digest;
use countersign_gateway::operator::api;

use super::show::row;
use super::{Where, Which};
use crate::failure::{Failure, Status};
use crate::text::print;

/// State an outcome, for the log
///
/// Moves a blocked execution to the outcome that was found upstream. Beside an
/// outcome that is there already it stands as a further statement and replaces
/// nothing. Never does the identifier become free again.
///
/// `not-attempted` is taken only where the gateway that owned the execution is
/// dead and nothing came back from the upstream.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it stands in the log
  1  it was refused: there is no such execution, or it is in no state for this
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Resolve {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    which: Which,
    /// What became of it
    #[arg(
        long,
        value_name = "OUTCOME",
        required_unless_present = "late_answer",
        value_parser = [
            "succeeded",
            "tool-error",
            "upstream-error",
            "not-attempted",
            "outcome-unknown",
        ]
    )]
    outcome: Option<String>,
    /// What the answer says that came after its owner had been given up
    #[arg(long, conflicts_with = "outcome")]
    late_answer: bool,
    #[command(flatten)]
    statement: Statement,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Give up a round that nobody will answer
///
/// The outcome is then `outcome-unknown`: what the upstream did before it asked
/// is not known.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it stands in the log
  1  it was refused: there is no such execution, or it awaits nothing
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Abandon {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    statement: Statement,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What stands in the log beside who said it.
#[derive(Debug, Args)]
pub(crate) struct Statement {
    /// Why, in your words; it stands in the log for good
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// What you looked at; only its SHA-256 goes into the log, so keep the file
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,
}

impl Statement {
    /// The digest of the evidence, the one that `sha256sum` prints.
    pub(crate) fn digest(&self) -> Result<Option<String>, Failure> {
        let digest = |path: &Path| {
            std::fs::read(path)
                .map(|bytes| Digest::of(&[&bytes]).to_string())
                .map_err(|error| Failure::path(&path.display().to_string(), &error))
        };
        self.evidence.as_deref().map(digest).transpose()
    }
}

impl Resolve {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let asked = api::Resolve {
            which: self.which.asked(),
            outcome: self.outcome.clone(),
            late_answer: self.late_answer,
            reason: self.statement.reason.clone(),
            evidence: self.statement.digest()?,
        };
        let done = self.place.ask(|office| office.resolve(asked))?;
        tell(&done, self.json)
    }
}

impl Abandon {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let asked = api::Abandon {
            which: self.which.asked(),
            reason: self.statement.reason.clone(),
            evidence: self.statement.digest()?,
        };
        let done = self.place.ask(|office| office.abandon(asked))?;
        tell(&done, self.json)
    }
}

fn tell(done: &api::Row, json: bool) -> Result<Status, Failure> {
    if json {
        print(&format!("{}\n", serde_json::json!(done)))
    } else {
        print(&row(done))
    }
}
