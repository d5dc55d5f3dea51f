//! Everything that ends an attempt before the upstream sees a byte of it.
//!
//! Each refusal of an authenticated attempt is in the log before the caller
//! hears of it. Where the ledger cannot take it, it is counted, and written
//! later as suppressed.

use countersign_canon::{Classification, Id, Outcome};
use countersign_engine::{Fault, WORLD};
use countersign_evidence::{
    Classified as Word, Draft, EffectBoundary, ExecutionIdStatus, Kind, Receipt, RefusalCode, Time,
};
use countersign_ledger::{
    Attempt as Presented, Epochs, Execution, Illegal, InForce, Known, LedgerError, Position,
    Refused, Verdict, outcome_str,
};
use countersign_mcp::{ErrorCode, LogPosition, Problem, Revision, envelope};

use super::DecideAgain;
use super::attempt::{Arrival, Attempt};
use super::classify::{Classified, Stopped};
use crate::answers::Form;
use crate::delivery::Reply;
use crate::state::Gateway;
use crate::upstream::{Reason, Unready};

/// Refuses attempts that were bound, through the ledger.
#[derive(Clone, Copy)]
pub(super) struct Refusing<'g> {
    pub(super) gateway: &'g Gateway,
    pub(super) epochs: Epochs,
}

impl Refusing<'_> {
    /// By what the attempt is, given its record.
    pub(super) async fn by_classification(
        &self,
        attempt: &Attempt,
        classified: &Classified,
    ) -> Result<Reply, DecideAgain> {
        self.record(attempt, attempt.draft(), classified.get(), None)
            .await
    }

    /// By a code, unless the attempt is by now refused for what it is.
    pub(super) async fn by(
        &self,
        attempt: &Attempt,
        classified: &Classified,
        problem: Problem,
    ) -> Result<Reply, DecideAgain> {
        self.with(attempt, classified, attempt.draft(), problem)
            .await
    }

    /// The same, with a draft that says more.
    pub(super) async fn with(
        &self,
        attempt: &Attempt,
        classified: &Classified,
        draft: Draft,
        problem: Problem,
    ) -> Result<Reply, DecideAgain> {
        self.record(attempt, draft, classified.get(), Some(problem))
            .await
    }

    /// For want of a classification.
    pub(super) async fn stopped(
        &self,
        attempt: &Attempt,
        stopped: Stopped,
    ) -> Result<Reply, DecideAgain> {
        match stopped {
            Stopped::Ledger(error) => Ok(self.unrecorded(attempt, &error)),
            Stopped::Fault(said) => {
                let problem = fault(self.gateway, &attempt.arrival, &said).await;
                Ok(problem.reply(Some(&attempt.id)))
            }
            Stopped::NotAdmitted(refusal) => {
                let problem = Problem::not_admitted(refusal);
                let refused = unread_because(self.gateway, &attempt.arrival, problem).await;
                Ok(refused.reply(Some(&attempt.id)))
            }
            Stopped::Incomparable => {
                // Without a binding there is nothing that could be called different.
                let mut draft = attempt.draft();
                draft.binding = None;
                draft.continuation = None;
                let problem = Problem::new(ErrorCode::Incomparable);
                self.record(attempt, draft, None, Some(problem)).await
            }
            Stopped::NotAdmissible { profile, component } => {
                let mut draft = attempt.draft();
                draft.profile = Some(profile.to_string());
                draft.component = Some(component);
                draft.binding = None;
                draft.continuation = None;
                draft.classification = Some(Word::NotAdmissible);
                let mut problem = Problem::new(ErrorCode::Collision);
                problem.not_admissible = true;
                self.record(attempt, draft, None, Some(problem)).await
            }
        }
    }

    /// After it had to be decided again too often: by what it is by then, or as too
    /// much at once.
    pub(super) async fn undecided(&self, attempt: &Attempt) -> Reply {
        let problem = super::overloaded();
        self.record(attempt, attempt.draft(), None, Some(problem))
            .await
            // A refusal with a code is never sent back to be decided.
            .unwrap_or_else(|DecideAgain| self.unrecorded(attempt, &LedgerError::Unclassified))
    }

    async fn record(
        &self,
        attempt: &Attempt,
        draft: Draft,
        earlier: Option<Classification>,
        problem: Option<Problem>,
    ) -> Result<Reply, DecideAgain> {
        let code = problem
            .as_ref()
            .and_then(|problem| entry_code(problem.code()));
        let Ok(presented) = Presented::new(draft, earlier, self.epochs) else {
            return Ok(self.unrecorded(attempt, &LedgerError::Unclassified));
        };
        match self.gateway.ledger.refuse(presented, code).await {
            Ok(Verdict::Refused(refused)) => {
                let gateway = self.gateway;
                Ok(refused_reply(gateway, attempt, &refused, problem))
            }
            // A refusal never reserves: dropping what it was given settles it.
            Ok(Verdict::DecideAgain(_) | Verdict::Reserved(_)) => Err(DecideAgain),
            Err(error) => Ok(self.unrecorded(attempt, &error)),
        }
    }

    fn unrecorded(&self, attempt: &Attempt, error: &LedgerError) -> Reply {
        unrecorded(self.gateway, attempt, error)
    }
}

