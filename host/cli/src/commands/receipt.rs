//! `countersign receipt`: what a caller holds, and the proof that it becomes.

use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use countersign_canon::Limits;
use countersign_canon::document::{Document, Item};
use countersign_evidence::bundle::{Bundle, Which, prove};
use countersign_evidence::{
    Blinding, CallId, Entry, ProofFile, ProofFileError, RECEIPT_KEY, Receipt,
};
use countersign_ledger::Selection;

use super::audit;
use crate::failure::{Failure, Status};
use crate::files::{self, PRIVATE};
use crate::text::visible;

/// Read receipts, and turn them into proofs that stand alone
#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    Show(Show),
    Prove(Prove),
    Check(Check),
}

impl ReceiptCommand {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Show(show) => show.run(),
            Self::Prove(prove) => prove.run(),
            Self::Check(check) => check
                .run()
                .map_err(|failure| failure.with_status(Status::UNUSABLE)),
        }
    }
}

/// Print what a receipt or a proof says
///
/// A receipt says which entry of which log belongs to an answer. It proves
/// nothing until that entry is shown: `receipt prove`, or `verify --receipt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  wrong usage, or a file that holds neither")]
pub(crate) struct Show {
    /// A receipt, the answer that it came with, or a proof
    file: PathBuf,
}

/// Write the proof of a receipt's entry: a text file that verifies alone
///
/// It holds the entry, the path from it to the log's signed head, and that
/// head. The gateway is asked, or its store where none runs; or a bundle.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the proof is written
  1  the entry is not there, or is another one
  2  wrong usage, or something that cannot be read or written")]
pub(crate) struct Prove {
    /// The receipt, or the answer that it came with
    #[arg(required_unless_present = "call")]
    receipt: Option<PathBuf>,
    /// The call instead, where its answer carried no receipt
    #[arg(long, value_name = "CALL_ID", conflicts_with = "receipt")]
    call: Option<String>,
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", required_unless_present = "bundle")]
    config: Option<PathBuf>,
    /// A bundle that holds the entry
    #[arg(long, value_name = "BUNDLE", conflicts_with = "config")]
    bundle: Option<PathBuf>,
    /// Where the proof goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Check a proof, offline
///
/// Shows that the entry stands in the log that the key signed. What it says
/// besides, and whether it is the only entry about its execution, a bundle
/// shows.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the entry stands in the log
  1  it does not, or the receipt is about another entry
  2  another key signed the log's head
  3  wrong usage, or input that cannot be used")]
pub(crate) struct Check {
    /// The proof
    proof: PathBuf,
    /// The log's public key, `NAME+HASH+KEY`, or a file that holds it
    #[arg(long, value_name = "KEY")]
    trust: String,
    /// The receipt that the proof must be about
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
}

impl Show {
    fn run(&self) -> Result<Status, Failure> {
        let text = files::text(&self.file)?;
        let shown = match ProofFile::parse(&text) {
            Ok(proof) => entry(proof.entry()),
            Err(_) => receipt_text(&find(&self.file, text.as_bytes())?),
        };
        print(&shown)
    }
}

impl Prove {
    fn run(&self) -> Result<Status, Failure> {
        let which = match (&self.receipt, &self.call) {
            (Some(path), _) => Which::Receipt(Box::new(in_file(path)?)),
            (_, Some(call)) => Which::Call(
                CallId::new(call)
                    .map_err(|error| Failure::new(Status::USAGE, error.to_string()))?,
            ),
            (None, None) => return Err(Failure::new(Status::USAGE, "no receipt is given")),
        };
        let call = match &which {
            Which::Receipt(receipt) => receipt.call_id.clone(),
            Which::Call(call) => call.clone(),
        };
        let file = match (&self.bundle, &self.config) {
            (Some(path), _) => {
                std::fs::File::open(path).map_err(|error| files::at(path, &error))?
            }
            (None, Some(config)) => {
                audit::whole_or_part(&audit::config(config)?, &Selection::Call(call))?
            }
            (None, None) => return Err(Failure::new(Status::USAGE, "no gateway is named")),
        };
        let mut bundle =
            Bundle::open(BufReader::new(file)).map_err(|error| files::unusable(&error))?;
        let proof = prove(&mut bundle, &which)
            .map_err(|error| Failure::new(Status::DOES_NOT_HOLD, error.to_string()))?;
        files::write(&self.output, PRIVATE, |out| {
            out.write_all(proof.to_text().as_bytes())
                .map_err(|error| Failure::output(&error))
        })?;
        Ok(Status::OK)
    }
}

impl Check {
    fn run(&self) -> Result<Status, Failure> {
        let key = files::key(&self.trust)?;
        let proof = ProofFile::parse(&files::text(&self.proof)?);
        let proof = match proof {
            Ok(proof) => proof,
            // It has the form of a proof, and what it proves is no entry.
            Err(ProofFileError::Entry) => return refuted(&ProofFileError::Entry),
            Err(error) => return Err(files::in_file(&self.proof, &error)),
        };
        if let Some(path) = &self.receipt {
            let receipt = in_file(path)?;
            if !Receipt::of(proof.entry()).is_some_and(|of| of.agrees(&receipt)) {
                print("the proof is about another entry than the receipt\n")?;
                return Ok(Status::DOES_NOT_HOLD);
            }
        }
        match proof.verify(&key) {
            Ok(()) => print(&format!("verified\n{}", entry(proof.entry()))),
            Err(error @ ProofFileError::Key) => {
                print(&format!(
                    "not established: {error}; name the key that was in force when the log had that size\n"
                ))?;
                Ok(Status::NOT_ESTABLISHED)
            }
            Err(error) => refuted(&error),
        }
    }
}

fn refuted(error: &ProofFileError) -> Result<Status, Failure> {
    print(&format!("contradicted: {error}\n"))?;
    Ok(Status::DOES_NOT_HOLD)
}

fn print(text: &str) -> Result<Status, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::output(&error))?;
    Ok(Status::OK)
}

