//! Reads a bundle once and puts each entry before every check.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use countersign_canon::Digest;
use countersign_evidence::bundle::{Bundle, BundleError, Consistency, Openings, Profile, Proof};
use countersign_evidence::{Entry, Kind};

use crate::admission::Requests;
use crate::attribution::Attribution;
use crate::blind::Blinds;
use crate::chain::Chains;
use crate::claim::{Claim, Status};
use crate::decision::Decisions;
use crate::findings::{Findings, Place};
use crate::inputs::Inputs;
use crate::logs::Logs;
use crate::outcome;
use crate::parsing;
use crate::receipts::Receipts;
use crate::report::Report;

/// A file that is not a bundle, so that nothing can be said of it: exit 3.
#[derive(Debug, thiserror::Error)]
#[error("the bundle is unusable: {0}")]
pub struct Unusable(#[from] BundleError);

/// After how many entries the watcher is told.
const WATCHED: u64 = 4_096;
/// How many notes of one sort are kept.
const NOTES: usize = 32;

/// Checks a bundle against everything that its verifier brings.
///
/// # Errors
/// A file that cannot be read as a bundle. Everything that can be read has a
/// report, however bad.
pub fn verify(file: impl Read + Seek, inputs: &Inputs) -> Result<Report, Unusable> {
    verify_watched(file, inputs, &mut |_, _| {})
}

/// Is told, from time to time, how many entries were checked of how many that
/// the bundle says it holds.
pub type Watch<'w> = dyn FnMut(u64, u64) + 'w;

/// As [`verify`], with somebody who watches.
///
/// # Errors
/// As [`verify`].
pub fn verify_watched(
    file: impl Read + Seek,
    inputs: &Inputs,
    watch: &mut Watch<'_>,
) -> Result<Report, Unusable> {
    let mut bundle = Bundle::open(file)?;
    let manifest = bundle.manifest().clone();
    let whole = manifest.filter.is_none();
    let mut findings = Findings::default();
    let mut notes = Notes::of(bundle.profiles());
    let mut logs = Logs::new(&manifest, bundle.checkpoints(), inputs, &mut findings);
    let mut decisions = Decisions::new(inputs, bundle.policies(), bundle.catalogs(), &mut findings);
    let mut chains = Chains::new(&inputs.components, whole);
    let mut requests = Requests::new(inputs);
    let mut attribution = Attribution::new(inputs, whole);
    let mut receipts = Receipts::new(&inputs.receipts);
    let openings = Openings::read(&mut bundle)?;
    let mut blinds = Blinds::new(openings, &inputs.receipts, &mut findings);
    for member in bundle.unknown_members() {
        notes.add(format!(
            "the member `{member}` is not known and was not read"
        ));
    }
    let all = manifest
        .logs
        .iter()
        .fold(0, |all: u64, log| all.saturating_add(log.size));
    let mut line_number = 0_u64;
    let mut lines = bundle.entries();
    parsing::each(&mut lines, inputs.threads, |entry| {
        if line_number.is_multiple_of(WATCHED) {
            watch(line_number, all);
        }
        line_number = line_number.saturating_add(1);
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                findings.contradict(Claim::Integrity, None, || {
                    format!("line {line_number}: {error}")
                });
                return;
            }
        };
        let place = Place::of(&entry);
        notes.entry(&entry, &place);
        logs.entry(&entry, &place, &mut findings);
        let opened = blinds.entry(&entry, &place, &mut findings);
        chains.entry(&entry, &place, opened, &mut findings);
        let by = (&place, opened.as_ref());
        requests.entry(&entry, by, &mut decisions, &mut findings);
        Decisions::entry(entry.said(), &place, &mut findings);
        attribution.entry(&entry, &place, &mut findings);
        outcome::entry(&entry, &place, &mut findings);
        receipts.entry(&entry, &place, &mut findings);
    })?;
    watch(line_number, all);
    logs.entries_end(&mut findings);
    let mut lines = bundle.proofs();
    while let Some(line) = lines.next()? {
        if let Some(proof) = Proof::parse(line) {
            logs.proof(&proof, &mut findings);
        } else if let Some(proof) = Consistency::parse(line) {
            logs.consistency(&proof, &mut findings);
        } else {
            findings.contradict(Claim::Integrity, None, || "a line is no proof".to_owned());
        }
    }
    notes.compare(&mut findings);
    logs.finish(&mut findings);
    if let Some(note) = blinds.finish(&mut findings) {
        notes.add(note);
    }
    outcome::finish(chains.finish(&mut findings), &mut findings);
    requests.finish(&mut findings);
    decisions.finish(&mut findings);
    attribution.finish(&mut findings);
    receipts.finish(&manifest, &mut findings);
    // The tip of a chain is known only where nothing can have been cut.
    if findings.status(Claim::Completeness) != Status::Verified {
        findings.leave_open(Claim::Ordering, None, || {
            "whether more entries follow is not known, since completeness is not shown".to_owned()
        });
    }
    if findings.status(Claim::Integrity) != Status::Verified {
        findings.leave_open(Claim::Outcome, None, || {
            "who recorded it is not known, since integrity is not shown".to_owned()
        });
    }
    for log in manifest
        .logs
        .iter()
        .filter(|log| inputs.trusted.iter().all(|key| *key.name() != log.log_id))
    {
        if let Some(key) = &log.key {
            notes.add(format!("the bundle calls `{key}` the key of `{}`: compare it with what the operator published, and name it as trusted", log.log_id));
        }
    }
    Ok(Report::new(findings, notes.lines, line_number))
}

