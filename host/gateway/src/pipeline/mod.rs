//! The way of a call, from admitted bytes to a delivered answer.
//!
//! ```text
//! admit ─► interpret ─► classify ─► catalog ─► decide ─► reserve ─► invoke ─► settle ─► deliver
//! ```
//!
//! Each arrow is one function with one owner, and each hands on a value that
//! only it can make: nothing is decided without an interpretation, reserved
//! without a permit, invoked without the ledger's token, or delivered without a
//! settlement. The way turns back only to decide again, before anything is
//! durable (`docs/spec/executions.md` §3 and §4).

pub(crate) mod admit;
mod attempt;
mod catalog;
mod classify;
mod decide;
mod deliver;
mod interpret;
mod invoke;
mod refuse;
mod reserve;
mod rooms;
mod settle;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_mcp::{ErrorCode, Problem};

pub(crate) use attempt::{Arrival, Attempt};
pub(crate) use classify::{Other, read_otherwise};
pub(crate) use interpret::{Bound, interpret};
pub(crate) use refuse::{
    describe_execution, fault, ledger_problem, unavailable, unread, unread_because,
};
pub(crate) use rooms::Rooms;

use crate::delivery::{Outbox, Reply};
use crate::session::Claim;
use crate::state::Gateway;
use crate::telemetry::{Stage, Trace};
use refuse::Refusing;
use reserve::Outcome;

/// Decisions that may have to be made again before one holds: each time the
/// execution, the policies or a catalog have changed in between.
const MOST_DECISIONS: usize = 8;

/// Carries out a call to its end; the last answer goes to `outbox`. Its session
/// may use its id again from then on.
pub(crate) async fn run(gateway: &Gateway, attempt: Attempt, outbox: Outbox, claim: Option<Claim>) {
    let trace = Arc::clone(&attempt.trace);
    let reply = way(gateway, attempt, &outbox).await;
    gateway.telemetry.ended(&trace, &gateway.environment);
    outbox.finish(reply, claim);
}

async fn way(gateway: &Gateway, mut attempt: Attempt, outbox: &Outbox) -> Reply {
    for _ in 0..MOST_DECISIONS {
        if let Ok(reply) = once(gateway, &mut attempt, outbox).await {
            return reply;
        }
    }
    // What changes faster than it can be decided on is not admitted.
    let refusing = Refusing {
        gateway,
        epochs: gateway.decisions.current().epochs,
    };
    refusing.undecided(&attempt).await
}

/// What was decided does not hold any more; nothing was written.
pub(crate) struct DecideAgain;

async fn once(
    gateway: &Gateway,
    attempt: &mut Attempt,
    outbox: &Outbox,
) -> Result<Reply, DecideAgain> {
    // Read before anything that rests on it, so that a change is noticed.
    let basis = gateway.decisions.current();
    let refusing = Refusing {
        gateway,
        epochs: basis.epochs,
    };

    let clock = Clock {
        gateway,
        trace: Arc::clone(&attempt.trace),
    };

    let stage = clock.stage(Stage::Classify);
    let classified = match classify::classify(gateway, attempt).await {
        Ok(classified) => classified,
        Err(stopped) => return refusing.stopped(attempt, stopped).await,
    };
    drop(stage);
    if classified.is_refused() {
        return refusing.by_classification(attempt, &classified).await;
    }
    if let Err(problem) = attempt.has_a_token_or_none() {
        return refusing.by(attempt, &classified, *problem).await;
    }
    let stage = clock.stage(Stage::Catalog);
    let offered = match catalog::offered(gateway, &basis, attempt).await {
        Ok(offered) => offered,
        Err(not) => {
            let mut draft = attempt.draft();
            draft.catalog = not.digests;
            return refusing
                .with(attempt, &classified, draft, not.problem)
                .await;
        }
    };
    drop(stage);
    let stage = clock.stage(Stage::Decide);
    let permit = decide::decide(&basis, attempt, classified, &offered);
    drop(stage);
    gateway.telemetry.metrics.decision(permit.is_ok());
    let permit = match permit {
        Ok(permit) => permit,
        Err(denial) => {
            let (classified, draft, code) = *denial;
            return refusing
                .with(attempt, &classified, draft, Problem::new(code))
                .await;
        }
    };
    let arrival = &attempt.arrival;
    let place = offered.place().or_else(|| {
        let execution = attempt.execution_id.as_ref();
        let Arrival { agent, server, .. } = arrival;
        gateway.limits.place(agent, &server.name, execution)
    });
    // What goes to the server is held until it has answered, so it is bounded too;
    // a repeat was told what it repeats before.
    let mut room = gateway.actions.room(&arrival.agent);
    let place = place.filter(|_| room.take(attempt.bound.action.len()));
    let Some(place) = place else {
        let problem = overloaded();
        return refusing.by(attempt, permit.classified(), problem).await;
    };
    if arrival.server.catalog.digest() != offered.digests().discovered {
        // A change that is only counted moves no epoch.
        return Err(DecideAgain);
    }
    let stage = clock.stage(Stage::Reserve);
    let reserved = match reserve::reserve(gateway, attempt, permit).await? {
        Outcome::Reserved(reserved) => reserved,
        Outcome::Refused(reply) => return Ok(reply),
    };
    drop(stage);
    // No other profile will read them any more, and while the server is at work
    // they take nothing of what its agent may hold.
    attempt.message = Bytes::new();
    let stage = clock.stage(Stage::Invoke);
    let invoked = invoke::invoke(attempt, &offered, reserved, outbox).await;
    drop(stage);
    let stage = clock.stage(Stage::Settle);
    let settled = settle::settle(gateway, attempt, invoked).await;
    drop(stage);
    drop((place, room));
    Ok(deliver::deliver(attempt, settled))
}

/// Takes the time of each stage.
struct Clock<'g> {
    gateway: &'g Gateway,
    trace: Arc<Trace>,
}

/// A stage that runs; it has passed when this is dropped.
struct Running<'c> {
    clock: &'c Clock<'c>,
    stage: Stage,
    begun: Duration,
}

impl Clock<'_> {
    fn stage(&self, stage: Stage) -> Running<'_> {
        Running {
            clock: self,
            stage,
            begun: self.gateway.environment.monotonic(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Clock { gateway, trace } = self.clock;
        let environment = &gateway.environment;
        gateway
            .telemetry
            .passed(trace, self.stage, self.begun, environment);
    }
}

/// Too much at once.
pub(crate) fn overloaded() -> Problem {
    let mut problem = Problem::new(ErrorCode::Overloaded);
    problem.retry_after_ms = Some(250);
    problem
}
