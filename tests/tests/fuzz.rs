//! A short run of the fuzzer, the same each time.

use countersign_tests::fuzz::{Plan, run};

#[test]
fn three_thousand_random_messages_are_read_alike_by_every_reader() {
    let plan = Plan {
        seed: 20_261_129,
        cases: 3_000,
        jobs: 2,
    };
    let tally = run(plan, |_| {}).unwrap_or_else(|failure| panic!("{failure:#?}"));
    assert!(
        tally.admitted * 100 >= plan.cases * 30,
        "at least 30 % are admitted: {tally:?}"
    );
    assert!(tally.met > 100, "many ask for the same: {tally:?}");
}
