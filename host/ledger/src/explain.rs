//! Says to an operator what is known of an execution, what is not, and what to
//! look at before deciding.
//!
//! The texts promise nothing that the record does not hold: whether an effect
//! happened is the upstream's to say. The command line prints them.

use countersign_canon::Outcome;
use countersign_evidence::{EffectBoundary, Entry, Kind, Time};

use crate::execution::Execution;
use crate::record::{State, outcome_str};

/// An explanation, in short lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What the record holds.
    pub known: Vec<String>,
    /// What nobody can tell from it.
    pub unknown: Vec<String>,
    /// What to do, in order.
    pub next: Vec<String>,
    /// The commands that then come into question; what stands in capitals is
    /// the operator's to fill in.
    pub commands: Vec<String>,
}

/// Explains an execution as it stands. `chain` are the entries on it, as far as
/// they are at hand: what came late, and what operators said before, stands
/// only there.
#[must_use]
pub fn explain(execution: &Execution, chain: &[Entry]) -> Explanation {
    let mut explanation = Explanation {
        known: facts(execution),
        unknown: vec![],
        next: vec![],
        commands: vec![],
    };
    history(chain, &mut explanation);
    match execution.record.state {
        State::InFlight => in_flight(execution, &mut explanation),
        State::AwaitingInput => awaiting(execution, &mut explanation),
        State::TaskOpen => task_open(execution, &mut explanation),
        State::Blocked => blocked(execution, late_answer(chain), &mut explanation),
        State::Settled(outcome) => settled(execution, outcome, &mut explanation),
    }
    explanation
}

fn facts(execution: &Execution) -> Vec<String> {
    let (agent, target) = (&execution.agent, &execution.admitted.target);
    let name = match &execution.execution_id {
        Some(id) => format!("execution `{id}`"),
        None => "a call without execution id".to_owned(),
    };
    let record = &execution.record;
    vec![
        format!("{name} of agent `{}` (by {})", agent.subject, agent.method),
        format!("it calls `{}` of server `{}`", target.tool, target.server),
        format!(
            "it was reserved at {} by call `{}`, and last changed at {}",
            Time::from_micros(execution.reserved_us),
            execution.call_id,
            Time::from_micros(execution.changed_us)
        ),
        format!(
            "it stands at `{}`, after {} rounds",
            record.state,
            record.claimed.len()
        ),
        format!("effect boundary: `{}`", record.boundary),
        format!(
            "last entry: {} of log `{}`",
            execution.last.sequence, execution.last.log_id
        ),
    ]
}

/// What entries tell that the record does not.
fn history(chain: &[Entry], to: &mut Explanation) {
    for entry in chain {
        let said = entry.said();
        let at = entry.sequence();
        let outcome = said.outcome.map_or("none", outcome_str);
        match (&said.kind, &said.resolution) {
            (Kind::Blocked, _) => to
                .known
                .push(format!("it lost its owner at {} (entry {at})", said.time)),
            (Kind::LateAnswer, _) => to.known.push(format!(
                "an answer came at {}, after its owner had been given up: `{outcome}` (entry \
                 {at}); its digest stands there",
                said.time
            )),
            (Kind::Resolution, Some(resolution)) => to.known.push(format!(
                "operator `{}` stated `{outcome}` at {} (entry {at})",
                resolution.operator, said.time
            )),
            _ => {}
        }
    }
}

/// What the newest late answer says, if one came.
#[must_use]
pub fn late_answer(chain: &[Entry]) -> Option<Outcome> {
    let late = |entry: &&Entry| entry.said().kind == Kind::LateAnswer;
    chain.iter().rfind(late)?.said().outcome
}

/// How commands name it.
fn named(execution: &Execution) -> String {
    format!("--call {}", execution.call_id)
}

fn resolve(execution: &Execution, outcome: &str) -> String {
    format!(
        "countersign executions resolve {} --outcome {outcome} --reason TEXT --evidence FILE",
        named(execution)
    )
}

fn upstream_check(execution: &Execution) -> String {
    let target = &execution.admitted.target;
    format!(
        "ask `{}` whether it carried out `{}` for call `{}` (where calls are sent on, it knows \
         that name)",
        target.server, target.tool, execution.call_id
    )
}

