//! Plays many sequences, several at a time, and makes small what fails.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_certify::Shrinking;

use crate::matrix::Matrix;
use crate::mutate::{Row, mutated, rows};
use crate::plan::{Plan, Step};
use crate::play::{Played, play};
use crate::stage::On;

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The first seed.
    pub seed: u64,
    /// The first sequence's number; the rows of the matrix take turns.
    pub first: u64,
    /// How many sequences.
    pub sequences: u64,
    /// How many at a time.
    pub jobs: usize,
    /// Each so manyth is played on the real binary too; 0 for none.
    pub binary: u64,
    /// Whether the others are played too once one has failed; each is printed then.
    pub go_on: bool,
}

/// A sequence of which something does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where it was played.
    pub on: On,
    /// As small as it could be made.
    pub plan: Plan,
    /// What does not hold.
    pub broken: Vec<String>,
}

/// Plays everything; `done` is told how many are.
///
/// # Errors
///
/// The first sequence of which something does not hold.
///
/// # Panics
///
/// Never, unless a player's thread does.
pub fn campaign(of: Campaign, done: impl Fn(u64) + Sync) -> Result<Matrix, Box<Failure>> {
    let next = AtomicU64::new(0);
    let matrix = Mutex::new(Matrix::default());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..of.jobs {
            scope.spawn(|| {
                while failed.lock().unwrap().is_none() {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= of.sequences {
                        return;
                    }
                    let number = of.first + number;
                    match one(of, number, &matrix) {
                        Err(failure) if of.go_on => {
                            println!("{failure}\n");
                            matrix.lock().unwrap().failed += 1;
                        }
                        Err(failure) => {
                            failed.lock().unwrap().get_or_insert(failure);
                        }
                        Ok(()) => {}
                    }
                    done(matrix.lock().unwrap().played);
                }
            });
        }
    });
    match failed.into_inner().unwrap() {
        None => Ok(matrix.into_inner().unwrap()),
        Some(failure) => {
            // It may take long, and may be all that is ever seen of it.
            eprintln!("{failure}\nIt is made small.");
            Err(Box::new(smallest(&failure)))
        }
    }
}

fn one(of: Campaign, number: u64, matrix: &Mutex<Matrix>) -> Result<(), Failure> {
    let rows = rows();
    let row = &rows[usize::try_from(number).unwrap_or(0) % rows.len()];
    played(of, row, number, matrix)
}

/// Plays a row's sequence; whatever came of it stands in the matrix.
fn played(of: Campaign, row: &Row, number: u64, matrix: &Mutex<Matrix>) -> Result<(), Failure> {
    let plan = mutated(row, of.seed.wrapping_add(number));
    let too = of.binary > 0 && number.is_multiple_of(of.binary) && On::Binary.can(&plan);
    let stages = [Some(On::Process), too.then_some(On::Binary)];
    for on in stages.into_iter().flatten() {
        let played = replay(&plan, on)?;
        let mut matrix = matrix.lock().unwrap();
        matrix.add(&row.name, &played.finding, on);
        matrix.entries += played.entries as u64;
        matrix.arrivals += played.arrivals as u64;
        drop(matrix);
        if !row.findings.contains(&played.finding.as_str()) {
            let broken = vec![format!("`{}` may not come of it", played.finding)];
            return Err(Failure { on, plan, broken });
        }
    }
    Ok(())
}

/// Plays one; a panic is a failure like any other.
///
/// # Errors
///
/// What does not hold.
pub fn replay(plan: &Plan, on: On) -> Result<Played, Failure> {
    let broken = match catch_unwind(AssertUnwindSafe(|| play(plan, on))) {
        Ok(Ok(played)) => return Ok(played),
        Ok(Err(broken)) => broken,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            vec![format!(
                "panicked: {}",
                text.or(literal).unwrap_or_default()
            )]
        }
    };
    Err(Failure {
        on,
        plan: plan.clone(),
        broken,
    })
}

/// The fewest steps that still fail.
fn smallest(failure: &Failure) -> Failure {
    let mut smallest = failure.clone();
    let mut shrinking = Shrinking::new(&failure.plan.steps);
    while let Some(fewer) = shrinking.candidate() {
        let plan = Plan {
            at: fewer.len().saturating_sub(1),
            steps: fewer.clone(),
            ..failure.plan.clone()
        };
        let fails = replay(&plan, failure.on).err();
        shrinking.judged(fewer, fails.is_some());
        smallest = fails.unwrap_or(smallest);
    }
    smallest
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { on, plan, broken } = self;
        let on = match on {
            On::Process => "in process",
            On::Binary => "on the binary",
        };
        let Plan { seed, mutation, .. } = plan;
        writeln!(f, "seed {seed} fails {on}, {mutation}:")?;
        for Step { act, fault } in &plan.steps {
            match fault {
                None => writeln!(f, "  {act:?}")?,
                Some(fault) => writeln!(f, "  {act:?} with {fault:?}")?,
            }
        }
        for why in broken {
            writeln!(f, "- {why}")?;
        }
        let kept = serde_json::to_string(plan).unwrap_or_default();
        write!(f, "keep it in tests/kept-plans.jsonl:\n{kept}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Story;

    #[test]
    fn a_finding_that_its_row_does_not_name_fails_and_stands_in_the_matrix() {
        let of = Campaign {
            seed: 1,
            first: 0,
            sequences: 1,
            jobs: 1,
            binary: 0,
            go_on: false,
        };
        let name = &rows()[0].name;
        for (findings, fails) in [(&["result"][..], false), (&["blocked"][..], true)] {
            let row = Row::new(name, Story::Pay, findings, |_, _| Some(0));
            let matrix = Mutex::new(Matrix::default());
            let played = played(of, &row, 0, &matrix);
            let matrix = matrix.into_inner().unwrap();
            let failure = played.err().map(|failure| failure.broken);
            assert_eq!(failure.is_some(), fails, "{failure:?}");
            let unexpected = matrix.unexpected_in(&[row]);
            assert_eq!(unexpected.len(), usize::from(fails), "{unexpected:?}");
        }
    }
}
