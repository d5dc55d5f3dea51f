//! The fleet: many clients before three replicas on one PostgreSQL, of which one
//! is killed and one is paused every few seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::account::{Sent, Told};
use super::check::{Seen, check};
use super::log::Line;
use super::plan::{Call, Cut, Deed};
use super::world::{AGENTS, LEASE_MS, PAST_LEASE_MS, World};
use crate::environment;
use crate::fuzz::Random;

/// Clients at a time.
const CLIENTS: usize = 64;
/// Replicas.
const REPLICAS: usize = 3;
/// Calls in a row that are for one identifier.
const RIVALS: usize = 4;
/// How often something happens.
const EVERY: Duration = Duration::from_millis(3_000);
/// How long a replica stays dead.
const DEAD: Duration = Duration::from_millis(800);
/// How long everything may take to come to rest.
const REST: Duration = Duration::from_secs(600);

/// What the fleet came to.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// Attempts, by what they were told.
    pub told: BTreeMap<String, u64>,
    /// Identifiers that were used.
    pub identifiers: usize,
    /// Calls that reached the upstream.
    pub arrivals: usize,
    /// Replicas that were killed.
    pub killed: u32,
    /// Replicas that were paused past their lease.
    pub paused: u32,
    /// What there is of each attempt.
    pub evidence: Evidence,
}

/// What there is of the attempts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Entries of all logs; each log and each execution's chain is whole.
    pub entries: usize,
    /// Attempts with an entry of their own.
    pub own: usize,
    /// Attempts that stand in entries that count them.
    pub counted: u64,
    /// Attempts that nobody answered, because the replica was dead or died.
    pub unanswered: usize,
    /// Attempts that were refused without an entry, and may be among those that
    /// were counted; a count goes with a process that is killed.
    pub refused: usize,
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
    let mut storm = Storm::new();
    let mut calls = JoinSet::new();
    let mut number = 0;
    let began = environment::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        while calls.len() < CLIENTS {
            calls.spawn(world.call("fleet", &call(number, &mut random)));
            number += 1;
        }
        let answered = tokio::time::timeout(Duration::from_millis(20), calls.join_next());
        if let Ok(Some(told)) = answered.await {
            came_to.count(&told.map_err(|error| one(error.to_string()))?);
        }
        let since = began.elapsed();
        storm
            .go_on(&mut world, since, &mut random)
            .await
            .map_err(one)?;
    }
    while let Some(told) = calls.join_next().await {
        came_to.count(&told.map_err(|error| one(error.to_string()))?);
    }
    (came_to.killed, came_to.paused) = (storm.killed, storm.paused);
    world.calm("calm").await.map_err(one)?;
    rest(&world, number, &mut random).await.map_err(one)?;
    let lines = world.end().await.map_err(one)?;
    let (sent, arrivals) = (world.account.all(), world.upstream.arrivals());
    (came_to.arrivals, came_to.identifiers) = (arrivals.len(), number.div_ceil(RIVALS));
    let broken = check(&Seen {
        sent: &sent,
        arrivals: &arrivals,
        lines: &lines,
        running: false,
    });
    if !broken.is_empty() {
        return Err(broken);
    }
    came_to.evidence = Evidence::of(&sent, &lines);
    Ok(came_to)
}

impl Fleet {
    fn count(&mut self, told: &Told) {
        *self.told.entry(told.word().to_owned()).or_default() += 1;
    }
}

impl Evidence {
    fn of(sent: &[Sent], lines: &[Line]) -> Self {
        let own: BTreeSet<&str> = lines
            .iter()
            .filter_map(|line| line.workflow.as_deref())
            .collect();
        let mut evidence = Self {
            entries: lines.len(),
            counted: lines.iter().map(|line| line.suppressed).sum(),
            ..Self::default()
        };
        for sent in sent {
            if own.contains(&*sent.workflow()) {
                evidence.own += 1;
            } else if sent.told == Told::Nothing {
                evidence.unanswered += 1;
            } else {
                evidence.refused += 1;
            }
        }
        evidence
    }
}

/// What happens to the replicas, one thing after another.
struct Storm {
    next: Duration,
    /// Who was killed, and when.
    dead: Option<(usize, Instant)>,
    /// Who is starting, and how much it had said before.
    starting: Option<(usize, usize)>,
    killed: u32,
    paused: u32,
}

impl Storm {
    fn new() -> Self {
        Self {
            next: EVERY / 3,
            dead: None,
            starting: None,
            killed: 0,
            paused: 0,
        }
    }

    async fn go_on(
        &mut self,
        world: &mut World,
        since: Duration,
        random: &mut Random,
    ) -> Result<(), String> {
        if let Some((replica, said)) = self.starting {
            if world.says(replica, said) || !world.replicas[replica].runs() {
                self.starting = None;
                world.listening(replica, said).await?;
            }
        } else if let Some((replica, killed)) = self.dead {
            if killed.elapsed() > DEAD {
                self.starting = Some((replica, world.spawn(replica)));
                self.dead = None;
            }
        } else if since >= self.next {
            self.next = since + EVERY;
            self.strike(world, random);
        }
        Ok(())
    }

    /// Kills one and pauses another, whose next commit may be cut off.
    fn strike(&mut self, world: &World, random: &mut Random) {
        let (victim, other) = (random.below(REPLICAS), 1 + random.below(REPLICAS - 1));
        world.victim(victim).suffer(&Deed::Kill);
        self.killed += 1;
        self.dead = Some((victim, environment::now()));
        let other = world.victim((victim + other) % REPLICAS);
        if random.once_in(4) {
            other.suffer(&Deed::Database(Cut::Unacknowledged));
        }
        other.suffer(&Deed::Pause(PAST_LEASE_MS));
        self.paused += 1;
    }
}

/// Some calls in a row are for one identifier, mostly with the same action.
fn call(number: usize, random: &mut Random) -> Call {
    let id = number / RIVALS;
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
    let mut left: Vec<usize> = (0..=number / RIVALS).collect();
    while !left.is_empty() {
        if began.elapsed() > REST {
            return Err(format!("still in flight: {left:?}"));
        }
        let mut again = Vec::new();
        for some in left.chunks(CLIENTS) {
            let mut calls = JoinSet::new();
            for id in some {
                let told = world.call("fleet", &call(id * RIVALS, random));
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
