//! `countersign executions`: what is open, and an operator's way out of it.
//!
//! A running gateway is asked over its operator's socket; the store of a
//! stopped one is opened. Either way the same desk answers.

mod act;
mod list;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::operator::{Office, OperatorError, api};

pub(super) use act::Statement;

use crate::failure::{Failure, Status};

/// See what is open, and resolve what is blocked
///
/// Works while the gateway runs, over a socket that its owner alone can open;
/// where none runs its store is opened, and what it had left in flight is
/// blocked, as at a start.
#[derive(Debug, Subcommand)]
pub(crate) enum Executions {
    List(list::List),
    Show(show::Show),
    Explain(show::Explain),
    Resolve(act::Resolve),
    Abandon(act::Abandon),
}

impl Executions {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::List(list) => list.run(),
            Self::Show(show) => show.run(),
            Self::Explain(explain) => explain.run(),
            Self::Resolve(resolve) => resolve.run(),
            Self::Abandon(abandon) => abandon.run(),
        }
    }
}

/// Where the gateway is.
#[derive(Debug, Args)]
pub(crate) struct Where {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
}

/// Which execution is meant: a call, or an agent's own name for it.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The call that opened it, as answers, entries and lists name it
    #[arg(
        long,
        value_name = "CALL_ID",
        required_unless_present = "execution_id",
        conflicts_with = "execution_id"
    )]
    call: Option<String>,
    /// Its identifier, with `--agent`
    #[arg(long, value_name = "ID", requires = "agent")]
    execution_id: Option<String>,
    /// The subject of the agent that chose the identifier
    #[arg(long, value_name = "SUBJECT", requires = "execution_id")]
    agent: Option<String>,
    /// How that agent proves who it is
    #[arg(long, value_name = "METHOD", default_value = "token")]
    method: String,
    /// Who vouches for that agent
    #[arg(
        long,
        value_name = "ISSUER",
        default_value = "",
        hide_default_value = true
    )]
    issuer: String,
}

impl Where {
    /// Opens whoever answers, and closes it when `ask` is done.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnOnce(&Office) -> Result<T, OperatorError>,
    ) -> Result<T, Failure> {
        let config = Config::read(&self.config)
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        let office =
            Office::open(&config.store, &Environment::system()).map_err(|e| failure(&e))?;
        let answer = ask(&office);
        let closed = office.close();
        let answer = answer.map_err(|error| failure(&error))?;
        closed.map_err(|error| failure(&error))?;
        Ok(answer)
    }
}

impl Which {
    fn asked(&self) -> api::Which {
        match (&self.call, &self.execution_id, &self.agent) {
            (_, Some(execution_id), Some(subject)) => api::Which::Execution {
                agent: api::Agent {
                    method: self.method.clone(),
                    issuer: self.issuer.clone(),
                    subject: subject.clone(),
                },
                execution_id: execution_id.clone(),
            },
            (call, ..) => api::Which::Call {
                call_id: call.clone().unwrap_or_default(),
            },
        }
    }
}

/// What is refused by what the ledger holds is an answer. All else keeps the command
/// from asking, or the gateway from doing it now, and says nothing of what was asked.
pub(crate) fn failure(error: &OperatorError) -> Failure {
    let text = error.to_string();
    match error {
        OperatorError::Refused(refused) if refused.code == api::Refused::CODE => {
            Failure::new(Status::USAGE, text)
        }
        OperatorError::Refused(refused) => {
            let page = format!("docs/errors/{}.md says more", refused.code);
            Failure::new(status(&refused.code), text).with_help(page)
        }
        _ => Failure::new(Status::USAGE, text),
    }
}

/// The codes that answer what was asked. Any other is an outage.
const ANSWERS: [&str; 5] = [
    "execution-unknown",
    "execution-state",
    "execution-fenced",
    "ledger-not-rolled-back",
    "ledger-backup",
];

fn status(code: &str) -> Status {
    if ANSWERS.contains(&code) {
        Status::DOES_NOT_HOLD
    } else {
        Status::USAGE
    }
}

#[cfg(test)]
mod tests {
    use countersign_ledger::{BackupError, LedgerError};

    use super::*;

    #[test]
    fn only_what_the_ledger_holds_is_an_answer_and_an_outage_never_is() {
        let said = |code: &str| {
            let refused = api::Refused {
                code: code.to_owned(),
                message: String::new(),
            };
            failure(&OperatorError::Refused(refused)).status()
        };
        for code in LedgerError::CODES {
            let answers = match code {
                // `show`, `explain`, `resolve` and `abandon`: there is none, or it is
                // in no state for this; `rollback accept`: there is nothing to accept.
                "execution-unknown"
                | "execution-state"
                | "execution-fenced"
                | "ledger-not-rolled-back" => true,
                // It cannot be done, or not be known, right now.
                "ledger-unavailable"
                | "overloaded"
                | "settlement-failed"
                | "ledger-rolled-back"
                | "attempt-unclassified"
                | "ledger-other-log"
                | "entry-too-long" => false,
                other => panic!("`{other}`: does it answer?"),
            };
            let wanted = if answers {
                Status::DOES_NOT_HOLD
            } else {
                Status::USAGE
            };
            assert_eq!(said(code), wanted, "{code}");
        }
        assert_eq!(said(BackupError::CODE), Status::DOES_NOT_HOLD, "no backup");
        assert_eq!(said(api::Refused::CODE), Status::USAGE);
        assert_eq!(
            said(api::Refused::RELOAD),
            Status::USAGE,
            "nothing came into force"
        );
        assert_eq!(said("a-code-of-later"), Status::USAGE);
    }
}
