//! The engine's entry: one target for the whole process, named by
//! `COUNTERSIGN_FUZZ_TARGET`. Everything after the program's name is the
//! engine's; `cargo xtask fuzz` gives it.

#![no_main]

use std::sync::OnceLock;

use countersign_fuzz::{TARGETS, Target, find};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fn chosen() -> &'static Target {
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine's own arguments are all the arguments there are"
    )]
    let name = std::env::var("COUNTERSIGN_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = find(&name) else {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!(
            "COUNTERSIGN_FUZZ_TARGET is `{name}`: write one of {}",
            known.join(", ")
        );
        std::process::exit(2);
    };
    target
}

fuzz_target!(|data: &[u8]| (TARGET.get_or_init(chosen).run)(data));
