//! What the binding costs: the component against the same code compiled
//! natively, side by side in one run, with the same software SHA-256 on both.

use std::hint::black_box;
use std::time::Duration;

use countersign_canon::{Admitted, Numbers, View, admit, interpret};
use countersign_engine::{CacheSettings, Engine, Profile, Settings, Warm, embedded};
use countersign_tests::measure::{Samples, processor_time, wall};

use crate::report::{self, Goal, Report};

/// Threads of the measurement under load.
const CONCURRENCY: u32 = 16;

pub(crate) fn run() -> Report {
    let mut report = Report::new("The binding");
    #[allow(unexpected_cfgs, reason = "the flag is another crate's")]
    let soft = cfg!(sha2_backend = "soft");
    report.say(&format!(
        "`cargo xtask bench binding`: the WebAssembly component against the same code compiled natively, side by side, \
         {}. Figures are medians, and between what a tenth of the samples lie below and above. Both sides end with a \
         checked view in the host's memory.",
        if soft {
            "with the same software SHA-256 on both"
        } else {
            "natively with the processor's SHA-256, which the component does not have"
        }
    ));
    let folder = tempfile::tempdir().unwrap();
    let settings = || Settings {
        slots: CONCURRENCY,
        cache: Some(CacheSettings {
            folder: folder.path().join("cache"),
            random,
        }),
    };
    let engine = Engine::new(&settings()).unwrap();
    let default = embedded::default().unwrap().pin().id.clone();
    let (profile, cold) = wall(|| engine.load_embedded(&default).unwrap());
    side_by_side(&mut report, &profile);
    let mut rows = vec![fresh(&profile), under_load(&profile)];
    let mut samples = Samples::default();
    for _ in 0..20 {
        let engine = Engine::new(&settings()).unwrap();
        samples.add(wall(|| engine.load_embedded(&default).unwrap()).1);
    }
    rows.push(row(
        "loading a profile that was compiled before, ms",
        report::millis(&samples),
        Some((Goal::AtMost(5.0), in_millis(samples.median()))),
    ));
    rows.push(row(
        "compiling it, ms",
        report::number(in_millis(cold)),
        None,
    ));
    rows.extend(hostile(&profile));
    report.table(["", "measured", "goal", "met"], &rows);
    report
}

fn row(name: &str, measured: String, goal: Option<(Goal, f64)>) -> [String; 4] {
    let [goal, met] = goal.map_or_else(report::no_goal, |(goal, value)| goal.cells(value));
    [name.to_owned(), measured, goal, met]
}

fn in_millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn random(bytes: &mut [u8]) -> bool {
    bytes.fill(7);
    true
}

