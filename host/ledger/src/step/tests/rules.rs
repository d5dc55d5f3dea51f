//! The rules that the table alone does not show.

use super::*;

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
fn each_event_says_how_far_its_request_came() {
    use EffectBoundary::{PreTransport, ResponseReceived, TransportMayHaveStarted};
    let first = reserved(true);
    let claim = Event::Claim {
        by: ME,
        continuation: digest("c1"),
    };
    let second = after(&asked(&first), &claim);
    // The answer to the round before says nothing of this one.
    assert_eq!(second.boundary, TransportMayHaveStarted);
    for (record, unsent) in [(first, PreTransport), (second, TransportMayHaveStarted)] {
        let by = by(&record);
        let task = "task".parse().unwrap();
        for (event, boundary) in [
            (Event::NotSent { by }, unsent),
            (
                Event::Unanswered {
                    by,
                    received: false,
                },
                TransportMayHaveStarted,
            ),
            (Event::Unanswered { by, received: true }, ResponseReceived),
            (
                Event::Answered {
                    by,
                    with: Answered::ToolError,
                },
                ResponseReceived,
            ),
            (Event::Asked { by, issued: None }, ResponseReceived),
            (Event::TaskOpened { by, task }, ResponseReceived),
            (Event::OwnerLost { lost: by }, TransportMayHaveStarted),
        ] {
            let (next, effects) = step(Some(&record), &event).unwrap();
            assert_eq!(next.boundary, boundary, "{event:?}");
            assert_eq!(effects.boundary, Some(boundary), "{event:?}");
        }
    }
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
    let answered = Record {
        boundary: EffectBoundary::ResponseReceived,
        ..blocked.clone()
    };
    assert_eq!(
        after(&blocked, &late),
        answered,
        "a late answer is evidence, and moves nothing but how far the request came"
    );
}

/// Whether an event says that something came back.
fn answers(event: &Event) -> bool {
    matches!(
        event,
        Event::Answered { .. }
            | Event::Asked { .. }
            | Event::TaskOpened { .. }
            | Event::LateAnswer { .. }
            | Event::Unanswered { received: true, .. }
    )
}

#[test]
fn once_anything_has_come_back_nobody_can_state_that_nothing_was_attempted() {
    // Every way of five steps, by its record and whether it was answered.
    let first = [true, false].map(|identified| (reserved(identified), false));
    let mut seen: std::collections::HashSet<_> = first.clone().into();
    let mut ends = first.to_vec();
    let mut late = 0;
    for _ in 0..5 {
        let mut next = Vec::new();
        for (record, answered) in ends {
            let stated = Event::Resolve {
                outcome: Outcome::NotAttempted,
                owner_dead: true,
            };
            let legal = step(Some(&record), &stated).is_ok();
            assert!(!(legal && answered), "{record:?}");
            for event in events(Some(&record)) {
                let Ok((after, _)) = step(Some(&record), &event) else {
                    continue;
                };
                let end = (after, answered || answers(&event));
                late += usize::from(matches!(event, Event::LateAnswer { .. }));
                if seen.insert(end.clone()) {
                    next.push(end);
                }
            }
        }
        ends = next;
    }
    assert!(late > 10 && seen.len() > 30, "{late} of {}", seen.len());
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
