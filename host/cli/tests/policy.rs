//! `countersign policy` as a person runs it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_bundles_that_are_here_decide_their_cases_as_they_say() {
    for (bundle, count) in [("shipped", 9), ("demo", 44)] {
        let folder = format!("policies/{bundle}");
        let cases = format!("{folder}/cases.jsonl");
        let (status, said, _) = run(&["policy", "test", "--folder", &folder, &cases]);
        assert_eq!(
            said,
            format!("{count} cases decided as they say, 0 otherwise\n")
        );
        assert_eq!(status, Some(0));
    }
}

#[test]
fn a_case_that_is_decided_otherwise_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases = folder.path().join("cases.jsonl");
    let text = "{\"name\":\"reads\",\"tool\":\"a/b\",\"class\":\"read-only\",\"reason\":\"permitted\"}\n\n\
                {\"name\":\"writes\",\"tool\":\"a/b\",\"class\":\"destructive\",\"reason\":\"permitted\"}\n";
    std::fs::write(&cases, text).unwrap();
    let path = cases.to_str().unwrap();
    let (status, said, _) = run(&["policy", "test", "--folder", "policies/shipped", path]);
    assert_eq!(status, Some(1));
    assert_eq!(
        said,
        format!(
            "{path}:3: writes: it is `forbidden` by [\"execution-id-required\"] and not `permitted`\n\
             1 cases decided as they say, 1 otherwise\n"
        )
    );
    std::fs::write(
        &cases,
        "{\"name\":\"x\",\"tool\":\"a/b\",\"reson\":\"permitted\"}\n",
    )
    .unwrap();
    let (status, _, error) = run(&["policy", "test", "--folder", "policies/shipped", path]);
    assert_eq!(status, Some(2));
    assert!(error.contains(":1: there is no member `reson`"), "{error}");
}

#[test]
fn a_bundle_that_does_not_hold_is_told_with_its_line_and_one_that_does_with_its_digest() {
    let (status, said, _) = run(&["policy", "check", "--folder", "policies/demo"]);
    assert_eq!(status, Some(0));
    assert!(
        said.starts_with("5 policies hold against no approved tools: sha256:"),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let broken = "permit (principal, action, resource)\nwhen { context.colour == \"red\" };\n";
    std::fs::write(folder.path().join("a.cedar"), broken).unwrap();
    let (status, _, error) = run(&[
        "policy",
        "check",
        "--folder",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(status, Some(1));
    assert!(error.contains("a.cedar:2: policy-invalid"), "{error}");
}

#[test]
fn a_message_is_explained_by_the_policies_that_determine_it() {
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("message.json");
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"transfer",
        "arguments":{"amount":5000.0},"_meta":{"countersign.dev/execution_id":"e-1"}}}"#;
    std::fs::write(&message, text).unwrap();
    let (status, said, error) = run(&[
        "policy",
        "explain",
        "--folder",
        "policies/demo",
        "--server",
        "ledger",
        message.to_str().unwrap(),
    ]);
    assert_eq!(status, Some(1), "{error}");
    assert!(
        said.starts_with("ledger/transfer as side-effecting: forbidden (policy-denied)\n\ndetermined by `transfer-limit`, transfers.cedar:"),
        "{said}"
    );
    assert!(
        said.contains("\nlooked at:\n") && !said.contains("  read-only-tools\n"),
        "{said}"
    );
}

#[test]
fn the_agent_that_is_explained_is_the_one_that_policies_name() {
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("message.json");
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
    std::fs::write(&message, text).unwrap();
    let alice = "jwt/https:%2F%2Fidp.example/alice";
    let policies = format!(
        "permit (principal, action, resource);\n@id(\"alice\")\nforbid (principal == Agent::\"{alice}\", action, resource);\n"
    );
    std::fs::write(folder.path().join("a.cedar"), policies).unwrap();
    for (agent, expected, says) in [
        (alice, 1, "forbidden"),
        ("jwt/https:%2F%2Fidp.example/bob", 0, "permitted"),
        ("token/countersign/alice", 0, "permitted"),
        ("open//anyone", 0, "permitted"),
        // These name nobody, and not somebody else.
        ("jwt/https://idp.example/alice", 2, "METHOD/ISSUER/SUBJECT"),
        (
            "jwt/https:%2f%2fidp.example/alice",
            2,
            "METHOD/ISSUER/SUBJECT",
        ),
        (
            "jwt/https%3A%2F%2Fidp.example/alice",
            2,
            "METHOD/ISSUER/SUBJECT",
        ),
        ("alice", 2, "METHOD/ISSUER/SUBJECT"),
        ("token/alice", 2, "METHOD/ISSUER/SUBJECT"),
        ("a/b/%", 2, "METHOD/ISSUER/SUBJECT"),
    ] {
        let (status, said, error) = run(&[
            "policy",
            "explain",
            "--folder",
            folder.path().to_str().unwrap(),
            "--server",
            "s",
            "--agent",
            agent,
            message.to_str().unwrap(),
        ]);
        assert_eq!(status, Some(expected), "{agent}: {error}");
        assert!(said.contains(says) || error.contains(says), "{said}{error}");
    }
}

#[test]
fn the_schema_of_no_approved_tools_is_what_every_call_has() {
    let (status, said, _) = run(&["policy", "schema", "--folder", "policies/shipped"]);
    assert_eq!(status, Some(0));
    assert!(said.contains("type Call = {"), "{said}");
}
