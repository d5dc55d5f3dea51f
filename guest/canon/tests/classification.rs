//! The order of the rules of classification; the whole table stands in
//! `vectors/classification.json` (`docs/spec/executions.md` §3).

use countersign_canon::{
    Classification, Difference, Outcome, Presented, Recorded, RecordedState, Round, classify,
};

const ROUND: Round<'_> = Round {
    continuation: "first",
    request_state: Some("issued"),
};

fn verdict(state: RecordedState<'_>, round: Option<Round<'_>>, claimed: &[&str]) -> Classification {
    let (profile, binding, target) = ("exact@1.0.0", "binding", "server@digest/tool");
    let presented = Presented {
        profile,
        binding,
        target,
        round,
    };
    let recorded = Recorded {
        profile,
        binding,
        target,
        state,
        claimed,
    };
    classify(&presented, Some(&recorded))
}

#[test]
fn a_round_is_answered_once() {
    let awaiting = RecordedState::AwaitingInput(Some("issued"));
    for (round, claimed, expected) in [
        (Some(ROUND), &[][..], Classification::Continuation),
        (Some(ROUND), &["first"][..], Classification::RoundReplay),
        (None, &[][..], Classification::RoundReplay),
    ] {
        assert_eq!(verdict(awaiting, round, claimed), expected);
    }
    let other = RecordedState::AwaitingInput(None);
    assert_eq!(
        verdict(other, Some(ROUND), &[]),
        Classification::ContinuationMismatch
    );
}

#[test]
fn a_round_claimed_before_is_a_replay_while_the_execution_is_open_and_no_longer() {
    let claimed = &["first"];
    for (state, expected) in [
        (RecordedState::InFlight, Classification::RoundReplay),
        (RecordedState::TaskOpen, Classification::RoundReplay),
        (RecordedState::Blocked, Classification::Blocked),
    ] {
        assert_eq!(verdict(state, Some(ROUND), claimed), expected);
    }
}

#[test]
fn without_a_record_an_attempt_is_fresh_and_a_continuation_answers_nothing() {
    let presented = |round| Presented {
        profile: "exact@1.0.0",
        binding: "binding",
        target: "server@digest/tool",
        round,
    };
    assert_eq!(classify(&presented(None), None), Classification::Fresh);
    assert_eq!(
        classify(&presented(Some(ROUND)), None),
        Classification::ContinuationMismatch
    );
}

#[test]
fn what_differs_collides_before_anything_else_and_profiles_that_differ_do_not_compare() {
    let collision = |binding, target| Classification::Collision(Difference { binding, target });
    let settled = RecordedState::Settled(Outcome::Succeeded);
    for (profile, binding, target, expected) in [
        (
            "p@1.0.0",
            "b",
            "t",
            Classification::Replay(Outcome::Succeeded),
        ),
        ("p@1.0.0", "other", "t", collision(true, false)),
        ("p@1.0.0", "b", "other", collision(false, true)),
        ("p@1.0.0", "other", "other", collision(true, true)),
        ("q@1.0.0", "b", "t", Classification::Incomparable),
        ("q@1.0.0", "other", "t", Classification::Incomparable),
        ("q@1.0.0", "other", "other", collision(false, true)),
    ] {
        let presented = Presented {
            profile,
            binding,
            target,
            round: None,
        };
        let recorded = Recorded {
            profile: "p@1.0.0",
            binding: "b",
            target: "t",
            state: settled,
            claimed: &[],
        };
        let said = classify(&presented, Some(&recorded));
        assert_eq!(said, expected, "{profile} {binding} {target}");
    }
}

#[test]
fn an_open_execution_is_in_flight_whatever_its_state() {
    for (state, round, expected) in [
        (RecordedState::InFlight, None, Classification::InFlight),
        (
            RecordedState::InFlight,
            Some(ROUND),
            Classification::InFlight,
        ),
        (RecordedState::TaskOpen, None, Classification::InFlight),
        (
            RecordedState::TaskOpen,
            Some(ROUND),
            Classification::InFlight,
        ),
        (RecordedState::Blocked, None, Classification::Blocked),
        (
            RecordedState::Settled(Outcome::ToolError),
            Some(ROUND),
            Classification::Replay(Outcome::ToolError),
        ),
    ] {
        assert_eq!(verdict(state, round, &[]), expected, "{state:?} {round:?}");
    }
}
