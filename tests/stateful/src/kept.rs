//! Sequences that failed once: kept in `tests/kept-plans.jsonl`, one a line, as a
//! failing run prints it, and played again ever since, everywhere they can be.

use crate::plan::Plan;

/// All of them.
///
/// # Panics
///
/// When the file is not what it should be.
#[must_use]
pub fn kept() -> Vec<Plan> {
    let path = countersign_tests::root().join("tests/kept-plans.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
