//! `classify`: its arguments and its verdict, one for one.

use countersign_canon::{
    Classification, Difference, Outcome, Presented, Recorded, RecordedState, Round,
};

use crate::bindings::profile as wit;

pub(crate) fn presented(presented: &Presented<'_>) -> wit::Presented {
    wit::Presented {
        profile: presented.profile.into(),
        binding: presented.binding.into(),
        target: presented.target.into(),
        round: presented.round.as_ref().map(round),
    }
}

fn round(round: &Round<'_>) -> wit::Round {
    wit::Round {
        continuation: round.continuation.into(),
        request_state: round.request_state.map(Into::into),
    }
}

pub(crate) fn recorded(recorded: &Recorded<'_>) -> wit::Recorded {
    wit::Recorded {
        profile: recorded.profile.into(),
        binding: recorded.binding.into(),
        target: recorded.target.into(),
        state: match recorded.state {
            RecordedState::InFlight => wit::State::InFlight,
            RecordedState::AwaitingInput(issued) => {
                wit::State::AwaitingInput(issued.map(Into::into))
            }
            RecordedState::TaskOpen => wit::State::TaskOpen,
            RecordedState::Settled(outcome) => wit::State::Settled(to_wit(outcome)),
            RecordedState::Blocked => wit::State::Blocked,
        },
        claimed: recorded
            .claimed
            .iter()
            .map(|digest| (*digest).into())
            .collect(),
    }
}

fn to_wit(outcome: Outcome) -> wit::Outcome {
    match outcome {
        Outcome::Succeeded => wit::Outcome::Succeeded,
        Outcome::ToolError => wit::Outcome::ToolError,
        Outcome::UpstreamError => wit::Outcome::UpstreamError,
        Outcome::NotAttempted => wit::Outcome::NotAttempted,
        Outcome::OutcomeUnknown => wit::Outcome::OutcomeUnknown,
    }
}

fn from_wit(outcome: wit::Outcome) -> Outcome {
    match outcome {
        wit::Outcome::Succeeded => Outcome::Succeeded,
        wit::Outcome::ToolError => Outcome::ToolError,
        wit::Outcome::UpstreamError => Outcome::UpstreamError,
        wit::Outcome::NotAttempted => Outcome::NotAttempted,
        wit::Outcome::OutcomeUnknown => Outcome::OutcomeUnknown,
    }
}

pub(crate) fn classification(verdict: wit::Classification) -> Classification {
    match verdict {
        wit::Classification::Fresh => Classification::Fresh,
        wit::Classification::InFlight => Classification::InFlight,
        wit::Classification::Continuation => Classification::Continuation,
        wit::Classification::ContinuationMismatch => Classification::ContinuationMismatch,
        wit::Classification::RoundReplay => Classification::RoundReplay,
        wit::Classification::Replay(outcome) => Classification::Replay(from_wit(outcome)),
        wit::Classification::Blocked => Classification::Blocked,
        wit::Classification::Collision(difference) => Classification::Collision(Difference {
            binding: difference.contains(wit::Difference::BINDING),
            target: difference.contains(wit::Difference::TARGET),
        }),
        wit::Classification::Incomparable => Classification::Incomparable,
    }
}
