//! Makes a failing sequence short: parts are left out, larger ones first, for as
//! long as it still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::run::run;
use crate::sequence::Step;

/// How many permits a sequence gets, or what it fails with.
pub fn try_out(sequence: &[Step], lies: bool) -> Result<usize, String> {
    catch_unwind(AssertUnwindSafe(|| run(sequence, lies))).map_err(|failed| {
        let text = failed.downcast_ref::<String>().cloned();
        let text = text.or_else(|| failed.downcast_ref::<&str>().map(ToString::to_string));
        text.unwrap_or_default()
    })
}

pub fn shrink(sequence: &[Step], lies: bool) -> Vec<Step> {
    let mut shortest = sequence.to_vec();
    let mut part = shortest.len() / 2;
    while part > 0 {
        let mut from = 0;
        while from < shortest.len() {
            let to = (from + part).min(shortest.len());
            let mut shorter = shortest.clone();
            shorter.drain(from..to);
            match try_out(&shorter, lies) {
                Err(_) => shortest = shorter,
                Ok(_) => from = to,
            }
        }
        part /= 2;
    }
    shortest
}
