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

/// What an operator may not, or cannot, do is an answer; all else keeps the
/// command from asking.
pub(crate) fn failure(error: &OperatorError) -> Failure {
    let text = error.to_string();
    match error {
        OperatorError::Refused(refused) if refused.code == api::Refused::CODE => {
            Failure::new(Status::USAGE, text)
        }
        OperatorError::Refused(refused) => {
            let page = format!("docs/errors/{}.md says more", refused.code);
            Failure::new(Status::DOES_NOT_HOLD, text).with_help(page)
        }
        _ => Failure::new(Status::USAGE, text),
    }
}
