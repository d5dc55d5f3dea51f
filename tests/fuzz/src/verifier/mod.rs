//! The verifier: an honest bundle has the report that it always has, and
//! whatever somebody without the key changes in one, nothing that a claim
//! covers is verified in its changed form.

mod cases;
mod edits;

use std::collections::BTreeMap;
use std::io::Cursor;

use countersign_verifier::{Claim, Report, Status, verify};
use serde_json::Value;

use crate::bundle::{self, Member};
use crate::choices::Choices;
use cases::{Case, cases};

/// An input names an honest bundle and says what is done to it.
pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let case = choices.pick(cases());
    let mut members = case.members.clone();
    let raw = choices.below(8) == 7;
    while !choices.is_empty() && !members.is_empty() {
        edits::edit(&mut members, &mut choices);
        if raw {
            break;
        }
    }
    let mut file = bundle::archive(&members);
    if raw {
        let bytes = choices.rest();
        let at = bytes
            .iter()
            .fold(0, |at: usize, byte| (at << 8) | usize::from(*byte));
        let at = at % file.len();
        file[at] = file[at].wrapping_add(u8::try_from(bytes.len() & 0xFF).unwrap());
    }
    let Ok(report) = verify(Cursor::new(&file), &case.inputs) else {
        assert_ne!(file, case.file, "an honest bundle is usable");
        return;
    };
    if file == case.file {
        assert_eq!(report, case.report, "an honest bundle has one report");
    }
    let again = verify(Cursor::new(&file), &case.inputs).expect("it was usable");
    assert_eq!(again, report, "a report is a function of bundle and inputs");
    judge(case, &bundle::members(&file), &report);
}

/// An honest bundle, as a file and as members.
pub(crate) fn honest(choices: &mut Choices<'_>) -> (&'static [u8], &'static [Member]) {
    let case = choices.pick(cases());
    (&case.file, &case.members)
}

fn judge(case: &Case, members: &[Member], report: &Report) {
    let verified = |claim| report.status(claim) == Status::Verified;
    if !verified(Claim::Integrity) {
        return;
    }
    // What is there was written by the gateway, each entry once.
    let (honest, found) = (logs(&case.members), logs(members));
    for (log, lines) in &found {
        let known = honest.get(log).map(Vec::as_slice).unwrap_or_default();
        for (index, line) in lines.iter().enumerate() {
            assert!(known.contains(line), "a changed entry is verified");
            assert!(!lines[..index].contains(line), "an entry is verified twice");
        }
    }
    if !verified(Claim::Completeness) {
        return;
    }
    // All of it is there and in order, so that no claim can hold better than it
    // did of the honest bundle.
    assert_eq!(found, honest, "what is missing is verified as complete");
    for claim in Claim::ALL {
        let (now, before) = (report.status(claim), case.report.status(claim));
        assert!(
            rank(now) <= rank(before),
            "{claim} was {before} and is {now}"
        );
    }
}

const fn rank(status: Status) -> u8 {
    match status {
        Status::Contradicted => 0,
        Status::NotEstablished => 1,
        Status::Verified => 2,
    }
}

/// The lines of entries, by the log that each says it is of.
fn logs(members: &[Member]) -> BTreeMap<String, Vec<&[u8]>> {
    let mut logs: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for line in members.iter().filter_map(entries).flatten() {
        let entry: Option<Value> = serde_json::from_slice(line).ok();
        let log = entry.and_then(|entry| entry["log_id"].as_str().map(str::to_owned));
        logs.entry(log.unwrap_or_default()).or_default().push(line);
    }
    logs
}

fn entries(member: &Member) -> Option<impl Iterator<Item = &[u8]>> {
    let number = member.name.strip_prefix("entries/")?;
    let number = number.strip_suffix(".jsonl")?;
    let numbered = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    let content = &member.content;
    let whole = content.strip_suffix(b"\n").unwrap_or(content);
    let lines = whole.split(|byte| *byte == b'\n');
    numbered.then(|| lines.filter(|line| !line.is_empty()))
}
