//! Arguments that take long to hold against a schema hold nobody else up.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use serde_json::json;
use support::approving::approve;
use support::{Gateway, PERMIT_ALL, Upstream};

const LOCKED: &str = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 100\n";
/// More than are checked at once.
const LONG: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_neighbours_call_is_answered_while_long_arguments_are_checked() {
    let upstream = Upstream::start().await;
    // Nearly as much as a check may be.
    let all: Vec<_> = (0..20).map(|_| json!({"maximum": 1999})).collect();
    upstream.offer(json!([
        {"name": "long", "inputSchema": {"type": "object", "properties": {"a": {"items": {"allOf": all}}}}},
        {"name": "short", "inputSchema": {"type": "object"}},
    ]));
    let gateway = Gateway::start(&upstream, PERMIT_ALL, LOCKED).await;
    let session = gateway.client().session().await;
    approve(gateway.path(), &[]).await;
    let arguments = format!(r#"{{"a":[{}]}}"#, vec!["1999"; 250_000].join(","));
    let mut long = tokio::task::JoinSet::new();
    for number in 0..LONG {
        // Sessions of their own: in one an id is in flight once.
        let session = gateway.client().session().await;
        let arguments = arguments.clone();
        long.spawn(async move {
            let id = format!("long-{number}");
            session.call("long", &arguments, Some(&id)).await
        });
    }
    let first = long.join_next().await.unwrap().unwrap();
    assert_eq!(first.code(), None);
    // The others are being checked, or wait for that.
    let short = session.call("short", "{}", Some("short")).await;
    assert_eq!(short.code(), None);
    let mut answered = 0;
    while let Some(other) = long.try_join_next() {
        other.unwrap();
        answered += 1;
    }
    assert!(answered < LONG - 2, "{answered} were answered before");
    while let Some(other) = long.join_next().await {
        assert_eq!(other.unwrap().code(), None);
    }
    assert_eq!(upstream.effects(), LONG + 1);
}
