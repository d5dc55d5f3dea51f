//! Plays sequences in worlds, and checks everything after each one.

use std::time::Duration;

use tokio::task::JoinSet;

use super::account::Told;
use super::check::{Seen, check};
use super::plan::{Call, Deed, Sequence, Step};
use super::upstream::Reply;
use super::world::{Victim, World};
use crate::environment;

/// How long an execution may stay in flight once everything is well.
const REST: Duration = Duration::from_secs(300);

/// How long running replicas may take to see that their database is another one.
const SEES: Duration = Duration::from_secs(300);

/// What a sequence came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Attempts that were sent.
    pub attempts: usize,
    /// Calls that reached the upstream.
    pub arrivals: usize,
    /// Faults that acted.
    pub faults: usize,
}

/// Plays a sequence. `prefix` must be new in the world.
///
/// # Errors
///
/// Everything that does not hold.
///
/// # Panics
///
/// When the world itself breaks.
pub async fn play(
    world: &mut World,
    prefix: &str,
    sequence: &Sequence,
) -> Result<Tally, Vec<String>> {
    let one = |why: String| vec![why];
    let from = world.account.len();
    let mut tally = Tally::default();
    for step in &sequence.steps {
        perform(world, prefix, step, &mut tally)
            .await
            .map_err(one)?;
    }
    let armed = (0..world.replicas.len()).filter(|replica| world.victim(*replica).fired());
    tally.faults += armed.count();
    world.calm(prefix).await.map_err(one)?;
    again(world, prefix, sequence).await.map_err(one)?;
    let lines = world.lines().map_err(one)?;
    let sent = world.account.all();
    let sent = &sent[from..];
    let own = |key: &str| sent.iter().any(|sent| sent.key == key);
    let arrivals = world.upstream.arrivals();
    let arrivals: Vec<_> = arrivals
        .into_iter()
        .filter(|arrival| own(&arrival.key))
        .collect();
    tally.attempts = sent.len();
    tally.arrivals = arrivals.len();
    let broken = check(&Seen {
        sent,
        arrivals: &arrivals,
        lines: &lines,
        running: false,
    });
    if broken.is_empty() {
        Ok(tally)
    } else {
        Err(broken)
    }
}

async fn perform(
    world: &mut World,
    prefix: &str,
    step: &Step,
    tally: &mut Tally,
) -> Result<(), String> {
    let count = world.replicas.len();
    let fires = |call: &Call| call.before.is_some() || call.meanwhile.is_some();
    match step {
        Step::Call(call) => {
            let _ = world.call(prefix, call).await;
            tally.faults += usize::from(fires(call) && world.victim(call.replica % count).fired());
        }
        Step::Together(calls) => {
            let mut all = JoinSet::new();
            for call in calls {
                all.spawn(world.call(prefix, call));
            }
            while all.join_next().await.is_some() {}
        }
        Step::Interrupted(calls, us, replica, deed) => {
            tally.faults += 1;
            let mut all = JoinSet::new();
            for call in calls {
                all.spawn(world.call(prefix, call));
            }
            tokio::time::sleep(Duration::from_micros((*us).into())).await;
            world.victim(replica % count).suffer(deed);
            while all.join_next().await.is_some() {}
        }
        Step::Do(replica, deed) => {
            tally.faults += usize::from(!matches!(deed, Deed::Arm(_)));
            world.victim(replica % count).suffer(deed);
        }
        Step::Stop(replica) => {
            let _ = world.replicas[replica % count].stop().await;
        }
        Step::Start(replica, fault) => {
            let started = world.start(*replica, fault.as_ref()).await;
            // Without its database it may not start; that is tried again later.
            let troubled = world.troubled(*replica);
            if fault.is_none() && !troubled {
                started?;
            }
        }
        Step::Ended(replica) => world.replicas[replica % count].ends().await?,
        Step::Second(replica) => second(world, replica % count)?,
        Step::Restore(replica) => {
            tally.faults += 1;
            restore(world, prefix, replica % count).await?;
        }
        Step::RestoreRunning(replica) => {
            tally.faults += 1;
            restore_below(world, prefix, replica % count).await?;
        }
        Step::Pass(ms) => tokio::time::sleep(Duration::from_millis((*ms).into())).await,
        Step::Wait(ms) => until(&world.victim(0), *ms).await,
        Step::Until(replica, ms) => until(&world.victim(replica % count), *ms).await,
        Step::Burst(calls) => burst(world, prefix, *calls).await,
    }
    Ok(())
}

