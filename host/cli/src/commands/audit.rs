//! `countersign audit`: taking evidence out of a gateway.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use countersign_evidence::{CallId, WorkflowId};
use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::{export, operator};
use countersign_ledger::Selection;

use crate::failure::{Failure, Status};

/// Take evidence out of a gateway
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    Export(Export),
}

impl Audit {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Export(export) => export.run(),
        }
    }
}

/// Write a bundle that anybody can verify offline
///
/// A running gateway writes it without stopping; the store of a stopped one is
/// opened, and what it had left in flight is blocked. A bundle of one call or
/// workflow cannot show that nothing is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the bundle is written
  2  wrong usage, or something that cannot be read or written")]
pub(crate) struct Export {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Where the bundle goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Only the execution that this call opened
    #[arg(long, value_name = "CALL_ID", conflicts_with = "workflow")]
    call: Option<String>,
    /// Only what happened under this workflow
    #[arg(long, value_name = "WORKFLOW_ID")]
    workflow: Option<String>,
}

impl Export {
    fn run(&self) -> Result<Status, Failure> {
        let config = Config::read(&self.config)
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        let selection = self.selection()?;
        if self.output == Path::new("-") {
            let out = io::stdout().lock();
            write(&config, &selection, BufWriter::new(out))?;
            return Ok(Status::OK);
        }
        // The file appears whole or not at all.
        let mut draft = self.output.clone().into_os_string();
        draft.push(".part");
        let draft = PathBuf::from(draft);
        let at = |error: io::Error| Failure::path(&self.output.display().to_string(), &error);
        let file = File::create(&draft).map_err(at)?;
        let written = write(&config, &selection, BufWriter::new(file))
            .and_then(|mut out| {
                out.flush()
                    .and_then(|()| out.get_ref().sync_all())
                    .map_err(at)
            })
            .and_then(|()| fs::rename(&draft, &self.output).map_err(at));
        if written.is_err() {
            // What is left of it would be no bundle.
            let _ = fs::remove_file(&draft);
        }
        written.map(|()| Status::OK)
    }

    fn selection(&self) -> Result<Selection, Failure> {
        let malformed =
            |error: &dyn std::error::Error| Failure::new(Status::USAGE, error.to_string());
        match (&self.call, &self.workflow) {
            (Some(call), _) => CallId::new(call)
                .map(Selection::Call)
                .map_err(|error| malformed(&error)),
            (_, Some(workflow)) => WorkflowId::new(workflow)
                .map(Selection::Workflow)
                .map_err(|error| malformed(&error)),
            _ => Ok(Selection::All),
        }
    }
}

/// Asks the running gateway; where there is none, opens its store.
fn write<W: Write>(config: &Config, selection: &Selection, mut out: W) -> Result<W, Failure> {
    match operator::export(&config.store.operator, selection, &mut out) {
        Ok(()) => Ok(out),
        Err(operator::OperatorError::NotRunning { .. }) => {
            export::from_store(&config.store, &Environment::system(), selection, out)
                .map_err(|error| Failure::new(Status::USAGE, error.to_string()))
        }
        Err(error) => Err(Failure::new(Status::USAGE, error.to_string())),
    }
}
