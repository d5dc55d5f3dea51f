//! The state machine, over every pair of state and event.

use countersign_canon::{Digest, Outcome};
use countersign_evidence::EffectBoundary;

use super::*;
use crate::record::OUTCOMES;

const ME: Incarnation = Incarnation::new(7);
const OTHER: Incarnation = Incarnation::new(6);

fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

fn by(record: &Record) -> Owner {
    Owner {
        incarnation: record.owner,
        fence: record.fence,
    }
}

fn reserved(identified: bool) -> Record {
    step(None, &Event::Reserve { identified, by: ME })
        .unwrap()
        .0
}

fn after(record: &Record, event: &Event) -> Record {
    step(Some(record), event).unwrap().0
}

fn asked(record: &Record) -> Record {
    after(
        record,
        &Event::Asked {
            by: by(record),
            issued: Some(digest("state")),
        },
    )
}

/// One record of each state that can be reached, with and without identifier,
/// in the first round and in a later one.
fn records() -> Vec<Record> {
    let first = reserved(true);
    let awaiting = asked(&first);
    let claim = Event::Claim {
        by: ME,
        continuation: digest("c1"),
    };
    let second = after(&awaiting, &claim);
    let alone = reserved(false);
    let mut all = Vec::new();
    for record in [first, second, alone] {
        let by = by(&record);
        let task: TaskId = "task".parse().unwrap();
        for event in [
            Event::NotSent { by },
            Event::Unanswered {
                by,
                received: false,
            },
            Event::Answered {
                by,
                with: Answered::Succeeded,
            },
            Event::Asked { by, issued: None },
            Event::TaskOpened { by, task },
            Event::OwnerLost { lost: by },
        ] {
            all.push(after(&record, &event));
        }
        all.push(record);
    }
    all
}

/// Every event, spoken by the record's own owner.
fn events(record: Option<&Record>) -> Vec<Event> {
    let by = record.map_or(
        Owner {
            incarnation: ME,
            fence: Fence::FIRST,
        },
        by,
    );
    let mut events = vec![
        Event::Reserve {
            identified: true,
            by: ME,
        },
        Event::Reserve {
            identified: false,
            by: ME,
        },
        Event::NotSent { by },
        Event::Unanswered {
            by,
            received: false,
        },
        Event::Unanswered { by, received: true },
        Event::Asked { by, issued: None },
        Event::Asked {
            by,
            issued: Some(digest("state")),
        },
        Event::TaskOpened {
            by,
            task: "task".parse().unwrap(),
        },
        Event::OwnerLost { lost: by },
        Event::Claim {
            by: ME,
            continuation: digest("new"),
        },
        Event::Abandon,
        Event::TaskObserved,
        Event::Refuse,
    ];
    for with in [
        Answered::Succeeded,
        Answered::ToolError,
        Answered::UpstreamError,
    ] {
        events.push(Event::Answered { by, with });
        events.push(Event::LateAnswer { by, with });
    }
    for outcome in OUTCOMES {
        events.push(Event::TaskEnded { outcome });
        for owner_dead in [false, true] {
            events.push(Event::Resolve {
                outcome,
                owner_dead,
            });
        }
    }
    events
}

/// Pairs that the table allows and that what they carry forbids.
fn contradicts(record: &Record, event: &Event) -> bool {
    match event {
        Event::TaskEnded { outcome } => *outcome == Outcome::NotAttempted,
        Event::Resolve {
            outcome: Outcome::NotAttempted,
            owner_dead,
        } => {
            !owner_dead
                || record.boundary == EffectBoundary::ResponseReceived
                || !record.claimed.is_empty()
        }
        _ => false,
    }
}

#[test]
fn each_pair_of_state_and_event_follows_the_table_or_is_refused() {
    let mut legal = 0;
    let mut illegal = 0;
    let mut rows_seen = std::collections::HashSet::new();
    let records = records();
    for record in std::iter::once(None).chain(records.iter().map(Some)) {
        for event in events(record) {
            let (at, on) = (At::of(record), event.on());
            let row = TRANSITIONS
                .iter()
                .find(|(before, kind, _)| (*before, *kind) == (at, on));
            match (row, step(record, &event)) {
                (None, Err(Illegal::Transition { at: a, on: o })) => {
                    assert_eq!((a, o), (at, on));
                    illegal += 1;
                }
                (Some((_, _, next)), Ok((record, _))) => {
                    assert!(next.contains(&At::of(Some(&record))), "{at:?} {on:?}");
                    rows_seen.insert((at, on, At::of(Some(&record))));
                    legal += 1;
                }
                (Some(_), Err(error)) => {
                    assert!(
                        contradicts(record.unwrap(), &event),
                        "{at:?} {event:?}: {error}"
                    );
                    illegal += 1;
                }
                (None, other) => panic!("{at:?} {on:?} is not in the table: {other:?}"),
            }
        }
    }
    for (at, on, next) in TRANSITIONS {
        for next in *next {
            assert!(
                rows_seen.contains(&(*at, *on, *next)),
                "{at:?} {on:?} {next:?} never taken"
            );
        }
    }
    assert!(
        legal > 100 && illegal > 300,
        "{legal} legal, {illegal} illegal"
    );
}