/// A call of so many bytes, as tools are called: names, texts with a few
/// escapes, numbers, some nesting.
fn message(bytes: usize) -> Vec<u8> {
    const END: &str = r#""]}}}"#;
    let mut text = String::from(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"countersign.dev/execution_id":"e-1"},"name":"transfer","arguments":{"from":"alice","to":"bob","amount":5000,"notes":["#,
    );
    for n in 0.. {
        let line = format!(
            r#"{{"line":{n},"text":"caf\u00e9, \"quoted\" and plain text","price":{n}.25,"ok":true}},"#
        );
        if text.len() + line.len() + 1 + END.len() > bytes {
            break;
        }
        text.push_str(&line);
    }
    text.push('"');
    while text.len() + END.len() < bytes {
        text.push('.');
    }
    text.push_str(END);
    text.into_bytes()
}

fn side_by_side(report: &mut Report, profile: &Profile) {
    let mut rows = Vec::new();
    let mut warm = profile.warm().unwrap();
    for size in [300, 1 << 10, 10 << 10, 100 << 10, 1 << 20] {
        let message = message(size);
        let rounds = (40_000_000 / message.len()).clamp(40, 4_000);
        let (mut native, mut wasm) = (Samples::default(), Samples::default());
        for round in 0..rounds + rounds / 10 {
            // In turns, so that both see the same machine.
            let one = wall(|| black_box(bind_natively(profile, black_box(&message)))).1;
            let other = wall(|| black_box(bind_warm(&mut warm, black_box(&message)))).1;
            if round >= rounds / 10 {
                native.add(one);
                wasm.add(other);
            }
        }
        let ratio = wasm.median().as_secs_f64() / native.median().as_secs_f64();
        let [goal, met] = Goal::AtMost(2.5).cells(ratio);
        rows.push([
            report::number(message.len() as f64),
            report::micros(&native),
            report::micros(&wasm),
            report::number(ratio),
            goal,
            met,
        ]);
    }
    report.table(
        [
            "admit and interpret, warm, bytes",
            "native, µs",
            "component, µs",
            "ratio",
            "goal",
            "met",
        ],
        &rows,
    );
}

fn bind_natively(profile: &Profile, message: &[u8]) -> View {
    let Ok(Admitted::Call(call)) = admit(Numbers::AsWritten, message) else {
        unreachable!()
    };
    let meaning = interpret(profile.id(), Numbers::AsWritten, &call.action).unwrap();
    View::new(meaning.view).unwrap()
}

fn bind_warm(warm: &mut Warm<'_>, message: &[u8]) -> View {
    let Ok(Admitted::Call(call)) = warm.admit(message).unwrap().0 else {
        unreachable!()
    };
    warm.interpret(&call.action).unwrap().0.unwrap().view
}

fn fresh(profile: &Profile) -> [String; 4] {
    let message = message(300);
    let mut warm = profile.warm().unwrap();
    let (mut used_again, mut new) = (Samples::default(), Samples::default());
    for round in 0..11_000 {
        let one = wall(|| black_box(warm.admit(black_box(&message)))).1;
        let other = wall(|| black_box(profile.admit(black_box(&message)))).1;
        if round >= 1_000 {
            used_again.add(one);
            new.add(other);
        }
    }
    let added = new.median().saturating_sub(used_again.median());
    row(
        "a fresh instance, alone, adds, µs",
        report::number(added.as_secs_f64() * 1e6),
        Some((Goal::AtMost(20.0), added.as_secs_f64() * 1e6)),
    )
}

fn under_load(profile: &Profile) -> [String; 4] {
    let message = message(300);
    let requests = 4_000;
    let cpu = |work: &(dyn Fn() + Sync)| {
        let before = processor_time();
        std::thread::scope(|scope| {
            for _ in 0..CONCURRENCY {
                scope.spawn(work);
            }
        });
        (processor_time() - before) / (CONCURRENCY * requests)
    };
    let fresh = || {
        for _ in 0..requests {
            let _ = black_box(profile.admit(black_box(&message)));
        }
    };
    // Warm instances hold their slots outside the count, so they run on an
    // engine of their own.
    let own = Engine::new(&Settings {
        slots: CONCURRENCY,
        cache: None,
    })
    .unwrap();
    let own = own.load_embedded(profile.id()).unwrap();
    let warm = || {
        let mut warm = own.warm().unwrap();
        for _ in 0..requests {
            let _ = black_box(warm.admit(black_box(&message)));
        }
    };
    cpu(&fresh);
    let (mut used_again, mut new) = (Samples::default(), Samples::default());
    for _ in 0..5 {
        used_again.add(cpu(&warm));
        new.add(cpu(&fresh));
    }
    let added = new.median().saturating_sub(used_again.median());
    row(
        &format!("a fresh instance at concurrency {CONCURRENCY} adds, processor time, µs"),
        report::number(added.as_secs_f64() * 1e6),
        Some((Goal::AtMost(15.0), added.as_secs_f64() * 1e6)),
    )
}

fn hostile(profile: &Profile) -> Vec<[String; 4]> {
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        )
        .into_bytes()
    };
    let members: Vec<String> = (0..200_000).map(|n| format!("\"m{n}\":0")).collect();
    let cases = [
        (
            "100,000 containers deep",
            call(&format!(
                "{{\"a\":{}{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            )),
        ),
        (
            "a number of a million digits",
            call(&format!("{{\"a\":{}}}", "7".repeat(1_000_000))),
        ),
        (
            "a name of 5 MiB over a long array",
            call(&format!(
                "{{\"{}\":[{}0]}}",
                "n".repeat(5 << 20),
                "0,".repeat(200_000)
            )),
        ),
        (
            "200,000 members and a duplicate at the end",
            call(&format!("{{{},\"m0\":0}}", members.join(","))),
        ),
    ];
    let rows = cases.map(|(name, message)| {
        let mut samples = Samples::default();
        for _ in 0..5 {
            samples.add(wall(|| black_box(profile.admit(&message).unwrap().is_ok())).1);
        }
        let [middle, most] = [50, 100].map(|percent| in_millis(samples.percentile(percent)));
        let [shown, at_most] = [middle, most].map(report::number);
        row(
            &format!("{name}, ms"),
            format!("{shown}, at most {at_most}"),
            Some((Goal::AtMost(100.0), most)),
        )
    });
    rows.into()
}
