//! A run of several steps: a heading and a time for each, a count at the end.

use std::time::{Duration, Instant};

use crate::chore::{Failure, Outcome};

/// The steps of one chore so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(&'static str, Duration, Option<Failure>)>,
}

impl Steps {
    /// Runs one step. A step that fails does not stop the others, so that one
    /// run shows everything there is to mend.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Outcome) {
        println!("\n== {name}");
        let began = now();
        let failure = step().err();
        let took = began.elapsed();
        match &failure {
            None => println!("   passed in {}", seconds(took)),
            Some(failure) => println!("   FAILED in {}: {failure}", seconds(took)),
        }
        self.done.push((name, took, failure));
    }

    /// Prints the table and the line `N passed, N failed`; fails if a step did.
    pub(crate) fn finish(self) -> Outcome {
        println!("\n== All steps");
        for (name, took, failure) in &self.done {
            let verdict = if failure.is_none() {
                "passed"
            } else {
                "FAILED"
            };
            println!("   {verdict}  {:>8}  {name}", seconds(*took));
        }
        let failed = self
            .done
            .iter()
            .filter(|(_, _, failure)| failure.is_some())
            .count();
        println!("\n{} passed, {failed} failed", self.done.len() - failed);
        if failed == 0 {
            Ok(())
        } else {
            Err(Failure::new("not every step passed"))
        }
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore tells the reader how long it took"
)]
fn now() -> Instant {
    Instant::now()
}
