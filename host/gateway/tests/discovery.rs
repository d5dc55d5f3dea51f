//! Servers that offer too much, too slowly, or something else each time: what it
//! costs is bounded, and costs nobody else anything.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::approving::approve;
use support::client::call;
use support::{Client, Gateway, PERMIT_ALL, Upstream, entries, relaying, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// More than anything here takes on a slow machine.
const LONG: Duration = Duration::from_secs(90);

/// Asks for a list under an id, with something beside it.
fn list(id: usize, padding: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"x":"{padding}"}}}}"#)
}

fn table(name: &str, upstream: &Upstream, more: &str) -> String {
    let url = upstream.url();
    format!("[[server]]\nname = \"{name}\"\nurl = \"{url}\"\n{more}\n")
}

/// A page that says that another one follows, each time under another cursor.
fn page(name: &str, padding: usize, cursor: &str) -> String {
    let title = "a".repeat(padding);
    format!(
        r#"{{"tools":[{{"name":"{name}","title":"{title}","inputSchema":{{"type":"object"}}}}],"nextCursor":"{cursor}COUNT"}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_refused_whole_once_it_is_too_much_or_takes_too_long() {
    for (why, page, pause, asked) in [
        ("many bytes", page("t", 9 << 20, "c"), 0, 2),
        ("a long cursor", page("t", 0, &"c".repeat(5_000)), 0, 1),
        ("slow pages", page("t", 0, "c"), 800, 4),
    ] {
        let upstream = Upstream::start().await;
        upstream.answer("tools/list", &page);
        upstream.ponder(Duration::from_millis(pause));
        let more = "call_timeout_ms = 1500\nconnect_timeout_ms = 1000";
        let more = if pause > 0 { more } else { "" };
        let server = table("up", &upstream, more);
        let gateway = Gateway::start_with(&server, PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let called = timeout(LONG, session.call("t", "{}", None)).await;
        let code = called.expect(why).code();
        assert_eq!(code.as_deref(), Some("upstream-unavailable"), "{why}");
        assert!(upstream.asked("tools/list").len() <= asked, "{why}");
        assert_eq!(upstream.effects(), 0, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_at_one_server_is_noticed_while_another_hangs() {
    let [a, b] = [Upstream::start().await, Upstream::start().await];
    let servers = table("a", &a, "") + &table("b", &b, "");
    let locked = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 100\n";
    let gateway = Gateway::start_with(&servers, PERMIT_ALL, locked).await;
    approve(gateway.path(), &[]).await;
    let [at_a, at_b] = ["a", "b"].map(|name| gateway.client().at(name));
    let [at_a, at_b] = [at_a.session().await, at_b.session().await];
    for (session, upstream) in [(&at_a, &a), (&at_b, &b)] {
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
        assert_eq!(upstream.effects(), 1);
    }
    a.hang("tools/list");
    until("the poll hangs", || !a.asked("tools/list").is_empty()).await;
    b.offer(json!([{"name": "pay", "inputSchema": {"type": "object", "title": "swapped"}}]));
    let mut last = None;
    for _ in 0..200 {
        last = at_b.call("pay", "{}", None).await.code();
        if last.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(last.as_deref(), Some("catalog-drift"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_list_waits_once_with_all_others() {
    for (method, revision, client) in [
        ("tools/list", "2025-11-25", "2025-11-25"),
        ("server/discover", "2026-07-28", "2025-11-25"),
    ] {
        let more = "call_timeout_ms = 1000";
        let (upstream, gateway) = relaying::start(revision, relaying::ALL, more).await;
        let session = gateway.client().session_of(client).await;
        upstream.hang(method);
        // What was said before does not hold any more.
        if method == "server/discover" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut waiting = JoinSet::new();
        for id in 0..12 {
            let session = session.clone();
            waiting.spawn(async move {
                match method {
                    "tools/list" => session.post(list(id, "")).await.code(),
                    _ => {
                        session.session().await;
                        None
                    }
                }
            });
        }
        let all = timeout(LONG, waiting.join_all()).await.expect(method);
        let told = (method == "tools/list").then_some("upstream-unavailable");
        assert!(all.iter().all(|code| code.as_deref() == told), "{all:?}");
        // Whoever came after the first attempt had failed made another one.
        let asked = upstream.asked(method).len();
        assert!(asked <= 4, "{method}: {asked}");
    }
}

/// Sends a request, and leaves when nothing has come for a while.
async fn leave(gateway: &Gateway, client: &Client, body: &str) -> String {
    let mut head = "POST /mcp/up HTTP/1.1\r\nHost: localhost\r\n".to_owned();
    for (name, value) in &client.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    // The gateway may answer before it has read all.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = vec![0; 4_096];
    let read = timeout(Duration::from_secs(3), stream.read(&mut answer)).await;
    let read = read.map_or(0, Result::unwrap_or_default);
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_leave_behind_keeps_its_place_and_its_memory_is_counted() {
    for (why, size, limits, most) in [
        ("places", 0, "calls_per_agent = 4", 4),
        (
            "bytes",
            5 << 20,
            "calls_per_agent = 64\nbodies_bytes = 41943040",
            3,
        ),
    ] {
        let upstream = Upstream::start().await;
        let more = format!("[limits]\n{limits}\n");
        let gateway = Gateway::start(&upstream, PERMIT_ALL, &more).await;
        let session = gateway.client().session().await;
        upstream.hang("tools/list");
        let padding = "a".repeat(size);
        let mut left = 0;
        while left < 12
            && !leave(&gateway, &session, &list(left, &padding))
                .await
                .contains("overloaded")
        {
            left += 1;
        }
        assert!(left <= most, "{why}: {left}");
        assert_eq!(upstream.asked("tools/list").len(), 1, "{why}");
        // All of it comes back once the server answers.
        upstream.hang_no_more();
        for attempt in 0.. {
            let again = list(100 + attempt, &padding);
            let answer = leave(&gateway, &session, &again).await;
            if answer.contains("\"pay\"") {
                break;
            }
            assert!(attempt < 20, "{why}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_list_has_a_place_and_hears_of_its_cancel() {
    let upstream = Upstream::start().await;
    let more = "[limits]\ncalls_per_agent = 2\n";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    upstream.hang("tools/list");
    let mut waiting = JoinSet::new();
    let mut overloaded = 0;
    for id in 1..=6 {
        let session = session.clone();
        let message = call(id, "pay", "{}", None);
        waiting.spawn(async move { session.post(message).await.code() });
    }
    while overloaded < 4 {
        let code = timeout(LONG, waiting.join_next()).await.unwrap().unwrap();
        assert_eq!(code.unwrap().as_deref(), Some("overloaded"));
        overloaded += 1;
    }
    for id in 1..=6 {
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        assert_eq!(session.post(cancel).await.status, 202);
    }
    // Long before the server's time is up.
    while let Some(code) = timeout(Duration::from_secs(30), waiting.join_next())
        .await
        .unwrap()
    {
        assert_eq!(code.unwrap().as_deref(), Some("upstream-unavailable"));
    }
    upstream.hang_no_more();
    assert_eq!(session.call("pay", "{}", None).await.code(), None);
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_does_not_come_to_rest_leaves_few_entries_and_holds_nobody_else_up() {
    let [a, b] = [Upstream::start().await, Upstream::start().await];
    let servers = table("a", &a, "") + &table("b", &b, "");
    let locked = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 100\n";
    let gateway = Gateway::start_with(&servers, PERMIT_ALL, locked).await;
    approve(gateway.path(), &[]).await;
    let [at_a, at_b] = ["a", "b"].map(|name| gateway.client().at(name));
    let [at_a, at_b] = [at_a.session().await, at_b.session().await];
    assert_eq!(at_a.call("pay", "{}", None).await.code(), None);
    let flipping = r#"{"tools":[{"name":"pay","title":"COUNT","inputSchema":{"type":"object"}}]}"#;
    a.answer("tools/list", flipping);
    // A name that is not offered makes it look again, as its poll does.
    let flips = || a.asked("tools/list").len();
    let mut calls = 0;
    let began = tokio::time::Instant::now();
    while flips() < 25 {
        assert!(began.elapsed() < LONG, "{} looks", flips());
        at_a.call("other", "{}", None).await;
        let answer = at_b.call("pay", "{}", None).await;
        assert_eq!(answer.code(), None, "{answer:?}");
        calls += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(b.effects(), calls);
    // What differs is refused all the same.
    let refused = at_a.call("pay", "{}", None).await.code();
    assert_eq!(refused.as_deref(), Some("catalog-drift"));
    // The list that it comes to rest with is written in the end.
    let rest = r#"{"tools":[{"name":"pay","title":"rest","inputSchema":{"type":"object"}}]}"#;
    a.answer("tools/list", rest);
    // Pauses grow to twice their length: the next one is over after as long again.
    let pause = began.elapsed() + Duration::from_secs(5);
    tokio::time::sleep(pause).await;
    let refused = at_a.call("pay", "{}", None).await.code();
    assert_eq!(refused.as_deref(), Some("catalog-drift"));
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let of_a = |kind: &str| {
        let entries = entries.iter().filter(|entry| entry["kind"] == kind);
        let of_a = entries.filter(|entry| entry["server"] == "a");
        of_a.collect::<Vec<_>>()
    };
    let found = of_a("discovery");
    assert!((4..=9).contains(&found.len()), "{}", found.len());
    let counted = of_a("suppressed");
    let counted = counted.iter().map(|entry| &entry["suppressed"]["count"]);
    let counted: u64 = counted.map(|count| count.as_u64().unwrap()).sum();
    assert!(counted >= 10, "{counted}");
    let refused = of_a("refusal");
    let last = &refused.last().unwrap()["catalog"]["discovered"];
    assert_eq!(found.last().unwrap()["catalog"]["discovered"], *last);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_told_of_stops_every_call_until_the_list_was_read() {
    let locked = "[catalog]\nfile = \"catalog.json\"\npoll_ms = 600000\n";
    let more = format!("call_timeout_ms = 1500\nconnect_timeout_ms = 1000\n{locked}");
    let (upstream, gateway) = relaying::start("2025-11-25", relaying::ALL, &more).await;
    let tool = |title: &str| {
        let schema = json!({"type": "object", "title": title});
        json!([{"name": "pay", "inputSchema": schema}])
    };
    upstream.offer(tool("as it was"));
    approve(gateway.path(), &[]).await;
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", "{}", None).await.code(), None);
    let _events = session.stream(http::Method::GET, "").await;
    until("the gateway listens", || upstream.listeners() > 0).await;

    upstream.offer(tool("swapped"));
    upstream.hang("tools/list");
    let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    upstream.tell(told).await;
    until("it is asked", || !upstream.asked("tools/list").is_empty()).await;
    // Those that come while it is asked, and those that come after it has failed.
    for _ in 0..2 {
        let mut calls = JoinSet::new();
        for _ in 0..4 {
            let session = gateway.client().session().await;
            calls.spawn(async move { session.call("pay", "{}", None).await.code() });
        }
        for code in timeout(LONG, calls.join_all()).await.unwrap() {
            assert_eq!(code.as_deref(), Some("upstream-unavailable"));
        }
        assert_eq!(upstream.effects(), 1);
    }
    upstream.hang_no_more();
    let code = session.call("pay", "{}", None).await.code();
    assert_eq!(code.as_deref(), Some("catalog-drift"));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_ledger_refused_once_is_written_when_it_takes_entries_again() {
    for (locked, kinds) in [
        (false, &["discovery"][..]),
        (true, &["discovery", "catalog-drift"]),
    ] {
        let upstream = Upstream::start().await;
        let lock = if locked {
            "file = \"catalog.json\"\n"
        } else {
            ""
        };
        let more = format!("[catalog]\npoll_ms = 100\n{lock}");
        let gateway = Gateway::start(&upstream, PERMIT_ALL, &more).await;
        if locked {
            approve(gateway.path(), &[]).await;
        }
        let session = gateway.client().session().await;
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
        let held = rusqlite::Connection::open(gateway.path().join("countersign.db")).unwrap();
        let written = |kind: &str| {
            let sql = "SELECT count(*) FROM entries WHERE instr(CAST(bytes AS TEXT), ?1)";
            let named = format!(r#""kind":"{kind}""#);
            let count = held.query_row(sql, [named], |row| row.get::<_, i64>(0));
            count.unwrap()
        };
        let before: Vec<_> = kinds.iter().map(|kind| written(kind)).collect();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        upstream
            .offer(json!([{"name": "pay", "inputSchema": {"type": "object", "title": "swapped"}}]));
        // The poll finds it; what the ledger is asked for meanwhile fails with it.
        tokio::time::sleep(Duration::from_millis(500)).await;
        for _ in 0..2 {
            let said = session.call("look", "{}", None).await;
            assert!(said.code().is_some(), "{}", said.text());
        }
        held.execute_batch("ROLLBACK").unwrap();
        for (kind, before) in kinds.iter().zip(before) {
            until("it is written", || written(kind) > before).await;
        }
    }
}
