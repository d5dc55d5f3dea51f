//! A profile that is wrong in one of many ways is caught, and for what is
//! wrong with it; the shipped ones hold.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

use std::path::{Path, PathBuf};

use countersign_certify::{Check, Plan, Report, certify};
use countersign_engine::embedded;

/// What is wrong with the fixture itself: it holds no message of its largest size
/// that needs most memory.
const ITS_OWN: &str = "as much as it reads";

/// A broken profile is caught within so many pairs.
const PAIRS: u64 = 10_000;

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The fixture with one thing wrong.
fn broken(fault: u8) -> Vec<u8> {
    const MARK: &[u8] = b"countersign-fault=";
    let mut component = std::fs::read(file("tests/profiles/broken.wasm")).unwrap();
    let places: Vec<usize> = component
        .windows(MARK.len())
        .enumerate()
        .filter_map(|(at, window)| (window == MARK).then_some(at + MARK.len()))
        .collect();
    let [at] = places[..] else {
        panic!("the mark is there once, not {} times", places.len());
    };
    component[at..at + 2].copy_from_slice(format!("{fault:02}").as_bytes());
    component
}

fn run(component: &[u8], pairs: u64) -> Report {
    let plan = Plan {
        seed: 1,
        pairs,
        jobs: 2,
    };
    certify(component, plan, &|_, _, _| {}).unwrap()
}

/// Number, what it is, which check fails, and words of the reason.
const FAULTS: &[(u8, &str, Check, &str)] = &[
    (1, "plain JCS with floats", Check::Separation, "one binding"),
    (
        2,
        "of two names the last one counts",
        Check::StrictReading,
        "refused as",
    ),
    (
        3,
        "large integers through a float",
        Check::Separation,
        "one binding",
    ),
    (4, "nulls are dropped", Check::Separation, "`null`"),
    (5, "arrays are sorted", Check::Separation, ""),
    (6, "accents are composed", Check::Separation, ""),
    (7, "names lose their case", Check::Separation, ""),
    (8, "texts are trimmed", Check::Separation, "text"),
    (9, "long texts are cut", Check::Separation, "text"),
    (
        10,
        "only the arguments are bound",
        Check::Separation,
        "`/name`",
    ),
    (
        11,
        "the raw bytes are kept",
        Check::CanonicalForm,
        "not canonical",
    ),
    (
        12,
        "interpretation counts its calls",
        Check::Determinism,
        "used before",
    ),
    (13, "it loops", Check::Robustness, "fuel"),
    (14, "it allocates without end", Check::Robustness, ""),
    (
        15,
        "a replay is called fresh",
        Check::Classification,
        "Fresh",
    ),
    (16, "`_meta` is dropped", Check::Separation, "`/_meta"),
    (17, "`task` is forgotten", Check::Separation, "`/task`"),
    (18, "-0 is taken for 0", Check::Separation, "`-0`"),
    (
        19,
        "only the tool is bound",
        Check::Separation,
        "one binding",
    ),
    (
        20,
        "the digest is of the action alone",
        Check::DigestRecipe,
        "binding of",
    ),
    (
        21,
        "the client context is lost",
        Check::Parts,
        "client context",
    ),
    (22, "the progress token is lost", Check::Parts, "transport"),
    (
        23,
        "a space after the action is taken",
        Check::ForeignBytes,
        "no action",
    ),
    (
        24,
        "a limit is stated that is not kept",
        Check::StrictReading,
        "limit",
    ),
    (
        25,
        "a refusal has the wrong code",
        Check::StrictReading,
        "surrogate",
    ),
    (
        26,
        "a refusal points elsewhere",
        Check::StrictReading,
        "refused as",
    ),
    (
        27,
        "numbers of replies are refused",
        Check::StrictReading,
        "number",
    ),
    (28, "the view swaps two texts", Check::View, "in its view"),
    (
        29,
        "a collision is called incomparable",
        Check::Classification,
        "Incomparable",
    ),
    (30, "the tool loses its case", Check::Separation, "`/name`"),
    (
        31,
        "a byte order mark is read over",
        Check::StrictReading,
        "encoding",
    ),
    (
        32,
        "an empty execution id is made up for",
        Check::StrictReading,
        "correlation",
    ),
    (33, "nearly everything is refused", Check::Coverage, "tenth"),
    (34, "exponents are clamped", Check::Separation, "number"),
    (35, "texts lose their case", Check::Separation, "text"),
    (36, "zero characters are dropped", Check::Separation, "text"),
    (37, "deep messages trap", Check::Robustness, "trap"),
    (
        38,
        "texts of digits become numbers",
        Check::Separation,
        "integer",
    ),
    (
        39,
        "empty containers are dropped",
        Check::Separation,
        "nothing",
    ),
    (
        40,
        "the request state is lost",
        Check::Parts,
        "continuation",
    ),
];

