//! `countersign audit`: taking evidence out of a gateway.

mod form;
mod source;
mod which;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use countersign_evidence::bundle::{Bundle, narrow};
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_gateway::config::Config;
use countersign_gateway::export::Wanted;
use countersign_ledger::Selection;

use crate::failure::{Failure, Status};
use crate::files::{self, PRIVATE};
use form::{Form, Statement};
pub(crate) use source::whole_or_part;
use which::Which;

/// Take evidence out of a gateway
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    Export(Box<Export>),
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
/// opened, and what it had left in flight is blocked. With `--from` a part is
/// taken from a whole bundle, without any gateway. A bundle of a part proves
/// each entry in it, and cannot show that nothing is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the bundle is written
  2  wrong usage, or something that cannot be read or written")]
pub(crate) struct Export {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    config: Option<PathBuf>,
    /// A whole bundle, instead of a gateway
    #[arg(long, value_name = "BUNDLE", conflicts_with = "call")]
    from: Option<PathBuf>,
    /// Where it goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    which: Which,
    /// A checkpoint that was seen before: a part proves that its log goes on
    /// from there
    #[arg(long, value_name = "FILE", conflicts_with = "call")]
    since: Vec<PathBuf>,
    /// Leave out the salts of blinded executions, which open what they are about
    #[arg(long, conflicts_with = "from")]
    without_salts: bool,
    /// What is written: a `bundle`; the entries as `jsonl`; the outer digests
    /// of the community's `action-bindings`, as lines; or a signed `trace`
    /// record about the whole log
    #[arg(long, value_name = "FORM", default_value = "bundle")]
    format: Form,
    #[command(flatten)]
    statement: Statement,
}

impl Export {
    fn run(&self) -> Result<Status, Failure> {
        // A bundle holds salts, and everything names agents.
        files::write(&self.output, PRIVATE, |out| self.write(out))?;
        Ok(Status::OK)
    }

    fn wanted(&self, selection: Selection) -> Wanted {
        Wanted {
            selection,
            salts: !self.without_salts,
        }
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = self.config.as_deref().map(config).transpose()?;
        let since: Vec<SignedCheckpoint> = self
            .since
            .iter()
            .map(|path| files::checkpoint(path))
            .collect::<Result<_, _>>()?;
        let straight = self.from.is_none() && since.is_empty() && self.which.session.is_none();
        if let (Form::Bundle, true, Some(config)) = (self.format, straight, &config) {
            return source::ask(config, &self.wanted(self.which.selection()?), out);
        }
        // The other forms, and some parts, are made from a bundle.
        let mut bundle = match &self.from {
            Some(path) => File::open(path).map_err(|error| files::at(path, &error))?,
            None => {
                let config = config.as_ref().ok_or_else(no_config)?;
                let selection = if straight {
                    self.which.selection()?
                } else {
                    Selection::All
                };
                let wanted = self.wanted(selection);
                files::temporary(|out| source::ask(config, &wanted, out))?
            }
        };
        if let (false, Some(filter)) = (straight, self.which.filter()?) {
            let which = &self.which;
            bundle = files::temporary(|out| {
                let mut whole = open(&bundle)?;
                let keep = which.keep()?;
                let part = narrow(&mut whole, filter, keep, &since, out);
                part.map(drop).map_err(|error| files::unusable(&error))
            })?;
        }
        let statement = &self.statement;
        match (&config, self.format) {
            (Some(config), Form::Trace) => form::trace(&mut open(&bundle)?, config, statement, out),
            (None, Form::Trace) => Err(no_config()),
            (_, form) => form::lines(form, &mut open(&bundle)?, bundle.try_clone(), out),
        }
    }
}

/// Reads a configuration.
pub(crate) fn config(path: &Path) -> Result<Config, Failure> {
    Config::read(path).map_err(|error| Failure::new(Status::USAGE, error.to_string()))
}

fn open(file: &File) -> Result<Bundle<BufReader<&File>>, Failure> {
    Bundle::open(BufReader::new(file)).map_err(|error| files::unusable(&error))
}

fn no_config() -> Failure {
    Failure::new(Status::USAGE, "no configuration is given")
        .with_help("name the gateway's with `--config`: its key signs the record")
}

/// A buffered writer over whatever is written to.
pub(crate) fn buffered<W: Write>(out: W) -> BufWriter<W> {
    BufWriter::with_capacity(256 << 10, out)
}
