//! What a real gateway says of itself: where its numbers are, and that it is not
//! ready while its database is away.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;
use std::time::Duration;

use countersign_test_postgres::{Cluster, Shutdown};
use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PAY: &str = r#"{"from":"alice","to":"bob","amount":10}"#;

/// What is answered at an address, with its head.
async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

/// The status with which the gateway answers.
async fn status(gateway: &Gateway, path: &str) -> u16 {
    let said = get(gateway.address(), path).await;
    said.split(' ').nth(1).unwrap().parse().unwrap()
}

async fn becomes(gateway: &Gateway, wanted: u16) {
    for _ in 0..300 {
        if status(gateway, "/readyz").await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("/readyz never became {wanted}: {}", gateway.log());
}

#[tokio::test]
async fn a_gateway_says_where_its_numbers_are_and_what_listens_for_them_counts() {
    let server = LedgerServer::http().await;
    let plan = Plan::new(Server::listening(&server));
    let plan = plan.also("[telemetry]\nlisten = \"127.0.0.1:0\"\n");
    let mut gateway = plan.start().await;
    let client = gateway.client(Revision::July2026).await;
    let pay = Call::new("transfer", PAY).under("once");
    assert_eq!(client.call(&pay).await.verdict(), "ok");
    let numbers = get(&gateway.numbers().unwrap(), "/metrics").await;
    let called = "countersign_calls_total{outcome=\"succeeded\"} 1";
    assert!(numbers.contains(called), "{numbers}");
    assert!(gateway.stop().await);
}

#[tokio::test]
async fn a_gateway_is_unready_while_its_database_is_away_and_ready_again_by_itself() {
    let server = LedgerServer::http().await;
    let cluster = Arc::new(Cluster::start(&[]));
    let database = cluster.database();
    let store = format!("[store]\nkind = \"postgres\"\nurl = {:?}\n", database.url());
    let plan = Plan::new(Server::listening(&server)).also(&store);
    let mut gateway = plan.start().await;
    becomes(&gateway, 200).await;
    let client = gateway.client(Revision::July2026).await;
    let pay = |id| Call::new("transfer", PAY).under(id);
    assert_eq!(client.call(&pay("before")).await.verdict(), "ok");

    cluster.stop(Shutdown::Immediate);
    becomes(&gateway, 503).await;
    assert_eq!(status(&gateway, "/healthz").await, 200, "it runs");
    let refused = client.call(&pay("meanwhile")).await;
    assert_eq!(refused.code(), "ledger-unavailable", "{refused:?}");

    cluster.start_again();
    becomes(&gateway, 200).await;
    assert_eq!(client.call(&pay("meanwhile")).await.verdict(), "ok");
    assert_eq!(server.effects().len(), 2);
    assert!(gateway.stop().await);
}

/// Why nothing is admitted for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outage {
    /// An old copy of the database came back.
    RolledBack,
    /// The folder of the anchor is gone.
    Anchor,
    /// The database's server is stopped.
    Database,
}

/// What is to come into force meanwhile.
#[derive(Clone, Copy, Debug)]
enum Change {
    Reload,
    Approve,
    Signal,
}

fn command(gateway: &Gateway, arguments: &[&str]) -> std::process::Output {
    gateway.run(&[arguments, &["--config", "countersign.toml"]].concat())
}

fn change(gateway: &Gateway, change: Change) {
    let number = gateway.process().unwrap().to_string();
    // What comes of it is seen by what is admitted afterwards.
    let _ = match change {
        Change::Reload => command(gateway, &["policy", "reload"]),
        Change::Approve => command(gateway, &["catalog", "approve", "--without", "balance"]),
        Change::Signal => std::process::Command::new("kill")
            .args(["-HUP", &number])
            .output()
            .unwrap(),
    };
}

/// Whether a call is admitted that was never sent before.
async fn admits(client: &Client, id: &str) -> bool {
    let pay = Call::new("transfer", PAY).under(id);
    client.call(&pay).await.verdict() == "ok"
}

