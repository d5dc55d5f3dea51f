//! Where the effect boundary lies: the transport itself knows whether a byte of
//! the call has left, and says so to the ledger. Real TLS, real refusals.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::tls::{Manner, Tls};
use support::{Client, Gateway, PERMIT_ALL, Upstream, client};

const MODERN: &str = "revision = \"2026-07-28\"\n";

/// A gateway that reaches its upstream over TLS, and trusts that authority
/// alone; its tools are discovered already, so that a call is the next thing
/// that it sends.
async fn behind_tls() -> (Upstream, Tls, Gateway, Client) {
    let upstream = Upstream::start().await;
    let tls = Tls::before(upstream.address()).await;
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nca_file = {:?}\n{MODERN}",
        tls.url(),
        tls.authority
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let first = session.call("pay", "{}", Some("first")).await.json();
    assert!(first["result"]["content"].is_array(), "{first}");
    assert_eq!(upstream.effects(), 1);
    // Longer than a connection is kept, so that the next call opens its own.
    tokio::time::sleep(Duration::from_millis(3_200)).await;
    (upstream, tls, gateway, session)
}

async fn terminal_of(gateway: Gateway, id: &str) -> Value {
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let terminal = entries
        .iter()
        .find(|entry| entry["kind"] == "terminal" && entry["execution_id"] == id);
    terminal.unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_fails_before_application_data_is_not_attempted() {
    for manner in [Manner::SelfSigned, Manner::Cut] {
        let (upstream, tls, gateway, session) = behind_tls().await;
        tls.meet(manner);
        let data = session.call("pay", "{}", Some("e1")).await.data();
        assert_eq!(data["code"], "upstream-unavailable", "{manner:?}: {data}");
        assert_eq!(data["outcome"], "not-attempted", "{manner:?}: {data}");
        assert_eq!(data["safe_with_new_id"], true, "{manner:?}: {data}");
        assert!(tls.refused() > 0, "{manner:?}: the fault was met");
        assert_eq!(upstream.effects(), 1, "{manner:?}");
        let terminal = terminal_of(gateway, "e1").await;
        assert_eq!(terminal["effect_boundary"], "pre-transport", "{manner:?}");
        assert_eq!(terminal["refusal"], "upstream-unreachable", "{manner:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_refused_is_not_attempted() {
    let (upstream, mut tls, gateway, session) = behind_tls().await;
    tls.close().await;
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["outcome"], "not-attempted", "{data}");
    assert_eq!(upstream.effects(), 1);
    let terminal = terminal_of(gateway, "e1").await;
    assert_eq!(terminal["effect_boundary"], "pre-transport");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_that_is_missed_after_data_has_left_is_not_known_to_be_unsent() {
    let (upstream, tls, gateway, session) = behind_tls().await;
    tls.meet(Manner::AsksForCertificate);
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "outcome-unknown", "{data}");
    assert_eq!(data["safe_with_new_id"], false, "{data}");
    assert_eq!(tls.refused(), 1, "the server refused it");
    assert_eq!(
        upstream.effects(),
        1,
        "though nothing came of it, nobody knows"
    );
    let terminal = terminal_of(gateway, "e1").await;
    assert_eq!(terminal["effect_boundary"], "transport-may-have-started");
    assert_eq!(terminal["outcome"], "outcome-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_found_or_an_unknown_authority_reserves_nothing() {
    let upstream = Upstream::start().await;
    let tls = Tls::before(upstream.address()).await;
    // Only the system's authorities are trusted.
    let untrusted = format!("[[server]]\nname = \"up\"\nurl = \"{}\"\n", tls.url());
    let nowhere = "[[server]]\nname = \"up\"\nurl = \"http://nowhere.invalid/mcp\"\n".to_owned();
    for server in [untrusted, nowhere] {
        let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let message = client::call(1, "pay", "{}", Some("e1"));
        let data = session.post(message).await.data();
        assert_eq!(data["code"], "upstream-unavailable", "{server}: {data}");
        assert_eq!(data["safe_with_new_id"], true, "{server}: {data}");
        let (_, folder) = gateway.stop().await;
        let entries = support::entries(folder.path());
        assert!(entries.iter().all(|entry| entry["kind"] != "admission"));
    }
    assert_eq!(upstream.effects(), 0);
}
