//! What the binding costs: the component against the same code compiled
//! natively, side by side in one run, with the same software SHA-256 on both.

use std::hint::black_box;
use std::time::Duration;

use countersign_canon::{Admitted, Numbers, View, admit, interpret};
use countersign_engine::{CacheSettings, Engine, Profile, Settings, Warm, embedded};
use countersign_tests::measure::{Samples, micros, processor_time, spread, wall};

/// Threads of the measurement under load.
const CONCURRENCY: u32 = 16;

pub(crate) fn run() {
    #[allow(unexpected_cfgs, reason = "the flag is another crate's")]
    let soft = cfg!(sha2_backend = "soft");
    println!(
        "SHA-256: {}",
        if soft {
            "software on both sides"
        } else {
            "the processor's natively; use `cargo xtask bench`"
        }
    );
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
    side_by_side(&profile);
    fresh(&profile);
    under_load(&profile);
    println!("\nloading {default}, in milliseconds");
    println!("  compiled        {:.2}", cold.as_secs_f64() * 1e3);
    let mut samples = Samples::default();
    for _ in 0..20 {
        let engine = Engine::new(&settings()).unwrap();
        samples.add(wall(|| engine.load_embedded(&default).unwrap()).1);
    }
    let shown = [50, 10, 90].map(|percent| samples.percentile(percent).as_secs_f64() * 1e3);
    println!(
        "  from the cache  {:.2} ({:.2} to {:.2}); at most 5",
        shown[0], shown[1], shown[2]
    );
    hostile(&profile);
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

fn side_by_side(profile: &Profile) {
    println!("\nbind: admit and interpret, warm instance");
    println!(
        "  {:>9}  {:>28}  {:>28}  ratio (at most 2.5)",
        "bytes", "native", "wasm"
    );
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
        println!(
            "  {:>9}  {:>28}  {:>28}  {ratio:.2}",
            message.len(),
            spread(&native),
            spread(&wasm)
        );
    }
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

fn fresh(profile: &Profile) {
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
    println!(
        "\na fresh instance, alone: admit of {} bytes",
        message.len()
    );
    println!("  warm   {}", spread(&used_again));
    println!("  fresh  {}", spread(&new));
    println!("  added  {:>10} (at most 20)", micros(added));
}

fn under_load(profile: &Profile) {
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
    println!("\na fresh instance at concurrency {CONCURRENCY}: processor time of an admit");
    println!("  warm   {}", spread(&used_again));
    println!("  fresh  {}", spread(&new));
    println!("  added  {:>10} (at most 15)", micros(added));
}

fn hostile(profile: &Profile) {
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
    println!("\nhostile messages, in milliseconds; at most 100 each");
    for (name, message) in cases {
        let mut samples = Samples::default();
        for _ in 0..5 {
            samples.add(wall(|| black_box(profile.admit(&message).unwrap().is_ok())).1);
        }
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        println!(
            "  {:>8.2} (at most {:.2})  {name}",
            millis(samples.median()),
            millis(samples.percentile(100))
        );
    }
}
