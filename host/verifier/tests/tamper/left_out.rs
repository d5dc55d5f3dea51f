//! What a bundle leaves out: heads, keys, and the entries that would tell.
//!
//! A part says less than its whole, and never the contrary of it. And nothing
//! at all is shown of a log without a head that a trusted key signed.

use std::collections::BTreeSet;

use countersign_evidence::bundle::{Consistency, Filter, FilterBy, Proof};
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::proof::Collector;
use countersign_evidence::{Entry, KeyRotation, Kind};
use countersign_verifier::{Claim, Level, Report, Status, Verdict};

use super::lies::{changes, sorts, values};
use super::table::{Table, caught, rewrite};
use crate::world::{Asked, Export, World, key};

fn filter() -> Filter {
    Filter {
        by: FilterBy::Time,
        value: "a part".into(),
    }
}

/// The part of a whole export that holds the lines at `keep`, proved under the
/// head that `by` signs.
pub fn part(whole: &Export, keep: impl Fn(usize) -> bool, by: u8) -> Export {
    let entries: Vec<Entry> = whole.lines.iter().flat_map(|l| Entry::parse(l)).collect();
    let size = entries.len() as u64;
    let mut collector = Collector::new(size);
    let kept: Vec<usize> = (0..entries.len()).filter(|at| keep(*at)).collect();
    for at in &kept {
        collector.want_inclusion(*at as u64);
    }
    let mut tree = countersign_evidence::tree::Frontier::new();
    for entry in &entries {
        collector.leaf(entry.hash().to_bytes());
        tree.append(entry.hash().to_bytes());
    }
    let head = Checkpoint {
        log_id: whole.log_id.clone(),
        size,
        root: tree.root(),
    };
    let proof = |at: &usize| Proof {
        log_id: whole.log_id.clone(),
        sequence: *at as u64,
        size,
        path: collector.inclusion(*at as u64).unwrap(),
    };
    Export {
        filter: Some(filter()),
        lines: kept.iter().map(|at| whole.lines[*at].clone()).collect(),
        proofs: kept.iter().map(proof).collect(),
        notes: vec![head.sign(&key(by))],
        ..whole.clone()
    }
}

#[test]
fn without_a_head_that_a_trusted_key_signed_nothing_is_whole_or_complete() {
    let world = World::full();
    let whole = Export::of(&world);
    let mut empty = whole.clone();
    empty.lines.clear();
    empty.openings.clear();
    empty.size = 0;
    let zero = Checkpoint {
        log_id: whole.log_id.clone(),
        size: 0,
        root: countersign_evidence::tree::Frontier::new().root(),
    };
    let mut table = Table::new("no-head");
    for (what, export) in [("entries", &whole), ("no entry", &empty)] {
        for filtered in [false, true] {
            let size = export.size;
            let by = |number: u8| match size {
                0 => zero.sign(&key(number)),
                _ => Checkpoint::of(&world.head).sign(&key(number)),
            };
            for (whose, notes) in [
                ("no head", vec![]),
                ("a stranger's head", vec![by(2)]),
                ("a trusted head", vec![by(1)]),
            ] {
                let mut export = match filtered {
                    true => part(export, |_| true, 1),
                    false => export.clone(),
                };
                let trusted = whose == "a trusted head";
                export.notes = notes;
                let mut inputs = world.inputs();
                inputs.requests.clear();
                let report = table.check(&format!("{what}, {whose}"), &export, &inputs);
                let shown = |claim| report.status(claim) == Status::Verified;
                assert_eq!(shown(Claim::Integrity), trusted, "{what}, {whose}");
                assert_eq!(
                    shown(Claim::Completeness),
                    trusted && !filtered,
                    "{what}, {whose}"
                );
                assert!(trusted || !shown(Claim::Outcome), "{what}, {whose}");
            }
        }
    }
}

#[test]
fn a_bundle_that_names_no_log_shows_nothing() {
    use countersign_evidence::bundle::{Manifest, Writer};

    let world = World::full();
    for filter in [None, Some(filter())] {
        let manifest = Manifest {
            exported: None,
            logs: Vec::new(),
            filter,
        };
        let bundle = Writer::new(Vec::new(), &manifest)
            .unwrap()
            .finish()
            .unwrap();
        for trusted in [Vec::new(), world.inputs().trusted] {
            let mut inputs = world.inputs();
            inputs.trusted = trusted;
            let report =
                countersign_verifier::verify(std::io::Cursor::new(&bundle), &inputs).unwrap();
            for claim in [Claim::Integrity, Claim::Completeness, Claim::Outcome] {
                assert_eq!(report.status(claim), Status::NotEstablished, "{claim}");
            }
        }
    }
}

