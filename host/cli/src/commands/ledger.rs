//! `countersign ledger`: the database itself.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use countersign_gateway::config::{Config, Database, KeyFrom};
use countersign_gateway::environment::Environment;
use countersign_gateway::operator::{Office, api};
use countersign_gateway::rotation;
use countersign_ledger::{Checked, Progress, check_sqlite};

use super::executions::{Statement, Where, failure};
use crate::failure::{Failure, Status};
use crate::progress::Steps;
use crate::text::{print, visible};

/// Back up, check and, after a rollback, readmit the ledger's database
#[derive(Debug, Subcommand)]
pub(crate) enum Ledger {
    Status(Standing),
    Backup(Backup),
    Check(Check),
    #[command(subcommand)]
    Rollback(Rollback),
}

/// Say how the ledger stands
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  calls are admitted, as far as `/readyz` says so too
  1  nothing is admitted
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Standing {
    #[command(flatten)]
    place: Where,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Copy the database into a new file
///
/// The copy is of one moment, and the gateway goes on meanwhile. The gateway
/// itself writes the file, as the user that runs it. Restoring a backup under a
/// running name makes identifiers that were used since look new: the anchor
/// notices, and nothing is admitted until `ledger rollback accept`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the file is there, whole and durable
  1  there is no backup
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Backup {
    #[command(flatten)]
    place: Where,
    /// Where the copy goes; it must not be there yet
    file: PathBuf,
}

/// Check all of a database: its pages, every entry, every execution
///
/// What a start does not look at, since it must not take hours. Reads only. It
/// is for a database that no gateway writes: while one runs, make a backup and
/// check that.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  everything fits
  1  something does not; each line names a place
  2  wrong usage, a gateway runs on it, or it cannot be read")]
pub(crate) struct Check {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
    /// A backup to check, instead of the database that is configured; it is
    /// not compared with the anchor
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// After a rollback
#[derive(Debug, Subcommand)]
pub(crate) enum Rollback {
    Accept(Accept),
}

/// Admit again, on a ledger that went back in time
///
/// Identifiers that were used in the time that is lost look new from then on:
/// a repeat of such a call is sent again. Bring back the newest database
/// instead, wherever there is one. An entry says who accepted it, and why.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it admits again, and the entry stands in the log
  1  it was refused: the ledger did not go back, or goes on under another key
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Accept {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    statement: Statement,
}

impl Ledger {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Status(standing) => standing.run(),
            Self::Backup(backup) => backup.run(),
            Self::Check(check) => check.run(),
            Self::Rollback(Rollback::Accept(accept)) => accept.run(),
        }
    }
}

impl Standing {
    fn run(&self) -> Result<Status, Failure> {
        let status = self.place.ask(|office| office.status(()))?;
        if self.json {
            print(&format!("{}\n", serde_json::json!(status)))?;
        } else {
            let admits = status.hindrance.as_deref().map_or("calls", because);
            print(&format!(
                "log      {}\nentries  {}\nlast     {}\nadmits   {admits}\n",
                status.log_id,
                status.size,
                status.last.as_deref().unwrap_or("-"),
            ))?;
        }
        Ok(if status.hindrance.is_some() {
            Status::DOES_NOT_HOLD
        } else {
            Status::OK
        })
    }
}

/// Why nothing is admitted, in words.
fn because(hindrance: &str) -> &'static str {
    match hindrance {
        "rolled-back" => "nothing: it is older than it was",
        "away" => "nothing: the database, or the anchor, is away",
        "failed" => "nothing: it failed, and the gateway ends",
        "draining" => "nothing: the gateway is being stopped",
        "unsure" => "nothing: what came into force is being settled",
        "tokens" => "nothing: the token file cannot be read",
        _ => "nothing",
    }
}

impl Backup {
    fn run(&self) -> Result<Status, Failure> {
        // The gateway has a folder of its own.
        let file = std::path::absolute(&self.file)
            .map_err(|error| Failure::path(&self.file.display().to_string(), &error))?;
        let asked = api::Backup {
            file: file.to_string_lossy().into_owned(),
        };
        let done = self.place.ask(|office| office.backup(asked))?;
        print(&format!("{} bytes\n", done.bytes))
    }
}

impl Check {
    fn run(&self) -> Result<Status, Failure> {
        let usage = |error: &dyn std::fmt::Display| Failure::new(Status::USAGE, error.to_string());
        let config = Config::read(&self.config).map_err(|error| usage(&error))?;
        let store = &config.store;
        if self.file.is_none() && Office::runs(store).map_err(|error| failure(&error))? {
            let help = "make one with `countersign ledger backup FILE`, and check it with `--file`";
            return Err(Failure::new(
                Status::USAGE,
                "a gateway writes this database: check a backup",
            )
            .with_help(help));
        }
        let path = match (&self.file, &store.database) {
            (Some(file), _) => file,
            (None, Database::Sqlite(path)) => path,
            (None, Database::Postgres(_)) => {
                let why = "a PostgreSQL database is checked by its server's own means";
                let help = "what the log holds is checked by exporting and verifying it";
                return Err(Failure::new(Status::USAGE, why).with_help(help));
            }
        };
        let key = match (
            &store.key,
            rotation::read(&store.key, &Environment::system()),
        ) {
            (_, Ok(key)) => Some(key.verifying_key()),
            // Everything but the signatures is checked.
            (KeyFrom::File(path), Err(_)) if !path.exists() => None,
            (_, Err(error)) => return Err(usage(&error)),
        };
        let anchor: Option<&Path> = match self.file {
            Some(_) => None,
            None => Some(&store.anchor),
        };
        let bar = Steps::new();
        let checked = check_sqlite(path, key.as_ref(), anchor, &mut |at: Progress| {
            bar.show(at.step.as_str(), at.done, at.of);
        });
        drop(bar);
        let checked = checked.map_err(|error| usage(&error))?;
        report(&checked, key.is_some())
    }
}

fn report(checked: &Checked, signed: bool) -> Result<Status, Failure> {
    let mut text = String::new();
    for finding in &checked.findings {
        text.push_str(&format!(
            "{}: {}\n",
            visible(&finding.place),
            visible(&finding.what)
        ));
    }
    let kept = u64::try_from(checked.findings.len()).unwrap_or(u64::MAX);
    if checked.found > kept {
        text.push_str(&format!("and {} more\n", checked.found - kept));
    }
    text.push_str(&format!(
        "{}: {} entries, {} executions, {} checkpoints{}\n",
        if checked.is_sound() {
            "everything fits"
        } else {
            "damaged"
        },
        checked.entries,
        checked.executions,
        checked.checkpoints,
        if signed {
            ""
        } else {
            ", whose signatures were not looked at: there is no key"
        },
    ));
    print(&text)?;
    Ok(if checked.is_sound() {
        Status::OK
    } else {
        Status::DOES_NOT_HOLD
    })
}

impl Accept {
    fn run(&self) -> Result<Status, Failure> {
        let asked = api::AcceptRollback {
            reason: self.statement.reason.clone(),
            evidence: self.statement.digest()?,
        };
        let place = self.place.ask(|office| office.accept_rollback(asked))?;
        print(&format!("entry {} of {}\n", place.sequence, place.log_id))
    }
}
