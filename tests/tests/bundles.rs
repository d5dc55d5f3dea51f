//! Evidence of a real gateway: exported while it works, taken apart, turned
//! into proofs, and lied about. The rules are `docs/spec/evidence.md`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says what fails by failing"
)]

#[path = "../../host/verifier/tests/tamper/lies.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the verifier's own tests"
)]
mod lies;

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;

use countersign_evidence::bundle::{Bundle, Writer};
use countersign_evidence::key::{SigningKey, VerifyingKey};
use countersign_evidence::keyfile;
use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};
use countersign_verifier::{Claim, Inputs, Level, Report, Status, Verdict, verify};
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

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_exported_in_the_middle_of_races_is_never_contradicted() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let url = gateway.url();
            tokio::spawn(async move {
                let client = Client::connect(&url, Revision::July2026, None).await;
                for round in 0..40 {
                    // Six callers race for each identifier, half of them with
                    // another action.
                    let id = format!("race-{round}");
                    let call = Call::new("transfer", PAY).under(&id);
                    let other = r#"{"from":"alice","to":"bob","amount":11}"#;
                    let other = Call::new("transfer", other).under(&id);
                    let call = if round % 2 == 0 { call } else { other };
                    drop(client.try_call(&call).await);
                    drop(client.try_call(&Call::new("transfer", PAY)).await);
                }
            })
        })
        .collect();
    let mut exports = 0;
    while exports < 3 || !calls.iter().all(tokio::task::JoinHandle::is_finished) {
        exports += 1;
        let report = exported(&gateway, "racing.tar", &[], &["--threads", "2"]);
        assert_eq!(report["verdict"], "verified", "{report}");
        for claim in report["claims"].as_array().unwrap() {
            assert_ne!(claim["status"], "contradicted", "{claim}");
        }
        for claim in [
            "integrity",
            "completeness",
            "classification",
            "ordering",
            "outcome",
        ] {
            assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
        }
    }
    println!("{exports} exports while calls ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_a_log_proves_what_it_holds_and_claims_no_completeness() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::November2025).await;
    let work = Call {
        meta: WORK,
        ..Call::new("transfer", PAY).under("e-1")
    };
    let receipt = client.call(&work).await.result()["_meta"]["countersign.dev/receipt"].clone();
    client.call(&work).await;
    client.call(&Call::new("transfer", PAY).under("e-2")).await;
    let all = exported(&gateway, "all.tar", &[], &[]);
    let entries = all["entries"].as_u64().unwrap();
    let mut bundle = Bundle::open(File::open(gateway.folder().join("all.tar")).unwrap()).unwrap();
    let note = String::from_utf8(bundle.checkpoints()[0].1.clone()).unwrap();
    fs::write(gateway.folder().join("seen.txt"), &note).unwrap();
    let session = {
        let mut lines = bundle.entries();
        let mut session = None;
        while let Some(line) = lines.next().unwrap() {
            let entry: Value = serde_json::from_slice(line).unwrap();
            session = entry["session_id"].as_str().map(str::to_owned).or(session);
        }
        session.unwrap()
    };
    client.call(&Call::new("transfer", PAY).under("e-3")).await;
    let call_id = receipt["call_id"].as_str().unwrap().to_owned();
    let parts: [&[&str]; 6] = [
        &["--call", &call_id],
        &["--execution", "e-1", "--agent", "open", "", "anonymous"],
        &["--workflow", "w-1"],
        &["--session", &session],
        &["--agent", "open", "", "anonymous"],
        &[
            "--after",
            "2020-01-01T00:00:00Z",
            "--before",
            "2100-01-01T00:00:00+02:00",
        ],
    ];
    for stopped in [false, true] {
        if stopped {
            assert!(gateway.stop().await, "{}", gateway.log());
        }
        for part in parts {
            let report = exported(&gateway, "part.tar", part, &[]);
            assert!(
                report["entries"].as_u64().unwrap() >= 2,
                "{part:?}: {report}"
            );
            assert_eq!(
                status(&report, "integrity"),
                "verified",
                "{part:?}: {report}"
            );
            assert_eq!(
                status(&report, "completeness"),
                "not established",
                "{part:?}"
            );
            assert_eq!(report["verdict"], "verified", "{part:?}: {report}");
            if part[0] == "--call" {
                continue;
            }
            // A part says that its log goes on from a head that was seen.
            let since = [part, &["--since", "seen.txt"]].concat();
            let report = exported(&gateway, "since.tar", &since, &["--since", "seen.txt"]);
            assert_eq!(
                status(&report, "integrity"),
                "verified",
                "{part:?}: {report}"
            );
            let report = exported(&gateway, "part.tar", part, &["--since", "seen.txt"]);
            assert_eq!(status(&report, "integrity"), "not established", "{part:?}");
            // The same from a whole bundle, without the gateway.
            let from = ["--from", "all.tar", "--output", "from.tar"];
            run(
                &gateway,
                0,
                &[&["audit", "export"], &from[..], part].concat(),
            );
            let key = gateway.public_key();
            run(&gateway, 0, &["verify", "from.tar", "--trust", &key]);
        }
    }
    let again = exported(&gateway, "all.tar", &[], &["--since", "seen.txt"]);
    assert_eq!(status(&again, "completeness"), "verified", "{again}");
    assert!(again["entries"].as_u64().unwrap() > entries);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_becomes_a_proof_that_verifies_alone() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let call = Call::new("transfer", PAY).under("e-1");
    let answer = client.call(&call).await;
    let refused = client.call(&call).await;
    let folder = gateway.folder().to_owned();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("answer.json", answer.text());
    write("refused.json", refused.text());
    let shown = run(&gateway, 0, &["receipt", "show", "answer.json"]);
    assert!(shown.starts_with("call       "), "{shown}");
    assert!(shown.contains("execution  e-1\n"), "{shown}");
    let key = gateway.public_key();
    let config = ["--config", "countersign.toml"];
    for answer in ["answer.json", "refused.json"] {
        let prove = ["receipt", "prove", answer, "-o", "proof.txt"];
        run(&gateway, 0, &[&prove[..], &config].concat());
        let check = [
            "receipt",
            "check",
            "proof.txt",
            "--trust",
            &key,
            "--receipt",
            answer,
        ];
        let checked = run(&gateway, 0, &check);
        assert!(checked.starts_with("verified\n"), "{checked}");
    }
    let other = [
        "receipt",
        "check",
        "proof.txt",
        "--trust",
        &key,
        "--receipt",
        "answer.json",
    ];
    run(&gateway, 1, &other);
    assert!(gateway.stop().await, "{}", gateway.log());
    // From the store of the stopped gateway, from a bundle, and by the call.
    drop(gateway.export());
    let call_id = answer.result()["_meta"]["countersign.dev/receipt"]["call_id"].clone();
    let call_id = call_id.as_str().unwrap();
    let from: [&[&str]; 3] = [
        &["answer.json", "--config", "countersign.toml"],
        &["answer.json", "--bundle", "bundle.tar"],
        &["--call", call_id, "--bundle", "bundle.tar"],
    ];
    for from in from {
        let prove = [&["receipt", "prove"], from, &["-o", "proof.txt"]].concat();
        run(&gateway, 0, &prove);
        run(
            &gateway,
            0,
            &["receipt", "check", "proof.txt", "--trust", &key],
        );
    }
    let proof = fs::read_to_string(gateway.folder().join("proof.txt")).unwrap();
    write("longer.txt", &proof.replacen("\nindex ", "\nindex 1", 1));
    run(
        &gateway,
        1,
        &["receipt", "check", "longer.txt", "--trust", &key],
    );
    write("cut.txt", &proof[..proof.len() / 2]);
    run(
        &gateway,
        3,
        &["receipt", "check", "cut.txt", "--trust", &key],
    );
    let log = key.split('+').next().unwrap();
    let seed = [9; 32];
    let other = SigningKey::from_seed(log.parse().unwrap(), &seed);
    let other = other.verifying_key().to_string();
    run(
        &gateway,
        1,
        &["receipt", "check", "proof.txt", "--trust", &other],
    );
    run(&gateway, 2, &["receipt", "show", "countersign.toml"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_goes_on_under_a_new_key_and_whoever_trusted_the_old_one_trusts_it() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    client
        .call(&Call::new("transfer", PAY).under("before"))
        .await;
    let old = gateway.public_key();
    let rotate = ["key", "rotate", "--config", "countersign.toml"];
    assert!(!gateway.run(&rotate).status.success(), "while it runs");
    assert!(gateway.stop().await, "{}", gateway.log());
    // As a rotation that was broken off leaves it: nothing starts beside it.
    let next = gateway.folder().join("countersign.db.key.next");
    assert!(!next.exists(), "a refused rotation leaves nothing behind");
    let log = old.split('+').next().unwrap().parse().unwrap();
    let begun = SigningKey::from_seed(log, &[7; 32]);
    keyfile::create(&next, &begun).unwrap();
    run(
        &gateway,
        2,
        &["key", "show", "--config", "countersign.toml"],
    );
    run(
        &gateway,
        2,
        &[
            "audit",
            "export",
            "--config",
            "countersign.toml",
            "-o",
            "no.tar",
        ],
    );
    let new = run(&gateway, 0, &rotate).trim_end().to_owned();
    assert!(!next.exists());
    assert_eq!(
        new,
        begun.verifying_key().to_string(),
        "it goes on with the key that it had begun with"
    );
    assert_eq!(new.split('+').next(), old.split('+').next(), "the same log");
    gateway.start().await;
    client
        .call(&Call::new("transfer", PAY).under("after"))
        .await;
    let again = client
        .call(&Call::new("transfer", PAY).under("before"))
        .await;
    assert_eq!(again.code(), "replay");
    drop(gateway.export());
    for key in [&old, &new] {
        let report = run(&gateway, 0, &["verify", "bundle.tar", "--trust", key]);
        assert!(report.starts_with("integrity       verified"), "{report}");
        assert!(!report.contains("contradicted"), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_forms_hold_the_same_entries() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    client.call(&Call::new("transfer", PAY).under("e-1")).await;
    let bundle = gateway.export();
    let mut bundle = Bundle::open(File::open(bundle).unwrap()).unwrap();
    let mut lines = String::new();
    let mut entries = bundle.entries();
    while let Some(line) = entries.next().unwrap() {
        lines.push_str(std::str::from_utf8(line).unwrap());
        lines.push('\n');
    }
    let export = ["audit", "export", "--from", "bundle.tar", "--output", "-"];
    assert_eq!(
        run(&gateway, 0, &[&export[..], &["--format", "jsonl"]].concat()),
        lines
    );
    let bindings = run(
        &gateway,
        0,
        &[&export[..], &["--format", "action-bindings"]].concat(),
    );
    let binding: Value = serde_json::from_str(bindings.lines().next().unwrap()).unwrap();
    assert_eq!(binding["execution_id"], "e-1", "{binding}");
    let trace = [
        "--format",
        "trace",
        "--config",
        "countersign.toml",
        "--data-class",
        "geheim – 機密",
    ];
    let trace = run(&gateway, 0, &[&export[..], &trace[..]].concat());
    let trace: Value = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace["data_class"], "geheim – 機密");
    assert_eq!(trace["tool_transcript"]["call_count"], 1);
    run(&gateway, 2, &[&export[..], &["--format", "trace"]].concat());
}

/// What every kind of attempt leaves, in a real bundle.
async fn real_bundle() -> (Gateway, std::path::PathBuf) {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let call = Call::new("transfer", PAY).under("e-1");
    client.call(&call).await;
    client.call(&call).await;
    let other = r#"{"from":"alice","to":"bob","amount":10.0}"#;
    client
        .call(&Call::new("transfer", other).under("e-1"))
        .await;
    client.call(&Call::new("transfer", PAY)).await;
    client
        .call(&Call::new("no such tool, 工具", "{}").under("e-2"))
        .await;
    client
        .post(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}"#)
        .await;
    let slow = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":60000}"#;
    let before = ledger.effects().len();
    let url = gateway.url();
    let waiting = tokio::spawn(async move {
        let client = Client::connect(&url, Revision::July2026, None).await;
        client
            .try_call(&Call::new("transfer_slowly", slow).under("slow"))
            .await
    });
    ledger.wait_for_effects(before + 1).await;
    gateway.kill();
    drop(waiting.await);
    gateway.start().await;
    client
        .call(&Call::new("transfer_slowly", slow).under("slow"))
        .await;
    let bundle = gateway.export();
    (gateway, bundle)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_of_a_real_bundle_can_be_changed_without_the_key() {
    let (gateway, path) = real_bundle().await;
    let inputs = Inputs {
        trusted: vec![VerifyingKey::parse(&gateway.public_key()).unwrap()],
        ..Inputs::default()
    };
    let real = Real::read(&path);
    let honest = real.check(&real.lines, &inputs);
    assert_eq!(honest.verdict(&Level::default()), Verdict::Verified);
    let all = lies::values(&real.lines);
    let kinds: std::collections::BTreeSet<&str> = all
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    println!("{} entries of {kinds:?}", all.len());
    for kind in ["admission", "terminal", "refusal", "blocked"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
    let mut count = 0;
    for index in lies::sorts(&all) {
        for (field, value) in lies::changes(&all[index]) {
            let mut lie = all[index].clone();
            lie[&field] = value.clone();
            lies::seal(&mut lie);
            if lie == all[index] {
                continue;
            }
            count += 1;
            let mut lines = real.lines.clone();
            lines[index] = lies::bytes(&lie);
            let report = real.check(&lines, &inputs);
            let caught = [Claim::Integrity, Claim::Completeness]
                .map(|claim| report.status(claim) == Status::Contradicted);
            assert!(caught.contains(&true), "{index} {field} {value}");
        }
    }
    for index in 0..real.lines.len() {
        let mut without = real.lines.clone();
        without.remove(index);
        let report = real.check(&without, &inputs);
        assert_eq!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "{index}"
        );
    }
    println!("{count} changed fields, each contradicted");
}

/// A bundle taken apart.
struct Real {
    manifest: countersign_evidence::bundle::Manifest,
    lines: Vec<Vec<u8>>,
    notes: Vec<String>,
}

impl Real {
    fn read(path: &Path) -> Self {
        let mut bundle = Bundle::open(File::open(path).unwrap()).unwrap();
        let notes = bundle.checkpoints().iter();
        let notes = notes
            .map(|(_, note)| String::from_utf8(note.clone()).unwrap())
            .collect();
        let manifest = bundle.manifest().clone();
        let mut lines = Vec::new();
        let mut entries = bundle.entries();
        while let Some(line) = entries.next().unwrap() {
            lines.push(line.to_vec());
        }
        Self {
            manifest,
            lines,
            notes,
        }
    }

    fn check(&self, lines: &[Vec<u8>], inputs: &Inputs) -> Report {
        let mut writer = Writer::new(Vec::new(), &self.manifest).unwrap();
        for line in lines {
            writer.raw_entry(line).unwrap();
        }
        for note in &self.notes {
            writer.checkpoint(note).unwrap();
        }
        verify(Cursor::new(writer.finish().unwrap()), inputs).unwrap()
    }
}