#[test]
fn whom_a_trusted_key_never_vouched_for_proves_nothing_by_naming_it() {
    let mut world = World::new();
    let mut draft = world.draft(Kind::KeyRotated);
    // Anybody can sign that a key of his is followed by the trusted one.
    let rotation: KeyRotation = key(3).rotate(&key(1).verifying_key());
    draft.key = Some(rotation);
    world.append(draft, None);
    world.admit(
        Asked::transfer("forged", "1"),
        countersign_canon::Classification::Fresh,
    );
    let whole = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let mut table = Table::new("forged-predecessor");
    let rotation = whole
        .lines
        .iter()
        .position(|line| Entry::parse(line).unwrap().said().kind == Kind::KeyRotated)
        .unwrap();
    // The predecessor's head ends with the change, and so does a part under it.
    let mut short = whole.clone();
    short.lines.truncate(rotation + 1);
    for export in [&whole, &short] {
        for by in [3, 1] {
            let export = part(export, |_| true, by);
            let report = table.check("a forged predecessor's head", &export, &inputs);
            assert_eq!(
                report.status(Claim::Integrity) == Status::Verified,
                by == 1,
                "{by}: {}",
                report.to_text(&Level::default())
            );
        }
    }
    // And nothing against what the trusted key signed, whatever he signs.
    let mut export = part(&short, |_| true, 1);
    let head = Checkpoint {
        log_id: short.log_id.clone(),
        size: short.lines.len() as u64,
        root: [9; 32],
    };
    export.notes.push(head.sign(&key(3)));
    let report = table.check("a forged predecessor's other head", &export, &inputs);
    assert_eq!(
        report.status(Claim::Integrity),
        Status::Verified,
        "{}",
        report.to_text(&Level::default())
    );
}

/// Two histories of one log that part after its beginning, each with its heads.
struct Forked {
    world: World,
    /// The part of the second history that is shown.
    shown: Export,
    /// `(size, the head, signed)`, of both.
    heads: Vec<(u64, Checkpoint, bool)>,
    second: Vec<Entry>,
}

fn forked() -> Forked {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    let at = all.len() / 2;
    all[at]["time"] = "2031-01-02T03:04:05.000006Z".into();
    let second = rewrite(&export, all);
    let entries = |export: &Export| -> Vec<Entry> {
        export.lines.iter().flat_map(|l| Entry::parse(l)).collect()
    };
    let mut heads = Vec::new();
    for (export, of_second) in [(&export, false), (&second, true)] {
        let mut tree = countersign_evidence::tree::Frontier::new();
        for entry in entries(export) {
            tree.append(entry.hash().to_bytes());
            let head = Checkpoint {
                log_id: export.log_id.clone(),
                size: tree.size(),
                root: tree.root(),
            };
            heads.push((tree.size(), head, of_second));
        }
    }
    Forked {
        world,
        shown: part(&second, |at| at < 4, 1),
        heads,
        second: entries(&second),
    }
}

impl Forked {
    /// The consistency path from a size to the whole second history.
    fn path(&self, from: u64) -> Consistency {
        let to = self.second.len() as u64;
        let mut collector = Collector::new(to);
        collector.want_consistency(from);
        for entry in &self.second {
            collector.leaf(entry.hash().to_bytes());
        }
        Consistency {
            log_id: self.shown.log_id.clone(),
            from,
            to,
            path: collector.consistency(from).unwrap(),
        }
    }
}

#[test]
fn every_head_at_hand_is_shown_to_be_of_one_history_or_nothing_is() {
    let forked = forked();
    let to = forked.second.len() as u64;
    let mut table = Table::new("forks");
    let fork = to / 2;
    let near = |size: u64| [1, fork, fork + 1, to - 1, to].contains(&size);
    for (size, head, of_second) in forked.heads.iter().filter(|(size, ..)| near(*size)) {
        let shared = forked
            .heads
            .iter()
            .any(|(_, other, second)| *second && other == head);
        let itself = Consistency {
            to: *size,
            path: Vec::new(),
            ..forked.path(*size)
        };
        for (what, lines) in [
            ("no proof", vec![]),
            ("a proof of itself", vec![itself.clone()]),
            ("a proof", vec![forked.path(*size)]),
            ("both", vec![itself, forked.path(*size)]),
        ] {
            for kept in [false, true] {
                let note = head.sign(&key(1));
                let mut export = forked.shown.clone();
                let mut inputs = forked.world.inputs();
                inputs.requests.clear();
                export.consistency.clone_from(&lines);
                if kept {
                    inputs.since = vec![SignedCheckpoint::parse(&note).unwrap()];
                } else {
                    export.notes.push(note);
                }
                let report = table.check(
                    &format!("a head of another history, {what}"),
                    &export,
                    &inputs,
                );
                let verified = report.status(Claim::Integrity) == Status::Verified;
                let proved = lines.iter().any(|line| line.to == to) || *size == to;
                assert_eq!(
                    verified,
                    shared && proved,
                    "{size}, {of_second}, {what}, kept {kept}: {}",
                    report.to_text(&Level::default())
                );
            }
        }
    }
}

