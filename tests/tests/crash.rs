//! `kill -9` of the gateway: what was durable, and what the next attempt is told.
//!
//! The crash after the effect and before its terminal record is the one that
//! matters: it must fail closed. `docs/spec/executions.md` §4 has the table. Here
//! it is shown on both transports and to a verifier; `crash_matrix.rs` has every
//! other boundary.

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};

#[tokio::test]
async fn a_call_that_was_running_when_the_gateway_was_killed_is_blocked_and_never_sent_again() {
    let listening = LedgerServer::http().await;
    let spawned = LedgerServer::stdio();
    for (transport, server, ledger) in [
        ("http", Server::listening(&listening), &listening),
        ("stdio", Server::spawned(&spawned), &spawned),
    ] {
        let mut gateway = Plan::new(server).start().await;
        let client = gateway.client(Revision::July2026).await;
        let arguments = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":60000}"#;
        let slow = Call::new("transfer_slowly", arguments).under("slow");
        let url = gateway.url();
        let waiting = tokio::spawn(async move {
            let client = Client::connect(&url, Revision::July2026, None).await;
            client
                .try_call(&Call::new("transfer_slowly", arguments).under("slow"))
                .await
        });
        ledger.wait_for_effects(1).await;
        gateway.kill();
        assert!(
            waiting.await.unwrap().is_none(),
            "{transport}: nothing was answered"
        );

        gateway.start().await;
        for attempt in 1..=3 {
            let answer = client.call(&slow).await;
            assert_eq!(
                answer.code(),
                "blocked",
                "{transport} {attempt}: {answer:?}"
            );
            let data = answer.error()["data"].clone();
            assert_eq!(data["state"], "blocked", "{transport}: {data}");
            assert_eq!(data["safe_with_new_id"], false, "{transport}: {data}");
        }
        let mutated = Call {
            arguments: r#"{"from":"alice","to":"bob","amount":11,"delay_ms":60000}"#,
            ..slow.clone()
        };
        assert_eq!(
            client.call(&mutated).await.code(),
            "collision",
            "{transport}"
        );
        assert_eq!(
            ledger.effects().len(),
            1,
            "{transport}: after the effect, fails closed"
        );

        verifies(&gateway, &client.message(&slow));
        assert!(gateway.stop().await, "{transport}: {}", gateway.log());
        verifies(&gateway, &client.message(&slow));
    }
}

/// Exports everything and has it verified, with a request where there is one.
fn verifies(gateway: &Gateway, request: &str) {
    let bundle = gateway.export();
    let request_file = gateway.folder().join("request.json");
    std::fs::write(&request_file, request).unwrap();
    let key = gateway.public_key();
    let mut arguments = vec!["verify", bundle.to_str().unwrap(), "--trust", &key];
    if !request.is_empty() {
        arguments.extend(["--request", request_file.to_str().unwrap()]);
    }
    let done = gateway.run(&arguments);
    assert!(done.status.success(), "{}", said(&done));
    let report = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(!report.contains("contradicted"), "{report}");
}
