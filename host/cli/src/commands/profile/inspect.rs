//! `countersign profile inspect`.

use std::io::{self, Write};

use clap::Args;
use countersign_canon::{Digest, Limits};
use countersign_engine::WORLD;
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::profiles;

/// Say what a component is, and whether it may be used
///
/// Every check that a gateway makes at its start is made here.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it passes every check
  1  it does not; the first check that fails is named
  2  wrong usage, or a file that cannot be read")]
pub(crate) struct Inspect {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The component
    file: String,
}

impl Inspect {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let bytes = super::component(&self.file)?;
        let digest = Digest::of(&[&bytes]);
        // Nobody has vouched for this file, so nothing of it is kept.
        let (report, status) = match profiles::engine(false, 1)?.load_foreign(&bytes, None) {
            Ok(profile) => (
                Report {
                    name: Some((profile.id().name().into(), profile.id().version().into())),
                    limits: Some(profile.limits()),
                    digest,
                    self_test: format!("passed, {} vectors", profile.self_tests()),
                    problem: None,
                },
                Status::OK,
            ),
            Err(error) => (
                Report {
                    name: None,
                    limits: None,
                    digest,
                    self_test: "failed".into(),
                    problem: Some([
                        error.code().into(),
                        error.problem().to_string(),
                        error.help().into(),
                    ]),
                },
                Status::DOES_NOT_HOLD,
            ),
        };
        report
            .print(&mut io::stdout().lock(), self.json)
            .map_err(|error| Failure::output(&error))?;
        Ok(status)
    }
}

/// What is known of a component; of one that fails a check only that.
struct Report {
    name: Option<(String, String)>,
    limits: Option<Limits>,
    digest: Digest,
    self_test: String,
    /// Code, what is wrong, what to do.
    problem: Option<[String; 3]>,
}

impl Report {
    fn print(&self, output: &mut impl Write, as_json: bool) -> io::Result<()> {
        if as_json {
            return writeln!(output, "{}", self.to_json());
        }
        let mut line = |name: &str, value: &str| writeln!(output, "{name:<11}{value}");
        if let Some((name, version)) = &self.name {
            line("name", name)?;
            line("version", version)?;
            line("world", WORLD)?;
            line("imports", "none")?;
        }
        line("digest", self.digest.as_str())?;
        if let Some(limits) = self.limits {
            line(
                "limits",
                &format!("{} bytes a message", limits.message_bytes),
            )?;
            line("", &format!("{} containers deep", limits.depth))?;
            line("", &format!("{} bytes a number", limits.number_bytes))?;
            line("", &format!("{} values a message", limits.nodes))?;
        }
        line("self-test", &self.self_test)?;
        if let Some([code, problem, help]) = &self.problem {
            line("problem", &format!("{problem} ({code})"))?;
            line("help", help)?;
        }
        Ok(())
    }

    fn to_json(&self) -> serde_json::Value {
        json!({
            "name": self.name.as_ref().map(|(name, _)| name),
            "version": self.name.as_ref().map(|(_, version)| version),
            "world": self.name.as_ref().map(|_| WORLD),
            "imports": self.name.as_ref().map(|_| serde_json::Value::Array(Vec::new())),
            "digest": self.digest.as_str(),
            "limits": self.limits.map(|limits| json!({
                "message_bytes": limits.message_bytes,
                "depth": limits.depth,
                "number_bytes": limits.number_bytes,
                "nodes": limits.nodes,
            })),
            "self_test": self.self_test,
            "problem": self.problem.as_ref().map(|[code, problem, help]| json!({
                "code": code, "text": problem, "help": help,
            })),
        })
    }
}
