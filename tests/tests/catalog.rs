//! An approved catalog, from the command line to a verifier who has nothing
//! but a file.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server, said};
use serde_json::Value;

const CONFIG: [&str; 2] = ["--config", "countersign.toml"];

const TYPED: &str = r#"
@id("everything") permit (principal, action, resource);
@id("limit")
forbid (principal, action == Action::"ledger/transfer", resource)
when { context.args.amount.ceil > 1000 };
"#;

#[tokio::test]
async fn an_approved_catalog_types_arguments_and_a_verifier_decides_by_it_again() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger))
        .permit_everything()
        .also("[catalog]\nfile = \"catalog.json\"\n")
        .prepare();
    // Nobody runs: the server is asked directly.
    let differs = gateway.run(&[&["catalog", "diff"], &CONFIG[..]].concat());
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    let approved = gateway.run(&[&["catalog", "approve"], &CONFIG[..]].concat());
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
    let shown = gateway.run(&[&["catalog", "show"], &CONFIG[..]].concat());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("balance          read-only"), "{shown}");
    let same = gateway.run(&[&["catalog", "diff"], &CONFIG[..]].concat());
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let policies = gateway.folder().join("permit-everything/default.cedar");
    std::fs::write(policies, TYPED).unwrap();
    let checked = gateway.run(&[&["policy", "check"], &CONFIG[..]].concat());
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let schema = gateway.run(&[&["policy", "schema"], &CONFIG[..]].concat());
    assert!(
        String::from_utf8(schema.stdout)
            .unwrap()
            .contains("\"amount\": Num,")
    );

    gateway.start().await;
    let client = gateway.client(Revision::July2026).await;
    let mut calls = Vec::new();
    for (number, (amount, verdict)) in (0..).zip([
        ("1000.0", "ok"),
        ("5000", "policy-denied"),
        ("5000.0", "policy-denied"),
        ("\"5000\"", "arguments-invalid"),
    ]) {
        let arguments = format!(r#"{{"from":"a","to":"b","amount":{amount}}}"#);
        let id = format!("e-{number}");
        let call = Call::new("transfer", &arguments).under(&id);
        assert_eq!(client.call(&call).await.verdict(), verdict, "{amount}");
        calls.push((id, arguments));
    }
    let reloaded = gateway.run(&[&["policy", "reload"], &CONFIG[..]].concat());
    assert_eq!(reloaded.status.code(), Some(0), "{reloaded:?}");
    let bundle = gateway.export();
    let mut arguments = vec!["verify".to_owned(), bundle.display().to_string()];
    arguments.extend(["--trust".to_owned(), gateway.public_key()]);
    arguments.extend(["--policies", "permit-everything", "--json"].map(str::to_owned));
    for (id, text) in &calls {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"transfer","arguments":{text},"_meta":{{"countersign.dev/execution_id":"{id}","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"countersign-tests","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let path = gateway.folder().join(format!("{id}.json"));
        std::fs::write(&path, message).unwrap();
        arguments.extend(["--request".to_owned(), path.display().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let verified = gateway.run(&arguments);
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    let claims = report["claims"].as_array().unwrap();
    let status = |claim: &str| {
        let found = claims.iter().find(|found| found["claim"] == claim);
        found.unwrap()["status"].clone()
    };
    assert_eq!(status("attribution"), "verified", "{report:#}");
    assert_eq!(status("decision"), "verified", "{report:#}");
}

/// Runs a command on the configuration; its status and everything that it said.
fn run(gateway: &Gateway, arguments: &[&str]) -> (i32, String) {
    let done = gateway.run(&[arguments, &CONFIG[..]].concat());
    (done.status.code().unwrap(), said(&done))
}

#[tokio::test]
async fn what_is_approved_is_what_was_reviewed_and_leaves_out_only_what_is_there() {
    let ledger = LedgerServer::http().await;
    for running in [false, true] {
        let mut gateway = Plan::new(Server::listening(&ledger))
            .permit_everything()
            .also("[catalog]\nfile = \"catalog.json\"\n")
            .prepare();
        if running {
            gateway.start().await;
        }
        let lock = gateway.folder().join("catalog.json");
        let (status, differs) = run(&gateway, &["catalog", "diff"]);
        assert_eq!(status, 1, "{differs}");
        let (_, rest) = differs.split_once("ledger: offers ").expect(&differs);
        let checkpoint = &rest[.."sha256:".len() + 64];
        let other = format!("sha256:{}", "0".repeat(64));
        for (why, arguments) in [
            ("another offer", &["--expect", &other][..]),
            (
                "one too many",
                &["--expect", checkpoint, "--expect", &other],
            ),
            ("no checkpoint", &["--expect", "sha256:00"]),
            ("no such tool", &["--without", "blance"]),
            (
                "one of two",
                &["--without", "balance", "--without", "blance"],
            ),
        ] {
            let (status, text) = run(&gateway, &[&["catalog", "approve"], arguments].concat());
            assert_eq!(status, 2, "{why}: {text}");
            assert!(!lock.exists(), "{why}: {text}");
        }
        let good = [
            "catalog",
            "approve",
            "--expect",
            checkpoint,
            "--without",
            "balance",
        ];
        let (status, text) = run(&gateway, &good);
        assert_eq!(status, 0, "{text}");
        let shown = run(&gateway, &["catalog", "show"]).1;
        assert!(
            shown.contains("transfer") && !shown.contains("balance"),
            "{shown}"
        );
        // The offer is what it was, and is approved in part.
        let (status, text) = run(&gateway, &["catalog", "diff"]);
        assert!(status == 1 && text.contains(checkpoint), "{text}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn an_approval_that_fails_at_any_step_leaves_the_lock_and_what_is_in_force() {
    let ledger = LedgerServer::http().await;
    type Fault = fn(&std::path::Path);
    let faults: [(&str, Fault); 3] = [
        ("policies that do not hold", |folder| {
            let policies = folder.join("permit-everything/default.cedar");
            std::fs::write(policies, "permit (").unwrap();
        }),
        ("an archive that is no folder", |folder| {
            let archive = folder.join("countersign.db.archive/catalogs");
            std::fs::remove_dir_all(&archive).unwrap();
            std::fs::write(&archive, "").unwrap();
        }),
        ("a lock that is none", |folder| {
            std::fs::write(folder.join("catalog.json"), "{").unwrap();
        }),
    ];
    for (why, fault) in faults {
        let mut gateway = Plan::new(Server::listening(&ledger))
            .permit_everything()
            .also("[catalog]\nfile = \"catalog.json\"\n")
            .prepare();
        let (status, text) = run(&gateway, &["catalog", "approve"]);
        assert_eq!(status, 0, "{text}");
        gateway.start().await;
        let client = gateway.client(Revision::July2026).await;
        let balance = |id| Call::new("balance", r#"{"account":"a"}"#).under(id);
        assert_eq!(client.call(&balance("before")).await.verdict(), "ok");
        fault(gateway.folder());
        let lock = gateway.folder().join("catalog.json");
        let before = std::fs::read(&lock).unwrap();
        let approve = ["catalog", "approve", "--without", "balance"];
        let (status, text) = run(&gateway, &approve);
        assert_eq!(status, 2, "{why}: {text}");
        let now = std::fs::read(&lock).unwrap();
        assert!(now == before, "{why}: the lock is as it was");
        let after = client.call(&balance("after")).await;
        assert_eq!(after.verdict(), "ok", "{why}: {after:?}");
        assert!(gateway.stop().await);
    }
}