/// Tries the faults of one number out of every four.
fn are_caught(quarter: usize) {
    let mut missed = Vec::new();
    for (number, what, check, words) in FAULTS.iter().skip(quarter).step_by(4) {
        let report = run(&broken(*number), PAIRS);
        let found = report.findings.first();
        let right = found.is_some_and(|finding| {
            let told = finding.reason.contains(words) && !finding.reason.contains(ITS_OWN);
            finding.check == *check && told
        });
        let shown = found.map(|finding| {
            let smallest = finding.requests.iter().map(Vec::len).max();
            (
                finding.check,
                finding.case,
                smallest,
                finding.reason.clone(),
            )
        });
        println!("{what}: {shown:?}");
        if !right {
            missed.push((what, shown));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn every_way_of_being_wrong_is_caught_for_what_it_is_1_of_4() {
    are_caught(0);
}

#[test]
fn every_way_of_being_wrong_is_caught_for_what_it_is_2_of_4() {
    are_caught(1);
}

#[test]
fn every_way_of_being_wrong_is_caught_for_what_it_is_3_of_4() {
    are_caught(2);
}

#[test]
fn every_way_of_being_wrong_is_caught_for_what_it_is_4_of_4() {
    are_caught(3);
}

#[test]
fn the_fixture_without_a_fault_fails_for_its_floats_and_its_memory_alone() {
    let report = run(&broken(0), 400);
    let checks: Vec<_> = report
        .findings
        .iter()
        .map(|finding| finding.check)
        .collect();
    assert_eq!(checks, [Check::Robustness, Check::Loading], "{report}");
    for (finding, words) in report
        .findings
        .iter()
        .zip([ITS_OWN, "profile-instructions"])
    {
        assert!(finding.reason.contains(words), "{report}");
    }
}

#[test]
fn a_profile_that_wants_a_clock_does_not_even_run() {
    let component =
        wat::parse_str(r#"(component (import "wasi:clocks/monotonic-clock@0.2.0" (instance)))"#);
    let report = run(&component.unwrap(), 400);
    let found = &report.findings[0];
    assert_eq!(found.check, Check::Loading);
    assert!(
        found
            .reason
            .contains("it imports `wasi:clocks/monotonic-clock@0.2.0`"),
        "{report}"
    );
}

#[test]
fn the_shipped_profiles_are_adequate() {
    for component in embedded::all() {
        let report = run(component.bytes(), 1_000);
        assert!(report.is_adequate(), "{report}");
        assert!(
            report.counts.equal > 150 && report.counts.told_apart > 50,
            "{report}"
        );
    }
}

/// Its memory is for one reading, and a number that it refuses is looked for in a
/// second one: `docs/vendors/decimal.md` says so.
#[test]
fn what_a_component_traps_at_because_its_memory_is_full_is_found() {
    let component = std::fs::read(file("tests/profiles/decimal@2.0.0.wasm")).unwrap();
    let report = run(&component, 100);
    let [found] = report.findings.as_slice() else {
        panic!("{report}");
    };
    assert_eq!(found.check, Check::Robustness, "{report}");
    let reason = "as much as it reads, and a number to refuse: in `admit` it trapped";
    assert_eq!(found.reason, reason);
}

#[test]
fn a_report_is_the_same_each_time_however_many_threads_made_it() {
    let component = broken(8);
    let report = |jobs| {
        let plan = Plan {
            seed: 7,
            pairs: 400,
            jobs,
        };
        certify(&component, plan, &|_, _, _| {}).unwrap().findings
    };
    assert_eq!(report(1), report(1));
    assert_eq!(report(1)[0].check, report(3)[0].check);
}
