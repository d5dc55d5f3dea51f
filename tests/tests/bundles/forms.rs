//! The other forms of the same entries.

use std::fs::File;

use countersign_evidence::bundle::{Bundle, Writer};
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
    assert_eq!(trace["policy"]["enforcement_mode"], "enforce");
    run(&gateway, 2, &[&export[..], &["--format", "trace"]].concat());
}

/// A record is signed by the log's key, so it is made of nothing but what that
/// key signed.
#[tokio::test(flavor = "multi_thread")]
async fn no_record_is_signed_over_entries_that_the_key_never_signed() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let config = gateway.folder().join("countersign.toml");
    let config = std::fs::read_to_string(config).unwrap();
    let observing = config.replacen("[policy]\n", "[policy]\nenforcement = \"observe\"\n", 1);
    std::fs::write(gateway.folder().join("observing.toml"), observing).unwrap();
    let client = gateway.client(Revision::July2026).await;
    client.call(&Call::new("transfer", PAY).under("e-1")).await;
    let mut bundle = Bundle::open(File::open(gateway.export()).unwrap()).unwrap();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut entries = bundle.entries();
    while let Some(line) = entries.next().unwrap() {
        lines.push(line.to_vec());
    }
    let last = lines.len() - 1;
    let mut forged = vec![("as it is", lines.clone())];
    for (what, forge) in [
        ("doubled", |lines: &mut Vec<Vec<u8>>, at| {
            lines.insert(at, lines[at].clone());
        }),
        ("left out", |lines: &mut Vec<Vec<u8>>, at| {
            drop(lines.remove(at));
        }),
        ("no entry", |lines: &mut Vec<Vec<u8>>, at: usize| {
            lines[at] = b"{}".to_vec();
        }),
    ] as [(&str, fn(&mut Vec<Vec<u8>>, usize)); 3]
    {
        // What follows the head is not signed, and not looked at.
        for at in [0, last - 1] {
            let mut lines = lines.clone();
            forge(&mut lines, at);
            forged.push((what, lines));
        }
    }
    for (what, lines) in forged {
        let mut writer = Writer::new(Vec::new(), bundle.manifest()).unwrap();
        for line in &lines {
            writer.raw_entry(line).unwrap();
        }
        for (_, note) in bundle.checkpoints() {
            writer.checkpoint(&String::from_utf8_lossy(note)).unwrap();
        }
        let file = gateway.folder().join("forged.tar");
        std::fs::write(file, writer.finish().unwrap()).unwrap();
        let export = ["audit", "export", "--from", "forged.tar", "--output", "-"];
        for (config, mode) in [
            ("countersign.toml", "enforce"),
            ("observing.toml", "advisory"),
        ] {
            let status = if what == "as it is" { 0 } else { 2 };
            let trace = ["--format", "trace", "--config", config];
            let said = run(&gateway, status, &[&export[..], &trace[..]].concat());
            if status == 0 {
                let record: Value = serde_json::from_str(&said).unwrap();
                assert_eq!(record["policy"]["enforcement_mode"], mode, "{record}");
            }
        }
    }
}