/// Tells the caller of a ledger that could not be asked, and counts it.
pub(super) fn unrecorded(gateway: &Gateway, attempt: &Attempt, error: &LedgerError) -> Reply {
    let mut problem = ledger_problem(error);
    tracing::error!(call_id = %attempt.arrival.call_id, "the ledger refused: {error}");
    gateway.telemetry.metrics.refusal(problem.code().as_str());
    attempt.trace.failed(problem.code().as_str());
    gateway.suppress(&attempt.arrival.agent, problem.code(), attempt.arrival.at);
    problem.attempt = Some(attempt.arrival.call_id.to_string());
    reply(&problem, Some(&attempt.id), attempt.revision)
}

/// What a caller is told of a refusal that is in the log. `problem` says more
/// where the refusal is not the classification's own.
pub(super) fn refused_reply(
    gateway: &Gateway,
    attempt: &Attempt,
    refused: &Refused,
    problem: Option<Problem>,
) -> Reply {
    observe(gateway, attempt, refused);
    if let Some(asked) = asked_before(gateway, attempt, refused) {
        // The round that is awaited is asked again; nothing was sent.
        return Reply::ok(envelope::result(&attempt.id, &asked));
    }
    let code = ErrorCode::parse(refused.code.as_str()).unwrap_or(ErrorCode::Internal);
    let mut problem = problem
        .filter(|problem| problem.code() == code)
        .unwrap_or_else(|| Problem::new(code));
    problem.attempt = Some(attempt.arrival.call_id.to_string());
    problem.safe_with_new_id = refused.safe_with_new_id;
    problem.answer_until = refused
        .answer_until_us
        .map(|until| Time::from_micros(until).to_string());
    problem.receipt = refused.receipt.as_ref().map(Receipt::to_json);
    if let Some(Classification::Collision(difference)) = refused.classification {
        problem.difference = Some(difference);
    }
    match &refused.known {
        Some(known) => describe(&mut problem, known),
        None => problem.log_position = Some(position(&refused.entry)),
    }
    reply(&problem, Some(&attempt.id), attempt.revision)
}

/// The answer that asked for the round that is awaited, where it was kept for this
/// attempt and opens.
fn asked_before(gateway: &Gateway, attempt: &Attempt, refused: &Refused) -> Option<Vec<u8>> {
    let (retained, known) = (refused.retained.as_ref()?, refused.known.as_ref()?);
    let agent = &attempt.arrival.agent;
    let opened = gateway.answers.unseal(agent, &known.call_id, retained);
    match opened {
        Some((Form::Asked, bytes)) => Some(bytes),
        _ => None,
    }
}

/// Tells those who watch.
fn observe(gateway: &Gateway, attempt: &Attempt, refused: &Refused) {
    let metrics = &gateway.telemetry.metrics;
    let code = ErrorCode::parse(refused.code.as_str()).unwrap_or(ErrorCode::Internal);
    metrics.refusal(code.as_str());
    attempt.trace.failed(code.as_str());
    let entry = &refused.entry;
    attempt.trace.at(entry.log_id.as_str(), entry.sequence);
    if let Some(classification) = refused.classification {
        metrics.classification(classification);
    }
}

fn describe(problem: &mut Problem, known: &Known) {
    problem.call_id = Some(known.call_id.to_string());
    problem.state = Some(known.state.as_str());
    problem.outcome = known.outcome().map(outcome_str);
    problem.log_position = Some(position(&known.last));
}

/// Says of an execution what a refusal says of one that was met.
pub(crate) fn describe_execution(problem: &mut Problem, execution: &Execution) {
    let known = Known {
        state: execution.record.state,
        call_id: execution.call_id.clone(),
        last: execution.last.clone(),
    };
    describe(problem, &known);
    // An answer may have come after an operator stated that nothing was attempted.
    let answered = execution.record.boundary == EffectBoundary::ResponseReceived;
    problem.safe_with_new_id = known.outcome() == Some(Outcome::NotAttempted) && !answered;
}

/// A place in the log, as callers see it.
pub(super) fn position(position: &Position) -> LogPosition {
    LogPosition {
        log_id: position.log_id.to_string(),
        sequence: position.sequence,
    }
}

/// One problem as an answer.
pub(super) fn reply(problem: &Problem, id: Option<&Id>, revision: Revision) -> Reply {
    Reply {
        status: problem.code().status(revision),
        body: problem.response(id).into(),
        retry_after_ms: problem.retry_after_ms,
    }
}

/// A refusal of what was not bound, that is in the log or counted.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) problem: Problem,
    revision: Revision,
}

