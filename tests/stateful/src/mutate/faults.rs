//! Faults of the store and deaths, at each durable boundary.
//!
//! After a death the act is repeated, and what its sender is told then is the
//! finding; otherwise the finding is what the act itself tells.

use super::{Row, before, call_at, own};
use crate::generate::Story;
use crate::plan::{Act, Asks, Call, Does, Fault, Office, Reply, Server, Step};

/// A durable boundary: the act that has it, and what may come of each fault.
struct Boundary {
    name: &'static str,
    story: Story,
    /// The act, in the sequence; it may have to be put there.
    act: fn(&mut Vec<Step>) -> Option<usize>,
    number: usize,
    /// After a death before it, and after it.
    before: &'static str,
    after: &'static str,
    /// Where it is not durable, and where only the acknowledgement is lost.
    lost: &'static str,
    kept: &'static str,
}

const BOUNDARIES: [Boundary; 13] = [
    Boundary {
        name: "reserve",
        story: Story::Pay,
        act: |steps| own(steps).first().copied(),
        number: 0,
        before: "result",
        after: "blocked",
        lost: "ledger-unavailable",
        kept: "result",
    },
    Boundary {
        name: "settle",
        story: Story::Pay,
        act: |steps| own(steps).first().copied(),
        number: 1,
        before: "blocked",
        after: "replay",
        lost: "settlement-failed",
        kept: "result",
    },
    Boundary {
        name: "refuse",
        story: Story::Pay,
        act: |steps| own(steps).get(1).copied(),
        number: 0,
        before: "replay",
        after: "replay",
        lost: "ledger-unavailable",
        kept: "replay",
    },
    Boundary {
        name: "ask",
        story: Story::Asked,
        act: |steps| own(steps).first().copied(),
        number: 1,
        before: "blocked",
        after: "asked",
        lost: "settlement-failed",
        kept: "asked",
    },
    Boundary {
        name: "claim",
        story: Story::Round,
        act: |steps| own(steps).get(1).copied(),
        number: 0,
        before: "result",
        after: "blocked",
        lost: "ledger-unavailable",
        kept: "result",
    },
    Boundary {
        name: "task",
        story: Story::Task,
        act: |steps| own(steps).first().copied(),
        number: 1,
        before: "blocked",
        after: "in-flight",
        lost: "settlement-failed",
        kept: "task",
    },
    Boundary {
        name: "task's end",
        story: Story::Task,
        act: |steps| {
            let ends = |step: &Step| step.act == Act::Task(0, "t00".to_owned(), Asks::Result);
            steps.iter().position(ends)
        },
        number: 0,
        before: "result",
        after: "result",
        lost: "settlement-failed",
        kept: "result",
    },
    Boundary {
        name: "resolution",
        story: Story::Blocked,
        act: |steps| {
            let resolves = |step: &Step| {
                matches!(
                    step.act,
                    Act::Office(Office::Resolve {
                        agent: 0,
                        id: 0,
                        ..
                    })
                )
            };
            steps.iter().position(resolves)
        },
        number: 0,
        before: "done",
        after: "done",
        lost: "ledger-unavailable",
        kept: "done",
    },
    Boundary {
        name: "abandon",
        story: Story::Asked,
        act: |steps| {
            let at = own(steps).get(1).copied()?;
            Some(
                before(
                    steps,
                    at,
                    [Act::Office(Office::Abandon { agent: 0, id: 0 })],
                ) - 1,
            )
        },
        number: 0,
        before: "done",
        after: "execution-state",
        lost: "ledger-unavailable",
        kept: "done",
    },
    Boundary {
        name: "policy loaded",
        story: Story::Pay,
        act: |steps| {
            let at = own(steps).get(1).copied()?;
            let acts = [
                Act::Policies(1),
                Act::Office(Office::Reload),
                Act::Office(Office::Reload),
            ];
            Some(before(steps, at, acts) - 2)
        },
        number: 0,
        before: "done",
        after: "done",
        lost: "reload-refused",
        kept: "done",
    },
    Boundary {
        name: "catalog approved",
        story: Story::Pay,
        act: |steps| {
            let at = own(steps).get(1).copied()?;
            let approve = Act::Office(Office::Approve {
                server: Server::Rounds,
                without: Some("look".to_owned()),
            });
            Some(before(steps, at, [approve, Act::Office(Office::Reload)]) - 2)
        },
        number: 1,
        before: "done",
        after: "done",
        lost: "reload-refused",
        kept: "done",
    },
    Boundary {
        name: "discovery",
        story: Story::Pay,
        act: |steps| {
            let at = own(steps).get(1).copied()?;
            let acts = [Act::Tools(Server::Rounds, 2), Act::Look(Server::Rounds)];
            Some(before(steps, at, acts) - 1)
        },
        number: 0,
        before: "result",
        after: "result",
        lost: "result",
        kept: "result",
    },
    Boundary {
        name: "start",
        story: Story::Pay,
        act: |steps| {
            let at = own(steps).get(1).copied()?;
            Some(before(steps, at, [Act::Restart]) - 1)
        },
        number: 3,
        before: "done",
        after: "done",
        lost: "nothing",
        kept: "done",
    },
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for boundary in &BOUNDARIES {
        for does in [
            Does::DiesBefore,
            Does::DiesAfter,
            Does::CommitLost,
            Does::Unacknowledged,
            Does::DiskFull,
            Does::SyncFails,
        ] {
            rows.push(row(boundary, does));
        }
    }
    rows.extend(elsewhere());
    rows
}

