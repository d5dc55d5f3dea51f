//! The forms in which evidence is written, other than a bundle.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use clap::{Args, ValueEnum};
use countersign_evidence::Entry;
use countersign_evidence::bundle::{Bundle, Openings};
use countersign_evidence::interchange::{ActionBinding, TraceFacts, trace as record};
use countersign_gateway::config::{Config, Enforcement};
use countersign_gateway::environment::Environment;
use countersign_gateway::rotation;

use super::buffered;
use crate::failure::Failure;
use crate::files;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "kebab-case")]
pub(super) enum Form {
    Bundle,
    Jsonl,
    ActionBindings,
    Trace,
}

/// What only the operator can say in a `trace` record
#[derive(Debug, Args)]
#[command(next_help_heading = "Statements in a `trace` record")]
pub(super) struct Statement {
    /// The workload, as a SPIFFE or DID URI; `did:key` of the log's key without
    #[arg(long, value_name = "URI")]
    subject: Option<String>,
    /// Who provides the model behind the agents
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    model_provider: String,
    /// The model, as its provider names it
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    model_id: String,
    /// The highest class of the data that was handled
    #[arg(long, value_name = "CLASS", default_value = "unknown")]
    data_class: String,
}

/// Writes the entries, or what follows from them, one to a line; or the bundle
/// as it is.
pub(super) fn lines<R: Read + Seek>(
    form: Form,
    bundle: &mut Bundle<R>,
    file: io::Result<File>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::output(&error);
    let mut out = buffered(out);
    if form == Form::Bundle {
        let mut file = file.map_err(failed)?;
        file.rewind().map_err(failed)?;
        io::copy(&mut file, &mut out).map_err(failed)?;
        return out.flush().map_err(failed);
    }
    let mut openings = Openings::read(bundle).map_err(|error| files::unusable(&error))?;
    let mut entries = bundle.entries();
    while let Some(line) = entries.next().map_err(|error| files::unusable(&error))? {
        if form == Form::Jsonl {
            out.write_all(line).map_err(failed)?;
            out.write_all(b"\n").map_err(failed)?;
        } else if let Ok(entry) = Entry::parse(line)
            && let opened = openings.of(entry.said())
            && let Some(binding) = ActionBinding::of(&entry, opened.as_ref())
        {
            out.write_all(&binding.line(&entry)).map_err(failed)?;
            out.write_all(b"\n").map_err(failed)?;
        }
    }
    out.flush().map_err(failed)
}

/// Writes a signed record about the whole log.
pub(super) fn trace<R: Read + Seek>(
    bundle: &mut Bundle<R>,
    config: &Config,
    statement: &Statement,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let key = rotation::read(&config.store.key, &Environment::system())
        .map_err(|error| files::unusable(&error))?;
    let facts = TraceFacts {
        subject: statement.subject.clone(),
        model_provider: statement.model_provider.clone(),
        model_id: statement.model_id.clone(),
        data_class: statement.data_class.clone(),
        observes: config.enforcement == Enforcement::Observe,
    };
    let now = Environment::system().now();
    let record = record(bundle, &key, &facts, now).map_err(|error| files::unusable(&error))?;
    out.write_all(&record)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(|error| Failure::output(&error))
}