impl Unread {
    /// The answer, as the code's own rule has its status.
    pub(crate) fn reply(&self, id: Option<&Id>) -> Reply {
        reply(&self.problem, id, self.revision)
    }
}

/// Records the refusal of an attempt that has no binding.
pub(crate) async fn unread(gateway: &Gateway, arrival: &Arrival, code: ErrorCode) -> Unread {
    unread_because(gateway, arrival, Problem::new(code)).await
}

/// The same, with a problem that says more.
pub(crate) async fn unread_because(
    gateway: &Gateway,
    arrival: &Arrival,
    problem: Problem,
) -> Unread {
    let status = match problem.code() {
        ErrorCode::NotAdmitted(countersign_canon::Code::Correlation) => {
            ExecutionIdStatus::Malformed
        }
        _ => ExecutionIdStatus::Unread,
    };
    let mut draft = arrival.draft(Kind::Refusal);
    draft.execution_id_status = Some(status);
    draft.profile = Some(arrival.profile.id().to_string());
    draft.component = Some(arrival.profile.component_digest());
    append(gateway, arrival, draft, problem).await
}

/// Records that a profile gave no verdict: which one, be it the one in force or
/// the one that an execution was recorded under. The kind of fault is for the
/// program's log.
pub(crate) async fn fault(gateway: &Gateway, arrival: &Arrival, fault: &Fault) -> Unread {
    tracing::error!(
        call_id = %arrival.call_id,
        component = %fault.component(),
        kind = fault.kind().as_str(),
        "{fault}"
    );
    let problem = Problem::new(ErrorCode::ProfileFault);
    let mut draft = arrival.draft(Kind::ProfileFault);
    draft.profile = Some(fault.profile().to_string());
    draft.component = Some(fault.component());
    append(gateway, arrival, draft, problem).await
}

/// Appends the entry of a refusal that has no binding; the draft says by which
/// profile.
async fn append(
    gateway: &Gateway,
    arrival: &Arrival,
    mut draft: Draft,
    mut problem: Problem,
) -> Unread {
    draft.refusal = entry_code(problem.code());
    draft.world = Some(WORLD.to_owned());
    let profile = draft.profile.clone();
    problem.attempt = Some(arrival.call_id.to_string());
    let execution_id = draft.execution_id.clone();
    gateway.telemetry.metrics.refusal(problem.code().as_str());
    match gateway.ledger.append(draft, InForce::Unchanged).await {
        // One that tells of an execution has its position already.
        Ok((entry, _)) => {
            problem.log_position.get_or_insert_with(|| position(&entry));
            let receipt = Receipt {
                call_id: arrival.call_id.clone(),
                execution_id,
                // What was not admitted is bound to nothing.
                binding: None,
                profile,
                log_id: entry.log_id,
                sequence: entry.sequence,
                entry_hash: entry.hash,
                salt: None,
            };
            problem.receipt = Some(receipt.to_json());
        }
        Err(error) => {
            tracing::error!(call_id = %arrival.call_id, "the ledger refused: {error}");
            gateway.suppress(&arrival.agent, problem.code(), arrival.at);
        }
    }
    Unread {
        problem,
        revision: arrival.revision.unwrap_or(Revision::R2025_03_26),
    }
}

/// What a caller is told of a server that cannot be spoken to; nothing was
/// reserved for it.
pub(crate) fn unavailable(unready: Unready) -> Problem {
    if unready.reason == Reason::Crowded {
        return super::overloaded();
    }
    let mut problem = Problem::new(ErrorCode::UpstreamUnavailable);
    problem.retry_after_ms = unready
        .again_in
        .map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).max(1));
    problem
}

/// What a caller is told where the ledger gave no verdict.
pub(crate) fn ledger_problem(error: &LedgerError) -> Problem {
    let mut problem = Problem::new(match error {
        LedgerError::Unavailable => ErrorCode::LedgerUnavailable,
        LedgerError::Overloaded { .. } => ErrorCode::Overloaded,
        LedgerError::RolledBack => ErrorCode::LedgerRolledBack,
        LedgerError::Settlement | LedgerError::Fenced => ErrorCode::SettlementFailed,
        LedgerError::EntryTooLong => ErrorCode::EntryTooLong,
        LedgerError::Illegal(Illegal::Rounds) => ErrorCode::RoundLimit,
        LedgerError::Illegal(_)
        | LedgerError::NotRolledBack
        | LedgerError::OtherKey
        | LedgerError::NotFound
        | LedgerError::Unclassified => ErrorCode::Internal,
    });
    if let LedgerError::Overloaded { retry_after_ms } = error {
        problem.retry_after_ms = u32::try_from(*retry_after_ms).ok();
    }
    problem
}

/// A code as entries take it.
fn entry_code(code: ErrorCode) -> Option<RefusalCode> {
    RefusalCode::new(code.as_str()).ok()
}
