//! A gateway that lets methods pass which are no tool calls.

use serde_json::json;

use super::{Gateway, PERMIT_ALL, Upstream};

/// A gateway that speaks `revision` upstream and lets `methods` pass; `more` is of
/// its server.
pub async fn start(revision: &str, methods: &str, more: &str) -> (Upstream, Gateway) {
    begin(revision, methods, more, "").await
}

/// The same; `more` is added to the configuration.
pub async fn start_with(revision: &str, methods: &str, more: &str) -> (Upstream, Gateway) {
    begin(revision, methods, "", more).await
}

async fn begin(revision: &str, methods: &str, of_server: &str, more: &str) -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    upstream.announce(json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {},
        "completions": {}, "logging": {},
    }));
    let server = format!(
        "[[server]]\nname = \"up\"\nurl = \"{}\"\nrevision = \"{revision}\"\nmethods = {methods}\n{of_server}\n",
        upstream.url()
    );
    let gateway = Gateway::start_with(&server, PERMIT_ALL, more).await;
    (upstream, gateway)
}

/// Every method that can pass.
pub const ALL: &str =
    r#"["resources/*", "prompts/*", "completion/*", "logging/*", "subscriptions/*"]"#;
/// What a request of a revision without sessions says of its client.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}"#;

/// A request for a method, its parameters as the members of an object.
pub fn ask(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{{{params}}}}}"#)
}
