//! What a verifier brings, against a log that says otherwise: receipts, an older
//! head, the component; and proofs that prove nothing.

use std::io::Cursor;

use countersign_canon::{
    Admitted, Classification, Digest, Numbers, Presented, ProfileId, Recorded, Refusal,
};
use countersign_evidence::bundle::{Consistency, Filter, FilterBy};
use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::proof::Collector;
use countersign_evidence::{Head, Kind, Receipt};
use countersign_verifier::{
    Claim, Classifier, Component, Components, Inputs, Level, Meaning, Native, Report, Status,
    Verdict, verify,
};

use super::lies::values;
use super::table::{Table, rewrite};
use crate::world::{Asked, COMPONENT, Export, World, digest, key, native};

/// The entries of one execution, in a bundle that says that it is filtered, with
/// their proofs.
fn filtered(world: &World, id: &str) -> Export {
    let mut export = Export::of(world);
    export.filter = Some(Filter {
        by: FilterBy::Execution,
        value: id.into(),
    });
    let mine = world.entries.iter().filter(|entry| {
        let of = entry.said().execution_id.as_ref();
        of.is_some_and(|of| of.as_str() == id)
    });
    export.lines = mine.map(|entry| entry.bytes().to_vec()).collect();
    export.proofs = world.proofs(&export.lines);
    export
}

#[test]
fn a_receipt_that_says_something_else_than_its_entry_contradicts_integrity() {
    let world = World::full();
    let export = Export::of(&world);
    let honest = world.receipts().swap_remove(0);
    type Lie = fn(&mut Receipt);
    let lies: [(&str, Lie); 5] = [
        ("name another entry", |receipt| {
            receipt.entry_hash = digest("another entry");
        }),
        ("name another call", |receipt| {
            receipt.call_id = "call-of-another".parse().unwrap();
        }),
        ("name another execution", |receipt| {
            receipt.execution_id = "e-of-another".parse().ok();
        }),
        ("name another binding", |receipt| {
            receipt.binding = Some(digest("another action"));
        }),
        ("name another profile", |receipt| {
            receipt.profile = Some("another@1.0.0".into());
        }),
    ];
    let mut table = Table::new("receipts");
    let mut inputs = world.inputs();
    for (what, lie) in lies {
        let mut receipt = honest.clone();
        lie(&mut receipt);
        inputs.receipts = vec![receipt];
        let report = table.check(&format!("receipt: {what}"), &export, &inputs);
        assert_eq!(
            report.status(Claim::Integrity),
            Status::Contradicted,
            "{what}"
        );
    }
}

#[test]
fn a_receipt_of_what_a_filtered_bundle_leaves_out_speaks_against_nothing() {
    let world = World::full();
    let mut inputs = world.inputs();
    inputs.requests.clear();
    inputs.receipts = world.receipts();
    let mut table = Table::new("receipts-left-out");
    let report = table.check("receipts of others", &filtered(&world, "e-1"), &inputs);
    assert_eq!(report.status(Claim::Completeness), Status::NotEstablished);
    assert_eq!(report.verdict(&Level::default()), Verdict::Verified);
}

#[test]
fn a_filtered_bundle_may_leave_out_what_an_entry_follows() {
    let world = World::full();
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let mut export = filtered(&world, "e-1");
    // Its reservation, which its outcome and its retries follow.
    export.lines.remove(0);
    export.proofs.remove(0);
    let report = world_report(&export, &inputs);
    assert_eq!(report.status(Claim::Ordering), Status::NotEstablished);
    assert_eq!(report.status(Claim::Integrity), Status::Verified);
}

/// A log's head at an earlier size, with the proof that the whole log continues it.
fn earlier(world: &World, size: usize) -> (SignedCheckpoint, Consistency) {
    let mut head = Head::new(world.head.log_id().clone());
    for entry in &world.entries[..size] {
        head.append(entry.said().clone(), entry.link());
    }
    let mut collector = Collector::new(world.head.size());
    collector.want_consistency(head.size());
    for entry in &world.entries {
        collector.leaf(entry.hash().to_bytes());
    }
    let proof = Consistency {
        log_id: world.head.log_id().clone(),
        from: head.size(),
        to: world.head.size(),
        path: collector.consistency(head.size()).unwrap(),
    };
    let note = Checkpoint::of(&head).sign(&key(1));
    (SignedCheckpoint::parse(&note).unwrap(), proof)
}