#[test]
fn whatever_happens_a_record_keeps_its_invariants() {
    for record in records() {
        for event in events(Some(&record)) {
            let Ok((next, effects)) = step(Some(&record), &event) else {
                continue;
            };
            let context = format!("{record:?} {event:?}");
            assert_eq!(next.identified, record.identified, "{context}");
            assert!(next.fence >= record.fence, "{context}");
            if let State::Settled(outcome) = record.state {
                assert_eq!(
                    next.state,
                    State::Settled(outcome),
                    "an outcome stays: {context}"
                );
                assert!(!effects.terminal, "there is one terminal: {context}");
            }
            let ended = next.state.outcome().is_some() && record.state.outcome().is_none();
            assert_eq!(effects.terminal, ended, "{context}");
            if ended {
                assert_eq!(effects.outcome, next.state.outcome(), "{context}");
            }
            if !next.identified {
                assert!(
                    !matches!(next.state, State::Blocked | State::AwaitingInput),
                    "{context}"
                );
            }
            if record.boundary > EffectBoundary::PreTransport {
                assert!(next.boundary > EffectBoundary::PreTransport, "{context}");
                assert!(
                    !matches!(event, Event::NotSent { .. })
                        || next.state == State::Settled(Outcome::OutcomeUnknown),
                    "once bytes may have left, they may have left: {context}"
                );
            }
        }
    }
}

#[test]
fn an_outcome_of_not_attempted_means_that_nothing_ever_left() {
    let first = reserved(true);
    let settled = after(&first, &Event::NotSent { by: by(&first) });
    assert_eq!(settled.state, State::Settled(Outcome::NotAttempted));
    assert_eq!(settled.boundary, EffectBoundary::PreTransport);
    let claim = Event::Claim {
        by: ME,
        continuation: digest("c1"),
    };
    let second = after(&asked(&first), &claim);
    let settled = after(&second, &Event::NotSent { by: by(&second) });
    assert_eq!(settled.state, State::Settled(Outcome::OutcomeUnknown));
}

#[test]
fn who_is_not_the_owner_or_not_any_more_settles_nothing() {
    let record = reserved(true);
    let right = by(&record);
    let wrong = [
        Owner {
            incarnation: OTHER,
            ..right
        },
        Owner {
            fence: right.fence.next(),
            ..right
        },
    ];
    for by in wrong {
        for event in [
            Event::NotSent { by },
            Event::Unanswered { by, received: true },
            Event::Answered {
                by,
                with: Answered::Succeeded,
            },
            Event::Asked { by, issued: None },
            Event::TaskOpened {
                by,
                task: "t".parse().unwrap(),
            },
            Event::OwnerLost { lost: by },
        ] {
            assert_eq!(
                step(Some(&record), &event),
                Err(Illegal::Fenced),
                "{event:?}"
            );
        }
    }
    let blocked = after(&record, &Event::OwnerLost { lost: right });
    assert!(blocked.fence > record.fence);
    let late = Event::LateAnswer {
        by: right,
        with: Answered::Succeeded,
    };
    assert_eq!(
        after(&blocked, &late),
        blocked,
        "a late answer is evidence and moves nothing"
    );
}

#[test]
fn a_round_is_claimed_once_and_there_are_at_most_32() {
    let mut record = asked(&reserved(true));
    for round in 1..=MAX_ROUNDS {
        let continuation = digest(&round.to_string());
        let before = record.fence;
        record = after(
            &record,
            &Event::Claim {
                by: ME,
                continuation,
            },
        );
        assert!(record.fence > before, "each round has an owner of its own");
        let again = Event::Claim {
            by: ME,
            continuation,
        };
        assert!(matches!(
            step(Some(&record), &again),
            Err(Illegal::Transition { .. })
        ));
        let next = asked(&record);
        if round < MAX_ROUNDS {
            assert_eq!(next.state, State::AwaitingInput, "round {round}");
            assert_eq!(step(Some(&next), &again), Err(Illegal::Claimed));
        } else {
            assert_eq!(next.state, State::Settled(Outcome::OutcomeUnknown));
        }
        record = next;
    }
}

#[test]
fn an_attempt_without_identifier_is_never_blocked_and_awaits_nothing() {
    let alone = reserved(false);
    let lost = after(&alone, &Event::OwnerLost { lost: by(&alone) });
    assert_eq!(lost.state, State::Settled(Outcome::OutcomeUnknown));
    let asked = asked(&alone);
    assert_eq!(asked.state, State::Settled(Outcome::Succeeded));
    assert_eq!(
        asked.issued,
        Some(digest("state")),
        "its continuation is a new attempt"
    );
}

#[test]
fn a_resolution_beside_an_outcome_replaces_nothing() {
    let record = reserved(true);
    let unknown = after(
        &record,
        &Event::Unanswered {
            by: by(&record),
            received: false,
        },
    );
    let resolve = Event::Resolve {
        outcome: Outcome::Succeeded,
        owner_dead: true,
    };
    let (next, effects) = step(Some(&unknown), &resolve).unwrap();
    assert_eq!(next, unknown);
    assert_eq!(effects.outcome, Some(Outcome::Succeeded));
    let blocked = after(&record, &Event::OwnerLost { lost: by(&record) });
    let (next, effects) = step(Some(&blocked), &resolve).unwrap();
    assert_eq!(next.state, State::Settled(Outcome::Succeeded));
    assert!(
        effects.terminal,
        "a blocked execution's first resolution is its terminal"
    );
}
