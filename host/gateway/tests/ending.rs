//! How servers that are processes of the gateway's own end: by themselves with
//! something of theirs left behind, and with the gateway.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use support::client::modern_call;
use support::stdio::{Stdio, runs};
use support::{Gateway, PERMIT_ALL, Upstream, until};
use tokio::time::Instant;

/// A process that ended is started again almost at once.
const SOON: &str = "retry_ms = 10\nlongest_retry_ms = 10\ncall_timeout_ms = 30000\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_has_ended_counts_as_ended_whatever_it_left_behind() {
    // With all that it had in a helper's hands, that it reads no more shows in
    // nothing.
    for (inherits, then) in [
        ("both", "end"),
        ("both", "killed"),
        ("output", "end"),
        ("output", "killed"),
        ("output", "deaf"),
    ] {
        let why = format!("{then}, and a helper has {inherits}");
        let stdio = Stdio::new();
        let gateway = Gateway::start_with(&(stdio.table() + SOON), PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let arguments = json!({"inherits": inherits, "then": then}).to_string();
        let began = Instant::now();
        let first = session.call("help", &arguments, Some("e1")).await;
        let helper = stdio.noted("processes").pop().unwrap();
        if then == "deaf" {
            assert_eq!(first.code(), None, "{why}");
            // Its input may close after its answer.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let data = session.call("pay", "{}", Some("e2")).await.data();
            assert_eq!(data["code"], "outcome-unknown", "{why}: {data}");
        } else {
            assert_eq!(first.code().as_deref(), Some("outcome-unknown"), "{why}");
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{why}: no timeout"
            );
        }
        // Longer than one that ended is left alone.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let next = session.call("pay", "{}", Some("e3")).await;
        assert_eq!(next.code(), None, "{why}: {}", next.text());
        assert_eq!(stdio.noted("starts").len(), 2, "{why}");
        assert_eq!(
            stdio.noted("effects"),
            ["help", "pay"],
            "{why}: nothing twice"
        );
        until(&format!("{why}: it ends"), || !runs(&helper)).await;
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_server_outlives_the_gateway() {
    for wrapped in [false, true] {
        for hard in [&["stubborn"][..], &["stubborn", "immortal"]] {
            let stdio = Stdio::new();
            hard.iter().for_each(|how| stdio.set(how));
            let table = if wrapped {
                stdio.wrapped()
            } else {
                stdio.table()
            };
            let gateway = Gateway::start_with(&table, PERMIT_ALL, "").await;
            let session = gateway.client().session().await;
            assert_eq!(session.call("pay", "{}", None).await.code(), None);
            assert_eq!(stdio.alive().len(), 1, "{hard:?}, wrapped: {wrapped}");
            gateway.stop().await;
            assert!(stdio.alive().is_empty(), "{hard:?}, wrapped: {wrapped}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_stubborn_processes_end_at_once_and_not_one_after_another() {
    for servers in [1, 10] {
        let stdio: Vec<_> = (0..servers).map(|_| Stdio::new()).collect();
        let mut tables = String::new();
        for (number, one) in stdio.iter().enumerate() {
            one.set("stubborn");
            one.set("immortal");
            tables += &one.table().replace("\"up\"", &format!("\"up{number}\""));
        }
        let gateway = Gateway::of_agents(10, &tables).await;
        for number in 0..10 {
            let agent = gateway.agent(number).modern("tools/call", Some("pay"));
            let call = Bytes::from(modern_call(1, "pay", "{}", None));
            let path = format!("/mcp/up{}", number as usize % servers);
            let answer = agent.send(Method::POST, &path, call).await;
            assert_eq!(answer.code(), None, "{}", answer.text());
        }
        let alive = || stdio.iter().flat_map(Stdio::alive).count();
        assert!(alive() >= 10);
        let began = Instant::now();
        gateway.stop().await;
        // One of them takes twice the two seconds that it is given.
        let took = began.elapsed();
        assert!(took < Duration::from_secs(15), "{servers}: {took:?}");
        assert_eq!(alive(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_sessions_with_a_server_that_hangs_end_at_once_and_not_one_after_another() {
    let upstream = Upstream::start().await;
    let url = upstream.url();
    let server = format!("[[server]]\nname = \"up\"\nurl = \"{url}\"\n");
    let gateway = Gateway::of_agents(10, &server).await;
    for number in 0..10 {
        let session = gateway.agent(number).session().await;
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
    }
    assert!(upstream.initializes() >= 10);
    upstream.cling();
    let began = Instant::now();
    gateway.stop().await;
    // One of them takes a second.
    assert!(began.elapsed() < Duration::from_secs(6));
}
