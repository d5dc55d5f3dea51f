//! What an execution's own entries make of it, one after the other.
//!
//! This is the verifier's own reading of `docs/spec/executions.md`, section 2,
//! from what entries say; it shares no code with the ledger, whose work it
//! checks. [`Progress::apply`] refuses what may not follow.

use countersign_canon::{Digest, Outcome, Recorded, RecordedState};
use countersign_evidence::{Draft, EffectBoundary, Kind, RoundSays};

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    InFlight,
    AwaitingInput(Option<Digest>),
    TaskOpen,
    Blocked,
    Settled(Outcome),
    /// An entry of a kind that this version does not know moved it.
    Unknown,
}

/// Who stated an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatedBy {
    Gateway,
    Operator,
}

/// One execution, as far as its entries went.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) profile: Box<str>,
    pub(crate) binding: Digest,
    pub(crate) component: Digest,
    pub(crate) target: Box<str>,
    pub(crate) state: State,
    pub(crate) stated_by: Option<StatedBy>,
    claimed: Vec<Digest>,
    fence: u64,
    /// The attempts that may have invoked.
    callers: Vec<Box<str>>,
}

impl Progress {
    /// The execution that an admission reserves; a reason where it cannot.
    pub(crate) fn reserved(said: &Draft) -> Result<Self, &'static str> {
        if said.kind != Kind::Admission {
            return Err("it is the first of its execution and is no admission");
        }
        let lacks = "an admission lacks its profile, component, binding or target";
        Ok(Self {
            profile: said.profile.as_deref().ok_or(lacks)?.into(),
            binding: said.binding.ok_or(lacks)?,
            component: said.component.ok_or(lacks)?,
            target: said.target().ok_or(lacks)?.to_string().into(),
            state: State::InFlight,
            stated_by: None,
            claimed: Vec::new(),
            fence: said.fence.unwrap_or_default(),
            callers: said.call_id.iter().map(|id| id.as_str().into()).collect(),
        })
    }

    /// What `classify` is told of it; `None` where its state is not known.
    pub(crate) fn recorded<T>(&self, ask: impl FnOnce(&Recorded<'_>) -> T) -> Option<T> {
        let state = match &self.state {
            State::InFlight => RecordedState::InFlight,
            State::AwaitingInput(issued) => {
                RecordedState::AwaitingInput(issued.as_ref().map(Digest::as_str))
            }
            State::TaskOpen => RecordedState::TaskOpen,
            State::Blocked => RecordedState::Blocked,
            State::Settled(outcome) => RecordedState::Settled(*outcome),
            State::Unknown => return None,
        };
        let claimed: Vec<&str> = self.claimed.iter().map(Digest::as_str).collect();
        Some(ask(&Recorded {
            profile: &self.profile,
            binding: self.binding.as_str(),
            target: &self.target,
            state,
            claimed: &claimed,
        }))
    }

    /// Goes on by one entry; the reason where it may not follow.
    pub(crate) fn apply(&mut self, said: &Draft) -> Result<(), &'static str> {
        if said.kind != Kind::Refusal {
            self.check_facts(said)?;
        }
        let fence = said.fence.unwrap_or(self.fence);
        if fence < self.fence && said.kind != Kind::LateAnswer {
            return Err("an owner that was given up wrote it");
        }
        self.fence = self.fence.max(fence);
        match (&said.kind, self.state) {
            (Kind::Other(_), _) => self.state = State::Unknown,
            (Kind::Refusal, _) | (_, State::Unknown) => {}
            (Kind::Admission, _) => return Err("the execution was reserved before"),
            (Kind::Terminal, State::InFlight | State::AwaitingInput(_) | State::TaskOpen) => {
                self.settle(said, StatedBy::Gateway)?;
            }
            (Kind::Terminal, State::Settled(_)) => return Err("the execution was settled before"),
            (Kind::Blocked, State::InFlight) => self.state = State::Blocked,
            (Kind::LateAnswer, State::Blocked | State::Settled(_)) => {}
            (Kind::Resolution, State::Blocked) => self.settle(said, StatedBy::Operator)?,
            (Kind::Resolution, State::Settled(_)) => {}
            (Kind::Task, State::InFlight | State::TaskOpen) => self.state = State::TaskOpen,
            (Kind::Round, _) => self.round(said)?,
            _ => return Err("it may not follow in the state that the entries before it give"),
        }
        Ok(())
    }

    /// What was reserved does not change.
    fn check_facts(&self, said: &Draft) -> Result<(), &'static str> {
        let same = said.binding == Some(self.binding)
            && said.profile.as_deref() == Some(&self.profile)
            && said.component == Some(self.component)
            && said
                .target()
                .is_some_and(|target| target.to_string() == *self.target);
        if !same {
            return Err("it names another profile, component, binding or target than was reserved");
        }
        let asks = said
            .round
            .is_none_or(|round| round.says == RoundSays::Asked);
        if asks && (said.decision.is_some() || said.continuation.is_some()) {
            return Err("it carries what an attempt alone can carry");
        }
        let claims = said
            .round
            .is_some_and(|round| round.says == RoundSays::Claimed);
        let known = said
            .call_id
            .as_ref()
            .is_some_and(|id| self.callers.iter().any(|c| **c == *id.as_str()));
        if claims || known {
            Ok(())
        } else {
            Err("it names a call that was not permitted to invoke")
        }
    }

    fn settle(&mut self, said: &Draft, by: StatedBy) -> Result<(), &'static str> {
        let outcome = said
            .outcome
            .ok_or("it settles the execution without an outcome")?;
        self.state = State::Settled(outcome);
        self.stated_by = Some(by);
        Ok(())
    }

    fn round(&mut self, said: &Draft) -> Result<(), &'static str> {
        let round = said
            .round
            .ok_or("it does not say which round it is about")?;
        let claimed = u32::try_from(self.claimed.len()).unwrap_or(u32::MAX);
        match (round.says, self.state) {
            (RoundSays::Asked, State::InFlight) => {
                self.state = State::AwaitingInput(said.request_state_issued);
            }
            (RoundSays::Claimed, State::AwaitingInput(_)) => {
                let lacks = "it claims a round without a continuation or a call";
                self.claimed.push(said.continuation.ok_or(lacks)?);
                self.callers
                    .push(said.call_id.as_ref().ok_or(lacks)?.as_str().into());
                self.state = State::InFlight;
            }
            _ => {
                return Err(
                    "its round may not follow in the state that the entries before it give",
                );
            }
        }
        let number = u32::try_from(self.claimed.len()).unwrap_or(u32::MAX);
        let expected = number
            .max(claimed)
            .saturating_add(u32::from(round.says == RoundSays::Asked));
        if round.number == expected {
            Ok(())
        } else {
            Err("its round has another number")
        }
    }
}

/// Whether a terminal entry's outcome fits how far its request came; the reason
/// where it does not.
pub(crate) fn check_boundary(said: &Draft) -> Result<(), &'static str> {
    let Some(outcome) = said.outcome else {
        return Err("a terminal entry has no outcome");
    };
    match (outcome, said.effect_boundary) {
        (_, None) => Err("a terminal entry does not say how far its request came"),
        (Outcome::NotAttempted, Some(EffectBoundary::PreTransport)) => Ok(()),
        (Outcome::NotAttempted, _) => Err("nothing was attempted, and yet bytes may have left"),
        (
            Outcome::Succeeded | Outcome::ToolError | Outcome::UpstreamError,
            Some(EffectBoundary::ResponseReceived),
        )
        | (Outcome::OutcomeUnknown, _) => Ok(()),
        _ => Err("an answer is recorded, and yet none was received"),
    }
}
