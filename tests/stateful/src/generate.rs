//! Valid sequences from seeds: several stories, told at the same time.
//!
//! Each story is what somebody may do, in its order; the first one is the one
//! that a mutation is about, under the identifier 0 of the first agent. The
//! others go on around it under identifiers of their own.

use countersign_tests::fuzz::Random;

use crate::plan::{Act, Asks, Call, Office, Plan, Reply, Round, Server, Status, Step};

/// What the first story is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Story {
    /// A call and its retry.
    Pay,
    /// A call at the server that asks for rounds, and its retry.
    PayRounds,
    /// A call at the server that makes tasks, and its retry.
    PayTasks,
    /// A question, its answer, and a retry.
    Round,
    /// A question, and nobody answers.
    Asked,
    /// A task, seen through to its end.
    Task,
    /// A call whose gateway dies, and what its operator makes of it.
    Blocked,
    /// A call, and others while it runs.
    Running,
}

/// The first call of a story.
fn first(story: Story, random: &mut Random) -> Call {
    let server = match story {
        Story::Task | Story::PayTasks => Server::Tasks,
        Story::Round | Story::Asked | Story::PayRounds => Server::Rounds,
        _ => *random.pick(&Server::ALL),
    };
    Call::new(0, server, Some(0))
}

fn reply(random: &mut Random) -> Reply {
    match random.below(8) {
        0..=3 => Reply::Result,
        4 => Reply::ToolError,
        5 => Reply::Error,
        6 => Reply::Garbage,
        _ => Reply::HangUp,
    }
}

/// The story as acts of that agent under that identifier.
fn acts(story: Story, agent: usize, id: u8, random: &mut Random) -> Vec<Act> {
    let call = Call {
        agent,
        id: Some(id),
        ..first(story, random)
    };
    let again = Act::Call(call.clone());
    let state = format!("s{agent}{id}");
    match story {
        Story::Pay | Story::PayRounds | Story::PayTasks => vec![
            Act::Call(Call {
                reply: if id == 0 {
                    Reply::Result
                } else {
                    reply(random)
                },
                ..call
            }),
            again,
        ],
        Story::Asked => vec![
            Act::Call(Call {
                reply: Reply::Ask(state),
                ..call
            }),
            again,
        ],
        Story::Round => vec![
            Act::Call(Call {
                reply: Reply::Ask(state.clone()),
                ..call.clone()
            }),
            Act::Call(Call {
                round: Some(Round {
                    state: Some(state),
                    answer: 1,
                }),
                ..call
            }),
            again,
        ],
        Story::Task => {
            let task = format!("t{agent}{id}");
            let call = Call { task: true, ..call };
            let ends = *random.pick(&[
                Asks::Result,
                Asks::Get(Status::Completed),
                Asks::Get(Status::Failed),
                Asks::Cancel,
            ]);
            let ends = if id == 0 { Asks::Result } else { ends };
            vec![
                Act::Call(Call {
                    reply: Reply::Task(task.clone()),
                    ..call.clone()
                }),
                Act::Task(agent, task.clone(), Asks::Get(Status::Working)),
                Act::Task(agent, task, ends),
                Act::Call(call),
            ]
        }
        Story::Blocked => {
            let reply = random.pick(&[Reply::DiesOnArrival, Reply::DiesAfterEffect]);
            let resolve = Office::Resolve {
                agent,
                id,
                outcome: "succeeded".to_owned(),
                reason: true,
            };
            vec![
                Act::Call(Call {
                    reply: reply.clone(),
                    ..call
                }),
                again.clone(),
                Act::Office(resolve),
                again,
            ]
        }
        Story::Running => vec![
            Act::Call(Call {
                meanwhile: vec![again.clone(), Act::Office(Office::List)],
                ..call
            }),
            again,
        ],
    }
}

/// Something that goes on beside, and changes nothing for others.
fn beside(number: u8, random: &mut Random) -> Vec<Act> {
    let agent = random.below(2);
    let server = *random.pick(&Server::ALL);
    let mut told = match random.below(13) {
        0..=2 => acts(Story::Pay, agent, number, random),
        3 | 4 => acts(Story::Round, agent, number, random),
        5 | 6 => acts(Story::Task, agent, number, random),
        7 if random.once_in(2) => acts(Story::Blocked, agent, number, random),
        7 | 8 => acts(Story::Running, agent, number, random),
        9 => vec![
            acts(Story::Asked, agent, number, random).remove(0),
            Act::Office(Office::Abandon { agent, id: number }),
        ],
        10 => vec![Act::Call(Call {
            reply: reply(random),
            ..Call::new(agent, server, None)
        })],
        11 => {
            let method = *random.pick(&["resources/list", "prompts/list"]);
            vec![Act::Pass(agent, server, method.to_owned())]
        }
        _ => vec![random.pick(&[Act::Restart, Act::Kill, Act::Rotate]).clone()],
    };
    if let Some(Act::Call(call)) = told.first()
        && let Some(id) = call.id
        && random.once_in(3)
    {
        told.push(Act::Fetch(call.agent, call.server, id));
    }
    told
}

/// The same seed and story give the same sequence, on every machine.
#[must_use]
pub fn generate(seed: u64, story: Story) -> Plan {
    let mut random = Random::new(seed, story as u64);
    let random = &mut random;
    let mut told = vec![acts(story, 0, 0, random)];
    for number in 1..=1 + random.below(3) {
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        told.push(beside(number, random));
    }
    let mut steps = Vec::new();
    while !told.is_empty() {
        let next = random.below(told.len());
        steps.push(Step::from(told[next].remove(0)));
        told.retain(|acts| !acts.is_empty());
    }
    Plan {
        seed,
        mutation: String::new(),
        at: steps.len() - 1,
        steps,
    }
}
