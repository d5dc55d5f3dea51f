//! What must hold at every moment (`docs/spec/executions.md` §4), and what must
//! happen at some, so that the rules are not kept by nothing happening.

use countersign_canon::Outcome;
use countersign_ledger::{Leaves, State as Stands};
use stateright::Property;

use crate::bounds::Bounds;
use crate::moves::incarnation;
use crate::state::{Broken, Entry, Life, Phase, State, Told};
use crate::transactions::owner;

type Rule = fn(&Bounds, &State) -> bool;

pub const RULES: &[(&str, Rule)] = &[
    (
        "at most one effect for each execution and round",
        |_, state| {
            let mut effects = state.upstream.iter().flat_map(|upstream| &upstream.effects);
            effects.all(|effects| *effects <= 1)
        },
    ),
    (
        "no effect without an earlier durable reservation",
        |_, state| !state.broken.contains(&Broken::EffectWithoutReservation),
    ),
    (
        "nothing is sent under an execution that its owner has lost",
        |_, state| !state.broken.contains(&Broken::SentAfterLoss),
    ),
    ("at most one terminal", |_, state| {
        state.store.chains.iter().all(|chain| terminals(chain) <= 1)
    }),
    ("nothing settled changes its outcome", |_, state| {
        !state.broken.contains(&Broken::OutcomeReplaced)
    }),
    (
        "row and chain agree, and the chain only grows",
        |_, state| {
            let rows = state.store.rows.iter().zip(&state.store.chains);
            rows.into_iter().all(|(row, chain)| {
                let length = row.as_ref().map_or(0, |row| usize::from(row.length));
                let ended = row
                    .as_ref()
                    .is_some_and(|row| row.record.state.outcome().is_some());
                let numbered = (0..).zip(chain).all(|(at, entry)| entry.sequence == at);
                let begins = chain
                    .first()
                    .is_none_or(|entry| entry.leaves == Leaves::Admission);
                length == chain.len() && numbered && begins && ended == (terminals(chain) == 1)
            })
        },
    ),
    (
        "`not-attempted` is never said of what had an effect",
        |_, state| {
            state
                .store
                .rows
                .iter()
                .zip(&state.upstream)
                .all(|(row, upstream)| {
                    let said = row.as_ref().and_then(|row| row.record.state.outcome());
                    said != Some(Outcome::NotAttempted)
                        || upstream.effects.iter().all(|count| *count == 0)
                })
        },
    ),
    (
        "an owner says `succeeded` only of what the upstream answered",
        |_, state| {
            state
                .store
                .chains
                .iter()
                .zip(&state.upstream)
                .all(|(chain, upstream)| {
                    let says = |entry: &Entry| {
                        entry.leaves == Leaves::Terminal
                            && entry.outcome == Some(Outcome::Succeeded)
                    };
                    upstream.answered || upstream.asked > 0 || !chain.iter().any(says)
                })
        },
    ),
    ("what is in flight under a living owner is held by it", held),
    ("nobody who was there is given up", |_, state| {
        !state.broken.contains(&Broken::LivingGivenUp)
    }),
    (
        "whoever is told something is in the log before",
        |bounds, state| {
            (0..).zip(&state.attempts).all(|(index, attempt)| {
                let chain = &state.store.chains[usize::from(bounds.execution(index))];
                let mut mine = chain.iter().filter(|entry| entry.by == Some(index));
                match attempt.phase {
                    Phase::Told(Told::Refused) => mine.any(|entry| entry.leaves == Leaves::Refusal),
                    Phase::Told(Told::Outcome) => mine.any(|entry| {
                        !matches!(entry.leaves, Leaves::Admission | Leaves::RoundClaimed)
                    }),
                    _ => true,
                }
            })
        },
    ),
];

/// An owner that lives knows of each row that it has in flight; nobody else
/// would ever end it.
fn held(_: &Bounds, state: &State) -> bool {
    let in_flight = |row: &&crate::state::Row| row.record.state == Stands::InFlight;
    state
        .store
        .rows
        .iter()
        .flatten()
        .filter(in_flight)
        .all(|row| {
            let by = owner(&row.record);
            let number = incarnation(by.incarnation.get());
            let theirs = &state.store.incarnations[number];
            let process = &state.replicas[usize::from(theirs.replica)];
            let lives = process.life != Life::Dead && usize::from(process.incarnation) == number;
            theirs.ended
                || !lives
                || state
                    .attempts
                    .iter()
                    .any(|attempt| holds(&attempt.phase, by))
        })
}

fn holds(phase: &Phase, by: countersign_ledger::Owner) -> bool {
    match phase {
        Phase::Waiting | Phase::Told(_) => false,
        Phase::Decided(write) | Phase::Doubt(write) | Phase::GivenUp(write) => {
            owner(&write.row.record) == by
        }
        Phase::Permitted(mine)
        | Phase::Armed(mine)
        | Phase::Sent(mine)
        | Phase::Holds(mine, _)
        | Phase::Ending(mine, ..)
        | Phase::EndDoubt(mine, ..) => *mine == by,
        Phase::Half(_, next) => holds(next, by),
    }
}

fn terminals(chain: &[Entry]) -> usize {
    chain.iter().filter(|entry| entry.terminal).count()
}

fn leaves(state: &State, kind: Leaves) -> bool {
    let mut entries = state.store.chains.iter().flatten();
    entries.any(|entry| entry.leaves == kind)
}

fn stands(state: &State, at: Stands) -> bool {
    let mut rows = state.store.rows.iter().flatten();
    rows.any(|row| row.record.state == at)
}

pub fn properties(bounds: &Bounds) -> Vec<Property<Bounds>> {
    let mut properties: Vec<_> = RULES
        .iter()
        .map(|(name, rule)| Property::always(name, *rule))
        .collect();
    if bounds.fault.is_some() {
        return properties;
    }
    let mut seen = |when: bool, name, rule: Rule| {
        if when {
            properties.push(Property::sometimes(name, rule));
        }
    };
    let absent = bounds.crashes > 0 || bounds.pauses > 0;
    let fleet = absent && bounds.replicas > 1 || bounds.crashes > 0;
    let identified = bounds.attempts.iter().any(|asks| asks.id.is_some());
    seen(true, "an execution ends with an answer", |_, state| {
        stands(state, Stands::Settled(Outcome::Succeeded))
    });
    seen(true, "an execution ends as not attempted", |_, state| {
        stands(state, Stands::Settled(Outcome::NotAttempted))
    });
    seen(
        bounds.attempts.len() > 1 && identified,
        "an attempt is refused",
        |_, state| leaves(state, Leaves::Refusal),
    );
    seen(
        fleet && identified,
        "an execution is blocked",
        |_, state| stands(state, Stands::Blocked),
    );
    seen(
        bounds.pauses > 0 && bounds.replicas > 1,
        "an owner that was given up brings a late answer",
        |_, state| leaves(state, Leaves::LateAnswer),
    );
    seen(
        fleet && bounds.acts > 0 && identified,
        "an operator resolves",
        |_, state| leaves(state, Leaves::Resolution),
    );
    seen(bounds.rounds, "a round is claimed", |_, state| {
        leaves(state, Leaves::RoundClaimed)
    });
    seen(bounds.tasks, "a task ends", |_, state| {
        leaves(state, Leaves::Task) && leaves(state, Leaves::Terminal)
    });
    properties
}
