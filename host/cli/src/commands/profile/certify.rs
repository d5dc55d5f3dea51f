//! `countersign profile certify`.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;
use std::thread;

use clap::Args;
use countersign_certify::{Plan, certify};

use crate::failure::{Failure, Status};
use crate::files::{self, PUBLIC};
use crate::progress::Steps;

/// Tell whether a profile is adequate
///
/// Equal bindings must mean equal treatment by everything behind admission, and
/// a binding must tell apart whatever any of it can. Messages are made around
/// every place where readers are known to disagree, held against each other in
/// pairs, and run through routing, the validation of arguments, the policy
/// engine, the headers and the upstream's body as a gateway runs them. A
/// counterexample is made small and shown. The same component, seed and number
/// of cases give the same report.
///
/// A profile may respell a number that is no integer within its exact value,
/// and refuse values of an action; beyond that it must do as the shipped ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  adequate, as far as was tried
  1  not adequate; the report says what does not hold
  2  wrong usage, or a file that cannot be read or written")]
pub(crate) struct Certify {
    /// Seed of the messages
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pairs of messages
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Threads; one for each processor unless said
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=127))]
    jobs: Option<u32>,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Also write the report, as JSON, to a file
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
    /// The component: a file, or the name and version of one that is built in
    component: String,
}

impl Certify {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let component = super::component(&self.component)?;
        let jobs = self.jobs.unwrap_or_else(|| {
            let processors = thread::available_parallelism().map_or(1, NonZero::get);
            u32::try_from(processors).unwrap_or(1).min(127)
        });
        let plan = Plan {
            seed: self.seed,
            pairs: self.cases,
            jobs,
        };
        let steps = Steps::new();
        let show = |step, done, all| steps.show(step, done, all);
        let report = certify(&component, plan, &show)
            .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?;
        drop(steps);
        if let Some(path) = &self.report {
            let text = format!("{:#}\n", report.to_json());
            let path = Path::new(path);
            files::write(path, PUBLIC, |out| {
                out.write_all(text.as_bytes())
                    .map_err(|error| files::at(path, &error))
            })?;
        }
        let mut output = io::stdout().lock();
        let printed = if self.json {
            writeln!(output, "{}", report.to_json())
        } else {
            write!(output, "{report}")
        };
        printed.map_err(|error| Failure::output(&error))?;
        Ok(if report.is_adequate() {
            Status::OK
        } else {
            Status::DOES_NOT_HOLD
        })
    }
}
