//! Parts of a log, from the gateway and from a whole bundle.

use std::fs::{self, File};

use countersign_evidence::bundle::Bundle;
use countersign_tests::{Call, LedgerServer, Plan, Revision, Server};
use serde_json::Value;

use crate::{PAY, WORK, exported, run, status};

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
