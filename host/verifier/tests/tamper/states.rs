//! What may follow in which state of an execution (`docs/spec/executions.md` §2),
//! written by a gateway that links and signs everything as it should.

use countersign_canon::{Classification, Outcome};
use countersign_evidence::EffectBoundary;
use countersign_verifier::{Claim, Status};

use super::table::Table;
use crate::world::{Asked, Export, World};

type Write = fn(&mut World);

const ROW: &str = "x-1";

fn call() -> Asked<'static> {
    Asked::transfer(ROW, "3")
}

fn ask(world: &mut World) {
    world.ask(ROW, "s-1");
}

fn claim(world: &mut World) {
    let answer = Asked {
        state: Some("s-1"),
        ..call()
    };
    world.admit(answer, Classification::Continuation);
}

fn settle(world: &mut World) {
    world.settle(ROW, Outcome::Succeeded);
}

/// What leads there from an admission.
const STATES: [(&str, &[Write]); 6] = [
    ("in flight", &[]),
    ("awaiting input", &[ask]),
    ("in the second round", &[ask, claim]),
    ("task open", &[|world| world.task(ROW)]),
    ("blocked", &[|world| world.block(ROW)]),
    ("settled", &[settle]),
];

/// Entries, and the states in which they may follow.
const ENTRIES: [(&str, Write, &[&str]); 11] = [
    (
        "another admission",
        |world| world.admit(call(), Classification::Fresh),
        &[],
    ),
    (
        "a terminal",
        settle,
        &[
            "in flight",
            "awaiting input",
            "in the second round",
            "task open",
        ],
    ),
    ("the first question", ask, &["in flight"]),
    ("an answer", claim, &["awaiting input"]),
    (
        "a task",
        |world| world.task(ROW),
        &["in flight", "in the second round", "task open"],
    ),
    (
        "a loss",
        |world| world.block(ROW),
        &["in flight", "in the second round"],
    ),
    (
        "a late answer",
        |world| world.late(ROW),
        &["blocked", "settled"],
    ),
    (
        "a resolution",
        |world| world.resolve(ROW, Outcome::Succeeded),
        &["blocked", "settled"],
    ),
    (
        "a resolution that nothing was attempted",
        |world| {
            let boundary = Some(EffectBoundary::TransportMayHaveStarted);
            world.resolve_at(ROW, Outcome::NotAttempted, boundary);
        },
        &["blocked", "settled"],
    ),
    (
        "a resolution that nothing was attempted, and was answered",
        |world| {
            let boundary = Some(EffectBoundary::ResponseReceived);
            world.resolve_at(ROW, Outcome::NotAttempted, boundary);
        },
        &[],
    ),
    (
        "a refusal",
        |world| world.refuse(call(), Classification::InFlight),
        &[
            "in flight",
            "awaiting input",
            "in the second round",
            "task open",
            "blocked",
            "settled",
        ],
    ),
];

#[test]
fn an_entry_follows_only_in_the_states_in_which_the_specification_lets_it() {
    let mut table = Table::new("states");
    for (state, before) in STATES {
        for (entry, write, allowed) in ENTRIES {
            let mut world = World::new();
            world.admit(call(), Classification::Fresh);
            before.iter().for_each(|write| write(&mut world));
            write(&mut world);
            let row = format!("signed: {entry}, {state}");
            let report = table.check(&row, &Export::of(&world), &world.inputs());
            let expected = if allowed.contains(&state) {
                Status::Verified
            } else {
                Status::Contradicted
            };
            assert_eq!(report.status(Claim::Ordering), expected, "{row}");
        }
    }
}
