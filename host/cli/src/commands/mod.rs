//! The commands, one file for each.

mod agent;
mod audit;
mod bind;
mod catalog;
mod config;
mod executions;
mod explain;
mod key;
mod ledger;
mod policy;
mod profile;
mod receipt;
mod serve;
mod verify;

use clap::{Parser, Subcommand};

use crate::failure::{Failure, Status};

/// A policy and admission gateway for MCP tool calls
///
/// It never invokes twice under one execution id, and can prove offline what
/// it admitted.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, max_term_width = 80)]
pub(crate) struct Countersign {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    #[command(subcommand)]
    Agent(agent::Agent),
    #[command(subcommand)]
    Catalog(catalog::Catalog),
    #[command(subcommand)]
    Policy(policy::Policy),
    #[command(subcommand)]
    Executions(executions::Executions),
    #[command(subcommand)]
    Ledger(ledger::Ledger),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Bind(bind::Bind),
    Explain(explain::Explain),
    #[command(subcommand)]
    Profile(profile::Profile),
    #[command(subcommand)]
    Audit(audit::Audit),
    Verify(verify::Verify),
    #[command(subcommand)]
    Receipt(receipt::ReceiptCommand),
    #[command(subcommand)]
    Key(key::Key),
}

impl Countersign {
    /// Runs the command that was asked for.
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match &self.command {
            Command::Serve(serve) => serve.run(),
            Command::Agent(agent) => agent.run(),
            Command::Catalog(catalog) => catalog.run(),
            Command::Policy(policy) => policy.run(),
            Command::Executions(executions) => executions.run(),
            Command::Ledger(ledger) => ledger.run(),
            Command::Config(config) => config.run(),
            Command::Bind(bind) => bind.run(),
            Command::Explain(explain) => explain.run(),
            Command::Profile(profile) => profile.run(),
            Command::Audit(audit) => audit.run(),
            Command::Verify(verify) => verify.run(),
            Command::Receipt(receipt) => receipt.run(),
            Command::Key(key) => key.run(),
        }
    }
}
