//! Every pair of state and event, against the table and its invariants.

use super::*;

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
                (Some((_, _, next)), Ok((after, _))) => {
                    let forbidden = record.is_some_and(|record| contradicts(record, &event));
                    assert!(!forbidden, "{at:?} {event:?} is allowed");
                    let record = after;
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
