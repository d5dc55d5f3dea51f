//! Receipts, and the proofs that they become.

use std::fs;

use countersign_evidence::key::SigningKey;
use countersign_tests::{Call, LedgerServer, Plan, Revision, Server};

use crate::{PAY, run};

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
        2,
        &["receipt", "check", "proof.txt", "--trust", &other],
    );
    run(&gateway, 2, &["receipt", "show", "countersign.toml"]);
}
