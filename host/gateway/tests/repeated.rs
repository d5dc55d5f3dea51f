//! What a gateway repeats of a caller's own is bounded: a large one is refused,
//! and nothing is multiplied by what a server says. What it does not need any
//! more it does not hold.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::relaying::{self, ALL, META, ask};
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream};

const MIB: usize = 1 << 20;
const POINTER: &str = "/params/_meta/progressToken";

/// A call under an id, with a progress token in JSON.
fn call(execution_id: &str, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"pay","arguments":{{}},"_meta":{{"countersign.dev/execution_id":"{execution_id}","progressToken":{token}}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_none_is_refused_unless_it_comes_with_a_repeat() {
    let upstream = Upstream::start().await;
    upstream.behave(Behaviour::Progress);
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let long = "x".repeat(MIB);
    let none = [
        format!("\"{long}\""),
        "1".repeat(1_000),
        format!("\"{}\"", "x".repeat(257)),
        format!("{{\"k\":\"{long}\"}}"),
        "[]".to_owned(),
        "null".to_owned(),
        "true".to_owned(),
    ];
    for token in &none {
        let refused = session.post(call("e1", token)).await;
        let shown = &token[..token.len().min(20)];
        assert_eq!(refused.code().as_deref(), Some("params"), "{shown}");
        assert_eq!(refused.data()["pointer"], POINTER, "{shown}");
        assert_eq!(refused.data()["safe_with_new_id"], true, "{shown}");
    }
    assert_eq!(upstream.effects(), 0);
    // Nothing was reserved: the same id serves the corrected call.
    for (id, token) in [
        ("e1", "\"mine\"".to_owned()),
        ("e2", format!("\"{}\"", "x".repeat(256))),
        ("e3", "-1.5".to_owned()),
    ] {
        let done = session.post(call(id, &token)).await;
        assert_eq!(done.code(), None, "{}", done.text());
        let progress = format!(r#""progressToken":{token},"#);
        assert!(done.text().contains(&progress), "{}", done.text());
    }
    // A repeat is told what it repeats, whatever token it brings.
    for token in &none {
        let repeat = session.post(call("e1", token)).await;
        assert_eq!(repeat.code().as_deref(), Some("replay"));
    }
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_of_whatever_else_is_repeated_is_refused() {
    let (upstream, gateway) = relaying::start("2025-11-25", ALL, "").await;
    for method in ["resources/read", "resources/subscribe", "resources/list"] {
        upstream.answer(method, "{}");
    }
    let session = gateway.client().session().await;
    let long = "x".repeat(MIB);
    let token = format!(r#""uri":"u","_meta":{{"progressToken":"{long}"}}"#);
    let object = r#""uri":"u","_meta":{"progressToken":{}}"#.to_owned();
    let with_id = |id: &str| ask("resources/read", r#""uri":"u""#).replace("\"q\"", id);
    for (what, message, code) in [
        ("token", ask("resources/read", &token), "params"),
        ("token", ask("resources/read", &object), "params"),
        ("id", with_id(&format!("\"{long}\"")), "envelope"),
        (
            "subscription",
            ask("resources/subscribe", &format!(r#""uri":"{long}""#)),
            "overloaded",
        ),
        (
            "cursor",
            ask("tools/list", &format!(r#""cursor":"{long}""#)),
            "params",
        ),
    ] {
        let answer = session.post(message).await;
        assert_eq!(answer.code().as_deref(), Some(code), "{what}");
    }
    for method in ["resources/read", "resources/subscribe"] {
        assert!(upstream.asked(method).is_empty(), "{method}");
    }
    let right = ask("resources/read", r#""uri":"u","_meta":{"progressToken":7}"#);
    assert_eq!(session.post(right).await.code(), None);
    // Without sessions a subscription goes by the id of its request.
    let (_upstream, gateway) = relaying::start("2026-07-28", ALL, "").await;
    let client = gateway.client().modern("subscriptions/listen", None);
    let id = format!("\"{long}\"");
    let listen = ask("subscriptions/listen", META).replace("\"q\"", &id);
    let answer = client.post(listen).await;
    assert_eq!(answer.code().as_deref(), Some("envelope"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_its_server_holds_takes_no_room_of_its_agents_bodies() {
    let upstream = Upstream::start().await;
    upstream.behave(Behaviour::Never);
    // Room for one message of the greatest length, and no more.
    let more = "[limits]\nbodies_bytes = 10485760\n";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    // Six of them are more, and each is less than the server's framework takes.
    // Five go to the server; a sixth message is a repeat.
    let arguments = json!({ "text": "x".repeat(MIB + MIB * 3 / 4) }).to_string();
    let ids = ["e1", "e2", "e3", "e4", "e5"];
    for id in ids {
        let (session, arguments) = (session.clone(), arguments.clone());
        let number = u64::from(id.as_bytes()[1]);
        let sent = upstream.effects();
        let call = tokio::spawn(async move {
            let message = support::client::call(number, "pay", &arguments, Some(id));
            session.post(message).await
        });
        // A slow machine takes a while to read so much.
        while upstream.effects() == sent {
            assert!(!call.is_finished(), "{id}: {}", call.await.unwrap().text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    for id in ids {
        let repeat = session.call("pay", &arguments, Some(id)).await;
        assert_eq!(repeat.code().as_deref(), Some("in-flight"), "{id}");
    }
}
