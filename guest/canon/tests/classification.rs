//! The order of the rules of classification; the whole table stands in
//! `vectors/classification.json` (`docs/spec/executions.md` §3).

use countersign_canon::{Classification, Presented, Recorded, RecordedState, Round, classify};

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
