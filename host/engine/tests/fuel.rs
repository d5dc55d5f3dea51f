//! The fuel that the released profiles use at worst, against what a call gets.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

use countersign_canon::Admitted;
use countersign_engine::{Engine, Profiles, Settings};

/// What a call gets at least as many times as was ever measured.
const MARGIN: u64 = 20;
/// As in `src/fuel.rs`.
const BASE: u64 = 10_000_000;
const PER_BYTE: u64 = 10_000;

/// Messages that cost the most, each for its size.
fn worst() -> Vec<(&'static str, Vec<u8>)> {
    let arguments = |value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"a":{value}}}}}}}"#
        )
        .into_bytes()
    };
    let names = |count: usize, name: fn(usize) -> String| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{}\":0", name(n))).collect();
        arguments(&format!("{{{}}}", members.join(",")))
    };
    let mut repeated = names(200_000, |n| format!("n{n}"));
    let end = repeated.len() - 4;
    repeated.splice(end..end, *br#","n0":0"#);
    vec![
        ("nothing", Vec::new()),
        (
            "the shortest call",
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#.to_vec(),
        ),
        ("nested 100,000 deep", vec![b'['; 100_000]),
        (
            "a number of a million digits",
            arguments(&"7".repeat(1_000_000)),
        ),
        (
            "a name of 5 MiB over a long array",
            arguments(&format!(
                "{{\"{}\":[{}0]}}",
                "n".repeat(5 << 20),
                "0,".repeat(200_000)
            )),
        ),
        (
            "200,000 members in order",
            names(200_000, |n| format!("{n:06}")),
        ),
        (
            "200,000 members the other way round",
            names(200_000, |n| format!("{:06}", 999_999 - n)),
        ),
        (
            "200,000 members shuffled",
            names(200_000, |n| format!("{:06}", n * 7_919 % 200_003)),
        ),
        (
            "200,000 members with long common beginnings",
            names(100_000, |n| format!("{}{n:06}", "x".repeat(60))),
        ),
        ("200,000 members with a duplicate at the end", repeated),
        (
            "escapes alone",
            arguments(&format!("\"{}\"", "\\u0001".repeat(1_700_000))),
        ),
        (
            "surrogate pairs alone",
            arguments(&format!("\"{}\"", "\\ud83d\\ude00".repeat(800_000))),
        ),
        (
            "escaped names the other way round",
            names(100_000, |n| format!("\\u0061{:06}", 999_999 - n)),
        ),
        (
            "ten megabytes of text",
            arguments(&format!("\"{}\"", "a".repeat(10_000_000))),
        ),
        (
            "ten megabytes of white space",
            [vec![b' '; 10_000_000], b"{}".to_vec()].concat(),
        ),
        // As many values as there may be in as many bytes as there may be: what
        // fills the arena.
        (
            "the largest message, its names and texts escaped and the other way round",
            arguments(&format!(
                "{{{}}}",
                (0..195_000)
                    .map(|n| format!("\"\\u0061{:06}\":\"\\u00e9{n:024}\"", 999_999 - n))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
        ),
        (
            "the largest message of as many values as there may be",
            arguments(&format!(
                "[{}0]",
                "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",".repeat(262_100)
            )),
        ),
        (
            "containers in containers",
            arguments(&format!("[{}[]]", "[[[[]]]],".repeat(50_000))),
        ),
        (
            "empty objects",
            arguments(&format!("[{}{{}}]", "{},".repeat(250_000))),
        ),
    ]
}

#[test]
fn a_call_gets_twenty_times_the_fuel_that_was_ever_measured() {
    let engine = Engine::new(&Settings {
        slots: 1,
        cache: None,
    })
    .unwrap();
    let profiles = Profiles::embedded(&engine).unwrap();
    for profile in profiles.iter() {
        let mut warm = profile.warm().unwrap();
        for (name, message) in worst() {
            let (said, used) = warm.admit(&message).unwrap();
            holds(name, "admit", message.len(), used);
            if let Ok(Admitted::Call(call)) = said {
                let (meaning, used) = warm.interpret(&call.action).unwrap();
                assert!(meaning.is_ok(), "{name}");
                holds(name, "interpret", call.action.len(), used);
            }
        }
    }
}

fn holds(name: &str, function: &str, bytes: usize, used: u64) {
    let gets = BASE + PER_BYTE * bytes as u64;
    println!(
        "{function:<9} {bytes:>9} bytes {used:>12} fuel, {:>5} a byte: {name}",
        used / bytes.max(1) as u64
    );
    assert!(
        used * MARGIN <= gets,
        "{function} of {name}: {used} of {gets}"
    );
}
