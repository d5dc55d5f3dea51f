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
use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server};
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