/// Waits until what `/readyz` and an operator are told is what a call finds; whether
/// it is admitted.
async fn agreed(gateway: &Gateway, client: &Client, about: &str) -> bool {
    for number in 0..300 {
        let ready = status(gateway, "/readyz").await == 200;
        let told = command(gateway, &["ledger", "status"]).status.code() == Some(0);
        let admitted = admits(client, &format!("{about}-{number}")).await;
        if (ready, told) == (admitted, admitted) {
            return admitted;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let told = said(&command(gateway, &["ledger", "status"]));
    panic!("{about}: they never agree: {told}{}", gateway.log());
}

async fn becomes_admitting(gateway: &Gateway, client: &Client, about: &str, wanted: bool) {
    for number in 0..300 {
        if agreed(gateway, client, &format!("{about}-{number}")).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{about}: calls are never {wanted}: {}", gateway.log());
}

#[tokio::test]
async fn a_change_that_fails_in_an_outage_is_over_with_it_and_nothing_is_said_but_what_is() {
    let server = LedgerServer::http().await;
    let cluster = Arc::new(Cluster::start(&[]));
    for outage in [Outage::RolledBack, Outage::Anchor, Outage::Database] {
        for changed in [Change::Reload, Change::Approve, Change::Signal] {
            let about = format!("{outage:?}-{changed:?}");
            let database = cluster.database();
            let store = match outage {
                Outage::Database => format!("kind = \"postgres\"\nurl = {:?}\n", database.url()),
                _ => "anchor = \"anchors/anchor\"\n".to_owned(),
            };
            let plan = Plan::new(Server::listening(&server))
                .permit_everything()
                .also(&format!(
                    "[store]\n{store}[catalog]\nfile = \"catalog.json\"\n"
                ));
            let mut gateway = plan.prepare();
            let at = |gateway: &Gateway, name: &str| gateway.folder().join(name);
            std::fs::create_dir(at(&gateway, "anchors")).unwrap();
            let approved = command(&gateway, &["catalog", "approve"]);
            assert!(approved.status.success(), "{}", said(&approved));
            let lock = std::fs::read(at(&gateway, "catalog.json")).unwrap();
            gateway.start().await;
            let client = gateway.client(Revision::July2026).await;

            match outage {
                Outage::RolledBack => {
                    assert!(agreed(&gateway, &client, &format!("{about}-before")).await);
                    let backup = gateway.run(&["ledger", "backup", "backup.db"]);
                    assert!(backup.status.success(), "{}", said(&backup));
                    assert!(admits(&client, &format!("{about}-lost")).await);
                    assert!(gateway.stop().await);
                    for old in ["countersign.db-wal", "countersign.db-shm"] {
                        let _ = std::fs::remove_file(at(&gateway, old));
                    }
                    let copied =
                        std::fs::copy(at(&gateway, "backup.db"), at(&gateway, "countersign.db"));
                    copied.unwrap();
                    gateway.start().await;
                }
                Outage::Anchor => {
                    let moved = at(&gateway, "moved");
                    std::fs::rename(at(&gateway, "anchors"), moved).unwrap();
                }
                // Nothing was asked for yet: the tools are discovered afterwards.
                Outage::Database => cluster.stop(Shutdown::Immediate),
            }
            if outage != Outage::Database {
                // That the anchor is gone is seen when it is to be written.
                becomes_admitting(&gateway, &client, &format!("{about}-during"), false).await;
            }
            change(&gateway, changed);
            if outage != Outage::Anchor {
                let now = std::fs::read(at(&gateway, "catalog.json")).unwrap();
                assert!(now == lock, "{about}: nothing was approved");
            }
            match outage {
                Outage::RolledBack => {
                    let accept = ["ledger", "rollback", "accept", "--reason", "lost"];
                    let accepted = command(&gateway, &accept);
                    assert!(accepted.status.success(), "{}", said(&accepted));
                }
                Outage::Anchor => {
                    std::fs::rename(at(&gateway, "moved"), at(&gateway, "anchors")).unwrap();
                }
                Outage::Database => cluster.start_again(),
            }
            becomes_admitting(&gateway, &client, &format!("{about}-after"), true).await;
            assert!(gateway.stop().await);
        }
    }
}

/// The gateway with at most this many files open, hard.
fn with_files(plan: Plan, folder: &std::path::Path, most: usize) -> Plan {
    use std::os::unix::fs::PermissionsExt as _;

    let program = folder.join("countersign-of-few-files");
    let real = countersign_tests::countersign();
    let text = format!("#!/bin/sh\nulimit -n {most}\nexec {real:?} \"$@\"\n");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    plan.program(program)
}

#[tokio::test]
async fn connections_that_fill_the_gateway_take_nothing_from_the_ledger_or_from_health() {
    let folder = tempfile::tempdir().unwrap();
    let server = LedgerServer::http().await;
    let plan = Plan::new(Server::listening(&server))
        .also("[limits]\nconnections_per_peer = 4096\nhead_timeout_ms = 600000\n")
        .also("[telemetry]\nlisten = \"127.0.0.1:0\"\n");
    let mut gateway = with_files(plan, folder.path(), 256).start().await;
    let client = gateway.client(Revision::July2026).await;
    assert!(admits(&client, "before").await);
    assert!(
        gateway.log().contains("fewer connections"),
        "{}",
        gateway.log()
    );

    // One that is open already.
    let mut open = TcpStream::connect(gateway.address()).await.unwrap();
    let mut all = Vec::new();
    for _ in 0..400 {
        let connected = TcpStream::connect(gateway.address());
        let connected = tokio::time::timeout(Duration::from_secs(5), connected).await;
        match connected {
            Ok(Ok(stream)) => all.push(stream),
            _ => break,
        }
    }
    let numbers = gateway.numbers().unwrap();
    let ready = get(&numbers, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let told = command(&gateway, &["ledger", "status"]);
    assert_eq!(told.status.code(), Some(0), "{}", said(&told));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"transfer","arguments":{PAY},"_meta":{{"countersign.dev/execution_id":"meanwhile","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"t","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let head = format!(
        "POST /mcp/ledger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: transfer\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    open.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("paid 10"), "{answer}");
    // The anchor is written with it.
    let ready = get(&numbers, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    drop(all);
    let log = gateway.log();
    let warned = log.matches("could not be accepted").count();
    assert!(warned <= 20, "{warned} warnings: {log}");
    assert!(!log.contains("Too many open files"), "{log}");
    assert!(gateway.stop().await);
}
