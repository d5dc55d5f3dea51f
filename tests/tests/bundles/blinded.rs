//! A gateway that blinds its entries: what its bundles show, with and without
//! their salts, and that it goes on as before.

use std::fs::{self, File};

use countersign_evidence::Entry;
use countersign_evidence::bundle::Bundle;
use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server};
use serde_json::Value;

use crate::{PAY, exported, run, status};

const OTHER: &str = r#"{"from":"alice","to":"bob","amount":11}"#;

/// The request, as a verifier who has it brings it.
fn request(gateway: &Gateway, name: &str, id: &str, arguments: &str) {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"transfer","arguments":{arguments},"_meta":{{"countersign.dev/execution_id":"{id}"}}}}}}"#
    );
    fs::write(gateway.folder().join(name), text).unwrap();
}

/// The blinding of each entry on an execution, in a bundle.
fn blindings(gateway: &Gateway, bundle: &str, id: &str) -> Vec<Option<String>> {
    let file = File::open(gateway.folder().join(bundle)).unwrap();
    let mut bundle = Bundle::open(file).unwrap();
    let mut lines = bundle.entries();
    let mut found = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        let entry: Value = serde_json::from_slice(line).unwrap();
        if entry["execution_id"] == id && !entry["execution_seq"].is_null() {
            found.push(entry["blind"].as_str().map(str::to_owned));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_blinds_behaves_the_same_and_its_salts_show_what_it_did() {
    let ledger = LedgerServer::http().await;
    let plan = Plan::new(Server::listening(&ledger)).also("[evidence]\nblind = true");
    let mut gateway = plan.start().await;
    let client = gateway.client(Revision::November2025).await;
    let call = Call::new("transfer", PAY).under("e-1");
    let answer = client.call(&call).await;
    let receipt = &answer.result()["_meta"]["countersign.dev/receipt"];
    assert_eq!(receipt["salt"].as_str().unwrap().len(), 64);
    assert_eq!(client.call(&call).await.code(), "replay");
    let other = Call::new("transfer", OTHER).under("e-1");
    let collision = client.call(&other).await;
    assert_eq!(collision.code(), "collision");
    client
        .call(&Call::new("transfer", OTHER).under("e-2"))
        .await;
    client.call(&Call::new("transfer", PAY)).await;
    request(&gateway, "pay.json", "e-1", PAY);
    request(&gateway, "other.json", "e-3", OTHER);
    fs::write(gateway.folder().join("answer.json"), answer.text()).unwrap();

    let with = ["--request", "pay.json"];
    for stopped in [false, true] {
        if stopped {
            assert!(gateway.stop().await, "{}", gateway.log());
        }
        let report = exported(&gateway, "all.tar", &[], &with);
        for claim in [
            "integrity",
            "completeness",
            "classification",
            "ordering",
            "admission",
        ] {
            assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
        }
        let report = exported(&gateway, "closed.tar", &["--without-salts"], &with);
        for claim in ["integrity", "completeness", "ordering", "outcome"] {
            assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
        }
        for claim in ["classification", "admission"] {
            assert_eq!(
                status(&report, claim),
                "not established",
                "{claim}: {report}"
            );
        }
        // The owner's receipt opens what it is about.
        let own = [&with[..], &["--receipt", "answer.json"]].concat();
        let report = exported(&gateway, "closed.tar", &["--without-salts"], &own);
        assert_ne!(report["verdict"], "contradicted", "{report}");
        // A part carries the salts of what it discloses.
        let part = ["--execution", "e-1", "--agent", "open", "", "anonymous"];
        let report = exported(&gateway, "part.tar", &part, &with);
        for claim in ["classification", "admission"] {
            assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
        }
        let mut part =
            Bundle::open(File::open(gateway.folder().join("part.tar")).unwrap()).unwrap();
        let mut salts = part.openings();
        assert!(salts.next().unwrap().is_some());
        assert!(salts.next().unwrap().is_none());
    }
    assert!(gateway.log().find("salt").is_none(), "{}", gateway.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_proofs_and_the_other_forms_say_that_an_entry_is_blinded() {
    let ledger = LedgerServer::http().await;
    let plan = Plan::new(Server::listening(&ledger)).also("[evidence]\nblind = true");
    let gateway = plan.start().await;
    let client = gateway.client(Revision::July2026).await;
    let answer = client.call(&Call::new("transfer", PAY).under("e-1")).await;
    fs::write(gateway.folder().join("answer.json"), answer.text()).unwrap();
    let shown = run(&gateway, 0, &["receipt", "show", "answer.json"]);
    assert!(shown.contains("\nsalt  "), "{shown}");
    let config = ["--config", "countersign.toml"];
    let prove = ["receipt", "prove", "answer.json", "-o", "proof.txt"];
    run(&gateway, 0, &[&prove[..], &config].concat());
    let key = gateway.public_key();
    let check = ["receipt", "check", "proof.txt", "--trust", &key];
    let checked = run(
        &gateway,
        0,
        &[&check[..], &["--receipt", "answer.json"]].concat(),
    );
    assert!(checked.starts_with("verified\n"), "{checked}");
    assert!(checked.contains("\nblinded "), "{checked}");

    let export = |more: &[&str]| {
        let export = [
            "audit",
            "export",
            "--config",
            "countersign.toml",
            "--output",
            "-",
        ];
        run(&gateway, 0, &[&export[..], more].concat())
    };
    let bindings = export(&["--format", "action-bindings"]);
    let binding: Value = serde_json::from_str(bindings.lines().next().unwrap()).unwrap();
    assert_eq!(binding["execution_id"], "e-1");
    let closed = export(&["--format", "action-bindings", "--without-salts"]);
    assert_eq!(closed, "", "nothing is said of what stays closed");
    let lines = export(&["--format", "jsonl"]);
    let salt = answer.result()["_meta"]["countersign.dev/receipt"]["salt"].clone();
    for secret in [binding["binding"].as_str().unwrap(), salt.as_str().unwrap()] {
        assert!(!lines.contains(secret), "{secret}");
        assert!(!export(&["--format", "trace"]).contains(secret));
    }
    assert!(lines.contains(r#""blind":"salted""#), "{lines}");
    for line in lines.lines() {
        Entry::parse(line.as_bytes()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blinding_is_switched_on_and_off_at_a_restart_and_the_log_goes_on() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let mut expected = Vec::new();
    for (round, blind) in [false, true, false].into_iter().enumerate() {
        if round > 0 {
            assert!(gateway.stop().await, "{}", gateway.log());
            let path = gateway.folder().join("countersign.toml");
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("[evidence]\nblind = true\n", "");
            let section = if blind {
                "[evidence]\nblind = true\n"
            } else {
                ""
            };
            let text = text.replacen("[policy]\n", &format!("{section}[policy]\n"), 1);
            fs::write(&path, text).unwrap();
            gateway.start().await;
        }
        let client = gateway.client(Revision::July2026).await;
        for earlier in 0..=round {
            let id = format!("e-{earlier}");
            client.call(&Call::new("transfer", PAY).under(&id)).await;
        }
        expected.push(blind.then(|| "salted".to_owned()));
    }
    let report = exported(&gateway, "all.tar", &[], &[]);
    for claim in ["integrity", "completeness", "classification", "ordering"] {
        assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
    }
    for (round, blind) in expected.into_iter().enumerate() {
        let found = blindings(&gateway, "all.tar", &format!("e-{round}"));
        // Reserved and settled, then met again after each restart that followed.
        assert_eq!(found, vec![blind; 4 - round], "e-{round}");
    }
}
