//! An honest gateway's bundle: every claim holds, and what cannot hold is left
//! open, never contradicted.

use std::io::Cursor;

use crate::world::{Asked, Export, World, key};
use countersign_canon::{Classification, Outcome};
use countersign_evidence::Receipt;
use countersign_evidence::bundle::{Filter, FilterBy};
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_verifier::{Claim, Components, Inputs, Level, Report, Status, Verdict, verify};

fn statuses(report: &Report) -> Vec<(Claim, Status)> {
    report
        .claims
        .iter()
        .map(|claim| (claim.claim, claim.status))
        .collect()
}

fn check(bundle: &[u8], inputs: &Inputs) -> Report {
    verify(Cursor::new(bundle), inputs).unwrap()
}

#[test]
fn every_claim_of_an_honest_bundle_is_verified() {
    let world = World::full();
    let mut inputs = world.inputs();
    inputs.receipts = world.receipts();
    let report = check(&world.export(), &inputs);
    let all: Level = "all".parse().unwrap();
    assert_eq!(
        report.verdict(&all),
        Verdict::Verified,
        "{}",
        report.to_text(&all)
    );
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn a_bundle_cut_off_after_any_entry_and_signed_there_is_never_contradicted() {
    let world = World::full();
    let mut head = countersign_evidence::Head::new(world.head.log_id().clone());
    for (index, entry) in world.entries.iter().enumerate() {
        let again = head.append(entry.said().clone(), entry.link());
        assert_eq!(&again, entry);
        let mut export = Export::of(&world);
        export.lines.truncate(index + 1);
        export.size = head.size();
        export.notes = vec![Checkpoint::of(&head).sign(&key(1))];
        // A request is brought because its sender says that the log holds it.
        let mut inputs = world.inputs();
        let sent = |name: &str| {
            world.entries[..=index].iter().any(|entry| {
                entry
                    .said()
                    .call_id
                    .as_ref()
                    .is_some_and(|id| id.as_str() == name)
            })
        };
        inputs.requests.retain(|request| sent(&request.name));
        let report = check(&export.bundle(), &inputs);
        assert_ne!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "after {index}: {}",
            report.to_text(&Level::default())
        );
    }
}

#[test]
fn without_what_a_verifier_must_bring_nothing_is_claimed_and_nothing_contradicted() {
    let world = World::full();
    let report = check(&world.export(), &Inputs::default());
    for (claim, status) in statuses(&report) {
        assert_eq!(status, Status::NotEstablished, "{claim}");
    }
    assert_eq!(report.verdict(&Level::default()), Verdict::NotEstablished);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("compare it with what the operator published"))
    );
}

#[test]
fn each_missing_input_leaves_its_own_claims_open() {
    let world = World::full();
    type Lack = fn(&mut Inputs);
    let cases: [(Lack, &[Claim]); 4] = [
        (
            |inputs| inputs.trusted.clear(),
            &[
                Claim::Integrity,
                Claim::Completeness,
                Claim::Ordering,
                Claim::Outcome,
            ],
        ),
        (
            |inputs| inputs.requests.clear(),
            &[Claim::Admission, Claim::Decision],
        ),
        (
            |inputs| inputs.components = Components::none(),
            &[
                Claim::Admission,
                Claim::Classification,
                Claim::Decision,
                Claim::Attribution,
            ],
        ),
        (|inputs| inputs.policies.clear(), &[Claim::Attribution]),
    ];
    for (lack, open) in cases {
        let mut inputs = world.inputs();
        lack(&mut inputs);
        for (claim, status) in statuses(&check(&world.export(), &inputs)) {
            let expected = if open.contains(&claim) {
                Status::NotEstablished
            } else {
                Status::Verified
            };
            assert_eq!(status, expected, "{claim} of {open:?}");
        }
    }
}

#[test]
fn an_attempt_that_was_turned_away_unclassified_says_nothing_of_what_is_recorded() {
    let mut world = World::full();
    let mut draft = world.draft(countersign_evidence::Kind::Refusal);
    let mut entries = world.entries.iter().map(countersign_evidence::Entry::said);
    let known = entries.find(|said| said.execution_id.is_some()).unwrap();
    draft.call_id = "call-of-many".parse().ok();
    draft.agent = known.agent.clone();
    draft.execution_id = known.execution_id.clone();
    draft.execution_id_status = known.execution_id_status;
    draft.refusal = "rate-limited".parse().ok();
    world.append(draft, None);
    let report = check(&world.export(), &world.inputs());
    assert_eq!(
        report.verdict(&"all".parse().unwrap()),
        Verdict::Verified,
        "{}",
        report.to_text(&Level::default())
    );
}

