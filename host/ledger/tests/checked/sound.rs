//! The protocol as it is keeps every rule, whatever the order of events.

use stateright::{Checker as _, Expectation, Model as _};

use crate::bounds::{ALONE, Asks, Bounds, answers, asks};
use crate::faults::way;

/// Goes through every moment that can be reached; says how many there are.
fn check(name: &str, bounds: Bounds) -> usize {
    let checker = bounds.checker().threads(2).spawn_bfs().join();
    let properties = checker.model().properties();
    for (rule, path) in checker.discoveries() {
        let always = properties.iter().any(|property| {
            property.name == rule && matches!(property.expectation, Expectation::Always)
        });
        assert!(!always, "{name}: `{rule}` is broken by{}", way(path));
    }
    // What must happen at some moment did.
    checker.assert_properties();
    println!("{:>9} states: {name}", checker.unique_state_count());
    checker.unique_state_count()
}

fn check_all(all: Vec<(&str, Bounds)>) -> usize {
    let states = all
        .into_iter()
        .map(|(name, bounds)| check(name, bounds))
        .sum();
    println!("{states:>9} states in all; every rule holds in each of them");
    states
}

/// Two replicas, and so many attempts.
fn fleet(attempts: &[Asks]) -> Bounds {
    Bounds {
        replicas: 2,
        attempts: attempts.to_vec(),
        ..Bounds::default()
    }
}

/// Two attempts under one identifier.
fn retry() -> Bounds {
    fleet(&[asks(0, 0), asks(0, 0)])
}

/// A call, and two answers to the round that its upstream asks for.
fn rounds() -> Bounds {
    Bounds {
        rounds: true,
        ..fleet(&[asks(0, 0), answers(0), answers(0)])
    }
}

#[test]
fn every_rule_holds_at_every_moment_within_small_bounds() {
    let states = check_all(vec![
        (
            "a replica sleeps past its lease; an acknowledgement is lost; an operator",
            Bounds {
                pauses: 1,
                cuts: 1,
                acts: 1,
                ..retry()
            },
        ),
        (
            "a replica dies and starts again; an acknowledgement is lost",
            Bounds {
                crashes: 1,
                cuts: 1,
                ..retry()
            },
        ),
        (
            "the store is away for longer than a lease",
            Bounds {
                outages: 1,
                ..retry()
            },
        ),
        (
            "three replicas, one sleeps",
            Bounds {
                replicas: 3,
                pauses: 1,
                ..retry()
            },
        ),
        (
            "rounds, a sleep, an operator who abandons",
            Bounds {
                pauses: 1,
                acts: 1,
                ..rounds()
            },
        ),
        (
            "tasks, a crash",
            Bounds {
                crashes: 1,
                tasks: true,
                ..retry()
            },
        ),
        (
            "a conflicting action and an attempt without identifier, a crash",
            Bounds {
                replicas: 1,
                crashes: 1,
                ..fleet(&[asks(0, 0), asks(0, 1), ALONE])
            },
        ),
    ]);
    assert!(
        states > 300_000,
        "{states} states: the bounds are too small"
    );
}

#[test]
#[ignore = "takes minutes; `cargo xtask crash --model` runs it"]
fn every_rule_holds_at_every_moment_within_larger_bounds() {
    check_all(vec![
        (
            "two sleeps, an operator twice",
            Bounds {
                pauses: 2,
                acts: 2,
                ..retry()
            },
        ),
        (
            "a sleep and a crash",
            Bounds {
                pauses: 1,
                crashes: 1,
                ..retry()
            },
        ),
        (
            "the store is away, and a replica sleeps",
            Bounds {
                outages: 1,
                pauses: 1,
                ..retry()
            },
        ),
        (
            "the store is away, and a replica dies",
            Bounds {
                outages: 1,
                crashes: 1,
                ..retry()
            },
        ),
        (
            "the store is away, and an acknowledgement is lost",
            Bounds {
                outages: 1,
                cuts: 1,
                ..retry()
            },
        ),
        (
            "two acknowledgements are lost, and a replica sleeps",
            Bounds {
                cuts: 2,
                pauses: 1,
                ..retry()
            },
        ),
        (
            "three attempts, one of them conflicting, a sleep",
            Bounds {
                pauses: 1,
                ..fleet(&[asks(0, 0), asks(0, 1), asks(0, 0)])
            },
        ),
        (
            "two identifiers, a sleep",
            Bounds {
                pauses: 1,
                ..fleet(&[asks(0, 0), asks(1, 0)])
            },
        ),
        (
            "two rounds, a sleep",
            Bounds {
                pauses: 1,
                rounds: true,
                ..fleet(&[asks(0, 0), answers(0), answers(1), asks(0, 0)])
            },
        ),
        (
            "rounds, a crash, an operator",
            Bounds {
                crashes: 1,
                acts: 1,
                ..rounds()
            },
        ),
        (
            "rounds, a lost acknowledgement, an operator",
            Bounds {
                cuts: 1,
                acts: 1,
                ..rounds()
            },
        ),
        (
            "everything at once but an outage",
            Bounds {
                pauses: 1,
                crashes: 1,
                cuts: 1,
                acts: 1,
                ..retry()
            },
        ),
    ]);
}
