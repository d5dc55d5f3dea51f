//! The protocol's vectors: each request of `vectors/protocol.json`, sent to a
//! running gateway, is answered as the vector says.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use support::{Gateway, PERMIT_ALL, Upstream};

/// A server with everything that may pass, and an answer for each method.
async fn server() -> Upstream {
    let upstream = Upstream::start().await;
    let everything = json!({
        "tools": {}, "resources": {"subscribe": true}, "prompts": {}, "completions": {},
        "logging": {},
    });
    upstream.announce(everything.clone());
    let found = json!({ "capabilities": everything });
    upstream.answer("server/discover", &found.to_string());
    for method in [
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
    ] {
        upstream.answer(method, "{}");
    }
    upstream
}

async fn gateway(upstream: &Upstream, revision: &str) -> Gateway {
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nrevision = \"{revision}\"\n\
         methods = [\"resources/*\", \"prompts/*\", \"completion/*\", \"logging/*\", \"subscriptions/*\"]\n",
        upstream.url()
    );
    Gateway::start_with(&server, PERMIT_ALL, "").await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_in_every_revision_is_answered_as_its_vector_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("vectors/protocol.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let upstream = server().await;
    let mut gateways = BTreeMap::new();
    for revision in ["2025-11-25", "2026-07-28"] {
        gateways.insert(revision, gateway(&upstream, revision).await);
    }
    let mut wrong = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let gateway = &gateways[case["upstream"].as_str().unwrap()];
        let mut client = gateway.client();
        if let Some(revision) = case["session"].as_str() {
            client = client.session_of(revision).await;
        }
        for (name, value) in case["headers"].as_object().unwrap() {
            client = client.without(name);
            if let Some(value) = value.as_str() {
                client = client.with(name, value);
            }
        }
        let method: Method = case["http"].as_str().unwrap().parse().unwrap();
        let body = match &case["body"] {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let got = if method == Method::GET {
            // A stream does not end, so its head alone is looked at.
            let status = client.stream(method, "").await.status.as_u16();
            let refused = (status == 405).then_some("method-not-allowed");
            json!([status, refused, refused.map(|_| -31024)])
        } else {
            let answer = client.send(method, "/mcp/up", Bytes::from(body)).await;
            let json = match answer.body.is_empty() {
                true => Value::Null,
                false => answer.json(),
            };
            let error = &json["error"];
            json!([answer.status.as_u16(), error["data"]["code"], error["code"]])
        };
        let expected = json!([case["status"], case["code"], case["number"]]);
        if got != expected {
            let (revision, name) = (&case["revision"], &case["name"]);
            wrong.push(format!("{revision} {name}: expected {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