#[test]
fn entries_after_the_newest_checkpoint_are_not_established() {
    let mut world = World::full();
    let mut export = Export::of(&world);
    world.admit(Asked::transfer("late", "1"), Classification::Fresh);
    world.settle("late", Outcome::Succeeded);
    export.size = world.head.size();
    export.lines = world
        .entries
        .iter()
        .map(|entry| entry.bytes().to_vec())
        .collect();
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(report.status(Claim::Integrity), Status::NotEstablished);
    assert_eq!(report.verdict(&Level::default()), Verdict::NotEstablished);
}

#[test]
fn a_checkpoint_seen_before_and_a_receipt_catch_a_log_that_was_cut_with_its_old_checkpoint() {
    let mut world = World::full();
    let short = world.export();
    world.admit(Asked::transfer("late", "1"), Classification::Fresh);
    world.settle("late", Outcome::Succeeded);
    let note = Checkpoint::of(&world.head).sign(&key(1));
    assert_eq!(
        check(&short, &world.inputs()).verdict(&Level::default()),
        Verdict::Verified
    );
    let mut since = world.inputs();
    since.since = vec![SignedCheckpoint::parse(&note).unwrap()];
    let mut receipt = world.inputs();
    receipt.receipts = Receipt::of(world.entries.last().unwrap())
        .into_iter()
        .collect();
    for inputs in [since, receipt] {
        let report = check(&short, &inputs);
        assert_eq!(report.status(Claim::Completeness), Status::Contradicted);
        assert_eq!(
            check(&world.export(), &inputs).verdict(&Level::default()),
            Verdict::Verified
        );
    }
}

#[test]
fn a_filtered_bundle_proves_what_it_holds_and_does_not_claim_the_rest() {
    let world = World::full();
    let mut export = Export::of(&world);
    export.filter = Some(Filter {
        by: FilterBy::Execution,
        value: "e-1".into(),
    });
    let mine = |entry: &&countersign_evidence::Entry| {
        entry
            .said()
            .execution_id
            .as_ref()
            .is_some_and(|id| id.as_str() == "e-1")
    };
    export.lines = world
        .entries
        .iter()
        .filter(mine)
        .map(|entry| entry.bytes().to_vec())
        .collect();
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(report.status(Claim::Completeness), Status::NotEstablished);
    assert_eq!(
        report.status(Claim::Integrity),
        Status::NotEstablished,
        "no proofs are in it"
    );
    assert_eq!(report.status(Claim::Classification), Status::Verified);
    assert_ne!(report.verdict(&Level::default()), Verdict::Contradicted);
    export.proofs = world.proofs(&export.lines);
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(
        report.status(Claim::Integrity),
        Status::Verified,
        "{}",
        report.to_text(&Level::default())
    );
    export.proofs[0].path[0][0] ^= 1;
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(report.status(Claim::Integrity), Status::Contradicted);
}

#[test]
fn a_key_that_the_old_one_names_is_trusted_from_there_on() {
    let mut world = World::full();
    let mut export = Export::of(&world);
    let mut draft = world.draft(countersign_evidence::Kind::KeyRotated);
    draft.key = Some(key(1).rotate(&key(2).verifying_key()));
    world.append(draft, None);
    world.admit(Asked::transfer("late", "1"), Classification::Fresh);
    export.lines = world
        .entries
        .iter()
        .map(|entry| entry.bytes().to_vec())
        .collect();
    export.size = world.head.size();
    export.notes.push(Checkpoint::of(&world.head).sign(&key(2)));
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(
        report.verdict(&Level::default()),
        Verdict::Verified,
        "{}",
        report.to_text(&Level::default())
    );
    // Who trusts the new key alone can still use the bundle.
    let mut inputs = world.inputs();
    inputs.trusted = vec![key(2).verifying_key()];
    assert_eq!(
        check(&export.bundle(), &inputs).verdict(&Level::default()),
        Verdict::Verified
    );
    // The old key signs nothing any more.
    *export.notes.last_mut().unwrap() = Checkpoint::of(&world.head).sign(&key(1));
    let report = check(&export.bundle(), &world.inputs());
    assert_eq!(report.status(Claim::Integrity), Status::Contradicted);
}

#[test]
fn what_only_the_host_can_say_of_a_collision_is_left_open() {
    let mut world = World::full();
    let round = Asked::transfer("e-3", "7");
    world.refuse_inadmissible(Asked {
        state: Some("s-1"),
        ..round
    });
    let report = check(&world.export(), &world.inputs());
    assert_eq!(report.status(Claim::Classification), Status::NotEstablished);
    assert_eq!(report.verdict(&Level::default()), Verdict::Verified);
}

#[test]
fn of_a_log_without_calls_no_claim_about_calls_is_verified() {
    let world = World::new();
    let report = check(&world.export(), &world.inputs());
    for (claim, status) in statuses(&report) {
        let about_calls = [Claim::Admission, Claim::Decision, Claim::Attribution];
        let expected = if about_calls.contains(&claim) {
            Status::NotEstablished
        } else {
            Status::Verified
        };
        assert_eq!(status, expected, "{claim}");
    }
}
