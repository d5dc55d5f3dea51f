//! attempt + record → what the attempt is.
//!
//! A record under another profile is compared by admitting the message again
//! under that profile; from then on everything is the recorded profile's. So it
//! is where the profile in force refuses the message: what was recorded under a
//! profile that carries more stays what it was. What is said here only saves
//! work: the classification that counts is made in the transaction that appends
//! the attempt's entry.

use std::sync::Arc;

use bytes::Bytes;
use countersign_canon::{
    Admitted, Call, Classification, Digest, Presented, ProfileId, Refusal, Round,
};
use countersign_engine::{Fault, Profile};
use countersign_evidence::ExecutionId;
use countersign_ledger::{Execution, LedgerError, Remembered};
use countersign_mcp::refused_as;

use super::admit::{admit, as_written};
use super::attempt::{Arrival, Attempt};
use super::interpret::interpret;
use crate::state::Gateway;

/// An attempt that was classified; none without an `execution_id`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classified(Option<Classification>);

/// Why there is no classification.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The ledger could not be asked.
    Ledger(LedgerError),
    /// A profile gave no verdict.
    Fault(Fault),
    /// The profile in force does not admit the message, and nothing is recorded
    /// under another one.
    NotAdmitted(Refusal),
    /// The recorded profile does not admit the message: another call.
    NotAdmissible {
        /// The recorded profile.
        profile: ProfileId,
        /// The digest of its component.
        component: Digest,
    },
    /// What goes by the recorded profile's name is another component, and the
    /// recorded one is not there.
    Incomparable,
}

impl Classified {
    pub(crate) fn get(self) -> Option<Classification> {
        self.0
    }

    pub(crate) fn is_refused(self) -> bool {
        self.0
            .is_some_and(|classification| refused_as(classification).is_some())
    }
}

/// A message that the profile in force refuses, read by another one.
pub(crate) struct Other {
    pub(crate) profile: Profile,
    pub(crate) call: Call,
}

/// Reads a message that the profile in force refuses, where it is about an
/// execution that was recorded under another one: by the rules that carry
/// whatever can be read, until classification gives it to the recorded profile.
///
/// # Errors
/// The ledger could not be asked.
pub(crate) async fn read_otherwise(
    gateway: &Gateway,
    arrival: &Arrival,
    message: &Bytes,
) -> Result<Option<Other>, LedgerError> {
    let Some(Admitted::Call(call)) = as_written(message).await else {
        return Ok(None);
    };
    let id = call.execution_id.as_deref();
    let Some(id) = id.and_then(|id| ExecutionId::new(id).ok()) else {
        return Ok(None);
    };
    let Some(execution) = gateway.ledger.lookup(&arrival.agent, &id).await? else {
        return Ok(None);
    };
    if is_recorded(&execution, &arrival.profile) {
        return Ok(None);
    }
    let profile = gateway.profiles.as_written();
    Ok(profile.map(|profile| Other { profile, call }))
}

/// Classifies an attempt, and moves it to the recorded profile where there is
/// a record under another one.
pub(crate) async fn classify(
    gateway: &Gateway,
    attempt: &mut Attempt,
) -> Result<Classified, Stopped> {
    let Some(id) = attempt.execution_id.clone() else {
        return Ok(Classified(None));
    };
    let found = gateway.ledger.lookup(&attempt.arrival.agent, &id).await;
    let execution = found.map_err(Stopped::Ledger)?;
    match (&execution, &attempt.refused) {
        (Some(execution), _) => {
            attempt.opened_by.clone_from(&execution.call_id);
            adopt(gateway, attempt, execution).await?;
        }
        // Nothing new begins under a profile that is not in force.
        (None, Some(refusal)) => return Err(Stopped::NotAdmitted(refusal.clone())),
        (None, None) => {}
    }
    ask(gateway, attempt, execution)
        .await
        .map(Some)
        .map(Classified)
        .map_err(Stopped::Fault)
}

fn is_recorded(execution: &Execution, profile: &Profile) -> bool {
    execution.admitted.profile == profile.id().as_str()
        && execution.admitted.component == profile.component_digest()
}

/// Binds the message again under the recorded profile.
async fn adopt(
    gateway: &Gateway,
    attempt: &mut Attempt,
    execution: &Execution,
) -> Result<(), Stopped> {
    let bound = &attempt.bound.profile;
    if is_recorded(execution, bound) {
        return Ok(());
    }
    let recorded = &execution.admitted.profile;
    let profile = match recorded.parse() {
        Ok(id) => {
            let component = execution.admitted.component;
            gateway.profiles.recorded(&id, component).await
        }
        Err(_) => None,
    };
    // Not there: what cannot be compared is refused as incomparable, and never
    // called different. The table says so where the names differ.
    let Some(profile) = profile else {
        return if recorded == bound.id().as_str() {
            Err(Stopped::Incomparable)
        } else {
            Ok(())
        };
    };
    let rooms = &gateway.profiles.rooms;
    let admitted = admit(rooms, &profile, &attempt.message)
        .await
        .map_err(Stopped::Fault)?;
    let Ok(Admitted::Call(call)) = admitted else {
        return Err(Stopped::NotAdmissible {
            profile: profile.id().clone(),
            component: profile.component_digest(),
        });
    };
    let bound = interpret(rooms, &profile, &call).await;
    attempt.bound = bound.map_err(Stopped::Fault)?;
    Ok(())
}

/// A question to a component, which owns what it is about.
struct Question {
    profile: Profile,
    binding: Digest,
    target: String,
    /// The digests of the continuation and of its state.
    round: Option<(Digest, Option<Digest>)>,
    execution: Option<Execution>,
}

impl Question {
    fn answer(&self) -> Result<Classification, Fault> {
        let presented = Presented {
            profile: self.profile.id().as_str(),
            binding: self.binding.as_str(),
            target: &self.target,
            round: self.round.as_ref().map(|(continuation, state)| Round {
                continuation: continuation.as_str(),
                request_state: state.as_ref().map(Digest::as_str),
            }),
        };
        let remembered = self.execution.as_ref().map(Execution::remembered);
        let recorded = remembered.as_ref().map(Remembered::recorded);
        self.profile.classify(&presented, recorded.as_ref())
    }
}

async fn ask(
    gateway: &Gateway,
    attempt: &Attempt,
    execution: Option<Execution>,
) -> Result<Classification, Fault> {
    let bound = &attempt.bound;
    let round = bound.continuation.as_ref();
    let question = Arc::new(Question {
        profile: bound.profile.clone(),
        binding: bound.interpreted.binding,
        target: attempt.target().to_string(),
        round: round.map(|round| (round.digest, round.request_state)),
        execution,
    });
    let there = Arc::clone(&question);
    // What is asked is digests and names, never long.
    let rooms = &gateway.profiles.rooms;
    rooms
        .run(0, move || there.answer(), || question.answer())
        .await
}
