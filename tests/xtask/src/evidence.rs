//! Evidence judged by others: the Python verifier, and the checks that the
//! docs do by hand, over what the tests and the demonstration left behind.

use std::path::PathBuf;

use crate::{
    chore::{self, Outcome},
    tools, workspace,
};

/// Where the tamper tests leave their bundles.
pub(crate) fn tampered() -> PathBuf {
    workspace::target().join("tamper")
}

fn reference(file: &str) -> PathBuf {
    workspace::root().join("tests/reference").join(file)
}

/// The Python that has the one package which the verifier needs.
fn python() -> Outcome<PathBuf> {
    tools::python_packages("verifier", &reference("requirements.txt"))
}

/// Has both verifiers say the same of every bundle of the tamper tests.
pub(crate) fn agree() -> Outcome {
    let mut command = chore::command(python()?, [reference("verifier.py")]);
    chore::run(command.arg("agree").arg(tampered()))
}

/// Writes the other forms of the demonstration's evidence, with text that is
/// not ASCII, and has them judged.
pub(crate) fn interchange() -> Outcome {
    let demo = workspace::target().join("demo");
    let written = |name: &str| demo.join(name);
    let stated = [
        "--model-id",
        "modèle-工具 💼",
        "--data-class",
        "vertraulich – größte Sorgfalt",
    ];
    for (form, file) in [
        ("bundle", "bundle.tar"),
        ("trace", "trace.json"),
        ("action-bindings", "bindings.jsonl"),
    ] {
        // The bundle comes first: whatever opens the store later goes on from
        // its head, and the record must be about a head that it holds.
        let from: &[&str] = match form {
            "bundle" => &[],
            _ => &["--from", "bundle.tar"],
        };
        let mut export = chore::command(
            workspace::binaries().join("countersign"),
            ["audit", "export", "--config", "countersign.toml"],
        );
        export
            .current_dir(&demo)
            .args(["--format", form])
            .args(from);
        chore::run(export.args(stated).args(["--output", file]))?;
    }
    let mut command = chore::command(python()?, [reference("verifier.py")]);
    command.arg("interchange").arg(written("bundle.tar"));
    command.arg(written("trace.json"));
    chore::run(command.arg(written("bindings.jsonl")))
}

/// Runs the script of the docs over the demonstration's bundle.
pub(crate) fn by_hand() -> Outcome {
    let script = workspace::root().join("docs/verifiers/by_hand.py");
    let bundle = workspace::target().join("demo/bundle.tar");
    chore::run(&mut chore::command(tools::python()?, [script, bundle]))
}
