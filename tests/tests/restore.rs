//! Backup, restore and check through the real binary: a restored database cannot
//! make an identifier look new by accident (`docs/operators/backup.md`).

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use std::fs;

use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};

async fn pay(client: &Client, id: &str) -> String {
    let arguments = format!(r#"{{"from":"alice","to":"{id}","amount":1}}"#);
    let call = Call::new("transfer", &arguments).under(id);
    client.call(&call).await.verdict()
}

fn ledger(gateway: &Gateway, arguments: &[&str]) -> (i32, String) {
    let mut all = vec!["ledger"];
    all.extend(arguments);
    let done = gateway.run(&all);
    (done.status.code().unwrap(), said(&done))
}

#[tokio::test]
async fn a_restored_backup_admits_nothing_until_the_rollback_is_accepted_and_then_says_so() {
    let server = LedgerServer::http().await;
    for running in [true, false] {
        let mut gateway = Plan::new(Server::listening(&server)).start().await;
        let client = gateway.client(Revision::July2026).await;
        let name = |part: &str| format!("{part}-{running}");
        assert_eq!(pay(&client, &name("before")).await, "ok");
        let (status, text) = ledger(&gateway, &["backup", "backup.db"]);
        assert_eq!(status, 0, "{text}");
        let (status, text) = ledger(&gateway, &["backup", "backup.db"]);
        assert_eq!(status, 1, "never overwritten: {text}");
        assert!(text.contains("ledger-backup"), "{text}");
        assert_eq!(pay(&client, &name("after")).await, "ok");
        let (status, text) = ledger(&gateway, &["check", "--file", "backup.db"]);
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("everything fits"), "{text}");
        let (status, text) = ledger(&gateway, &["check"]);
        assert_eq!(status, 2, "a gateway writes it: {text}");
        let (status, text) = ledger(&gateway, &["rollback", "accept", "--reason", "why"]);
        assert_eq!(status, 1, "nothing to accept: {text}");
        assert!(text.contains("ledger-not-rolled-back"), "{text}");
        assert!(gateway.stop().await);
        let (status, text) = ledger(&gateway, &["check"]);
        assert_eq!(status, 0, "{text}");

        let at = |name: &str| gateway.folder().join(name);
        for old in ["countersign.db-wal", "countersign.db-shm"] {
            let _ = fs::remove_file(at(old));
        }
        fs::copy(at("backup.db"), at("countersign.db")).unwrap();
        let (status, text) = ledger(&gateway, &["check"]);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains("anchor:"), "{text}");

        let accept = ["rollback", "accept", "--reason", "the disk is lost"];
        if running {
            gateway.start().await;
            let (status, text) = ledger(&gateway, &["status"]);
            assert_eq!(status, 1, "{text}");
            assert_eq!(pay(&client, &name("after")).await, "ledger-rolled-back");
            assert_eq!(pay(&client, &name("new")).await, "ledger-rolled-back");
            let (status, text) = ledger(&gateway, &accept);
            assert_eq!(status, 0, "{text}");
        } else {
            // Another key had been begun, and is in nobody's way.
            let config = ["--config", "countersign.toml"];
            let next = [
                &["key", "next", "--output", "countersign.db.key.next"],
                &config[..],
            ]
            .concat();
            let done = gateway.run(&next);
            assert!(done.status.success(), "{}", said(&done));
            let rotate = [&["key", "rotate"], &config[..]].concat();
            let done = gateway.run(&rotate);
            assert!(said(&done).contains("rolled back"), "{}", said(&done));
            let (status, text) = ledger(&gateway, &accept);
            assert_eq!(status, 0, "{text}");
            let (status, text) = ledger(&gateway, &["status"]);
            assert_ne!(status, 0, "first the key: {text}");
            let done = gateway.run(&rotate);
            assert!(done.status.success(), "{}", said(&done));
            gateway.start().await;
        }
        let (status, text) = ledger(&gateway, &["status"]);
        assert_eq!(status, 0, "{text}");
        assert_eq!(pay(&client, &name("before")).await, "replay");
        assert_eq!(pay(&client, &name("new")).await, "ok");
        let bundle = gateway.export();
        let key = gateway.public_key();
        let done = gateway.run(&["verify", bundle.to_str().unwrap(), "--trust", &key]);
        assert!(!said(&done).contains("contradicted"), "{}", said(&done));
        assert!(gateway.stop().await);
        let (status, text) = ledger(&gateway, &["check"]);
        assert_eq!(status, 0, "{text}");
    }
}
