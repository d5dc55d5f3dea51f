//! Which key may sign which checkpoint, before and after one follows another.

use countersign_evidence::checkpoint::{Checkpoint, SignedCheckpoint};
use countersign_evidence::key::SigningKey;
use countersign_evidence::{KeyRotation, Kind};
use countersign_verifier::{Claim, Status};

use super::left_out::part;
use super::table::Table;
use crate::world::{Asked, Export, World, key};

use Status::{Contradicted, NotEstablished, Verified};

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
    for (by, expected) in [(1, NotEstablished), (2, Verified)] {
        export.notes = vec![Checkpoint::of(&world.head).sign(&key(by))];
        let report = table.check("signed at the change", &export, &inputs);
        assert_eq!(report.status(Claim::Integrity), expected, "{by}");
    }
}

/// A log that states these changes of its key, and goes on after each of the first.
fn log_of(changes: impl Iterator<Item = [SigningKey; 2]>) -> (World, Export) {
    let mut world = World::new();
    for (number, [from, to]) in changes.enumerate() {
        let mut draft = world.draft(Kind::KeyRotated);
        draft.key = Some(from.rotate(&to.verifying_key()));
        world.append(draft, None);
        if number < 3 {
            let id = format!("after-{number}");
            let asked = Asked::transfer(&id, "1");
            world.admit(asked, countersign_canon::Classification::Fresh);
        }
    }
    let export = Export::of(&world);
    (world, export)
}

#[test]
fn a_key_that_another_one_followed_signs_nothing_after_that_however_it_came_to_be_trusted() {
    let mut table = Table::new("keys-retired");
    for chain in [vec![1, 2, 3], vec![1, 2, 1], vec![1, 2, 1, 3]] {
        let pairs = chain.windows(2);
        let (world, export) = log_of(pairs.map(|pair| [key(pair[0]), key(pair[1])]));
        let last = *chain.last().unwrap();
        for trusted in [
            vec![1],
            vec![2],
            vec![1, 1],
            vec![2, 2],
            vec![1, 2],
            vec![2, 1],
            vec![1, 2, 3],
            vec![3, 2, 1],
            vec![2, 3],
            vec![1, 3],
            vec![3, 3, 3],
        ] {
            // Who trusts the third one alone trusts nobody of a log without it.
            if !trusted.iter().any(|seed| chain.contains(seed)) {
                continue;
            }
            for by in [1, 2, 3] {
                let note = Checkpoint::of(&world.head).sign(&key(by));
                let whole = Export {
                    notes: vec![note.clone()],
                    ..export.clone()
                };
                let filtered = Export {
                    notes: vec![note],
                    ..part(&export, |_| true, by)
                };
                let mut inputs = world.inputs();
                inputs.requests.clear();
                inputs.trusted = trusted.iter().map(|s| key(*s).verifying_key()).collect();
                // A stranger to the log whom its verifier trusts signs as well.
                let signs = by == last || (trusted.contains(&by) && !chain.contains(&by));
                for export in [whole, filtered] {
                    let report = table.check("signed by a key of the log", &export, &inputs);
                    assert_eq!(
                        report.status(Claim::Integrity) == Verified,
                        signs,
                        "{chain:?}, trusted {trusted:?}, by {by}: {}",
                        report.to_text(&"all".parse().unwrap())
                    );
                    if !signs {
                        assert_eq!(report.status(Claim::Integrity), Contradicted);
                    }
                }
            }
        }
    }
}

/// How many changes of the key before the trusted one are followed.
const FOLLOWED: usize = 1_024;

#[test]
fn changes_of_the_key_beyond_those_that_are_followed_leave_integrity_open() {
    let numbered = |number: usize| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&(number as u64).to_be_bytes());
        SigningKey::from_seed(crate::world::log_id("log.example/1"), &seed)
    };
    let mut table = Table::new("keys-many");
    for (changes, stranger, trusted, expected) in [
        (FOLLOWED, false, FOLLOWED, Verified),
        (FOLLOWED, true, FOLLOWED, Contradicted),
        (FOLLOWED + 1, false, FOLLOWED + 1, NotEstablished),
        (FOLLOWED + 1, true, FOLLOWED + 1, NotEstablished),
        // One of them is stated by a key that is trusted.
        (FOLLOWED + 1, false, FOLLOWED, Verified),
        // All of them are.
        (FOLLOWED + 1, false, 0, Verified),
    ] {
        let pair = |at: usize| {
            // Nobody in force states the second change.
            let foreign = stranger && at == 1;
            let from = if foreign { changes + 7 } else { at };
            [numbered(from), numbered(at + 1)]
        };
        let last = numbered(changes);
        let (world, mut export) = log_of((0..changes).map(pair));
        let early = Checkpoint {
            log_id: world.head.log_id().clone(),
            size: 0,
            root: countersign_evidence::tree::Frontier::new().root(),
        };
        export.notes = vec![
            early.sign(&numbered(0)),
            Checkpoint::of(&world.head).sign(&last),
        ];
        let mut inputs = world.inputs();
        inputs.requests.clear();
        inputs.trusted = vec![numbered(trusted).verifying_key()];
        let report = table.check("signed by the last of many keys", &export, &inputs);
        assert_eq!(
            report.status(Claim::Integrity),
            expected,
            "{changes} {stranger} {trusted}: {}",
            report.to_text(&"all".parse().unwrap())
        );
        if expected != NotEstablished {
            continue;
        }
        // What its verifier kept is held against it, whoever signed that.
        let others = Checkpoint {
            root: [9; 32],
            ..Checkpoint::of(&world.head)
        };
        for (kept, expected) in [(early, NotEstablished), (others, Contradicted)] {
            let note = kept.sign(&numbered(0));
            inputs.since = vec![SignedCheckpoint::parse(&note).unwrap()];
            let report = table.check("a head that was kept", &export, &inputs);
            assert_eq!(report.status(Claim::Integrity), expected, "{kept:?}");
        }
    }
}
