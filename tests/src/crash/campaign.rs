//! Many sequences, in several worlds at a time, and what became of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use countersign_certify::Shrinking;
use tokio::task::JoinSet;

use super::generate::generate;
use super::plan::{Sequence, Step};
use super::run::{Tally, play};
use super::world::{Store, World};

/// Sequences that share a world: starting one costs more than playing one.
const SHARED: u64 = 12;

/// What to play.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// On which store.
    pub store: Store,
    /// The first seed; the others follow it.
    pub seed: u64,
    /// How many sequences.
    pub sequences: u64,
    /// How many worlds at a time.
    pub jobs: usize,
}

/// A sequence after which something does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// On which store.
    pub store: Store,
    /// The sequence.
    pub sequence: Sequence,
    /// What does not hold.
    pub broken: Vec<String>,
}

/// Plays them all; `progress` is told how many are done. Stops at the first
/// failure and makes it small.
///
/// # Errors
///
/// The failure, with the fewest steps that show it.
pub async fn campaign(
    plan: Campaign,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Tally, Failure> {
    let progress = Arc::new(progress);
    let (next, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let failed = Arc::new(AtomicUsize::new(0));
    let mut jobs = JoinSet::new();
    for _ in 0..plan.jobs.max(1) {
        let (next, done) = (Arc::clone(&next), Arc::clone(&done));
        let (failed, progress) = (Arc::clone(&failed), Arc::clone(&progress));
        jobs.spawn(async move {
            let mut tally = Tally::default();
            while failed.load(Ordering::SeqCst) == 0 {
                let from = next.fetch_add(SHARED, Ordering::SeqCst);
                if from >= plan.sequences {
                    break;
                }
                let seeds = from..(from + SHARED).min(plan.sequences);
                let seeds = seeds.map(|number| plan.seed.wrapping_add(number));
                let sequences = seeds.map(|seed| generate(plan.store, seed)).collect();
                let told = Arc::clone(&progress);
                let counted = Arc::clone(&done);
                let played = in_one_world(plan.store, sequences, move || {
                    told(counted.fetch_add(1, Ordering::SeqCst) + 1);
                });
                match played.await {
                    Ok(played) => tally.add(played),
                    Err(failure) => {
                        failed.fetch_add(1, Ordering::SeqCst);
                        return Err(failure);
                    }
                }
            }
            Ok(tally)
        });
    }
    let mut tally = Tally::default();
    let mut failure = None;
    while let Some(job) = jobs.join_next().await {
        match job.expect("a job never panics") {
            Ok(played) => tally.add(played),
            Err(failed) => failure = Some(failed),
        }
    }
    match failure {
        None => Ok(tally),
        Some(failure) => {
            // It may take long, and may be all that is ever seen of it.
            eprintln!("{failure}\nIt is made small.");
            Err(smallest(plan.store, failure).await)
        }
    }
}

/// Plays sequences one after another in one world, a new one, and verifies its
/// evidence at the end.
///
/// # Errors
///
/// The sequence after which something does not hold.
pub async fn in_one_world(
    store: Store,
    sequences: Vec<Sequence>,
    played: impl Fn() + Send + 'static,
) -> Result<Tally, Failure> {
    let last = sequences.last().cloned();
    // In a task of its own, so that a panic is a failure like any other.
    let all = Arc::new(std::sync::Mutex::new(last));
    let current = Arc::clone(&all);
    let task = tokio::spawn(async move {
        let mut world = World::new(store).await;
        let mut tally = Tally::default();
        for (number, sequence) in sequences.into_iter().enumerate() {
            *current.lock().unwrap() = Some(sequence.clone());
            let prefix = format!("q{number}");
            tally.add(play(&mut world, &prefix, &sequence).await?);
            played();
        }
        world.end().await.map_err(|why| vec![why])?;
        Ok(tally)
    });
    let broken = match task.await {
        Ok(Ok(tally)) => return Ok(tally),
        Ok(Err(broken)) => broken,
        Err(panicked) => vec![panic_text(panicked)],
    };
    let sequence = all
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let sequence = sequence.clone().unwrap_or(Sequence {
        seed: 0,
        steps: Vec::new(),
    });
    Err(Failure {
        store,
        sequence,
        broken,
    })
}

fn panic_text(panicked: tokio::task::JoinError) -> String {
    let Ok(panic) = panicked.try_into_panic() else {
        return "it was cancelled".to_owned();
    };
    let text = panic.downcast_ref::<String>().cloned();
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    format!("panicked: {}", text.or(literal).unwrap_or_default())
}

/// The fewest steps that still fail; each candidate is given two chances, since
/// the operating system has a say too.
async fn smallest(store: Store, failure: Failure) -> Failure {
    let mut smallest = failure.clone();
    let seed = failure.sequence.seed;
    let mut fails = async |steps: &[Step]| {
        for _ in 0..2 {
            let sequence = Sequence {
                seed,
                steps: steps.to_vec(),
            };
            if let Err(failure) = in_one_world(store, vec![sequence], || {}).await {
                smallest = failure;
                return true;
            }
        }
        false
    };
    let mut shrinking = Shrinking::new(&failure.sequence.steps);
    while let Some(fewer) = shrinking.candidate() {
        let still = fails(&fewer).await;
        shrinking.judged(fewer, still);
    }
    smallest
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.arrivals += other.arrivals;
        self.faults += other.faults;
    }
}
