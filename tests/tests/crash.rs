//! `kill -9` of the gateway: what was durable, and what the next attempt is told.
//!
//! The crash after the effect and before its terminal record is the one that
//! matters: it must fail closed. `docs/spec/executions.md` §4 has the table.
//! `cargo xtask crash` runs the random kills longer; `COUNTERSIGN_SEED` repeats
//! a run's choices (not the operating system's).

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use std::time::Duration;

use countersign_tests::{
    Call, Client, Gateway, LedgerServer, Plan, Revision, Server, environment, said,
};

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

#[tokio::test]
async fn whenever_the_gateway_is_killed_an_execution_id_has_at_most_one_effect() {
    let mut random = Random::new(environment::seed());
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let mut told = std::collections::BTreeMap::<String, u32>::new();
    for round in 0..environment::crash_rounds() {
        let ids: Vec<String> = (0..8).map(|call| format!("round-{round}-{call}")).collect();
        let calls = ids
            .clone()
            .into_iter()
            .map(|id| tokio::spawn(pay(gateway.url(), id)));
        let calls: Vec<_> = calls.collect();
        tokio::time::sleep(Duration::from_micros(random.below(60_000))).await;
        gateway.kill();
        for (id, call) in ids.iter().zip(calls) {
            if call.await.unwrap().as_deref() == Some("ok") {
                assert_eq!(paid(&ledger, id), 1, "{id} was answered");
            }
        }
        gateway.start().await;
        for id in &ids {
            let before = paid(&ledger, id);
            let verdict = pay(gateway.url(), id.clone()).await.expect("an answer");
            let after = paid(&ledger, id);
            let fits = match verdict.as_str() {
                "ok" => (before, after) == (0, 1),
                "replay" => (before, after) == (1, 1),
                "blocked" => before == after && after <= 1,
                _ => false,
            };
            assert!(
                fits,
                "{id}: {verdict}, {before} effects before and {after} after"
            );
            *told.entry(verdict).or_default() += 1;
        }
    }
    println!("after the kills the repeats were told: {told:?}");
    verifies(&gateway, "");
}

/// Pays once, to an account of that execution's own; `None` when no answer came.
async fn pay(url: String, id: String) -> Option<String> {
    let client = Client::connect(&url, Revision::July2026, None).await;
    let arguments = format!(r#"{{"from":"alice","to":"{id}","amount":1}}"#);
    let answer = client
        .try_call(&Call::new("transfer", &arguments).under(&id))
        .await;
    answer.map(|answer| answer.verdict())
}

/// How many payments really arrived on that execution's account.
fn paid(ledger: &LedgerServer, id: &str) -> usize {
    ledger
        .effects()
        .iter()
        .filter(|effect| effect["to"] == id)
        .count()
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

/// Numbers from a seed (xorshift64*), enough to vary the moment of a kill.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        println!("COUNTERSIGN_SEED={seed}");
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound
    }
}
