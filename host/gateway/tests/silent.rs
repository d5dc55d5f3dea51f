//! Servers that take a connection and say nothing on it: whoever waits for that
//! gives up, and tries again where that does no harm.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use http::Method;
use serde_json::json;
use support::door::Door;
use support::relaying::{ALL, META, ask};
use support::tls::{Manner, Tls};
use support::{Gateway, PERMIT_ALL, Upstream, until};

/// Long for a connection here, and short for a test.
const CONNECT: &str = "connect_timeout_ms = 500\n";

/// What stands before the upstream and can fall silent.
enum Before {
    Plain(Door),
    Tls(Tls),
}

impl Before {
    async fn upstream(upstream: &Upstream, tls: bool) -> Self {
        if tls {
            Self::Tls(Tls::before(upstream.address()).await)
        } else {
            Self::Plain(Door::before(upstream.address()).await)
        }
    }

    fn table(&self, revision: &str) -> String {
        let more = match self {
            Self::Plain(door) => format!("url = \"{}\"\n", door.url()),
            Self::Tls(tls) => format!("url = \"{}\"\nca_file = {:?}\n", tls.url(), tls.authority),
        };
        format!(
            "[[server]]\nname = \"up\"\nrevision = \"{revision}\"\nmethods = {ALL}\n{CONNECT}{more}"
        )
    }

    fn be_silent(&self, silent: bool) {
        match self {
            Self::Plain(door) => door.be_silent(silent),
            Self::Tls(tls) if silent => tls.meet(Manner::Silent),
            Self::Tls(tls) => tls.meet(Manner::Good),
        }
    }

    fn silenced(&self) -> usize {
        match self {
            Self::Plain(door) => door.silenced(),
            Self::Tls(tls) => tls.refused(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstreams_own_stream_is_asked_for_again_where_nothing_is_said() {
    for tls in [false, true] {
        let upstream = Upstream::start().await;
        upstream.announce(json!({"tools": {}, "resources": {"listChanged": true}}));
        let before = Before::upstream(&upstream, tls).await;
        let gateway = Gateway::start_with(&before.table("2025-11-25"), PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let mut stream = session.stream(Method::GET, "").await;
        until("the gateway listens", || upstream.listeners() == 1).await;
        before.be_silent(true);
        // A connection that is open still may carry it the first time.
        until("nothing is said to it", || {
            upstream.hang_up();
            before.silenced() > 0
        })
        .await;
        before.be_silent(false);
        // A machine that is busy may need some attempts.
        for _ in 0..6_000 {
            if upstream.listeners() == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(upstream.listeners(), 1, "it listens again, tls: {tls}");
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
        upstream.tell(changed).await;
        let told = stream.json().await;
        assert_eq!(told["method"], "notifications/resources/list_changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_time_of_its_own_does_not_wait_for_a_connection_for_ever() {
    let upstream = Upstream::start().await;
    let before = Before::upstream(&upstream, true).await;
    let gateway = Gateway::start_with(&before.table("2026-07-28"), PERMIT_ALL, "").await;
    before.be_silent(true);
    let modern = gateway.client().modern("subscriptions/listen", None);
    let asking = modern.post(ask("subscriptions/listen", META));
    let answer = tokio::time::timeout(Duration::from_secs(60), asking).await;
    let data = answer.expect("an answer").data();
    assert_eq!(data["code"], "upstream-unavailable", "{data}");
}
