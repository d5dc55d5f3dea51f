//! `cargo xtask crash --model`: host/ledger/tests/checked, with what is too long
//! for every test run, and with what it prints.

use crate::chore::{self, Outcome};

pub(super) fn run() -> Outcome {
    let test = ["test", "--workspace", "--test", "checked", "--"];
    let all = ["--include-ignored", "--nocapture", "--test-threads=1"];
    chore::run(chore::command("cargo", test).args(all))
}
