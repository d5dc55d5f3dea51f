//! Mutations of what agents, operators and servers do.

use super::{Row, before, call_at, own};
use crate::generate::Story;
use crate::plan::{Act, Asks, Call, Office, Round, Server, Step};

/// Where acts change places, whatever the specification says of them.
const ANY: &[&str] = &[
    "answer-not-retained",
    "asked",
    "blocked",
    "continuation-mismatch",
    "done",
    "error",
    "execution-state",
    "execution-unknown",
    "in-flight",
    "method-not-supported",
    "nothing",
    "outcome-unknown",
    "replay",
    "result",
    "task",
    "task-unknown",
    "tool-error",
];

const JCS: &str = "jcs-integer@1.0.0";
const EXACT: &str = "exact@1.0.0";

/// Changes the call of the first story that has this number.
fn call(
    name: &str,
    story: Story,
    findings: &[&'static str],
    which: usize,
    change: fn(&mut Call),
) -> Row {
    Row::new(name, story, findings, move |steps, _| {
        let at = *own(steps).get(which)?;
        change(call_at(steps, at)?);
        Some(at)
    })
}

/// Puts acts before a call of the first story.
fn precede(
    name: &str,
    story: Story,
    findings: &[&'static str],
    which: usize,
    acts: fn() -> Vec<Act>,
) -> Row {
    Row::new(name, story, findings, move |steps, _| {
        let at = *own(steps).get(which)?;
        Some(before(steps, at, acts()))
    })
}

/// Acts that go before, and a change.
type Both = (fn() -> Vec<Act>, fn(&mut Call));

/// Puts acts before a call of the first story, and changes it.
fn precede_and(
    name: &str,
    story: Story,
    findings: &[&'static str],
    which: usize,
    (acts, change): Both,
) -> Row {
    Row::new(name, story, findings, move |steps, _| {
        let at = *own(steps).get(which)?;
        change(call_at(steps, at)?);
        Some(before(steps, at, acts()))
    })
}

/// Puts one act behind a call of the first story; it is what counts.
fn follow(
    name: &str,
    story: Story,
    findings: &[&'static str],
    which: usize,
    act: fn() -> Act,
) -> Row {
    Row::new(name, story, findings, move |steps, _| {
        let at = *own(steps).get(which)? + 1;
        steps.insert(at, Step::from(act()));
        Some(at)
    })
}

fn deny() -> Vec<Act> {
    vec![Act::Policies(2), Act::Office(Office::Reload)]
}

fn change(server: Server) -> Act {
    Act::Tools(server, 2)
}

fn approve(without: Option<&str>) -> Act {
    Act::Office(Office::Approve {
        server: Server::Rounds,
        without: without.map(str::to_owned),
    })
}

fn resolve(outcome: &str, reason: bool) -> Act {
    Act::Office(Office::Resolve {
        agent: 0,
        id: 0,
        outcome: outcome.to_owned(),
        reason,
    })
}

fn round(state: Option<&str>, answer: u8) -> Round {
    Round {
        state: state.map(str::to_owned),
        answer,
    }
}

pub(super) fn rows() -> Vec<Row> {
    [
        order(),
        agents(),
        actions(),
        policies(),
        tools(),
        profiles(),
        callbacks(),
        operators(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn order() -> Vec<Row> {
    use Story::{Blocked, Pay, Round as Rounds, Running, Task};
    let last = |steps: &mut Vec<Step>, _: &mut _| Some(steps.len() - 1);
    vec![
        Row::new("order: as it was", Pay, ANY, last),
        Row::new(
            "order: as it was, with a call that runs",
            Running,
            ANY,
            last,
        ),
        Row::new(
            "order: two acts change places",
            Task,
            ANY,
            |steps, random| {
                let at = random.below(steps.len() - 1);
                steps.swap(at, at + 1);
                Some(at)
            },
        ),
        Row::new("order: an act comes twice", Rounds, ANY, |steps, random| {
            let at = random.below(steps.len());
            steps.insert(at, steps[at].clone());
            Some(at + 1)
        }),
        Row::new(
            "order: an act is left out",
            Blocked,
            ANY,
            |steps, random| {
                let at = random.below(steps.len() - 1);
                steps.remove(at);
                Some(at)
            },
        ),
        Row::new("order: an act comes last", Task, ANY, |steps, random| {
            let at = random.below(steps.len());
            let step = steps.remove(at);
            steps.push(step);
            Some(steps.len() - 1)
        }),
        Row::new(
            "order: the answer before the question",
            Rounds,
            &["continuation-mismatch"],
            |steps, _| {
                let [asked, answered, ..] = own(steps)[..] else {
                    return None;
                };
                steps.swap(asked, answered);
                Some(asked)
            },
        ),
    ]
}

fn agents() -> Vec<Row> {
    use Story::{Pay, PayTasks, Round as Rounds};
    vec![
        call("agent: another one retries", Pay, &["result"], 1, |call| {
            call.agent = 1;
        }),
        call(
            "agent: nobody's token",
            Pay,
            &["unauthenticated"],
            1,
            |call| call.stranger = true,
        ),
        call(
            "agent: another one's session",
            PayTasks,
            &["unknown-session"],
            1,
            |call| {
                call.session = Some(1);
            },
        ),
        call(
            "agent: another one answers the question",
            Rounds,
            &["continuation-mismatch"],
            1,
            |call| {
                call.agent = 1;
            },
        ),
        follow(
            "agent: another one fetches the answer",
            Story::PayRounds,
            &["execution-unknown"],
            0,
            || Act::Fetch(1, Server::Rounds, 0),
        ),
        follow(
            "agent: its own answer, at another server",
            Story::PayRounds,
            &["execution-unknown"],
            0,
            || Act::Fetch(0, Server::Tasks, 0),
        ),
        follow(
            "agent: its own answer",
            Story::PayRounds,
            &["result"],
            0,
            || Act::Fetch(0, Server::Rounds, 0),
        ),
    ]
}

fn actions() -> Vec<Row> {
    use Story::{Asked, Pay, PayRounds, PayTasks, Round as Rounds};
    vec![
        call("action: other arguments", Pay, &["collision"], 1, |call| {
            call.number = "2".into();
        }),
        call(
            "action: a number spelled otherwise",
            Pay,
            &["collision"],
            1,
            |call| {
                call.number = "1.0".into();
            },
        ),
        call("action: another tool", Pay, &["collision"], 1, |call| {
            call.tool = "look".into();
        }),
        call(
            "action: another server",
            PayRounds,
            &["collision"],
            1,
            |call| {
                call.server = Server::Tasks;
            },
        ),
        call(
            "action: a task where there was none",
            PayTasks,
            &["collision"],
            1,
            |call| {
                call.task = true;
            },
        ),
        call(
            "action: a task where there are none",
            PayRounds,
            &["params"],
            1,
            |call| {
                call.task = true;
            },
        ),
        call(
            "action: other arguments with the answer",
            Rounds,
            &["collision"],
            1,
            |call| {
                call.number = "2".into();
            },
        ),
        call(
            "action: a tool that nobody offers",
            Pay,
            &["unknown-tool"],
            0,
            |call| {
                call.tool = "gone".into();
            },
        ),
        call(
            "action: without its identifier",
            Asked,
            &["result"],
            1,
            |call| call.id = None,
        ),
        precede_and(
            "action: arguments that do not fit",
            PayRounds,
            &["arguments-invalid"],
            0,
            (
                || {
                    vec![
                        Act::Tools(Server::Rounds, 1),
                        approve(None),
                        Act::Look(Server::Rounds),
                    ]
                },
                |call| call.number = "90".into(),
            ),
        ),
    ]
}

fn policies() -> Vec<Row> {
    use Story::{PayRounds, Round as Rounds};
    vec![
        precede(
            "policy: one that denies, before the call",
            PayRounds,
            &["policy-denied"],
            0,
            deny,
        ),
        precede(
            "policy: one that denies, before the retry",
            PayRounds,
            &["replay"],
            1,
            deny,
        ),
        precede(
            "policy: one that denies, before the answer",
            Rounds,
            &["policy-denied"],
            1,
            deny,
        ),
        call(
            "policy: one that denies, while the call runs",
            PayRounds,
            &["result"],
            0,
            |call| {
                call.meanwhile = deny();
            },
        ),
        precede(
            "policy: one that nobody reads",
            PayRounds,
            &["result"],
            0,
            || vec![Act::Policies(2)],
        ),
        precede(
            "policy: one that nobody reads, and a restart",
            PayRounds,
            &["policy-denied"],
            0,
            || vec![Act::Policies(2), Act::Restart],
        ),
        Row::new(
            "policy: one that cannot be read",
            PayRounds,
            &["reload-refused"],
            |steps, _| {
                let at = *own(steps).first()?;
                let acts = [
                    Act::Policies(9),
                    Act::Office(Office::Reload),
                    Act::Policies(0),
                ];
                Some(before(steps, at, acts) - 2)
            },
        ),
        precede(
            "policy: the old one, after one that cannot be read",
            PayRounds,
            &["result"],
            0,
            || {
                vec![
                    Act::Policies(9),
                    Act::Office(Office::Reload),
                    Act::Policies(0),
                ]
            },
        ),
        precede(
            "policy: denied, and permitted again",
            PayRounds,
            &["result"],
            0,
            || [deny(), vec![Act::Policies(0), Act::Office(Office::Reload)]].concat(),
        ),
    ]
}

fn tools() -> Vec<Row> {
    use Story::{PayRounds, Round as Rounds};
    let changed = || vec![change(Server::Rounds), Act::Look(Server::Rounds)];
    vec![
        precede(
            "schema: another one, unseen",
            PayRounds,
            &["result"],
            0,
            || vec![change(Server::Rounds)],
        ),
        precede(
            "schema: another one, seen",
            PayRounds,
            &["catalog-drift"],
            0,
            changed,
        ),
        precede(
            "schema: another one, before the retry",
            PayRounds,
            &["replay"],
            1,
            changed,
        ),
        precede(
            "schema: another one, before the answer",
            Rounds,
            &["catalog-drift"],
            1,
            changed,
        ),
        precede(
            "schema: another server's",
            PayRounds,
            &["result"],
            0,
            || vec![change(Server::Tasks), Act::Look(Server::Tasks)],
        ),
        precede_and(
            "schema: another tool's",
            PayRounds,
            &["result"],
            0,
            (changed, |call| {
                call.tool = "look".into();
            }),
        ),
        precede(
            "schema: another one, and back",
            PayRounds,
            &["result"],
            0,
            || {
                vec![
                    change(Server::Rounds),
                    Act::Look(Server::Rounds),
                    Act::Tools(Server::Rounds, 0),
                    Act::Look(Server::Rounds),
                ]
            },
        ),
        precede(
            "catalog: what changed is approved, and nobody has asked since",
            PayRounds,
            &["result"],
            0,
            || vec![change(Server::Rounds), approve(None)],
        ),
        precede(
            "catalog: what changed is approved, and seen",
            PayRounds,
            &["result"],
            0,
            || {
                vec![
                    change(Server::Rounds),
                    approve(None),
                    Act::Look(Server::Rounds),
                ]
            },
        ),
        precede(
            "catalog: the tool is not approved any more",
            PayRounds,
            &["tool-not-approved"],
            0,
            || vec![approve(Some("pay"))],
        ),
        precede(
            "catalog: another tool is not approved any more",
            PayRounds,
            &["result"],
            0,
            || vec![approve(Some("look"))],
        ),
        precede(
            "catalog: not approved any more, before the retry",
            PayRounds,
            &["replay"],
            1,
            || vec![approve(Some("pay"))],
        ),
        precede(
            "catalog: not approved any more, before the answer",
            Rounds,
            &["tool-not-approved"],
            1,
            || vec![approve(Some("pay"))],
        ),
        call(
            "catalog: not approved any more, while the call runs",
            PayRounds,
            &["result"],
            0,
            |call| {
                call.meanwhile = vec![approve(Some("pay"))];
            },
        ),
    ]
}

fn profiles() -> Vec<Row> {
    use Story::{Pay, Round as Rounds};
    let other = || vec![Act::Profile(JCS.to_owned())];
    vec![
        precede(
            "profile: another one, before the call",
            Pay,
            &["result"],
            0,
            other,
        ),
        precede(
            "profile: another one, before the retry",
            Pay,
            &["replay"],
            1,
            other,
        ),
        precede(
            "profile: another one, before the answer",
            Rounds,
            &["result"],
            1,
            other,
        ),
        precede_and(
            "profile: another one, and other arguments",
            Pay,
            &["collision"],
            1,
            (other, |call| {
                call.number = "2".into();
            }),
        ),
        precede_and(
            "profile: another one, that cannot carry it",
            Pay,
            &["number"],
            0,
            (other, |call| {
                call.number = "1.0".into();
            }),
        ),
        precede_and(
            "profile: another one, that cannot carry another action",
            Pay,
            &["collision"],
            1,
            (other, |call| {
                call.number = "1.0".into();
            }),
        ),
        Row::new(
            "profile: another one, that cannot carry what is recorded",
            Pay,
            &["replay"],
            move |steps, _| {
                let [first, again, ..] = own(steps)[..] else {
                    return None;
                };
                for step in [first, again] {
                    call_at(steps, step)?.number = "1.0".into();
                }
                Some(before(steps, again, other()))
            },
        ),
        Row::new(
            "profile: what the recorded one does not admit",
            Pay,
            &["collision"],
            move |steps, _| {
                let [first, again, ..] = own(steps)[..] else {
                    return None;
                };
                call_at(steps, again)?.number = "1.0".into();
                let again = before(steps, again, [Act::Profile(EXACT.to_owned())]);
                before(steps, first, other());
                Some(again + 1)
            },
        ),
    ]
}

fn callbacks() -> Vec<Row> {
    use Story::{Asked, Pay, PayRounds, Round as Rounds, Task};
    vec![
        follow(
            "callback: another agent's task",
            Task,
            &["task-unknown"],
            0,
            || Act::Task(1, "t00".to_owned(), Asks::Result),
        ),
        follow(
            "callback: another agent cancels the task",
            Task,
            &["task-unknown"],
            0,
            || Act::Task(1, "t00".to_owned(), Asks::Cancel),
        ),
        follow(
            "callback: a task that nobody made",
            Pay,
            &["task-unknown"],
            0,
            || Act::Task(0, "t99".to_owned(), Asks::Result),
        ),
        follow(
            "callback: the task's end, twice",
            Task,
            &["result"],
            1,
            || Act::Task(0, "t00".to_owned(), Asks::Result),
        ),
        call(
            "callback: a state that nobody issued",
            Rounds,
            &["continuation-mismatch"],
            1,
            |call| {
                call.round = Some(round(Some("s99"), 1));
            },
        ),
        call(
            "callback: no state where one was issued",
            Rounds,
            &["continuation-mismatch"],
            1,
            |call| {
                call.round = Some(round(None, 1));
            },
        ),
        call(
            "callback: an answer to nothing",
            PayRounds,
            &["replay"],
            1,
            |call| {
                call.round = Some(round(Some("s00"), 1));
            },
        ),
        call(
            "callback: an answer without an identifier",
            Asked,
            &["result"],
            1,
            |call| {
                (call.id, call.round) = (None, Some(round(Some("s00"), 1)));
            },
        ),
        call(
            "callback: another agent's state, without an identifier",
            Asked,
            &["request-state-unknown"],
            1,
            |call| {
                (call.agent, call.id, call.round) = (1, None, Some(round(Some("s00"), 1)));
            },
        ),
        call("callback: the question again", Asked, &["asked"], 1, |_| {}),
        Row::new(
            "callback: the same answer twice",
            Rounds,
            &["replay"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                steps.insert(at + 1, steps[at].clone());
                Some(at + 1)
            },
        ),
        Row::new(
            "callback: another answer to the same question",
            Rounds,
            &["replay"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                steps.insert(at + 1, steps[at].clone());
                call_at(steps, at + 1)?.round = Some(round(Some("s00"), 2));
                Some(at + 1)
            },
        ),
        Row::new(
            "callback: the same answer, while it runs",
            Rounds,
            &["result"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                let again = steps[at].act.clone();
                call_at(steps, at)?.meanwhile = vec![again];
                Some(at)
            },
        ),
        Row::new(
            "callback: an answer, after an orderly restart",
            Rounds,
            &["result"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                Some(before(steps, at, [Act::Restart]))
            },
        ),
    ]
}

fn operators() -> Vec<Row> {
    use Story::{Asked, Blocked, Pay, PayRounds, Task};
    vec![
        follow(
            "operator: resolves what is awaited",
            Asked,
            &["execution-state"],
            0,
            || resolve("succeeded", true),
        ),
        follow(
            "operator: resolves what is a task",
            Task,
            &["execution-state"],
            0,
            || resolve("succeeded", true),
        ),
        follow(
            "operator: resolves beside an outcome",
            Pay,
            &["done"],
            0,
            || resolve("tool-error", true),
        ),
        follow(
            "operator: calls not attempted what was answered",
            Pay,
            &["execution-state"],
            0,
            || resolve("not-attempted", true),
        ),
        follow(
            "operator: gives no reason",
            Blocked,
            &["operator-request"],
            0,
            || resolve("succeeded", false),
        ),
        follow(
            "operator: resolves what nobody knows",
            PayRounds,
            &["execution-unknown"],
            0,
            || {
                Act::Office(Office::Resolve {
                    agent: 1,
                    id: 0,
                    outcome: "succeeded".to_owned(),
                    reason: true,
                })
            },
        ),
        follow(
            "operator: abandons what is not awaited",
            Pay,
            &["execution-state"],
            0,
            || Act::Office(Office::Abandon { agent: 0, id: 0 }),
        ),
        follow(
            "operator: abandons what is awaited",
            Asked,
            &["done"],
            0,
            || Act::Office(Office::Abandon { agent: 0, id: 0 }),
        ),
        Row::new(
            "operator: abandoned, and called again",
            Asked,
            &["replay"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                Some(before(
                    steps,
                    at,
                    [Act::Office(Office::Abandon { agent: 0, id: 0 })],
                ))
            },
        ),
        follow(
            "operator: an agent asks in its place",
            Blocked,
            &["http-404"],
            0,
            || Act::Office(Office::Intrude(0)),
        ),
        follow(
            "operator: accepts a ledger that is whole",
            Pay,
            &["ledger-not-rolled-back"],
            0,
            || Act::Office(Office::Accept),
        ),
        call(
            "operator: resolves what runs",
            Pay,
            &["result"],
            0,
            |call| {
                call.meanwhile = vec![resolve("succeeded", true), resolve("not-attempted", true)];
            },
        ),
        Row::new(
            "operator: calls not attempted what is blocked",
            Blocked,
            &["replay"],
            |steps, _| {
                let at = *own(steps).get(1)?;
                Some(before(steps, at, [resolve("not-attempted", true)]))
            },
        ),
        precede(
            "operator: another key for the log",
            Pay,
            &["replay"],
            1,
            || vec![Act::Rotate],
        ),
    ]
}
