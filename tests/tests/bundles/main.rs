//! Evidence of a real gateway: exported while it works, taken apart, turned
//! into proofs, and lied about. The rules are `docs/spec/evidence.md`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says what fails by failing"
)]

#[path = "../../../host/verifier/tests/tamper/lies.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the verifier's own tests"
)]
mod lies;

mod blinded;
mod fields;
mod forms;
mod parts;
mod proofs;
mod races;
mod rotation;

use countersign_tests::{Gateway, said};
use serde_json::Value;

const PAY: &str = r#"{"from":"alice","to":"bob","amount":10,"note":"für Zoë 💼"}"#;
const WORK: &str = r#","countersign.dev/workflow_id":"w-1""#;

/// Runs a command that must end with `status`; what it said.
fn run(gateway: &Gateway, status: i32, arguments: &[&str]) -> String {
    let done = gateway.run(arguments);
    assert_eq!(
        done.status.code(),
        Some(status),
        "{arguments:?}: {}",
        said(&done)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Exports with more arguments, and has it verified with more arguments.
fn exported(gateway: &Gateway, name: &str, part: &[&str], with: &[&str]) -> Value {
    let export = [
        "audit",
        "export",
        "--config",
        "countersign.toml",
        "--output",
        name,
    ];
    run(gateway, 0, &[&export, part].concat());
    let key = gateway.public_key();
    let done = gateway.run(&[&["verify", name, "--trust", &key, "--json"], with].concat());
    serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", said(&done)))
}

fn status<'r>(report: &'r Value, claim: &str) -> &'r str {
    let claims = report["claims"].as_array().unwrap();
    let found = claims.iter().find(|found| found["claim"] == claim);
    found.unwrap()["status"].as_str().unwrap()
}