#[test]
fn what_a_whole_bundle_contradicts_no_part_with_the_same_entries_verifies() {
    let world = World::every_kind();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let all = values(&export.lines);
    let mut table = Table::sampled("left-out", 1);
    let mut lies = Vec::new();
    for index in sorts(&all) {
        for (field, value) in changes(&all[index]) {
            if !["hash", "previous", "sequence", "log_id"].contains(&field.as_str()) {
                let mut lied = all.clone();
                lied[index][&field] = value;
                lies.push((index, field, lied));
            }
        }
    }
    let mut tried = 0;
    for (index, field, lied) in lies.into_iter().step_by(3) {
        let lied = rewrite(&export, lied);
        let whole = table.check("whole", &lied, &inputs);
        for claim in [Claim::Attribution, Claim::Classification] {
            let at = contradicted(&whole, claim);
            let (Some(first), Some(last)) = (at.first().copied(), at.last().copied()) else {
                continue;
            };
            tried += 1;
            // These alone, all from the first on, all to the last, and all but
            // one other.
            let mut parts: Vec<BTreeSet<usize>> = vec![
                at.clone(),
                (first..all.len()).collect(),
                (0..=last).collect(),
            ];
            for without in (0..all.len()).filter(|at_| !at.contains(at_)).step_by(5) {
                parts.push((0..all.len()).filter(|at| *at != without).collect());
            }
            for keep in parts {
                let part = part(&lied, |at| keep.contains(&at), 1);
                let report = table.check("part", &part, &inputs);
                assert_ne!(
                    report.status(claim),
                    Status::Verified,
                    "{index} {field} {claim} {keep:?}: {}",
                    report.to_text(&"all".parse().unwrap())
                );
            }
        }
    }
    assert!(tried > 10, "{tried}");
}

/// The entries that speak against a claim.
fn contradicted(report: &Report, claim: Claim) -> BTreeSet<usize> {
    let found = report.claims.iter().find(|found| found.claim == claim);
    let places = found.unwrap().contradictions.iter();
    let places = places.filter_map(|finding| finding.place.as_ref());
    places
        .map(|place| usize::try_from(place.sequence).unwrap())
        .collect()
}

#[test]
fn a_call_is_attributed_by_what_came_into_force_before_it_without_a_gap() {
    let world = World::full();
    let export = Export::of(&world);
    let all = values(&export.lines);
    let at = |kind: &str| all.iter().rposition(|e| e["kind"] == kind).unwrap();
    let loaded = ["policy-loaded", "profile-loaded", "catalog-approved"].map(at);
    let call = all.iter().rposition(|e| e["kind"] == "admission").unwrap();
    let first = *loaded.iter().min().unwrap();
    let gap = *loaded.iter().max().unwrap() + 1;
    assert!(gap < call);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let mut table = Table::new("attribution-parts");
    for (what, keep, status) in [
        (
            "from there on",
            Box::new(move |at| (first..=call).contains(&at)) as Box<dyn Fn(usize) -> bool>,
            Status::Verified,
        ),
        (
            "the call alone",
            Box::new(move |at| at == call),
            Status::NotEstablished,
        ),
        (
            "a gap between",
            Box::new(move |at| (first..=call).contains(&at) && at != gap),
            Status::NotEstablished,
        ),
    ] {
        let report = table.check(what, &part(&export, keep, 1), &inputs);
        assert_eq!(report.status(Claim::Attribution), status, "{what}");
        assert_ne!(report.verdict(&Level::default()), Verdict::Contradicted);
    }
}

#[test]
fn an_admission_without_an_agent_or_beyond_the_last_round_is_no_order() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    for entry in &mut all {
        if entry["execution_id"] == "e-6" {
            entry["agent"] = serde_json::Value::Null;
        }
    }
    let mut table = Table::new("nobody");
    let report = table.check(
        "signed: nobody's execution",
        &rewrite(&export, all),
        &world.inputs(),
    );
    assert_eq!(report.status(Claim::Ordering), Status::Contradicted);
    assert!(!caught(&report).is_empty());
}

#[test]
fn a_log_that_changed_its_key_twice_verifies_under_each_of_its_keys() {
    let mut world = World::new();
    for (from, to) in [(1, 2), (2, 3)] {
        let id = if from == 1 { "first" } else { "second" };
        let asked = Asked::transfer(id, "1");
        world.admit(asked, countersign_canon::Classification::Fresh);
        let mut draft = world.draft(Kind::KeyRotated);
        draft.key = Some(key(from).rotate(&key(to).verifying_key()));
        world.append(draft, None);
    }
    let mut whole = Export::of(&world);
    whole.notes = vec![Checkpoint::of(&world.head).sign(&key(3))];
    let mut table = Table::new("rotated-twice");
    for export in [whole.clone(), part(&whole, |_| true, 3)] {
        for trusted in 1..=3 {
            let mut inputs = world.inputs();
            inputs.requests.clear();
            inputs.trusted = vec![key(trusted).verifying_key()];
            let report = table.check("an honest log of three keys", &export, &inputs);
            assert_eq!(
                report.status(Claim::Integrity),
                Status::Verified,
                "{trusted}: {}",
                report.to_text(&Level::default())
            );
        }
    }
}
