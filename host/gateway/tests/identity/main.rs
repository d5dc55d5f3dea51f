//! Who is taken for an agent, by token and proof, over real HTTP.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "../support/issuer.rs"]
mod issuer;
#[path = "../../../identity/tests/support/mod.rs"]
mod signing;
#[path = "../support/mod.rs"]
mod support;

mod facts;
mod keys;
mod proofs;
mod standing;
mod tokens;

use bytes::Bytes;
use http::Method;
use support::client::modern_call;
use support::{Client, Gateway, Upstream};

pub(crate) const FILE: &str = "jwks_file = \"jwks.json\"";

pub(crate) fn folder(
    upstream: &Upstream,
    policies: &str,
    identity: &str,
    keys: &str,
) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(folder.path().join("policies/test.cedar"), policies).unwrap();
    std::fs::write(folder.path().join("jwks.json"), keys).unwrap();
    let url = upstream.url();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{identity}\n[policy]\nfolder = \"policies\"\n\
         [[server]]\nname = \"up\"\nurl = \"{url}\"\n[[server]]\nname = \"other\"\nurl = \"{url}\"\n"
    );
    std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
    folder
}

/// A call of 2026-07-28, so that each request stands alone.
pub(crate) fn caller(gateway: &Gateway) -> Client {
    gateway.client().modern("tools/call", Some("pay"))
}

pub(crate) async fn call(
    client: &Client,
    path: &str,
    execution_id: &str,
) -> support::client::Answer {
    let body = modern_call(1, "pay", "{}", Some(execution_id));
    client.send(Method::POST, path, Bytes::from(body)).await
}

pub(crate) fn challenges(answer: &support::client::Answer) -> Vec<String> {
    let values = answer.headers.get_all("www-authenticate").iter();
    values
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

/// The member of a proof that brings a nonce, which the gateway gives with its first
/// refusal of one without.
pub(crate) async fn nonce(gateway: &Gateway, holder: &issuer::Key, token: &str) -> String {
    let without = issuer::proof(holder, token, "POST", "/mcp/up", "without", "");
    let client = caller(gateway).with("authorization", &format!("DPoP {token}"));
    let refused = call(&client.with("dpop", &without), "/mcp/up", "nonce").await;
    assert_eq!(refused.code().as_deref(), Some("proof-nonce"));
    let nonce = refused.headers["dpop-nonce"].to_str().unwrap();
    format!(",\"nonce\":\"{nonce}\"")
}