fn row(boundary: &'static Boundary, does: Does) -> Row {
    let (said, finding) = match does {
        Does::DiesBefore => ("the gateway dies before it", boundary.before),
        Does::DiesAfter => ("the gateway dies after it", boundary.after),
        Does::CommitLost => ("the commit is lost", boundary.lost),
        Does::Unacknowledged => ("the acknowledgement is lost", boundary.kept),
        Does::DiskFull => ("the disk is full", boundary.lost),
        Does::SyncFails => ("the sync fails", boundary.lost),
    };
    let name = format!("{}: {said}", boundary.name);
    Row::new(name, boundary.story, &[finding], move |steps, _| {
        let at = (boundary.act)(steps)?;
        let again = Step::from(again(&steps[at].act));
        steps[at].fault = Some(Fault {
            boundary: boundary.number,
            does,
        });
        if !matches!(does, Does::DiesBefore | Does::DiesAfter) {
            return Some(at);
        }
        steps.insert(at + 1, again);
        Some(at + 1)
    })
}

/// The act once more, as its sender would.
fn again(act: &Act) -> Act {
    match act {
        Act::Call(call) => Act::Call(Call {
            reply: Reply::Result,
            ..call.clone()
        }),
        other => other.clone(),
    }
}

/// Deaths beside the ledger, and what copies of it bring back.
fn elsewhere() -> Vec<Row> {
    let dying = |name: &str, reply: Reply| {
        Row::new(name, Story::Pay, &["blocked"], move |steps, _| {
            let [first, again, ..] = own(steps)[..] else {
                return None;
            };
            call_at(steps, first)?.reply = reply.clone();
            Some(again)
        })
    };
    let keep = |steps: &mut Vec<Step>| {
        let [first, again, ..] = own(steps)[..] else {
            return None;
        };
        let again = before(steps, again, [Act::Restore]);
        before(steps, first, [Act::Keep]);
        Some(again + 1)
    };
    vec![
        Row::new(
            "catalog approved: a call, after it was not known what is in force",
            Story::PayRounds,
            &["result"],
            |steps, _| {
                let at = *own(steps).first()?;
                let approve = Act::Office(Office::Approve {
                    server: Server::Rounds,
                    without: Some("look".to_owned()),
                });
                let again = steps[at].clone();
                steps.splice(
                    at + 1..at + 1,
                    [Step::from(Act::Office(Office::Reload)), again],
                );
                let at = before(steps, at, [approve]);
                steps[at - 1].fault = Some(Fault {
                    boundary: 1,
                    does: Does::CommitLost,
                });
                Some(at)
            },
        ),
        dying(
            "effect: the gateway dies when the call arrives",
            Reply::DiesOnArrival,
        ),
        dying("effect: the gateway dies after it", Reply::DiesAfterEffect),
        Row::new(
            "effect: the gateway dies while the call runs",
            Story::Pay,
            &["blocked"],
            |steps, _| {
                let [first, again, ..] = own(steps)[..] else {
                    return None;
                };
                call_at(steps, first)?.meanwhile = vec![Act::Kill];
                Some(again)
            },
        ),
        Row::new(
            "backup: an old one comes back",
            Story::Pay,
            &["ledger-rolled-back"],
            move |steps, _| {
                let at = keep(steps)?;
                steps.insert(at + 1, Step::from(Act::Office(Office::Accept)));
                Some(at)
            },
        ),
        Row::new(
            "backup: an old one comes back, and its key is to change",
            Story::Pay,
            &["ledger-rolled-back"],
            move |steps, _| {
                let at = keep(steps)?;
                steps.insert(at, Step::from(Act::Rotate));
                steps.insert(at + 1, Step::from(Act::Office(Office::Accept)));
                Some(at)
            },
        ),
        Row::new(
            "backup: an old one comes back, and is accepted",
            Story::Pay,
            &["result"],
            move |steps, _| {
                let at = keep(steps)?;
                steps.insert(at, Step::from(Act::Office(Office::Accept)));
                Some(at + 1)
            },
        ),
    ]
}