/// The receipt of a file that holds it alone, or the answer it came with.
pub(super) fn in_file(path: &Path) -> Result<Receipt, Failure> {
    find(path, &files::small(path)?)
}

/// A receipt alone, or where an answer carries it.
fn find(path: &Path, json: &[u8]) -> Result<Receipt, Failure> {
    if let Ok(receipt) = Receipt::parse(json) {
        return Ok(receipt);
    }
    let none = || {
        let text = format!("`{}` holds no receipt", path.display());
        Failure::new(Status::USAGE, text).with_help(
            "a receipt stands in an answer's `_meta` or in its error's `data`, under `countersign.dev/receipt`; without one, use `--call`",
        )
    };
    let document = Document::read(json, Limits::STANDARD).map_err(|_| none())?;
    let root = document.root();
    let places: [&[&str]; 4] = [
        &["result", "_meta"],
        &["error", "data"],
        &["_meta"],
        &["data"],
    ];
    let at = |path: &[&str]| {
        path.iter()
            .try_fold(root, |item: Item<'_>, name| item.get(name))
    };
    let found = places
        .into_iter()
        .find_map(|path| at(path)?.get(RECEIPT_KEY));
    found.and_then(Receipt::read).ok_or_else(none)
}

fn receipt_text(receipt: &Receipt) -> String {
    let absent = || "none".to_owned();
    let mut shown = vec![
        ("call", receipt.call_id.to_string()),
        (
            "execution",
            receipt
                .execution_id
                .as_ref()
                .map_or_else(absent, ToString::to_string),
        ),
        (
            "binding",
            receipt
                .binding
                .as_ref()
                .map_or_else(absent, ToString::to_string),
        ),
        ("profile", receipt.profile.clone().unwrap_or_else(absent)),
        ("log", receipt.log_id.to_string()),
        ("entry", receipt.sequence.to_string()),
        ("hash", receipt.entry_hash.to_string()),
    ];
    if let Some(salt) = &receipt.salt {
        shown.push(("salt", salt.to_string()));
    }
    lines(&shown)
}

fn entry(entry: &Entry) -> String {
    let said = entry.said();
    let shown = Receipt::of(entry).map_or_else(String::new, |receipt| receipt_text(&receipt));
    let mut more = vec![
        ("kind", said.kind.to_string()),
        ("time", said.time.to_string()),
    ];
    match said.blind {
        Blinding::Plain => {}
        Blinding::Salted => more.push((
            "blinded",
            "SHA-256 of the execution's salt and the value".to_owned(),
        )),
        Blinding::Withheld => more.push(("blinded", "what there was is left out".to_owned())),
    }
    if let Some(outcome) = entry.outcome() {
        more.push(("outcome", outcome.to_owned()));
    }
    if let Some(code) = &said.refusal {
        more.push(("refused", code.to_string()));
    }
    if let Some(digest) = said.answer_digest {
        more.push(("answer", digest.to_string()));
    }
    format!("{shown}{}", lines(&more))
}

fn lines(lines: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in lines {
        // An unknown kind is a stranger's text.
        let value = visible(value);
        text.push_str(&format!("{name:<10} {value}\n"));
    }
    text
}
