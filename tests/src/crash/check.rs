//! The invariants, checked from outside: by what clients sent and were told, by
//! what arrived at the upstream, and by the logs as exported
//! (`docs/spec/executions.md` §7).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use countersign_evidence::Kind;

use super::account::{Sent, Told};
use super::log::Line;
use super::model::{self, Event, Execution, Standing};
use super::upstream::{Arrival, Reply};

/// What a client may be told where the gateway cannot record anything.
const UNRECORDED: [&str; 5] = [
    "ledger-unavailable",
    "overloaded",
    "ledger-rolled-back",
    "shutting-down",
    "internal",
];

/// Everything that is known from outside.
#[derive(Debug)]
pub struct Seen<'s> {
    /// What was sent.
    pub sent: &'s [Sent],
    /// What arrived at the upstream.
    pub arrivals: &'s [Arrival],
    /// The entries of all logs.
    pub lines: &'s [Line],
    /// Whether executions may still be running.
    pub running: bool,
}

/// What was found broken; empty where everything holds.
pub type Broken = Vec<String>;

/// Checks everything.
#[must_use]
pub fn check(seen: &Seen<'_>) -> Broken {
    let mut broken = Broken::new();
    let index = Index::new(seen);
    at_most_one_effect(seen, &mut broken);
    nothing_without_a_reservation(&index, &mut broken);
    let mut executions = BTreeSet::new();
    for sent in seen.sent {
        if let Some(id) = &sent.execution_id
            && executions.insert((&sent.subject, id))
        {
            let of = format!("{}/{id}", sent.subject);
            follow(&index, &sent.subject, id, &of, &mut broken);
        }
    }
    for sent in seen.sent {
        told(&index, sent, &mut broken);
    }
    broken
}

struct Index<'s> {
    seen: &'s Seen<'s>,
    sent_by_workflow: HashMap<String, &'s Sent>,
    arrival_by_call: HashMap<&'s str, &'s Arrival>,
    /// The entry that each attempt left, by its workflow.
    own: HashMap<&'s str, &'s Line>,
    /// The attempts that were given a permit.
    permitted: BTreeMap<&'s str, &'s Line>,
    terminal: HashMap<&'s str, &'s Line>,
    /// The entries on each execution's chain, by subject and identifier.
    chains: HashMap<(&'s str, &'s str), Vec<&'s Line>>,
}

impl<'s> Index<'s> {
    fn new(seen: &'s Seen<'s>) -> Self {
        let sent_by_workflow = seen.sent.iter().map(|sent| (sent.workflow(), sent));
        let arrivals = seen.arrivals.iter();
        let mut index = Self {
            seen,
            sent_by_workflow: sent_by_workflow.collect(),
            arrival_by_call: arrivals
                .map(|arrival| (&*arrival.call_id, arrival))
                .collect(),
            own: HashMap::new(),
            permitted: BTreeMap::new(),
            terminal: HashMap::new(),
            chains: HashMap::new(),
        };
        for line in seen.lines {
            if let (Some(subject), Some(id), Some(_)) =
                (&line.subject, &line.execution_id, line.place)
            {
                index.chains.entry((subject, id)).or_default().push(line);
            }
            let claims = line.claims == Some(true);
            let permits = line.kind == Kind::Admission || claims;
            if let Some(call_id) = &line.call_id {
                if permits {
                    index.permitted.insert(call_id, line);
                }
                if line.kind == Kind::Terminal {
                    index.terminal.insert(call_id, line);
                }
            }
            if let Some(workflow) = &line.workflow
                && (permits || line.kind == Kind::Refusal)
            {
                index.own.entry(workflow).or_insert(line);
            }
        }
        index
    }
}

/// Each round of each execution reaches the upstream at most once, and each
/// attempt without identifier too.
fn at_most_one_effect(seen: &Seen<'_>, broken: &mut Broken) {
    let mut met = BTreeSet::new();
    for arrival in seen.arrivals {
        if !met.insert((&arrival.key, &arrival.state)) {
            broken.push(format!("invoked twice: {arrival:?}"));
        }
    }
}

/// What arrived had a permit in the log. (That the permit was durable before,
/// is what the kills at the upstream's moments show.)
fn nothing_without_a_reservation(index: &Index<'_>, broken: &mut Broken) {
    for arrival in index.seen.arrivals {
        if !index.permitted.contains_key(&*arrival.call_id) {
            broken.push(format!("sent without a reservation: {arrival:?}"));
        }
    }
}

/// Follows one execution's chain with the reference model.
fn follow(index: &Index<'_>, subject: &str, id: &str, of: &str, broken: &mut Broken) {
    let mut chain = index
        .chains
        .get(&(subject, id))
        .cloned()
        .unwrap_or_default();
    chain.sort_by_key(|line| line.place);
    let mut known: Option<Execution> = None;
    let mut before: Option<&Line> = None;
    for (place, line) in (0..).zip(chain) {
        if line.place != Some(place) || line.before != before.map(|line| line.hash.clone()) {
            broken.push(format!(
                "{of}: the chain is broken at place {place}: {line:?}"
            ));
            return;
        }
        before = Some(line);
        match one(index, line, known.clone()) {
            Ok(after) => known = after,
            Err(why) => {
                broken.push(format!("{of}: {why}"));
                return;
            }
        }
    }
    if !index.seen.running && known.is_some_and(|known| known.standing == Standing::Running) {
        broken.push(format!(
            "{of}: still running when everything had come to rest"
        ));
    }
}