fn in_flight(execution: &Execution, to: &mut Explanation) {
    to.known.push(format!(
        "incarnation {} owns it",
        execution.record.owner.get()
    ));
    to.unknown.push("whether the upstream has acted yet".into());
    to.next
        .push("wait: its owner settles it, or the next start blocks it".into());
}

fn awaiting(execution: &Execution, to: &mut Explanation) {
    to.known
        .push("the upstream answered with a question; nothing is running".into());
    if execution.record.issued.is_some() {
        to.known
            .push("a continuation must carry the state that was issued".into());
    }
    to.unknown
        .push("what the upstream did before it asked".into());
    to.next
        .push("let the caller answer the question, under the same execution id".into());
    to.next
        .push("or abandon it: the outcome is then `outcome-unknown`".into());
    to.commands.push(format!(
        "countersign executions abandon {} --reason TEXT",
        named(execution)
    ));
}

fn task_open(execution: &Execution, to: &mut Explanation) {
    if let Some(task) = &execution.record.task {
        to.known
            .push(format!("the upstream runs task `{}`", task.as_str()));
    }
    to.unknown.push("how the task will end".into());
    to.next.push("ask the upstream for the task's state".into());
}

fn blocked(execution: &Execution, late: Option<Outcome>, to: &mut Explanation) {
    to.known
        .push("its owner was gone before it told an outcome".into());
    to.known
        .push("nothing will ever be sent again under this execution id".into());
    if execution.record.claimed.is_empty() {
        to.unknown
            .push("whether any byte of the request left".into());
    } else {
        to.unknown
            .push("whether any byte of the last round left".into());
        to.known.push("earlier rounds reached the upstream".into());
    }
    to.unknown.push("whether the upstream acted".into());
    to.next
        .push("until you know, tell the caller not to try again under a new id".into());
    to.next.push(upstream_check(execution));
    if let Some(late) = late {
        to.next.push(format!(
            "the late answer says `{}`: where nothing speaks against it, adopt it",
            outcome_str(late)
        ));
        to.commands.push(format!(
            "countersign executions resolve {} --late-answer --reason TEXT",
            named(execution)
        ));
    }
    // Something that came back shows that a request had left.
    let answered = execution.record.boundary == EffectBoundary::ResponseReceived;
    let unsent = execution.record.claimed.is_empty() && late.is_none() && !answered;
    let never_came = if unsent {
        "if it did not, and its own records show that no request came, to `not-attempted`; "
    } else {
        ""
    };
    to.next.push(format!(
        "if it acted, resolve to `succeeded`, or to the error that it reports; {never_came}if \
         nobody can tell, to `outcome-unknown`"
    ));
    to.next.push(
        "keep what you looked at: its digest goes into the log, and the identifier stays used up"
            .into(),
    );
    for outcome in ["succeeded", "outcome-unknown"] {
        to.commands.push(resolve(execution, outcome));
    }
    if unsent {
        to.commands.push(resolve(execution, "not-attempted"));
    }
}

fn settled(execution: &Execution, outcome: Outcome, to: &mut Explanation) {
    to.known
        .push(format!("outcome: `{}`", outcome_str(outcome)));
    if let Some(terminal) = &execution.terminal {
        to.known
            .push(format!("terminal entry: {}", terminal.sequence));
    }
    match outcome {
        Outcome::NotAttempted => {
            to.known
                .push("nothing was sent under this execution id".into());
            to.next
                .push("the work may be tried again, under a new execution id".into());
        }
        Outcome::OutcomeUnknown => {
            let answered = execution.record.boundary == EffectBoundary::ResponseReceived;
            to.unknown.push(if answered {
                "what the upstream's answer meant, or what followed it".into()
            } else {
                "whether the upstream acted".into()
            });
            to.next.push(upstream_check(execution));
            to.next.push(
                "state what you found as a resolution: it stands beside the outcome and does not \
                 replace it"
                    .into(),
            );
            to.commands.push(resolve(execution, "OUTCOME"));
        }
        Outcome::Succeeded | Outcome::ToolError | Outcome::UpstreamError => {
            to.unknown.push(
                "whether the effect is what the upstream said; its answer is not evidence of it"
                    .into(),
            );
        }
    }
}
