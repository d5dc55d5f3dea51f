//! Everything beside the entries: checkpoints, components, policies, the
//! manifest; and an old state that looks good alone.

use countersign_evidence::bundle::{Filter, FilterBy};
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::{Head, Receipt};
use countersign_verifier::{Claim, Level, Status, Verdict};

use super::lies::values;
use super::table::{Table, rewrite};
use crate::world::{Export, World, digest, key};

#[test]
fn whoever_has_not_the_key_exchanges_no_signed_head_component_or_policy() {
    let world = World::full();
    let whole = Export::of(&world);
    let mut cases: Vec<(&str, Claim, Export)> = Vec::new();
    let mut resigned = whole.clone();
    resigned.notes = vec![Checkpoint::of(&world.head).sign(&key(2))];
    cases.push(("re-sign with another key", Claim::Integrity, resigned));
    let mut forged = whole.clone();
    let note = &whole.notes[0];
    forged
        .notes
        .push(note.replacen("\n\n", "\nextension\n\n", 1));
    cases.push(("edit a checkpoint", Claim::Integrity, forged));
    let mut damaged = whole.clone();
    damaged.notes.push("not a note".into());
    cases.push(("add what is no checkpoint", Claim::Integrity, damaged));
    let mut beyond = whole.clone();
    let mut head = world.head.clone();
    let draft = world.entries[0].said().clone();
    head.append(draft, None);
    beyond.notes.push(Checkpoint::of(&head).sign(&key(1)));
    cases.push((
        "keep a later checkpoint, cut the entry",
        Claim::Completeness,
        beyond,
    ));
    let mut component = whole.clone();
    component.component = b"another component".to_vec();
    cases.push((
        "swap the component under its name",
        Claim::Admission,
        component,
    ));
    let mut policies = whole.clone();
    policies.policies[0].1.push(b'\n');
    cases.push(("swap the policies", Claim::Decision, policies));
    let mut longer = whole.clone();
    longer.size += 1;
    cases.push(("say that the log is longer", Claim::Completeness, longer));
    let mut shorter = whole.clone();
    shorter.size -= 1;
    cases.push(("say that the log is shorter", Claim::Completeness, shorter));
    let mut renamed = whole.clone();
    renamed.log_id = "log.example/9".parse().unwrap();
    cases.push(("give the log another name", Claim::Completeness, renamed));
    let mut table = Table::new("parts");
    for (what, claim, export) in cases {
        let report = table.check(what, &export, &world.inputs());
        assert_eq!(
            report.status(claim),
            Status::Contradicted,
            "{what}: {}",
            report.to_text(&Level::default())
        );
    }
}

#[test]
fn what_is_said_beside_what_is_signed_can_only_lessen_what_is_shown() {
    let world = World::full();
    let whole = Export::of(&world);
    let mut unsigned = whole.clone();
    unsigned.notes.clear();
    let mut filtered = whole.clone();
    filtered.filter = Some(Filter {
        by: FilterBy::Agent,
        value: "somebody".into(),
    });
    let mut without = whole.clone();
    without.policies.clear();
    let mut table = Table::new("unsigned");
    for (what, export, verdict) in [
        (
            "leave the checkpoints out",
            unsigned,
            Verdict::NotEstablished,
        ),
        (
            "say that the bundle is filtered",
            filtered,
            Verdict::NotEstablished,
        ),
        // They are only for verifiers who do not have them.
        ("leave the policies out", without, Verdict::Verified),
    ] {
        let report = table.check(what, &export, &world.inputs());
        assert_eq!(report.verdict(&Level::default()), verdict, "{what}");
    }
}