fn one(
    index: &Index<'_>,
    line: &Line,
    known: Option<Execution>,
) -> Result<Option<Execution>, String> {
    let sender = || {
        let workflow = line.workflow.as_deref().unwrap_or_default();
        let sent = index.sent_by_workflow.get(workflow);
        sent.copied()
            .ok_or_else(|| format!("an attempt that nobody sent: {line:?}"))
    };
    let call_id = line.call_id.as_deref().unwrap_or_default();
    let event = match (&line.kind, line.claims) {
        (Kind::Admission, _) => Event::Reserved {
            by: call_id,
            action: sender()?.action,
        },
        (Kind::Round, Some(true)) => {
            let sent = sender()?;
            let is = model::classify(known.as_ref(), sent.action, sent.round.as_ref());
            if is != "continuation" {
                return Err(format!("a round was claimed by what is `{is}`: {line:?}"));
            }
            let round = sent.round.clone().ok_or("a claim without a round")?;
            Event::Claimed { by: call_id, round }
        }
        (Kind::Round, _) => {
            let owner = known
                .as_ref()
                .map(|known| &*known.owner)
                .unwrap_or_default();
            let arrival = index.arrival_by_call.get(owner);
            match arrival.and_then(|arrival| arrival.answered.as_ref()) {
                Some(Reply::Ask(state)) => Event::Asked(Some(state.clone())),
                other => return Err(format!("asked by `{other:?}`: {line:?}")),
            }
        }
        (Kind::Terminal, _) => {
            ended(index, line, known.as_ref())?;
            Event::Settled
        }
        (Kind::Blocked, _) => Event::Blocked,
        (Kind::Resolution, _) => Event::Resolved,
        (Kind::LateAnswer, _) => return Ok(known),
        (Kind::Refusal, _) => {
            refused(sender()?, line, known.as_ref())?;
            return Ok(known);
        }
        (kind, _) => return Err(format!("`{kind:?}` on the chain of an execution")),
    };
    model::step(known, event)
        .map(Some)
        .map_err(|why| format!("{why}: {line:?}"))
}

/// An outcome is what the upstream really did.
fn ended(index: &Index<'_>, line: &Line, known: Option<&Execution>) -> Result<(), String> {
    let owner = known.map(|known| &*known.owner).unwrap_or_default();
    let arrival = index.arrival_by_call.get(owner);
    let answered = arrival.and_then(|arrival| arrival.answered.as_ref());
    let fits = match line.outcome {
        Some("succeeded") => answered == Some(&Reply::Result),
        Some("tool-error") => answered == Some(&Reply::ToolError),
        Some("upstream-error") => answered == Some(&Reply::Error),
        Some("not-attempted") => arrival.is_none(),
        Some("outcome-unknown") => true,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "{:?}, and the upstream saw {arrival:?}",
            line.outcome
        ))
    }
}

/// A refusal is for what the attempt is.
fn refused(sent: &Sent, line: &Line, known: Option<&Execution>) -> Result<(), String> {
    let is = model::classify(known, sent.action, sent.round.as_ref());
    let code = line.refusal.as_deref().unwrap_or_default();
    let stormy = sent.stormy && code == "overloaded";
    if code == is || stormy || (code == "upstream-unavailable" && is == "fresh") {
        Ok(())
    } else {
        Err(format!("refused as `{code}` where it is `{is}`: {line:?}"))
    }
}

/// What a client was told is what the log says.
fn told(index: &Index<'_>, sent: &Sent, broken: &mut Broken) {
    let workflow = sent.workflow();
    let own = index.own.get(workflow.as_str()).copied();
    let kind = own.map(|line| &line.kind);
    let permitted = own.filter(|line| line.kind != Kind::Refusal);
    let call_id = permitted.and_then(|line| line.call_id.as_deref());
    let terminal = call_id.and_then(|call_id| index.terminal.get(call_id));
    let outcome = terminal.and_then(|line| line.outcome);
    let settled = |wanted: &str| outcome == Some(wanted);
    let refused = |code: &str| {
        kind == Some(&Kind::Refusal) && own.and_then(|line| line.refusal.as_deref()) == Some(code)
    };
    let fits = match &sent.told {
        Told::Nothing => sent.stormy,
        Told::Result => settled("succeeded"),
        Told::ToolError => settled("tool-error"),
        Told::Error => settled("upstream-error"),
        // Asked for the first time, or once more.
        Told::Asked => permitted.is_some() || refused("round-replay"),
        Told::Code(code) => match &**code {
            "settlement-failed" => permitted.is_some() && sent.stormy,
            "outcome-unknown" => settled("outcome-unknown"),
            "upstream-unavailable" => settled("not-attempted") || refused(code),
            code if UNRECORDED.contains(&code) => sent.stormy,
            code => refused(code),
        },
    };
    if !fits {
        broken.push(format!(
            "told {:?}, and the log has {own:?}, {outcome:?}: {sent:?}",
            sent.told
        ));
    }
    // What was sent by itself, or by whoever was through before it began; that a
    // repeat runs later is what it was told.
    let sender = |call_id: &str| {
        let workflow = index.permitted.get(call_id)?.workflow.as_deref()?;
        index.sent_by_workflow.get(workflow).map(|by| by.number)
    };
    let earlier = |number| number == sent.number || number < sent.after;
    if sent.safe
        && index
            .seen
            .arrivals
            .iter()
            .any(|arrival| arrival.key == sent.key && sender(&arrival.call_id).is_some_and(earlier))
    {
        broken.push(format!("told that nothing was sent, and it was: {sent:?}"));
    }
    if let Told::Code(code) = &sent.told
        && !documented(code)
    {
        broken.push(format!("a code without a page: `{code}`: {sent:?}"));
    }
}

fn documented(code: &str) -> bool {
    let page = format!("docs/errors/{code}.md");
    crate::binaries::root().join(page).exists()
}
