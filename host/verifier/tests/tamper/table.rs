//! What every test does with a lie: has it verified, and keeps what was said.
//!
//! The reasons that the lies of one table draw are a golden file: whoever takes a
//! check out of the verifier sees its reason missing there, even where another
//! check catches the same lies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use countersign_canon::Digest;
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::tree::Frontier;
use countersign_verifier::{Claim, Finding, Inputs, Report, Status, verify};
use serde_json::{Value, json};

use super::lies::{bytes, seal};
use crate::world::{COMPONENT, Export, PROFILE, key};

/// One test's part of the table.
pub struct Table {
    rows: BTreeMap<String, BTreeSet<Claim>>,
    folder: Option<PathBuf>,
    /// Of how many lies of one row the bundles are kept.
    most: usize,
    kept: BTreeMap<String, usize>,
    honest: BTreeMap<String, BTreeSet<Claim>>,
    /// Every reason that was given, without what is particular to one lie.
    reasons: BTreeSet<String>,
    name: &'static str,
    number: u32,
}

impl Table {
    #[allow(
        clippy::disallowed_methods,
        reason = "a switch for whoever has another verifier"
    )]
    pub fn new(name: &'static str) -> Self {
        let folder = std::env::var_os("COUNTERSIGN_TAMPER_DIR").map(PathBuf::from);
        if let Some(folder) = &folder {
            fs::create_dir_all(folder).unwrap();
        }
        Self {
            rows: BTreeMap::new(),
            folder,
            most: usize::MAX,
            kept: BTreeMap::new(),
            honest: BTreeMap::new(),
            reasons: BTreeSet::new(),
            name,
            number: 0,
        }
    }

    /// As [`Table::new`], with few bundles of many like lies.
    pub fn sampled(name: &'static str, most: usize) -> Self {
        let mut table = Self::new(name);
        table.most = most;
        table
    }

    /// Has a bundle verified; `row` is what it goes under in the table.
    pub fn check(&mut self, row: &str, export: &Export, inputs: &Inputs) -> Report {
        let bundle = export.bundle();
        let report = verify(Cursor::new(&bundle), inputs).unwrap();
        self.keep(row, &bundle, inputs, &report);
        self.reasons.extend(reasons(&report));
        let row = self.rows.entry(row.to_owned()).or_default();
        row.extend(caught(&report));
        report
    }

    /// Which claims do not hold of the honest bundle with the same inputs: where
    /// no request is at hand, for example, none is admitted again.
    pub fn caught_without(&mut self, honest: &Export, inputs: &Inputs) -> BTreeSet<Claim> {
        let names: Vec<&str> = inputs.requests.iter().map(|r| r.name.as_str()).collect();
        let names = names.join(" ");
        if let Some(known) = self.honest.get(&names) {
            return known.clone();
        }
        let report = verify(Cursor::new(honest.bundle()), inputs).unwrap();
        let caught = caught(&report);
        self.honest.insert(names, caught.clone());
        caught
    }

    /// Writes down what another verifier should say too.
    fn keep(&mut self, what: &str, bundle: &[u8], inputs: &Inputs, report: &Report) {
        let Some(folder) = &self.folder else { return };
        let kept = self.kept.entry(what.to_owned()).or_default();
        if *kept >= self.most {
            return;
        }
        *kept += 1;
        self.number += 1;
        let name = format!("{}-{:05}", self.name, self.number);
        fs::write(folder.join(format!("{name}.tar")), bundle).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let claims: BTreeMap<&str, &str> = report
            .claims
            .iter()
            .map(|claim| (claim.claim.as_str(), claim.status.as_str()))
            .collect();
        let component = Digest::of(&[COMPONENT]);
        let says = json!({
            "approve": {PROFILE: component.as_str()},
            "bundle": format!("{name}.tar"),
            "claims": claims,
            "receipts": inputs.receipts.iter().map(|r| text(&r.to_json())).collect::<Vec<_>>(),
            "requests": inputs.requests.iter().map(|r| text(&r.message)).collect::<Vec<_>>(),
            "since": inputs.since.iter().map(SignedCheckpoint::note).collect::<Vec<_>>(),
            "trust": inputs.trusted.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "what": what,
        });
        let file = folder.join(format!("{}.jsonl", self.name));
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        writeln!(file, "{says}").unwrap();
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for (what, claims) in &self.rows {
            let words: Vec<&str> = claims.iter().map(|claim| claim.as_str()).collect();
            println!("{what:<44} → {}", words.join(", "));
        }
        if !std::thread::panicking() {
            let reasons: String = self
                .reasons
                .iter()
                .map(|line| format!("{line}\n"))
                .collect();
            let name = format!("reasons/{}.txt", self.name);
            crate::world::golden::compare(&name, reasons.as_bytes());
        }
    }
}

/// What speaks against claims and what they lack, in a form that does not depend
/// on digests, names and numbers.
fn reasons(report: &Report) -> impl Iterator<Item = String> {
    report.claims.iter().flat_map(|claim| {
        let against = claim.contradictions.iter().map(|found| ("against", found));
        let open = claim.gaps.iter().map(|found| ("open", found));
        let line = |(side, found): (&str, &Finding)| {
            format!("{} {side}: {}", claim.claim, general(&found.reason))
        };
        against.chain(open).map(line)
    })
}

fn general(reason: &str) -> String {
    let mut out = String::new();
    for (index, part) in reason.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str("`…`");
            continue;
        }
        // Digests that are quoted by nothing.
        for (index, part) in part.split("sha256:").enumerate() {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            let part = if index > 0 && part.len() - rest.len() == 64 {
                out.push('…');
                rest
            } else {
                part
            };
            for char in part.chars() {
                match char {
                    '0'..='9' if out.ends_with('N') => {}
                    '0'..='9' => out.push('N'),
                    other => out.push(other),
                }
            }
        }
    }
    out
}

/// Which claims hold less than they did before.
pub fn caught(report: &Report) -> BTreeSet<Claim> {
    report
        .claims
        .iter()
        .filter(|claim| claim.status != Status::Verified)
        .map(|claim| claim.claim)
        .collect()
}

/// Writes a log again as its owner would: links, hashes, and its signature.
pub fn rewrite(export: &Export, mut values: Vec<Value>) -> Export {
    let mut renamed = BTreeMap::new();
    let mut last = Value::Null;
    let mut tree = Frontier::new();
    for value in &mut values {
        let old = value["hash"].clone();
        value["previous"] = last;
        if let Some(new) = renamed.get(&value["execution_previous"].to_string()) {
            value["execution_previous"] = Value::clone(new);
        }
        tree.append(seal(value));
        last = value["hash"].clone();
        renamed.insert(old.to_string(), last.clone());
    }
    let checkpoint = Checkpoint {
        log_id: export.log_id.clone(),
        size: tree.size(),
        root: tree.root(),
    };
    Export {
        lines: values.iter().map(bytes).collect(),
        notes: vec![checkpoint.sign(&key(1))],
        size: tree.size(),
        ..export.clone()
    }
}
