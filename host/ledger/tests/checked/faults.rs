//! Each fault that is put in is found: a checker that finds nothing shows
//! nothing.

use std::collections::HashMap;

use stateright::{Checker as _, HasDiscoveries, Model as _, Path};

use crate::bounds::{Bounds, Fault, asks};
use crate::moves::Move;
use crate::state::State;

/// The moves of a path, one a line.
pub fn way(path: Path<State, Move>) -> String {
    let moves = path.into_actions().into_iter();
    moves.map(|made| format!("\n      {made:?}")).collect()
}

/// Two attempts under one identifier, two replicas, and a fault.
fn with(fault: Fault) -> Bounds {
    Bounds {
        replicas: 2,
        attempts: vec![asks(0, 0), asks(0, 0)],
        fault: Some(fault),
        ..Bounds::default()
    }
}

/// Shortest ways to breaches of rules, if there are any.
fn breaches(bounds: Bounds) -> HashMap<&'static str, String> {
    let checker = bounds.checker().finish_when(HasDiscoveries::Any);
    let found = checker.spawn_bfs().join().discoveries().into_iter();
    found.map(|(rule, path)| (rule, way(path))).collect()
}

const HELD: &str = "what is in flight under a living owner is held by it";
const CHAIN: &str = "row and chain agree, and the chain only grows";
const LOST: &str = "nothing is sent under an execution that its owner has lost";
const RESERVED: &str = "no effect without an earlier durable reservation";
const OUTCOME: &str = "nothing settled changes its outcome";
const ANSWERED: &str = "an owner says `succeeded` only of what the upstream answered";
const TOLD: &str = "whoever is told something is in the log before";
const THERE: &str = "nobody who was there is given up";

#[test]
fn each_fault_is_found() {
    let sleeping = |fault| Bounds {
        pauses: 1,
        ..with(fault)
    };
    for (expected, bounds) in [
        (OUTCOME, with(Fault::NoFence)),
        (CHAIN, with(Fault::NoLength)),
        (LOST, sleeping(Fault::NoLeaseCheck)),
        (LOST, sleeping(Fault::SleepingClock)),
        (LOST, sleeping(Fault::LongWindow)),
        (LOST, sleeping(Fault::SweepOnlyRows)),
        (LOST, sleeping(Fault::NewestLease)),
        (CHAIN, with(Fault::TwoTransactions)),
        (RESERVED, with(Fault::ReserveAfterInvoke)),
        (ANSWERED, with(Fault::SettleBeforeAnswer)),
        (TOLD, with(Fault::DeliverBeforeSettle)),
        (
            HELD,
            Bounds {
                cuts: 1,
                ..with(Fault::AbsentBelieved)
            },
        ),
        (
            THERE,
            Bounds {
                outages: 1,
                ..with(Fault::SweepAtOnce)
            },
        ),
        (OUTCOME, with(Fault::ReuseUnknown)),
    ] {
        let fault = bounds.fault.unwrap();
        let found = breaches(bounds);
        let Some(way) = found.get(expected) else {
            panic!("{fault:?} is not found: {found:?}");
        };
        println!("  {fault:?}: `{expected}` is broken by{way}");
    }
}

/// What a woken replica does to an execution that an operator was allowed to
/// call `not-attempted`: the harm that the lease check at the gate prevents.
#[test]
fn without_the_lease_check_what_an_operator_called_not_attempted_has_an_effect() {
    const NEVER: &str = "`not-attempted` is never said of what had an effect";
    for fault in [Fault::NoLeaseCheck, Fault::LongWindow] {
        let bounds = Bounds {
            pauses: 1,
            acts: 1,
            attempts: vec![asks(0, 0)],
            ..with(fault)
        };
        let all = bounds.checker().finish_when(HasDiscoveries::All);
        let found = all.spawn_bfs().join();
        let path = found.discovery(NEVER).expect("it is found");
        println!("  {fault:?}: `{NEVER}` is broken by{}", way(path));
    }
}

/// Whoever raises a fence appends an entry, so that the length of the chain
/// fences too; the fence stands in the condition all the same.
#[test]
fn the_length_of_a_chain_alone_would_fence() {
    let bounds = Bounds {
        pauses: 1,
        acts: 1,
        ..with(Fault::OnlyLength)
    };
    assert_eq!(breaches(bounds), HashMap::new());
}
