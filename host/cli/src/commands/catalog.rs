//! `countersign catalog`: what servers offer, what is approved of it, and the
//! approval itself.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use countersign_canon::Digest;
use countersign_catalog::{Lock, Offer, drift};
use countersign_gateway::catalog::office::{self, CatalogError};
use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_policy::{Class, Hints};

use crate::commands::audit;
use crate::failure::{Failure, Status};
use crate::files;
use crate::text::{self, Table, visible};

/// Review and approve what servers' tools are
///
/// Tools are approved into the lock that `catalog.file` names, a file that is
/// reviewed as a diff. A running gateway is asked over its operator's socket;
/// where none runs the servers are asked directly.
#[derive(Debug, Subcommand)]
pub(crate) enum Catalog {
    Show(Show),
    Diff(Diff),
    Approve(Approve),
}

/// Show what is approved
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  shown
  2  wrong usage, or a lock that cannot be read")]
pub(crate) struct Show {
    #[command(flatten)]
    which: Which,
}

/// Show how what servers offer differs from what is approved
///
/// The checkpoint of each offer that differs is what `approve --expect` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  nothing differs
  1  something differs
  2  wrong usage, a lock that cannot be read, or a server that does not answer")]
pub(crate) struct Diff {
    #[command(flatten)]
    which: Which,
}

/// Approve what servers offer now
///
/// The lock is written whole or not at all, and a running gateway goes by it
/// from then on: what was decided before and not reserved yet is decided again.
/// Tools whose arguments could not be held against their input schema exactly,
/// and at a bounded cost, are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  approved
  1  approved, and tools were left out that cannot be
  2  nothing was approved: wrong usage, an offer that is not the expected one, or
     a gateway that refused it")]
pub(crate) struct Approve {
    #[command(flatten)]
    which: Which,
    /// Approve only an offer with this checkpoint, which `catalog diff` shows; one
    /// for each server
    #[arg(long, value_name = "CHECKPOINT")]
    expect: Vec<Digest>,
    /// Leave this tool out; may be given several times
    #[arg(long, value_name = "TOOL")]
    without: Vec<String>,
    /// Why, for the log of a running gateway
    #[arg(long, value_name = "TEXT", default_value = "catalog approve")]
    reason: String,
}

#[derive(Debug, Args)]
struct Which {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

impl Catalog {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Show(show) => show.run(),
            Self::Diff(diff) => diff.run(),
            Self::Approve(approve) => approve.run(),
        }
    }
}

impl Which {
    fn lock(&self) -> Result<(Config, Lock), Failure> {
        let config = audit::config(&self.config)?;
        let lock = office::lock(&config).map_err(|error| failed(&error))?;
        Ok((config, lock))
    }

    /// What the servers offer; where one does not answer nothing is said of
    /// any.
    fn offers(&self, config: &Config) -> Result<Vec<Offer>, Failure> {
        let found = office::look(config, &Environment::system(), self.server.as_deref());
        let found = found.map_err(|error| failed(&error))?;
        let offer = |found: office::Found| {
            found.offer.map_err(|code| {
                let server = found.server;
                Failure::new(Status::USAGE, format!("`{server}` does not answer: {code}"))
            })
        };
        found.into_iter().map(offer).collect()
    }
}

impl Show {
    fn run(&self) -> Result<Status, Failure> {
        let (_, lock) = self.which.lock()?;
        let only = self.which.server.as_deref();
        let mut shown = String::new();
        for offer in lock.servers() {
            if only.is_some_and(|only| only != offer.name()) {
                continue;
            }
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{} {}", offer.name(), offer.checkpoint());
            let mut table = Table::new(["TOOL", "CLASS", "DIGEST"]);
            for tool in offer.tools() {
                let hints = Hints {
                    read_only: tool.hints().read_only,
                    destructive: tool.hints().destructive,
                };
                let digest = tool.digest().to_string();
                table.row([tool.name().to_owned(), Class::of(hints).to_string(), digest]);
            }
            let _ = writeln!(shown, "{table}");
        }
        text::print(&shown)
    }
}

impl Diff {
    fn run(&self) -> Result<Status, Failure> {
        let (config, lock) = self.which.lock()?;
        let mut shown = String::new();
        for offer in self.which.offers(&config)? {
            let differs = differences(&lock, &offer);
            if !differs.is_empty() {
                shown.push_str(&differs);
                let _ = writeln!(shown, "{}: offers {}", offer.name(), offer.checkpoint());
            }
        }
        text::print(&shown)?;
        Ok(if shown.is_empty() {
            Status::OK
        } else {
            Status::DOES_NOT_HOLD
        })
    }
}

impl Approve {
    fn run(&self) -> Result<Status, Failure> {
        let (config, lock) = self.which.lock()?;
        let mut approved = Vec::new();
        let mut shown = String::new();
        let mut status = Status::OK;
        let offers = self.which.offers(&config)?;
        self.is_meant(&offers)?;
        for offer in offers {
            let (offer, left_out) = office::approvable(&offer, &self.without);
            for left_out in left_out {
                status = Status::DOES_NOT_HOLD;
                let tool = visible(&left_out.tool);
                let name = offer.name();
                let reason = visible(&left_out.reason.to_string());
                let _ = writeln!(
                    std::io::stderr().lock(),
                    "`{name}/{tool}` is left out: {reason} (schema-refused)"
                );
            }
            shown.push_str(&differences(&lock, &offer));
            let count = offer.len();
            let _ = writeln!(
                shown,
                "{}: {count} tools approved, {}",
                offer.name(),
                offer.checkpoint()
            );
            approved.push(offer);
        }
        office::approve(&config, approved, &self.reason).map_err(|error| failed(&error))?;
        text::print(&shown)?;
        Ok(status)
    }
}

impl Approve {
    /// What is approved is what was reviewed, without tools that are there.
    fn is_meant(&self, offers: &[Offer]) -> Result<(), Failure> {
        let unusable =
            |text: String, help: &str| Err(Failure::new(Status::USAGE, text).with_help(help));
        if !self.expect.is_empty() {
            for offer in offers {
                let (name, checkpoint) = (offer.name(), offer.checkpoint());
                if !self.expect.contains(&checkpoint) {
                    return unusable(
                        format!("`{name}` offers {checkpoint}, which is not expected"),
                        "review it again with `countersign catalog diff`",
                    );
                }
            }
            let offered =
                |expected: &&Digest| offers.iter().any(|of| of.checkpoint() == **expected);
            if let Some(expected) = self.expect.iter().find(|expected| !offered(expected)) {
                return unusable(
                    format!("no server offers {expected}"),
                    "review it again with `countersign catalog diff`",
                );
            }
        }
        let has = |name: &&String| {
            let mut tools = offers.iter().flat_map(Offer::tools);
            tools.any(|tool| tool.name() == name.as_str())
        };
        match self.without.iter().find(|name| !has(name)) {
            Some(name) => unusable(
                format!("`--without {}`: no server offers that tool", visible(name)),
                "`countersign catalog diff` shows how tools are named",
            ),
            None => Ok(()),
        }
    }
}

fn differences(lock: &Lock, offer: &Offer) -> String {
    let mut shown = String::new();
    for drift in drift(lock.server(offer.name()), offer) {
        let _ = writeln!(shown, "{}: {}", offer.name(), visible(&drift.to_string()));
    }
    shown
}

fn failed(error: &CatalogError) -> Failure {
    let failure = files::unusable(error);
    match error {
        CatalogError::NoFile => failure.with_help(
            "name the lock in the configuration: `[catalog]` with `file = \"countersign.catalog.json\"`",
        ),
        _ => failure,
    }
}
