//! Files that are no bundle, or that are meant to exhaust whoever reads them.

use std::io::Cursor;

use countersign_verifier::{Claim, Inputs, Level, Verdict, verify};

use super::lies::values;
use super::table::{Table, rewrite};
use crate::world::{Export, World};

#[test]
fn a_bundle_cut_anywhere_is_unusable() {
    let world = World::new();
    let bundle = Export::of(&world).bundle();
    for end in (0..bundle.len()).step_by(97) {
        let cut = &bundle[..end];
        assert!(
            verify(Cursor::new(cut), &Inputs::default()).is_err(),
            "{end}"
        );
    }
    println!("{:<44} → unusable", "cut the bundle anywhere");
}

#[test]
fn a_header_that_says_more_than_there_is_is_unusable() {
    let world = World::new();
    let bundle = Export::of(&world).bundle();
    // The size stands in octal at byte 124 of a member's header.
    for size in ["77777777777", "00000000000", "10000000000"] {
        let mut lie = bundle.clone();
        lie[124..135].copy_from_slice(size.as_bytes());
        let sum: u32 = (0..512)
            .map(|at| {
                if (148..156).contains(&at) {
                    32
                } else {
                    u32::from(lie[at])
                }
            })
            .sum();
        lie[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(
            verify(Cursor::new(lie), &Inputs::default()).is_err(),
            "{size}"
        );
    }
    println!("{:<44} → unusable", "a header of an impossible size");
}

#[test]
fn entries_that_wait_for_what_never_comes_take_bounded_memory_and_establish_nothing() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    let mut tip = all
        .iter()
        .rfind(|entry| entry["kind"] == "refusal" && entry["execution_seq"].is_u64())
        .unwrap()
        .clone();
    tip["client"] = "x".repeat(200_000).into();
    for number in 0..400_u64 {
        let mut waits = tip.clone();
        waits["sequence"] = all.len().into();
        waits["execution_seq"] = (number + 9).into();
        waits["execution_previous"] = countersign_canon::Digest::of(&[&number.to_be_bytes()])
            .as_str()
            .into();
        all.push(waits);
    }
    // How much is kept is each verifier's own business.
    let mut table = Table::sampled("waiting", 0);
    let row = "signed: entries that wait for nothing";
    let report = table.check(row, &rewrite(&export, all), &world.inputs());
    let ordering = report
        .claims
        .iter()
        .find(|claim| claim.claim == Claim::Ordering)
        .unwrap();
    assert!(
        ordering
            .gaps
            .iter()
            .any(|gap| gap.reason.contains("than are kept")),
        "{}",
        report.to_text(&Level::default())
    );
    assert_ne!(
        report.verdict(&"ordering".parse().unwrap()),
        Verdict::Verified
    );
}

#[test]
fn a_line_longer_than_any_entry_contradicts_integrity() {
    let world = World::new();
    let mut export = Export::of(&world);
    export.lines.push(vec![b'['; 1 << 20]);
    export
        .lines
        .push([b"{\"a\":".as_slice(), &[b'9'; 300_000], b"}"].concat());
    let mut table = Table::new("long");
    let report = table.check("lines meant to exhaust a reader", &export, &world.inputs());
    assert_eq!(report.verdict(&Level::default()), Verdict::Contradicted);
}