/// Waits until the fault has acted, at most so many milliseconds.
async fn until(victim: &Victim, ms: u32) {
    let began = environment::now();
    let all = Duration::from_millis(ms.into());
    while began.elapsed() < all && !victim.fired() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn burst(world: &World, prefix: &str, calls: u32) {
    let mut all = JoinSet::new();
    for number in 0..calls {
        if world.victim(0).fired() {
            break;
        }
        let call = Call::new(3_000_000 + number as usize);
        all.spawn(world.call(prefix, &call));
        if all.len() >= 8 {
            let _ = all.join_next().await;
        }
    }
    while all.join_next().await.is_some() {}
}

/// A second gateway on the same store does not start.
fn second(world: &mut World, replica: usize) -> Result<(), String> {
    let replica = &mut world.replicas[replica];
    if !replica.runs() {
        return Ok(());
    }
    match replica.second() {
        Some(said) if said.contains("the ledger is in use") => Ok(()),
        // A fault that waited ended the first one meanwhile.
        None if !replica.runs() => Ok(()),
        other => Err(format!("a second gateway on one store: {other:?}")),
    }
}

/// On an old copy of its store nothing is admitted, whatever is asked. What is
/// sent all the same has no permit in the log that is given back, and so is found
/// in the end; how much has arrived by now says nothing, since what was sent
/// before may arrive late.
async fn restore(world: &mut World, prefix: &str, replica: usize) -> Result<(), String> {
    world.restored(replica).await?;
    refuses_all(world, prefix, replica).await?;
    world.give_back(replica);
    Ok(())
}

/// The same where replicas run, and find it when they connect again.
async fn restore_below(world: &mut World, prefix: &str, replica: usize) -> Result<(), String> {
    if !world.restored_below() {
        return Ok(());
    }
    let began = environment::now();
    while let Told::Code(code) = on_restored(world, prefix, replica, 0).await {
        if code == "ledger-rolled-back" {
            refuses_all(world, prefix, replica).await?;
            break;
        }
        if code != "ledger-unavailable" || began.elapsed() > SEES {
            return Err(format!("on a restored database: `{code}`"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.give_back(replica);
    Ok(())
}

async fn refuses_all(world: &World, prefix: &str, replica: usize) -> Result<(), String> {
    for id in [0, 1, 2_000_000] {
        let told = on_restored(world, prefix, replica, id).await;
        if told != Told::Code("ledger-rolled-back".to_owned()) {
            return Err(format!("on a restored store: {told:?}"));
        }
    }
    Ok(())
}

async fn on_restored(world: &World, prefix: &str, replica: usize, id: usize) -> Told {
    let mut call = Call::new(id);
    call.replica = replica;
    world.call(prefix, &call).await
}

/// Once everything is well, each call is tried again, by its own agent and by
/// another one's conflicting action: nothing may run that ran before.
async fn again(world: &World, prefix: &str, sequence: &Sequence) -> Result<(), String> {
    let calls = sequence.steps.iter().flat_map(|step| match step {
        Step::Call(call) => vec![call.clone()],
        Step::Together(calls) | Step::Interrupted(calls, ..) => calls.clone(),
        _ => Vec::new(),
    });
    let mut repeats: Vec<Call> = Vec::new();
    for call in calls.filter(|call| call.id.is_some()) {
        let repeat = Call {
            before: None,
            meanwhile: None,
            reply: Reply::Result,
            replica: call.replica + repeats.len(),
            ..call
        };
        let known = |known: &Call| (known.agent, known.id) == (repeat.agent, repeat.id);
        let same = |known: &Call| known.action == repeat.action && known.round == repeat.round;
        let mut of_one = repeats.iter().filter(|repeat| known(repeat));
        if of_one.clone().count() < 3 && !of_one.any(same) {
            repeats.push(repeat);
        }
    }
    for repeat in &repeats {
        let began = environment::now();
        while world.call(prefix, repeat).await == Told::Code("in-flight".to_owned()) {
            if began.elapsed() > REST {
                return Err(format!("still in flight: {repeat:?}"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}
