//! Every question that classification can be asked, up to the names in it.

use countersign_canon::{
    Classification, Outcome, Presented, Recorded, RecordedState, Round, classify,
};

const PROFILES: [&str; 2] = ["p@1.0.0", "p@1.1.0"];
const BINDINGS: [&str; 2] = [
    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "sha256:1111111111111111111111111111111111111111111111111111111111111111",
];
const TARGETS: [&str; 2] = ["s@sha256:aa/t", "s@sha256:aa/T"];
const ROUND: [&str; 2] = [
    "sha256:2222222222222222222222222222222222222222222222222222222222222222",
    "sha256:3333333333333333333333333333333333333333333333333333333333333333",
];
const STATE: [&str; 2] = [
    "sha256:4444444444444444444444444444444444444444444444444444444444444444",
    "sha256:5555555555555555555555555555555555555555555555555555555555555555",
];

/// One question, with the table's answer.
pub(crate) struct Question {
    pub(crate) presented: Presented<'static>,
    pub(crate) recorded: Option<Recorded<'static>>,
    pub(crate) answer: Classification,
}

/// All questions.
pub(crate) fn questions() -> Vec<Question> {
    let [profile, other_profile] = PROFILES;
    let [binding, other_binding] = BINDINGS;
    let [target, other_target] = TARGETS;
    let [first, second] = ROUND;
    let [state, other_state] = STATE;
    let round = |continuation, request_state| {
        Some(Round {
            continuation,
            request_state,
        })
    };
    let rounds = [
        None,
        round(first, None),
        round(first, Some(state)),
        round(second, Some(state)),
        round(second, Some(other_state)),
    ];
    let mut states = vec![
        RecordedState::InFlight,
        RecordedState::AwaitingInput(None),
        RecordedState::AwaitingInput(Some(state)),
        RecordedState::TaskOpen,
        RecordedState::Blocked,
    ];
    states.extend(OUTCOMES.map(RecordedState::Settled));
    let claims: [&'static [&'static str]; 3] = [&[], &[ROUND[0]], &ROUND];
    let mut questions = Vec::new();
    for round in rounds {
        let presented = Presented {
            profile,
            binding,
            target,
            round,
        };
        questions.push(question(presented, None));
        for (profile, binding, target) in [
            (profile, binding, target),
            (profile, other_binding, target),
            (profile, binding, other_target),
            (profile, other_binding, other_target),
            (other_profile, binding, target),
            (other_profile, other_binding, target),
            (other_profile, other_binding, other_target),
        ] {
            for state in &states {
                for claimed in claims {
                    let recorded = Recorded {
                        profile,
                        binding,
                        target,
                        state: *state,
                        claimed,
                    };
                    questions.push(question(presented, Some(recorded)));
                }
            }
        }
    }
    questions
}

const OUTCOMES: [Outcome; 5] = [
    Outcome::Succeeded,
    Outcome::ToolError,
    Outcome::UpstreamError,
    Outcome::NotAttempted,
    Outcome::OutcomeUnknown,
];

fn question(presented: Presented<'static>, recorded: Option<Recorded<'static>>) -> Question {
    let answer = classify(&presented, recorded.as_ref());
    Question {
        presented,
        recorded,
        answer,
    }
}

impl Question {
    /// The question in words.
    pub(crate) fn shown(&self) -> String {
        let Some(recorded) = &self.recorded else {
            return "nothing is recorded".into();
        };
        let same = |same: bool| if same { "the same" } else { "another" };
        format!(
            "{} profile, {} binding and {} target, recorded as {:?} with {} rounds claimed, presented with {}",
            same(recorded.profile == self.presented.profile),
            same(recorded.binding == self.presented.binding),
            same(recorded.target == self.presented.target),
            recorded.state,
            recorded.claimed.len(),
            if self.presented.round.is_some() {
                "a round"
            } else {
                "none"
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn every_classification_is_the_answer_to_some_question() {
        let questions = super::questions();
        let answers: HashSet<_> = questions.iter().map(|question| question.answer).collect();
        // Nine kinds; a replay of five outcomes, a collision in three ways.
        assert_eq!(answers.len(), 7 + 5 + 3, "{answers:?}");
    }
}
