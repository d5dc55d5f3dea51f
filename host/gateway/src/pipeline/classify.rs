//! attempt + record → what the attempt is.
//!
//! A record under another profile is compared by admitting the message again
//! under that profile; from then on everything is the recorded profile's. What
//! is said here only saves work: the classification that counts is made in the
//! transaction that appends the attempt's entry.

use countersign_canon::{Admitted, Classification, Digest, Presented, ProfileId, Round};
use countersign_engine::Fault;
use countersign_ledger::{Execution, LedgerError, Remembered};
use countersign_mcp::refused_as;

use super::admit::admit;
use super::attempt::Attempt;
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
    /// The recorded profile does not admit the message: another call.
    NotAdmissible {
        /// The recorded profile.
        profile: ProfileId,
        /// The digest of its component.
        component: Digest,
    },
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
    if let Some(execution) = &execution {
        attempt.opened_by.clone_from(&execution.call_id);
        adopt(gateway, attempt, execution).await?;
    }
    ask(attempt, execution.as_ref())
        .map(Some)
        .map(Classified)
        .map_err(Stopped::Fault)
}

/// Binds the message again under the recorded profile.
async fn adopt(
    gateway: &Gateway,
    attempt: &mut Attempt,
    execution: &Execution,
) -> Result<(), Stopped> {
    let recorded = &execution.admitted.profile;
    let component = execution.admitted.component;
    let bound = &attempt.bound.profile;
    if recorded == bound.id().as_str() && component == bound.component_digest() {
        return Ok(());
    }
    let profile = match recorded.parse() {
        Ok(id) => gateway.profiles.recorded(&id, component).await,
        Err(_) => None,
    };
    // Not there: what cannot be compared is refused as incomparable, and never
    // called different.
    let Some(profile) = profile else {
        return Ok(());
    };
    let not_admissible = || Stopped::NotAdmissible {
        profile: profile.id().clone(),
        component: profile.component_digest(),
    };
    let admitted = admit(&profile, &attempt.message)
        .await
        .map_err(Stopped::Fault)?;
    let Ok(Admitted::Call(call)) = admitted else {
        return Err(not_admissible());
    };
    let bound = interpret(&profile, &call).await.map_err(Stopped::Fault)?;
    attempt.bound = bound.map_err(|_| not_admissible())?;
    Ok(())
}

fn ask(attempt: &Attempt, execution: Option<&Execution>) -> Result<Classification, Fault> {
    let bound = &attempt.bound;
    let target = attempt.target().to_string();
    let presented = Presented {
        profile: bound.profile.id().as_str(),
        binding: bound.interpreted.binding.as_str(),
        target: &target,
        round: bound.continuation.as_ref().map(|continuation| Round {
            continuation: continuation.digest.as_str(),
            request_state: continuation.request_state.as_ref().map(Digest::as_str),
        }),
    };
    let remembered = execution.map(Execution::remembered);
    let recorded = remembered.as_ref().map(Remembered::recorded);
    bound.profile.classify(&presented, recorded.as_ref())
}
