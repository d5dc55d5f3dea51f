//! Which key may sign which checkpoint, before and after one follows another.

use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::{KeyRotation, Kind};
use countersign_verifier::{Claim, Status};

use super::table::Table;
use crate::world::{Asked, Export, World, key};

use Status::{Contradicted, Verified};

/// A log in which an entry states a change of keys, with its head before that
/// signed by one key and its head after it signed by another.
fn log(rotation: KeyRotation, before: u8, after: u8) -> (World, Export) {
    let mut world = World::new();
    let early = Checkpoint::of(&world.head).sign(&key(before));
    let mut draft = world.draft(Kind::KeyRotated);
    draft.key = Some(rotation);
    world.append(draft, None);
    let asked = Asked::transfer("late", "1");
    world.admit(asked, countersign_canon::Classification::Fresh);
    let mut export = Export::of(&world);
    export.notes = vec![early, Checkpoint::of(&world.head).sign(&key(after))];
    (world, export)
}

fn rotation(from: u8, to: u8) -> KeyRotation {
    key(from).rotate(&key(to).verifying_key())
}

#[test]
fn a_checkpoint_is_signed_by_the_key_in_force_or_by_whom_a_trusted_key_followed() {
    let unsaid = KeyRotation {
        signature: rotation(3, 2).signature,
        ..rotation(1, 2)
    };
    let mut table = Table::new("keys");
    for (what, trusted, rotation, before, after, expected) in [
        ("its next key", 1, rotation(1, 2), 1, 2, Verified),
        (
            "its own key after that",
            1,
            rotation(1, 2),
            1,
            1,
            Contradicted,
        ),
        (
            "its next key too early",
            1,
            rotation(1, 2),
            2,
            2,
            Contradicted,
        ),
        (
            "the trusted one's predecessor",
            2,
            rotation(1, 2),
            1,
            2,
            Verified,
        ),
        ("the trusted one always", 2, rotation(1, 2), 2, 2, Verified),
        (
            "a stranger before the trusted one",
            2,
            rotation(1, 2),
            3,
            2,
            Contradicted,
        ),
        (
            "the predecessor after its end",
            2,
            rotation(1, 2),
            1,
            1,
            Contradicted,
        ),
        (
            "the key itself, strangers having changed",
            1,
            rotation(3, 4),
            1,
            1,
            Contradicted,
        ),
        (
            "a stranger that another one followed",
            1,
            rotation(3, 4),
            3,
            1,
            Contradicted,
        ),
        (
            "the next key by a stranger's word",
            1,
            unsaid.clone(),
            1,
            2,
            Contradicted,
        ),
        (
            "the key itself, despite a stranger's word",
            1,
            unsaid,
            1,
            1,
            Contradicted,
        ),
    ] {
        let (world, export) = log(rotation, before, after);
        let mut inputs = world.inputs();
        inputs.trusted = vec![key(trusted).verifying_key()];
        let report = table.check(&format!("signed by {what}"), &export, &inputs);
        assert_eq!(
            report.status(Claim::Integrity),
            expected,
            "{what}: {}",
            report.to_text(&"all".parse().unwrap())
        );
    }
}

#[test]
fn what_only_the_predecessor_signed_does_not_establish_what_the_trusted_key_never_did() {
    let mut world = World::new();
    let mut draft = world.draft(Kind::KeyRotated);
    draft.key = Some(rotation(1, 2));
    world.append(draft, None);
    let mut export = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.trusted = vec![key(2).verifying_key()];
    let mut table = Table::new("keys-before");
    for (by, expected) in [(1, Status::NotEstablished), (2, Verified)] {
        export.notes = vec![Checkpoint::of(&world.head).sign(&key(by))];
        let report = table.check("signed at the change", &export, &inputs);
        assert_eq!(report.status(Claim::Integrity), expected, "{by}");
    }
}
