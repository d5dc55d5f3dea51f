//! The fleet: many clients before three replicas on one PostgreSQL, of which one
//! is killed and one is paused every few seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;

use super::account::Told;
use super::check::{Seen, check};
use super::plan::{Call, Cut, Deed};
use super::world::{AGENTS, LEASE_MS, World};
use crate::environment;
use crate::fuzz::Random;

/// Clients at a time.
const CLIENTS: usize = 64;
/// Replicas.
const REPLICAS: usize = 3;
/// How often something happens.
const EVERY: Duration = Duration::from_millis(3_000);
/// How long a replica stays dead.
const DEAD: Duration = Duration::from_millis(800);

/// What the fleet came to.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// Attempts, by what they were told.
    pub told: BTreeMap<String, u64>,
    /// Calls that reached the upstream.
    pub arrivals: usize,
    /// Replicas that were killed.
    pub killed: u32,
    /// Replicas that were paused past their lease.
    pub paused: u32,
}

/// Runs the fleet for so long.
///
/// # Errors
///
/// What does not hold.
///
/// # Panics
///
/// When there is no PostgreSQL.
pub async fn fleet(seconds: u64, seed: u64) -> Result<Fleet, Vec<String>> {
    let one = |why: String| vec![why];
    let mut world = World::postgres(REPLICAS, LEASE_MS).await;
    let mut random = Random::new(seed, 64);
    let mut came_to = Fleet::default();
    let mut calls = JoinSet::new();
    let mut number = 0;
    let mut dead: Option<(usize, std::time::Instant)> = None;
    let mut starting: Option<(usize, usize)> = None;
    let began = environment::now();
    let mut next = EVERY / 3;
    while began.elapsed() < Duration::from_secs(seconds) {
        while calls.len() < CLIENTS {
            calls.spawn(world.call("fleet", &call(number, &mut random)));
            number += 1;
        }
        if let Ok(Some(Ok(told))) =
            tokio::time::timeout(Duration::from_millis(20), calls.join_next()).await
        {
            *came_to.told.entry(told.word().to_owned()).or_default() += 1;
        }
        if began.elapsed() >= next && starting.is_none() && dead.is_none() {
            next += EVERY;
            let (victim, other) = (random.below(REPLICAS), 1 + random.below(REPLICAS - 1));
            world.victim(victim).suffer(&Deed::Kill);
            came_to.killed += 1;
            dead = Some((victim, environment::now()));
            let other = (victim + other) % REPLICAS;
            if random.once_in(4) {
                world
                    .victim(other)
                    .suffer(&Deed::Database(Cut::Unacknowledged));
            }
            let pause = Deed::Pause(LEASE_MS + LEASE_MS / 3);
            world.victim(other).suffer(&pause);
            came_to.paused += 1;
        }
        if let Some((victim, since)) = dead
            && since.elapsed() > DEAD
        {
            starting = Some((victim, world.spawn(victim)));
            dead = None;
        }
        if let Some((victim, said)) = starting
            && world.says(victim, said)
        {
            world.listening(victim, said).await.map_err(one)?;
            starting = None;
        }
    }
    while let Some(ended) = calls.join_next().await {
        let told = ended.map_err(|error| vec![error.to_string()])?;
        *came_to.told.entry(told.word().to_owned()).or_default() += 1;
    }
    if let Some((victim, said)) = starting {
        world.listening(victim, said).await.map_err(one)?;
    }
    world.calm("calm").await.map_err(one)?;
    rest(&world, number, &mut random).await.map_err(one)?;
    let lines = world.lines().map_err(one)?;
    let sent = world.account.all();
    let arrivals = world.upstream.arrivals();
    came_to.arrivals = arrivals.len();
    let broken = check(&Seen {
        sent: &sent,
        arrivals: &arrivals,
        lines: &lines,
        running: false,
    });
    if !broken.is_empty() {
        return Err(broken);
    }
    world.end().await.map_err(one)?;
    Ok(came_to)
}

/// Four calls in a row are for one identifier, mostly with the same action.
fn call(number: usize, random: &mut Random) -> Call {
    let id = number / 4;
    Call {
        agent: id % AGENTS.len(),
        action: 1 + i64::from(random.once_in(10)),
        replica: random.below(REPLICAS),
        ..Call::new(id)
    }
}

/// Every identifier is tried once more, until nothing is in flight.
async fn rest(world: &World, number: usize, random: &mut Random) -> Result<(), String> {
    let began = environment::now();
    let mut left: Vec<usize> = (0..=number / 4).collect();
    while !left.is_empty() {
        if began.elapsed() > Duration::from_secs(60) {
            return Err(format!("still in flight: {left:?}"));
        }
        let mut again = Vec::new();
        for some in left.chunks(CLIENTS) {
            let mut calls = JoinSet::new();
            for id in some {
                let told = world.call("fleet", &call(id * 4, random));
                let id = *id;
                calls.spawn(async move { (id, told.await) });
            }
            while let Some(Ok((id, told))) = calls.join_next().await {
                if told == Told::Code("in-flight".to_owned()) {
                    again.push(id);
                }
            }
        }
        left = again;
    }
    Ok(())
}