/// What is reported beside the claims, and whether entries name the components
/// that the bundle carries.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    kinds: BTreeSet<String>,
    members: BTreeSet<String>,
    components: BTreeMap<String, Named>,
}

/// What entries name of a profile of which the bundle carries a component. Only
/// of such is anything kept, so that entries cannot fill memory with names.
#[derive(Default)]
struct Named {
    by_any: bool,
    /// The carried components, and whether an entry names each.
    carried: BTreeMap<Digest, bool>,
}

impl Notes {
    /// Prepares for the components that a bundle carries.
    fn of(carried: &[Profile]) -> Self {
        let mut notes = Self::default();
        for profile in carried {
            let named = notes.components.entry(profile.id.as_str().to_owned());
            named.or_default().carried.insert(profile.digest, false);
        }
        notes
    }

    fn add(&mut self, note: String) {
        if self.lines.len() < NOTES {
            self.lines.push(note);
        }
    }

    fn entry(&mut self, entry: &Entry, place: &Place) {
        let said = entry.said();
        if let Kind::Other(_) = said.kind
            && self.kinds.len() < NOTES
            && self.kinds.insert(said.kind.to_string())
        {
            self.add(format!(
                "{place}: the kind `{}` is not known; only its place and hash were checked",
                said.kind
            ));
        }
        for member in entry.unknown_members() {
            if self.members.len() < NOTES && self.members.insert(member.clone()) {
                self.add(format!("{place}: the member `{member}` is not known; only that it was hashed was checked"));
            }
        }
        if let (Some(profile), Some(component)) = (&said.profile, said.component)
            && let Some(named) = self.components.get_mut(profile)
        {
            named.by_any = true;
            if let Some(it_is) = named.carried.get_mut(&component) {
                *it_is = true;
            }
        }
    }

    /// Says which components that a bundle carries its entries do not name.
    fn compare(&mut self, findings: &mut Findings) {
        for (profile, named) in std::mem::take(&mut self.components) {
            for it_is in named.carried.into_values() {
                match (it_is, named.by_any) {
                    (true, _) => {}
                    (false, true) => findings.contradict(Claim::Admission, None, || {
                        format!("the component that the bundle calls `{profile}` is not the one that its entries name")
                    }),
                    (false, false) => self.add(format!("no entry names the component `{profile}`")),
                }
            }
        }
    }
}