#[test]
fn an_approved_tool_that_was_exchanged_contradicts_attribution() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    let approved = all.iter_mut().find(|e| e["kind"] == "catalog-approved");
    approved.unwrap()["catalog"]["approved"] =
        countersign_canon::Digest::of(&[b"another"]).as_str().into();
    let mut table = Table::new("catalog");
    let row = "signed: swap the approved catalog";
    let report = table.check(row, &rewrite(&export, all), &world.inputs());
    assert_eq!(report.status(Claim::Attribution), Status::Contradicted);
    // Nothing that was approved: then nobody can say by what the calls went.
    let mut all = values(&export.lines);
    let dropped = all.iter().position(|e| e["kind"] == "catalog-approved");
    all[dropped.unwrap()]["kind"] = "discovery".into();
    let row = "signed: drop the approval";
    let report = table.check(row, &rewrite(&export, all), &world.inputs());
    assert_ne!(report.status(Claim::Attribution), Status::Verified);
    // The catalog itself, in the bundle: exchanged, edited, or left out.
    let other = countersign_catalog::Offer::new("ledger", digest("server"), []);
    let honest = crate::world::catalog();
    let edited = String::from_utf8(honest.to_json()).unwrap();
    let edited = edited.replace("\"object\"", "\"array\"").into_bytes();
    for (row, catalogs, status) in [
        (
            "swap the catalog",
            vec![(honest.checkpoint(), other.to_json())],
            Status::Contradicted,
        ),
        (
            "edit the catalog",
            vec![(honest.checkpoint(), edited)],
            Status::Contradicted,
        ),
        ("leave the catalog out", Vec::new(), Status::Verified),
    ] {
        let mut export = export.clone();
        export.catalogs = catalogs;
        let report = table.check(row, &export, &world.inputs());
        assert_eq!(report.status(Claim::Attribution), status, "{row}");
        if status == Status::Verified {
            // What a decision rested on is not at hand any more.
            assert_eq!(report.status(Claim::Decision), Status::NotEstablished);
        }
    }
}

#[test]
fn an_old_checkpoint_looks_good_alone_and_is_caught_by_one_seen_before_or_a_receipt() {
    let mut world = World::full();
    let old = Export::of(&world);
    world.admit(
        crate::world::Asked::transfer("late", "1"),
        countersign_canon::Classification::Fresh,
    );
    let mut table = Table::new("old");
    let mut inputs = world.inputs();
    inputs.requests.pop();
    let alone = table.check("replay an old checkpoint, alone", &old, &inputs);
    assert_eq!(alone.verdict(&Level::default()), Verdict::Verified);
    let note = Checkpoint::of(&world.head).sign(&key(1));
    inputs.since = vec![SignedCheckpoint::parse(&note).unwrap()];
    let row = "replay an old checkpoint, with --since";
    let report = table.check(row, &old, &inputs);
    assert_eq!(report.status(Claim::Completeness), Status::Contradicted);
    inputs.since.clear();
    inputs.receipts = Receipt::of(world.entries.last().unwrap())
        .into_iter()
        .collect();
    let row = "replay an old checkpoint, with --receipt";
    let report = table.check(row, &old, &inputs);
    assert_eq!(report.status(Claim::Completeness), Status::Contradicted);
}

#[test]
fn a_log_that_was_signed_in_two_versions_is_caught_by_what_was_seen_of_the_other() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    let last = all.last_mut().unwrap();
    last["suppressed"]["count"] = 1.into();
    let second = rewrite(&export, all);
    let mut table = Table::new("versions");
    let mut inputs = world.inputs();
    let alone = table.check("signed: a second version, alone", &second, &inputs);
    assert_eq!(alone.verdict(&Level::default()), Verdict::Verified);
    inputs.since = vec![SignedCheckpoint::parse(&export.notes[0]).unwrap()];
    let row = "signed: a second version, with --since";
    let report = table.check(row, &second, &inputs);
    assert_eq!(report.status(Claim::Integrity), Status::Contradicted);
    // A checkpoint of the shorter log that both share says nothing against it.
    let mut head = Head::new(world.head.log_id().clone());
    for entry in &world.entries[..9] {
        head.append(entry.said().clone(), entry.link());
    }
    let shared = Checkpoint::of(&head).sign(&key(1));
    inputs.since = vec![SignedCheckpoint::parse(&shared).unwrap()];
    let report = table.check("signed: a second version, seen too early", &second, &inputs);
    assert_eq!(report.verdict(&Level::default()), Verdict::Verified);
}
