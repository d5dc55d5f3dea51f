//! Outcomes: what the gateway recorded, and by whom each was stated.
//!
//! Never that an effect happened: that would need evidence which does not come
//! from the gateway.

use countersign_canon::Outcome;
use countersign_evidence::{Entry, Kind};

use crate::chain::Tally;
use crate::claim::Claim;
use crate::findings::{Findings, Place};
use crate::state::check_boundary;

/// Checks one entry that states an outcome.
pub(crate) fn entry(entry: &Entry, place: &Place, findings: &mut Findings) {
    let said = entry.said();
    if said.kind == Kind::Resolution && (said.resolution.is_none() || said.outcome.is_none()) {
        findings.contradict(Claim::Outcome, Some(place), || {
            "a resolution names no outcome, or nobody who stated it".to_owned()
        });
    }
    if matches!(said.kind, Kind::Admission | Kind::Refusal | Kind::Blocked)
        && said.outcome.is_some()
    {
        findings.contradict(Claim::Outcome, Some(place), || {
            format!("a `{}` states an outcome", said.kind)
        });
    }
    if said.kind != Kind::Terminal {
        return;
    }
    if let Err(reason) = check_boundary(said) {
        findings.contradict(Claim::Outcome, Some(place), || reason.to_owned());
    }
    let answered = matches!(
        said.outcome,
        Some(Outcome::Succeeded | Outcome::ToolError | Outcome::UpstreamError)
    );
    if answered && (said.answer_digest.is_none() || said.answer_bytes.is_none()) {
        findings.leave_open(Claim::Outcome, Some(place), || {
            "it records an answer without its digest or length".to_owned()
        });
    }
    if said.answer_digest.is_some() != said.answer_bytes.is_some() {
        findings.contradict(Claim::Outcome, Some(place), || {
            "it has one of an answer's digest and length, and not the other".to_owned()
        });
    }
}

/// Says by whom the outcomes were stated.
pub(crate) fn finish(tally: Tally, findings: &mut Findings) {
    findings.show(
        Claim::Outcome,
        format!(
            "{} outcomes recorded by the gateway, {} stated by an operator, {} executions without one; whether an effect happened is not shown by this",
            tally.by_gateway, tally.by_operator, tally.open
        ),
    );
}
