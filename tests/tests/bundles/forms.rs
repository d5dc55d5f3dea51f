//! The other forms of the same entries.

use std::fs::File;

use countersign_evidence::bundle::Bundle;
use countersign_tests::{Call, LedgerServer, Plan, Revision, Server};
use serde_json::Value;

use crate::{PAY, run};

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
