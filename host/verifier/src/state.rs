//! What an execution's own entries make of it, one after the other.
//!
//! This is the verifier's own reading of `docs/spec/executions.md`, section 2,
//! from what entries say; it shares no code with the ledger, whose work it
//! checks. [`Progress::apply`] refuses what may not follow.

use std::sync::Arc;

use countersign_canon::{Digest, Outcome, Recorded, RecordedState};
use countersign_evidence::{Blinding, Draft, EffectBoundary, Kind, RoundSays};

use crate::facts::{Caller, Facts, Raw, Shared, caller};

/// How many rounds of one execution can be claimed.
const MOST_ROUNDS: usize = 32;

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    InFlight,
    AwaitingInput,
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
    pub(crate) facts: Arc<Facts>,
    /// As the entries have it.
    binding: Raw,
    blinded: bool,
    pub(crate) state: State,
    pub(crate) stated_by: Option<StatedBy>,
    fence: u64,
    /// The attempt that reserved it.
    caller: Option<Caller>,
    /// Few executions have rounds.
    rounds: Option<Box<Rounds>>,
}

#[derive(Clone, Debug, Default)]
struct Rounds {
    /// The digest of the `requestState` that the awaited round issued.
    issued: Option<Raw>,
    claimed: Vec<Raw>,
    /// The attempts that claimed a round, and so may have invoked.
    callers: Vec<Caller>,
}

impl Progress {
    /// The execution that an admission reserves; a reason where it cannot.
    pub(crate) fn reserved(said: &Draft, shared: &mut Shared) -> Result<Self, &'static str> {
        if said.kind != Kind::Admission {
            return Err("it is the first of its execution and is no admission");
        }
        let lacks = "an admission lacks its profile, component, binding or target";
        Ok(Self {
            facts: shared.facts(said).ok_or(lacks)?,
            binding: said.binding.ok_or(lacks)?.to_bytes(),
            blinded: said.blind == Blinding::Salted,
            state: State::InFlight,
            stated_by: None,
            fence: said.fence.unwrap_or_default(),
            caller: caller(said),
            rounds: None,
        })
    }

    /// What `classify` is told of it; `None` where its state is not known.
    /// `binding` is what a salt showed it to be.
    pub(crate) fn recorded<T>(
        &self,
        binding: Option<Digest>,
        ask: impl FnOnce(&Recorded<'_>) -> T,
    ) -> Option<T> {
        let rounds = self.rounds.as_deref();
        let issued = rounds
            .and_then(|rounds| rounds.issued)
            .map(Digest::from_bytes);
        let state = match &self.state {
            State::InFlight => RecordedState::InFlight,
            State::AwaitingInput => {
                RecordedState::AwaitingInput(issued.as_ref().map(Digest::as_str))
            }
            State::TaskOpen => RecordedState::TaskOpen,
            State::Blocked => RecordedState::Blocked,
            State::Settled(outcome) => RecordedState::Settled(*outcome),
            State::Unknown => return None,
        };
        let claimed = rounds.map(|rounds| rounds.claimed.as_slice());
        let claimed: Vec<Digest> = claimed
            .unwrap_or_default()
            .iter()
            .map(|raw| Digest::from_bytes(*raw))
            .collect();
        let claimed: Vec<&str> = claimed.iter().map(Digest::as_str).collect();
        Some(ask(&Recorded {
            profile: &self.facts.profile,
            binding: binding.unwrap_or(Digest::from_bytes(self.binding)).as_str(),
            target: &self.facts.target,
            state,
            claimed: &claimed,
        }))
    }

    /// Goes on by one entry; the reason where it may not follow.
    pub(crate) fn apply(&mut self, said: &Draft) -> Result<(), &'static str> {
        if said.has_values() && (said.blind == Blinding::Salted) != self.blinded {
            return Err("an execution is blinded in all of its entries, or in none");
        }
        if said.kind != Kind::Refusal {
            self.check_facts(said)?;
        }
        let fence = said.fence.unwrap_or(self.fence);
        if fence < self.fence && said.kind != Kind::LateAnswer {
            return Err("an owner that was given up wrote it");
        }
        self.fence = self.fence.max(fence);
        // Entries of before a late answer moved the boundary do not say so of it.
        if said.kind == Kind::Resolution
            && said.outcome == Some(Outcome::NotAttempted)
            && said.effect_boundary == Some(EffectBoundary::ResponseReceived)
        {
            return Err("it says that nothing was attempted, and that an answer had come");
        }
        match (&said.kind, self.state) {
            (Kind::Other(_), _) => self.state = State::Unknown,
            (Kind::Refusal, _) | (_, State::Unknown) => {}
            (Kind::Admission, _) => return Err("the execution was reserved before"),
            (Kind::Terminal, State::InFlight | State::AwaitingInput | State::TaskOpen) => {
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

    /// Whether an entry holds the binding that was reserved.
    pub(crate) fn is_bound(&self, binding: &Digest) -> bool {
        binding.to_bytes() == self.binding
    }

    /// What was reserved does not change.
    fn check_facts(&self, said: &Draft) -> Result<(), &'static str> {
        let binding = said.binding.map(Digest::to_bytes);
        if binding != Some(self.binding) || !self.facts.are_of(said) {
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
        if claims || self.permitted(said) {
            Ok(())
        } else {
            Err("it names a call that was not permitted to invoke")
        }
    }

    /// Whether an entry names a call that could invoke.
    fn permitted(&self, said: &Draft) -> bool {
        let Some(caller) = caller(said) else {
            return false;
        };
        let rounds = self.rounds.as_deref();
        self.caller == Some(caller) || rounds.is_some_and(|r| r.callers.contains(&caller))
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
        let rounds = self.rounds.get_or_insert_default();
        let before = rounds.claimed.len();
        match (round.says, self.state) {
            (RoundSays::Asked, State::InFlight) => {
                self.state = State::AwaitingInput;
                rounds.issued = said.request_state_issued.map(Digest::to_bytes);
            }
            (RoundSays::Claimed, State::AwaitingInput) if before >= MOST_ROUNDS => {
                return Err("it claims a round beyond the last that an execution may have");
            }
            (RoundSays::Claimed, State::AwaitingInput) => {
                let lacks = "it claims a round without a continuation or a call";
                let continuation = said.continuation.ok_or(lacks)?;
                rounds.callers.push(caller(said).ok_or(lacks)?);
                rounds.claimed.push(continuation.to_bytes());
                self.state = State::InFlight;
            }
            _ => {
                return Err(
                    "its round may not follow in the state that the entries before it give",
                );
            }
        }
        let expected = match round.says {
            RoundSays::Asked => before.saturating_add(1),
            RoundSays::Claimed => rounds.claimed.len(),
        };
        if usize::try_from(round.number) == Ok(expected) {
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
