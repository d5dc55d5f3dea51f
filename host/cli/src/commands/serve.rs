//! `countersign serve`: the gateway itself.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use countersign_gateway::config::{Config, ConfigError};
use countersign_gateway::environment::Environment;
use countersign_gateway::{Ended, prepare};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::failure::{Failure, Status};

/// Run the gateway
///
/// Prints the address that it serves on one line, and the key that verifies
/// its log on the next, and goes on until SIGINT or SIGTERM: then it admits
/// nothing more, lets what runs end, settles, and signs the log. On SIGHUP it
/// reads policies, approvals and profiles again, all or nothing. The log of the program
/// itself goes to the standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it was stopped, and everything is settled
  1  it was stopped, and something is left unsettled: it is blocked at the
     next start; or the ledger failed
  2  it did not start")]
pub(crate) struct Serve {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
    /// What is logged, for example `info` or `countersign_gateway=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// Log one JSON object a line
    #[arg(long)]
    log_json: bool,
}

impl Serve {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        self.log_to_stderr()?;
        let config = Config::read(&self.config).map_err(|error| configuration(&error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        runtime.block_on(serve(config))
    }

    fn log_to_stderr(&self) -> Result<(), Failure> {
        let filter = EnvFilter::try_new(&self.log)
            .map_err(|error| Failure::new(Status::USAGE, format!("--log: {error}")))?;
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr);
        if self.log_json {
            log.json().init();
        } else {
            log.init();
        }
        Ok(())
    }
}

async fn serve(config: Config) -> Result<Status, Failure> {
    let failed = |error: &dyn std::error::Error| Failure::new(Status::USAGE, error.to_string());
    // Before anything is opened, so that no signal in between is missed.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| failed(&error))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed(&error))?;
    let mut hangup = signal(SignalKind::hangup()).map_err(|error| failed(&error))?;
    let prepared = prepare(config, Environment::system())
        .await
        .map_err(|error| failed(&error))?;
    let (scheme, address) = (prepared.scheme(), prepared.address());
    announce(&format!("listening on {scheme}://{address}\n"))?;
    if let Some(address) = prepared.telemetry() {
        announce(&format!("numbers on http://{address}/metrics\n"))?;
    }
    announce(&format!("log key {}\n", prepared.verifying_key()))?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let reloader = prepared.reloader();
    let reloads = tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            if let Err(error) = reloader.reload().await {
                tracing::error!("what was in force stays so: {error}");
            }
        }
    });
    let ended = prepared.run(stop).await;
    reloads.abort();
    Ok(match ended {
        Ended::Settled => Status::OK,
        Ended::Unsettled | Ended::LedgerFailed => Status::DOES_NOT_HOLD,
    })
}

fn announce(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))
}

fn configuration(error: &ConfigError) -> Failure {
    Failure::new(Status::USAGE, error.to_string())
}
