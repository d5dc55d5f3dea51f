//! permit → the ledger's token, durable before the upstream sees a byte.

use countersign_ledger::{Attempt as Presented, LedgerError, Reserved, Verdict};

use super::DecideAgain;
use super::attempt::Attempt;
use super::decide::Permit;
use super::refuse::{refused_reply, unrecorded};
use crate::delivery::Reply;
use crate::state::Gateway;

/// What asking for a reservation gave.
#[derive(Debug)]
pub(super) enum Outcome {
    /// This attempt, and no other, may invoke.
    Reserved(Box<Reserved>),
    /// It may not; this is the answer.
    Refused(Reply),
}

/// Uses the permit up. Classification grants nothing: only a row, or a round,
/// that this very attempt inserted or claimed lets it go on.
pub(super) async fn reserve(
    gateway: &Gateway,
    attempt: &Attempt,
    permit: Permit,
) -> Result<Outcome, DecideAgain> {
    let (classified, draft, epochs) = permit.into_parts();
    let Ok(presented) = Presented::new(draft, classified.get(), epochs) else {
        return Ok(Outcome::Refused(unrecorded(
            gateway,
            attempt,
            &LedgerError::Unclassified,
        )));
    };
    match gateway.ledger.reserve(presented).await {
        Ok(Verdict::Reserved(reserved)) => {
            if let Some(classification) = reserved.classification {
                let metrics = &gateway.telemetry.metrics;
                metrics.classification(classification);
            }
            Ok(Outcome::Reserved(reserved))
        }
        Ok(Verdict::Refused(refused)) => Ok(Outcome::Refused(refused_reply(
            gateway, attempt, &refused, None,
        ))),
        Ok(Verdict::DecideAgain(again)) => {
            gateway.decisions.adopt(again.epochs).await;
            Err(DecideAgain)
        }
        Err(error) => Ok(Outcome::Refused(unrecorded(gateway, attempt, &error))),
    }
}
