//! What `countersign receipt` prints; `UPDATE_GOLDEN=1` writes the files anew.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test says what fails by failing, and has a switch of its own"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_canon::{Classification, Digest, Outcome};
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::proof::Collector;
use countersign_evidence::{Agent, Draft, Head, Kind, LogId, ProofFile, Receipt, Time};

fn key() -> SigningKey {
    SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[1; 32])
}

/// A log of two entries, and the proof of the second.
fn proof() -> ProofFile {
    let mut head = Head::new(LogId::new("log.example/1").unwrap());
    let time = |micros: i64| Time::from_micros(1_767_323_045_000_000 + micros);
    head.append(Draft::new(Kind::Start, time(0)), None);
    let mut draft = Draft::new(Kind::Terminal, time(6));
    draft.call_id = "c-1".parse().ok();
    draft.execution_id = "invoice-7".parse().ok();
    draft.agent = Some(Agent {
        method: "token".into(),
        issuer: "ops".into(),
        subject: "zoë".into(),
    });
    draft.profile = Some("exact@1.0.0".into());
    draft.binding = Some(Digest::of(&[b"an action"]));
    draft.classification = Some(Classification::Fresh.into());
    draft.outcome = Some(Outcome::Succeeded);
    draft.answer_digest = Some(Digest::of(&[b"an answer"]));
    let entry = head.append(draft, None);
    let mut collector = Collector::new(2);
    collector.want_inclusion(1);
    let mut again = Head::new(LogId::new("log.example/1").unwrap());
    collector.leaf(
        again
            .append(Draft::new(Kind::Start, time(0)), None)
            .hash()
            .to_bytes(),
    );
    collector.leaf(entry.hash().to_bytes());
    let path = collector.inclusion(1).unwrap();
    ProofFile::new(entry, path, &Checkpoint::of(&head).sign(&key())).unwrap()
}

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    assert_eq!(
        found,
        fs::read_to_string(&path).unwrap_or_default(),
        "{name}"
    );
}

/// Status and output of a command in a folder.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "$ countersign {}\n{}{}status {}\n",
        arguments.join(" "),
        text(&done.stdout),
        text(&done.stderr),
        done.status.code().unwrap()
    )
}

#[test]
fn receipts_and_proofs_are_shown_and_checked_as_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let proof = proof();
    let receipt = String::from_utf8(Receipt::of(proof.entry()).unwrap().to_json()).unwrap();
    write("receipt.json", &receipt);
    write(
        "answer.json",
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"_meta":{{"countersign.dev/receipt":{receipt}}}}}}}"#
        ),
    );
    write(
        "refused.json",
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":{}}}"#,
    );
    write("proof.txt", &proof.to_text());
    write(
        "forged.txt",
        &proof.to_text().replacen("index 1", "index 0", 1),
    );
    write("key.txt", &key().verifying_key().to_string());
    let other = receipt.replacen("\"sequence\":1", "\"sequence\":0", 1);
    write("other.json", &other);
    let shown: String = ["receipt.json", "answer.json", "proof.txt", "refused.json"]
        .map(|file| run(folder.path(), &["receipt", "show", file]))
        .concat();
    golden("receipt-show.txt", &shown);
    let check = |rest: &[&str]| run(folder.path(), &[&["receipt", "check"], rest].concat());
    let checked = [
        check(&["proof.txt", "--trust", "key.txt"]),
        check(&[
            "proof.txt",
            "--trust",
            "key.txt",
            "--receipt",
            "answer.json",
        ]),
        check(&["proof.txt", "--trust", "key.txt", "--receipt", "other.json"]),
        check(&["forged.txt", "--trust", "key.txt"]),
        check(&["receipt.json", "--trust", "key.txt"]),
    ];
    golden("receipt-check.txt", &checked.concat());
}
