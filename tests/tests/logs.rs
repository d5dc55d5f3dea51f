//! What the program's own log says of servers, and what it does not.

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use std::process::Command;

use countersign_tests::{Call, Client, Plan, Process, Revision, SERVER, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that answers whatever it is asked with this body, in JSON.
async fn answering(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4_096];
            let _ = stream.read(&mut head).await;
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address.to_string()
}

/// What a gateway with that filter, if any, logs of a call to that server.
async fn log_of(server: Server, filter: Option<&str>) -> String {
    let prepared = Plan::new(server).prepare();
    let mut command = Command::new(countersign_tests::countersign());
    command
        .args(["serve", "--config", "countersign.toml"])
        .args(filter.map(|filter| format!("--log={filter}")))
        .current_dir(prepared.folder());
    let mut gateway = Process::start(&mut command, prepared.folder().join("log"));
    let address = gateway.says("listening on http://", 0).await;
    let url = format!("http://{address}/mcp/{SERVER}");
    let client = Client::connect(&url, Revision::July2026, None).await;
    let answer = client.call(&Call::new("pay", "{}")).await;
    assert_eq!(answer.code(), "upstream-unavailable");
    if filter.is_some() {
        gateway.says("said-hunter2", 0).await;
    }
    let log = gateway.log();
    assert!(gateway.terminate().await.success());
    log
}

#[tokio::test]
async fn no_credential_of_a_server_is_in_the_log_nor_what_it_says_unless_that_is_asked_for() {
    let modern = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-07-28"}}"#;
    for (body, said) in [("{}", "did not answer"), (modern, "negotiated")] {
        let address = answering(body).await;
        let url = format!("http://{address}/mcp/hunter2?key=hunter2");
        let log = log_of(Server::Http(url), None).await;
        assert!(log.contains(said), "{log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
    let nobody = "http://127.0.0.1:9/hunter2?key=hunter2".to_owned();
    let log = log_of(Server::Http(nobody), None).await;
    assert!(log.contains("cannot connect"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");

    let command = ["/bin/sh", "-c", "echo said-hunter2 >&2"].map(str::to_owned);
    let server = Server::Stdio(command.to_vec());
    let log = log_of(server.clone(), None).await;
    assert!(!log.contains("hunter2"), "{log}");
    log_of(server, Some("info,server_stderr=debug")).await;
}
