//! A run: many cases on several threads, until one fails or all have passed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use countersign_certify::Shrinking;
use countersign_engine::{Engine, Settings};

use super::keys::Keys;
use super::{Generator, Judge};

/// Which cases are run, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The same seed gives the same messages.
    pub seed: u64,
    /// How many messages.
    pub cases: u64,
    /// How many threads, each with a reference process of its own.
    pub jobs: u32,
}

/// What was counted in a run without a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages.
    pub cases: u64,
    /// Of them, admitted under `exact`.
    pub admitted: u64,
    /// Of them, calls.
    pub calls: u64,
    /// Of them, calls that ask for what another message asked for already.
    pub met: u64,
}

/// A case that must not be.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which case of the seed.
    pub case: u64,
    /// A smallest message that fails in the same way.
    pub message: Vec<u8>,
    /// What is wrong with it.
    pub reason: String,
}

/// Runs a plan; `progress` is told now and then how many cases are done.
///
/// # Errors
///
/// The first case that fails, made small.
pub fn run(plan: Plan, progress: impl Fn(u64) + Sync) -> Result<Tally, Box<Failure>> {
    let settings = Settings {
        slots: plan.jobs.max(1),
        cache: None,
    };
    let engine = Engine::new(&settings).expect("an engine");
    let shared = Shared::default();
    thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| work(plan, &engine, &shared, &progress));
        }
    });
    match shared
        .failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        Some(failure) => Err(failure),
        None => Ok(Tally {
            cases: plan.cases,
            admitted: shared.admitted.into_inner(),
            calls: shared.calls.into_inner(),
            met: shared
                .keys
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .met,
        }),
    }
}

/// How often progress is told.
const STEP: u64 = 1_000;

#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    admitted: AtomicU64,
    calls: AtomicU64,
    keys: Mutex<Keys>,
    failure: Mutex<Option<Box<Failure>>>,
}

fn work(plan: Plan, engine: &Engine, shared: &Shared, progress: &(impl Fn(u64) + Sync)) {
    let generator = Generator::new(plan.seed);
    let mut judge = Judge::new(engine);
    while !shared.stop.load(Ordering::Relaxed) {
        let case = shared.next.fetch_add(1, Ordering::Relaxed);
        if case >= plan.cases {
            return;
        }
        if case.is_multiple_of(STEP) {
            progress(case);
        }
        let message = generator.message(case);
        if let Err(failure) = one(&generator, &mut judge, shared, case, &message) {
            shared.stop.store(true, Ordering::Relaxed);
            shared
                .failure
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(failure);
        }
    }
}

fn one(
    generator: &Generator,
    judge: &mut Judge,
    shared: &Shared,
    case: u64,
    message: &[u8],
) -> Result<(), Box<Failure>> {
    let verdict = match judge.judge(message) {
        Ok(verdict) => verdict,
        Err(first) => {
            let same = |about| move |other: &super::Disagreement| other.about == about;
            let mut shrinking = Shrinking::new(message);
            while let Some(smaller) = shrinking.candidate() {
                let fails = judge
                    .judge(&smaller)
                    .is_err_and(|other| same(first.about)(&other));
                shrinking.judged(smaller, fails);
            }
            let message = shrinking.smallest();
            let shown = judge.judge(&message).err().unwrap_or(first);
            let [one, other] = &shown.said;
            let reason = format!(
                "under {} these disagree: {}\n  {one}\n  {other}",
                shown.profile, shown.about
            );
            return Err(Box::new(Failure {
                case,
                message,
                reason,
            }));
        }
    };
    shared
        .admitted
        .fetch_add(u64::from(verdict.admitted), Ordering::Relaxed);
    let (Some(action), Some(key)) = (verdict.action, verdict.key) else {
        return Ok(());
    };
    shared.calls.fetch_add(1, Ordering::Relaxed);
    let noted = shared
        .keys
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .note(case, &key, &action);
    noted.map_err(|earlier| {
        let reason = format!(
            "its action and its key contradict case {earlier}: {}",
            String::from_utf8_lossy(&generator.message(earlier))
        );
        Box::new(Failure {
            case,
            message: message.to_vec(),
            reason,
        })
    })
}
