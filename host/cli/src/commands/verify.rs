//! `countersign verify`: checking a bundle with no network and no trust in
//! whoever wrote it.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use countersign_engine::Profiles;
use countersign_evidence::Receipt;
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_policy::{Bundle, PolicySet};
use countersign_verifier::{Components, Inputs, Level, RequestFile, verify};

use crate::failure::{Failure, Status};
use crate::{input, profiles};

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
    /// A receipt that came with an answer
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
}

/// The most bytes of a receipt, a checkpoint or a key.
const SMALL_BYTES: u64 = 64 << 10;

impl Verify {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        self.verdict()
            .map_err(|failure| failure.with_status(Status::UNUSABLE))
    }

    fn verdict(&self) -> Result<Status, Failure> {
        let inputs = self.inputs()?;
        let file = File::open(&self.bundle).map_err(|error| at(&self.bundle, &error))?;
        let report = verify(BufReader::new(file), &inputs)
            .map_err(|error| Failure::new(Status::UNUSABLE, error.to_string()))?;
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
        let engine = profiles::engine(false)?;
        let mut approved = Profiles::embedded(&engine)?;
        for folder in &self.profiles {
            for path in components(folder)? {
                approved.insert(engine.load_file(&path, None)?);
            }
        }
        let mut inputs = Inputs {
            components: Components::of(&approved),
            ..Inputs::default()
        };
        let shipped = std::iter::once(Ok(Bundle::shipped()));
        let named = self.policies.iter().map(|folder| Bundle::read(folder));
        for bundle in shipped.chain(named) {
            let bundle = bundle.map_err(|error| unusable(&error))?;
            inputs.approve_policies(PolicySet::load(bundle).map_err(|error| unusable(&error))?);
        }
        for path in &self.request {
            let name = path.display().to_string();
            let message = input::message(&name)?;
            inputs.requests.push(RequestFile { name, message });
        }
        for text in &self.trust {
            inputs.trusted.push(key(text)?);
        }
        for path in &self.receipt {
            let receipt = Receipt::parse(&small(path)?);
            inputs
                .receipts
                .push(receipt.map_err(|error| in_file(path, &error))?);
        }
        for path in &self.since {
            let checkpoint = SignedCheckpoint::parse(&text(path)?);
            inputs
                .since
                .push(checkpoint.map_err(|error| in_file(path, &error))?);
        }
        Ok(inputs)
    }
}

/// A key as it is published, or the file that it stands in.
fn key(given: &str) -> Result<VerifyingKey, Failure> {
    let path = Path::new(given);
    let written = if given.contains('+') && !path.exists() {
        given.to_owned()
    } else {
        text(path)?
    };
    VerifyingKey::parse(written.trim_end()).map_err(|error| in_file(path, &error))
}

/// The components of a folder, in the order of their names.
fn components(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| at(folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "wasm") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn small(path: &Path) -> Result<Vec<u8>, Failure> {
    let size = fs::metadata(path).map_err(|error| at(path, &error))?.len();
    if size > SMALL_BYTES {
        return Err(Failure::new(
            Status::UNUSABLE,
            format!("`{}` is too large", path.display()),
        ));
    }
    fs::read(path).map_err(|error| at(path, &error))
}

fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(small(path)?).map_err(|error| in_file(path, &error.utf8_error()))
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::path(&path.display().to_string(), error)
}

fn in_file(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(Status::UNUSABLE, format!("`{}`: {error}", path.display()))
}

fn unusable(error: &dyn std::error::Error) -> Failure {
    Failure::new(Status::UNUSABLE, error.to_string())
}