#[test]
fn a_filtered_bundle_continues_a_head_seen_before_by_its_proof_alone() {
    let world = World::full();
    let (seen, proof) = earlier(&world, 9);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    inputs.since = vec![seen];
    let mut export = filtered(&world, "e-1");
    let mut table = Table::new("consistency");
    let report = table.check("leave the proof of continuation out", &export, &inputs);
    assert_eq!(report.status(Claim::Integrity), Status::NotEstablished);
    export.consistency = vec![proof.clone()];
    let report = table.check("a proof of continuation", &export, &inputs);
    assert_eq!(report.status(Claim::Integrity), Status::Verified);
    for at in 0..proof.path.len() {
        let mut forged = proof.clone();
        forged.path[at][0] ^= 1;
        export.consistency = vec![forged];
        let report = table.check("edit the proof of continuation", &export, &inputs);
        assert_eq!(report.status(Claim::Integrity), Status::Contradicted);
    }
}

#[test]
fn a_filtered_bundle_needs_no_proof_for_an_empty_log_and_one_for_each_head_that_it_brings() {
    let world = World::full();
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let empty = Checkpoint::of(&Head::new(world.head.log_id().clone())).sign(&key(1));
    inputs.since = vec![SignedCheckpoint::parse(&empty).unwrap()];
    let mut export = filtered(&world, "e-1");
    let (own, proof) = earlier(&world, 9);
    export.notes.insert(0, own.note().to_owned());
    let report = world_report(&export, &inputs);
    assert_eq!(report.status(Claim::Integrity), Status::NotEstablished);
    export.consistency = vec![proof];
    let report = world_report(&export, &inputs);
    assert_eq!(
        report.status(Claim::Integrity),
        Status::Verified,
        "{}",
        report.to_text(&Level::default())
    );
}

#[test]
fn a_proof_of_continuation_is_about_the_two_heads_that_it_names_and_no_others() {
    let world = World::full();
    let (seen, proof) = earlier(&world, 9);
    let (other, _) = earlier(&world, 5);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    inputs.since = vec![other, seen];
    let mut export = filtered(&world, "e-1");
    // An older head of the bundle's own is not what it continues to.
    let (own, continued) = earlier(&world, 12);
    export.notes.insert(0, own.note().to_owned());
    export.consistency = vec![proof, continued];
    let report = world_report(&export, &inputs);
    assert_eq!(
        report.status(Claim::Integrity),
        Status::NotEstablished,
        "{}",
        report.to_text(&Level::default())
    );
    // Of the other one nothing is proven, and of that one it is.
    inputs.since.remove(0);
    let report = world_report(&export, &inputs);
    assert_eq!(report.status(Claim::Integrity), Status::Verified);
}

fn world_report(export: &Export, inputs: &Inputs) -> Report {
    verify(Cursor::new(export.bundle()), inputs).unwrap()
}

#[test]
fn a_line_that_is_no_proof_contradicts_integrity() {
    let world = World::full();
    let export = filtered(&world, "e-1");
    let bundle = export.bundle();
    let text = br#""path":["#;
    let at = bundle
        .windows(text.len())
        .position(|part| part == text)
        .unwrap();
    let mut forged = bundle.clone();
    forged[at + 1] = b'P';
    let report = world.check(&forged);
    assert_eq!(report.status(Claim::Integrity), Status::Contradicted);
    assert_eq!(
        world.check(&bundle).status(Claim::Integrity),
        Status::Verified
    );
}

#[test]
fn whoever_says_that_nothing_was_recorded_after_something_was_contradicts_classification() {
    let mut world = World::full();
    // A denial meets no row, and this one should have: `e-1` has been reserved.
    world.deny(Asked {
        tool: "wipe",
        class: "destructive",
        ..Asked::transfer("e-1", "1")
    });
    let mut table = Table::new("gateway-forgets");
    let row = "signed: call fresh what was reserved before";
    let report = table.check(row, &Export::of(&world), &world.inputs());
    assert_eq!(report.status(Claim::Classification), Status::Contradicted);
}

