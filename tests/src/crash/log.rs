//! The logs as they were exported: every entry read back, every chain followed.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use countersign_evidence::bundle::Bundle;
use countersign_evidence::{Entry, Kind};

/// One entry, as far as the checks look at it.
#[derive(Clone, Debug)]
pub struct Line {
    /// The log that it stands in.
    pub log: String,
    /// Its hash.
    pub hash: String,
    /// What it records.
    pub kind: Kind,
    /// The attempt that it is about.
    pub call_id: Option<String>,
    /// The agent.
    pub subject: Option<String>,
    /// The execution.
    pub execution_id: Option<String>,
    /// The attempt's own workflow.
    pub workflow: Option<String>,
    /// The refusal.
    pub refusal: Option<String>,
    /// The outcome.
    pub outcome: Option<&'static str>,
    /// Whether it is a claim of a round; none where it is about none.
    pub claims: Option<bool>,
    /// Its place on the execution's chain.
    pub place: Option<u64>,
    /// The entry before it on that chain.
    pub before: Option<String>,
    /// How many attempts it counts.
    pub suppressed: u64,
}

/// Reads a bundle of whole logs: those of all replicas stand in it.
///
/// # Errors
///
/// Where an entry does not read back, or the chain is broken.
///
/// # Panics
///
/// When there is no such file.
pub fn read(bundle: &Path) -> Result<Vec<Line>, String> {
    let file = File::open(bundle).unwrap();
    let mut bundle = Bundle::open(file).map_err(|error| error.to_string())?;
    let mut entries = bundle.entries();
    let mut lines = Vec::new();
    let mut ends = HashMap::new();
    while let Some(bytes) = entries.next().map_err(|error| error.to_string())? {
        let entry = Entry::parse(bytes).map_err(|error| error.to_string())?;
        let log = entry.log_id().to_string();
        let (number, last) = ends.get(&log).copied().unwrap_or((0, None));
        if entry.sequence() != number || entry.previous() != last {
            return Err(format!("the chain of {log} is broken at entry {number}"));
        }
        ends.insert(log, (number + 1, Some(entry.hash())));
        lines.push(line(&entry));
    }
    Ok(lines)
}

fn line(entry: &Entry) -> Line {
    let said = entry.said();
    let link = entry.link();
    Line {
        log: entry.log_id().to_string(),
        hash: entry.hash().to_string(),
        kind: said.kind.clone(),
        call_id: said.call_id.as_ref().map(|id| id.as_str().to_owned()),
        subject: said.agent.as_ref().map(|agent| agent.subject.clone()),
        execution_id: said.execution_id.as_ref().map(|id| id.as_str().to_owned()),
        workflow: said.workflow_id.as_ref().map(|id| id.as_str().to_owned()),
        refusal: said.refusal.as_ref().map(|code| code.as_str().to_owned()),
        outcome: said.outcome.map(countersign_ledger::outcome_str),
        claims: said
            .round
            .map(|round| round.says == countersign_evidence::RoundSays::Claimed),
        place: link.map(|link| link.execution_seq),
        before: link.and_then(|link| link.execution_previous.map(|hash| hash.to_string())),
        suppressed: said.suppressed.as_ref().map_or(0, |counted| counted.count),
    }
}
