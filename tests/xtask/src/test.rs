//! `cargo xtask test`: everything, step by step.

use std::fs;

use crate::{
    bench::budget,
    chore::{self, Outcome},
    demo, evidence, fuzz, guest, interop, nextest,
    steps::Steps,
    tools, workspace,
};

/// Every test: native code, three WebAssembly hosts, Python, real clients
///
/// Runs, each as a step with its time: the Rust tests of both workspaces and
/// the examples in their docs; the budget of instructions; a few small changes
/// of the code, each of which a test must see; the demonstration;
/// the independent Python reference over vectors/, and the Python verifier over
/// every bundle of the tamper tests; the released components under Python's and
/// Node's WebAssembly hosts; the foreign clients through the gateway; and the
/// checks that the released components are what their sources build, wherever
/// that is done. Ends with the line `N passed, N failed`, counting steps. A step whose tool is missing fails
/// and says what to install; nothing is skipped silently.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the steps that need nothing but Rust
    #[arg(long)]
    rust_only: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut steps = Steps::default();
    steps.run("Build the binaries", || {
        // One of the tests builds a profile as a vendor does.
        guest::target()?;
        nextest::binaries()
    });
    // The tamper tests leave their bundles here for the second verifier.
    let tampered = evidence::tampered();
    steps.run("Rust tests", || {
        match fs::remove_dir_all(&tampered) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut tests = nextest::tests(&["--workspace"], false);
        chore::run(tests.env("COUNTERSIGN_TAMPER_DIR", &tampered))
    });
    steps.run("Rust tests of what the components are made of", || {
        let guest = [
            "--manifest-path",
            "guest/Cargo.toml",
            "--package",
            "countersign-canon",
            "--package",
            "countersign-component",
            "--package",
            "countersign-example-decimal-1",
            "--package",
            "countersign-example-decimal-2",
            "--target-dir",
            "target/guest-native",
        ];
        chore::run(&mut nextest::tests(&guest, false))
    });
    steps.run("Examples in the docs", || {
        chore::run(&mut chore::command(
            "cargo",
            ["test", "--quiet", "--workspace", "--doc"],
        ))
    });
    if arguments.rust_only {
        return steps.finish();
    }
    steps.run(
        "The instructions of one call are within their budget",
        || budget::check(false),
    );
    steps.run("Small changes of the code are seen", fuzz::sample);
    steps.run("The demonstration", || {
        demo::run(&demo::Arguments { once: true })
    });
    steps.run("Vectors by the Python reference", || {
        let reference = workspace::root().join("tests/reference/reference.py");
        let mut command = chore::command(tools::python()?, [reference]);
        chore::run(command.arg("vectors"))
    });
    steps.run(
        "Honest and tampered bundles by the Python verifier",
        evidence::agree,
    );
    steps.run(
        "Other forms of evidence by the Python verifier",
        evidence::interchange,
    );
    steps.run("Checks that the docs do by hand", evidence::by_hand);
    steps.run("Vectors by the components under Python's wasmtime", || {
        let run = workspace::root().join("tests/hosts/python/run.py");
        chore::run(&mut chore::command(tools::python()?, [run]))
    });
    steps.run("Vectors by the components under Node's jco", || {
        let run = workspace::root().join("tests/hosts/node/run.mjs");
        chore::run(&mut chore::command(tools::node()?, [run]))
    });
    steps.run("Install the foreign clients", interop::install);
    steps.run("Foreign clients through the gateway", interop::tests);
    steps.run(
        "Released components are what their sources build",
        guest::check,
    );
    steps.run(
        "Components come out the same in other folders",
        guest::reproduce,
    );
    steps.finish()
}
