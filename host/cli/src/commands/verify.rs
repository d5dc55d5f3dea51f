//! `countersign verify`: checking a bundle with no network and no trust in
//! whoever wrote it.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use countersign_engine::Profiles;
use countersign_policy::{Bundle, PolicySet};
use countersign_verifier::{Components, Inputs, Level, RequestFile, verify_watched};

use super::receipt;
use crate::failure::{Failure, Status};
use crate::progress::Entries;
use crate::{files, input, profiles};

/// Verify a bundle, offline
///
/// Each claim is `verified`, `contradicted` or `not established`. Nothing that
/// the bundle says of itself is believed: keys, profiles and policies that
/// count come from this command line and from this program, which approves the
/// profiles and policies that it ships.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  every claim that was asked for is verified, and none is contradicted
  1  a claim is contradicted
  2  a claim that was asked for is not established
  3  wrong usage, or input that cannot be used")]
pub(crate) struct Verify {
    /// The bundle
    bundle: PathBuf,
    /// A request exactly as it was sent, to be admitted and decided again
    #[arg(long, value_name = "FILE")]
    request: Vec<PathBuf>,
    /// A log's public key, `NAME+HASH+KEY`, or a file that holds it
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// A receipt, or the answer that it came with
    #[arg(long, value_name = "FILE")]
    receipt: Vec<PathBuf>,
    /// A checkpoint that was seen before
    #[arg(long, value_name = "FILE")]
    since: Vec<PathBuf>,
    /// A folder of components that are approved beside the built-in ones
    #[arg(long, value_name = "DIR")]
    profiles: Vec<PathBuf>,
    /// A folder of policies that were approved beside the shipped ones
    #[arg(long, value_name = "DIR")]
    policies: Vec<PathBuf>,
    /// The claims that must hold, separated by commas, or `all`
    #[arg(long = "fail-under", value_name = "LEVEL", default_value = "integrity")]
    level: Level,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// How many threads read entries; all processors without
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
}

/// The profiles that are built in.
const BUILT_IN: u32 = 2;

impl Verify {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        self.verdict()
            .map_err(|failure| failure.with_status(Status::UNUSABLE))
    }

    fn verdict(&self) -> Result<Status, Failure> {
        let inputs = self.inputs()?;
        let file = File::open(&self.bundle).map_err(|error| files::at(&self.bundle, &error))?;
        let bar = Entries::new();
        let watch = &mut |done, all| bar.show(done, all);
        let report = verify_watched(BufReader::new(file), &inputs, watch)
            .map_err(|error| Failure::new(Status::UNUSABLE, error.to_string()))?;
        drop(bar);
        let mut output = io::stdout().lock();
        let text = match self.json {
            true => report.to_json(&self.level),
            false => report.to_text(&self.level).into_bytes(),
        };
        output
            .write_all(&text)
            .map_err(|error| Failure::output(&error))?;
        Ok(Status::of(report.verdict(&self.level).exit_code()))
    }

    fn inputs(&self) -> Result<Inputs, Failure> {
        let mut files_of = Vec::new();
        for folder in &self.profiles {
            files_of.extend(components(folder)?);
        }
        // One instance of each classifies all along; another reads a request.
        let named = u32::try_from(files_of.len()).unwrap_or(u32::MAX);
        let engine = profiles::engine(false, named.saturating_add(BUILT_IN + 1))?;
        let mut approved = Profiles::embedded(&engine)?;
        for path in files_of {
            approved.insert(engine.load_file(&path, None)?);
        }
        let mut inputs = Inputs {
            components: Components::of(&approved),
            threads: self
                .threads
                .or_else(|| thread::available_parallelism().map(usize::from).ok())
                .unwrap_or(1),
            ..Inputs::default()
        };
        let shipped = std::iter::once(Ok(Bundle::shipped()));
        let named = self.policies.iter().map(|folder| Bundle::read(folder));
        for bundle in shipped.chain(named) {
            let bundle = bundle.map_err(|error| files::unusable(&error))?;
            inputs.approve_policies(
                PolicySet::recorded(bundle).map_err(|error| files::unusable(&error))?,
            );
        }
        for path in &self.request {
            let name = path.display().to_string();
            let message = input::message(&name)?;
            inputs.requests.push(RequestFile { name, message });
        }
        for text in &self.trust {
            inputs.trusted.push(files::key(text)?);
        }
        for path in &self.receipt {
            inputs.receipts.push(receipt::in_file(path)?);
        }
        for path in &self.since {
            inputs.since.push(files::checkpoint(path)?);
        }
        Ok(inputs)
    }
}

/// The components of a folder, in the order of their names.
fn components(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| files::at(folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| files::at(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "wasm") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