#[test]
fn the_client_context_of_a_session_is_not_looked_for_in_the_request() {
    let world = World::full();
    let export = Export::of(&world);
    let session = r#"{"clientInfo":{"name":"of the session"}}"#;
    let mut all = values(&export.lines);
    for entry in all.iter_mut().filter(|e| e["client_digest"].is_string()) {
        entry["client"] = session.into();
        let digest = countersign_canon::preimage::client_context(session.as_bytes());
        entry["client_digest"] = digest.as_str().into();
    }
    let mut table = Table::new("session");
    let report = table.check("nothing", &rewrite(&export, all), &world.inputs());
    assert_eq!(report.status(Claim::Admission), Status::Verified);
}

#[test]
fn a_call_that_went_by_a_catalog_nobody_approved_is_attributed_to_nothing() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    for entry in &mut all {
        if entry["kind"] == Kind::Admission.as_str() {
            entry["catalog"]["attributed"] = digest("as discovered").as_str().into();
        }
    }
    let mut table = Table::new("catalog-discovered");
    let row = "signed: go by what was only discovered";
    let report = table.check(row, &rewrite(&export, all), &world.inputs());
    assert_eq!(report.status(Claim::Attribution), Status::NotEstablished);
}

/// The world's component, but for what it says of attempts.
struct Judging(Native, Result<Classification, String>);

struct Says(Result<Classification, String>);

impl Component for Judging {
    fn id(&self) -> &ProfileId {
        self.0.id()
    }

    fn digest(&self) -> Digest {
        self.0.digest()
    }

    fn admit(&self, message: &[u8]) -> Result<Result<Admitted, Refusal>, String> {
        self.0.admit(message)
    }

    fn interpret(&self, action: &[u8]) -> Result<Result<Meaning, Refusal>, String> {
        self.0.interpret(action)
    }

    fn classifier(&self) -> Box<dyn Classifier + '_> {
        Box::new(Says(self.1.clone()))
    }
}

impl Classifier for Says {
    fn classify(
        &mut self,
        _: &Presented<'_>,
        _: Option<&Recorded<'_>>,
    ) -> Result<Classification, String> {
        self.0.clone()
    }
}

#[test]
fn the_approved_component_has_the_last_word_on_what_an_attempt_is() {
    let world = World::full();
    let with = |says: Result<Classification, String>| {
        let mut inputs = Inputs {
            components: Components::none(),
            ..world.inputs()
        };
        inputs.components.approve(Judging(native(COMPONENT), says));
        inputs
    };
    // The bundles are honest, and a verifier without such components says so.
    let mut table = Table::sampled("component", 0);
    for (what, says, status) in [
        (
            "calls everything fresh",
            Ok(Classification::Fresh),
            Status::Contradicted,
        ),
        (
            "calls everything blocked",
            Ok(Classification::Blocked),
            Status::Contradicted,
        ),
        ("faults", Err("a trap".to_owned()), Status::NotEstablished),
    ] {
        let row = format!("a component that {what}");
        let report = table.check(&row, &Export::of(&world), &with(says));
        assert_eq!(report.status(Claim::Classification), status, "{what}");
    }
}

#[test]
fn a_component_is_found_by_its_name_and_its_digest_among_others_that_share_one_of_them() {
    let world = World::full();
    let trap = || Err("a trap".to_owned());
    let mut inputs = Inputs {
        components: Components::none(),
        ..world.inputs()
    };
    let renamed = Native::new(
        "exact@1.0.1".parse().unwrap(),
        Digest::of(&[COMPONENT]),
        Numbers::AsWritten,
    );
    inputs
        .components
        .approve(Judging(native(b"another"), trap()));
    inputs.components.approve(Judging(renamed, trap()));
    inputs.components.approve(native(COMPONENT));
    let report = verify(Cursor::new(world.export()), &inputs).unwrap();
    assert_eq!(
        report.verdict(&"all".parse().unwrap()),
        Verdict::Verified,
        "{}",
        report.to_text(&Level::default())
    );
}
