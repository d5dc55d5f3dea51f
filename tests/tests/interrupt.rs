//! An interrupt from a terminal, which reaches the whole group that the gateway
//! is in: it drains, and so do its servers.

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use countersign_tests::{Call, Client, LedgerServer, Plan, Process, Revision, SERVER, Server};
use rustix::process::{Pid, Signal, kill_process_group};

#[tokio::test]
async fn a_call_in_flight_is_settled_with_its_answer_where_a_terminal_interrupts_the_gateway() {
    let ledger = LedgerServer::stdio();
    let prepared = Plan::new(Server::spawned(&ledger)).prepare();
    let mut command = Command::new(countersign_tests::countersign());
    command
        .args(["serve", "--config", "countersign.toml"])
        .current_dir(prepared.folder())
        .process_group(0);
    let mut gateway = Process::start(&mut command, prepared.folder().join("log"));
    let address = gateway.says("listening on http://", 0).await;
    let url = format!("http://{address}/mcp/{SERVER}");
    let calling = tokio::spawn(async move {
        let client = Client::connect(&url, Revision::July2026, None).await;
        let slow = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":3000}"#;
        client
            .call(&Call::new("transfer_slowly", slow).under("e1"))
            .await
    });
    ledger.wait_for_effects(1).await;
    let group = i32::try_from(gateway.id()).ok().and_then(Pid::from_raw);
    kill_process_group(group.unwrap(), Signal::INT).unwrap();
    let answer = calling.await.unwrap();
    assert_eq!(answer.verdict(), "ok", "{answer:?}\n{}", gateway.log());
    assert!(gateway.terminate().await.success());
    assert_eq!(ledger.effects().len(), 1);
}
