//! What comes into force after a call was decided and before it is reserved:
//! the call is decided again. The ledger's writer is held, so that the order is
//! this one in every run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::path::Path;
use std::time::Duration;

use http::Method;
use serde_json::Value;
use support::approving::approve;
use support::clock::Held;
use support::{Client, Gateway, PERMIT_ALL, Upstream};

const WATCHED: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

async fn start(upstream: &Upstream, more: &str) -> (Held, Gateway, Client) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(folder.path().join("policies/test.cedar"), PERMIT_ALL).unwrap();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{WATCHED}{more}\n[identity]\nmode = \"open\"\n\
         [policy]\nfolder = \"policies\"\n[[server]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url()
    );
    std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
    let (held, environment) = Held::environment();
    let gateway = Gateway::start_at(folder, environment).await;
    let session = gateway.client().session().await;
    (held, gateway, session)
}

async fn number(gateway: &Gateway, name: &str) -> u64 {
    let watched = Client::new(gateway.telemetry.unwrap());
    let metrics = watched.send(Method::GET, "/metrics", bytes::Bytes::new());
    let metrics = metrics.await.text();
    let line = metrics.lines().find(|line| line.starts_with(name));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

async fn until(holds: impl AsyncFn() -> bool) {
    for _ in 0..400 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never held");
}

/// With the writer held: `change` is queued, then a call is decided and queued
/// behind it; then the writer goes on. Gives the call's refusal.
async fn overtaken<T: Send + 'static>(
    (held, gateway, session): (&Held, &Gateway, &Client),
    change: impl Future<Output = T> + Send + 'static,
) -> Value {
    held.hold();
    let changing = tokio::spawn(change);
    until(async || held.waits()).await;
    let before = number(gateway, "countersign_decisions_total{decision=\"allow\"}").await;
    let calling = session.clone();
    let call = tokio::spawn(async move { calling.call("pay", "{}", Some("e1")).await.data() });
    until(async || number(gateway, "countersign_ledger_queue").await > 0).await;
    let after = number(gateway, "countersign_decisions_total{decision=\"allow\"}").await;
    assert_eq!(after, before + 1, "it was allowed by what was in force");
    held.release();
    changing.await.unwrap();
    call.await.unwrap()
}

/// The call's one entry comes after what overtook it, and rests on it.
fn assert_decided_again(folder: &Path, overtook: &str) -> Value {
    let entries = support::entries(folder);
    let change = entries.iter().rposition(|e| e["kind"] == overtook).unwrap();
    let of: Vec<_> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry["execution_id"] == "e1")
        .collect();
    let [(at, entry)] = of.as_slice() else {
        panic!("not one entry: {of:?}");
    };
    assert!(*at > change, "{at} {change}");
    assert_eq!(entry["kind"], "refusal");
    (*entry).clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn policies_that_come_into_force_between_decide_and_reserve_decide_the_call_again() {
    let upstream = Upstream::start().await;
    let (held, gateway, session) = start(&upstream, "").await;
    assert_eq!(session.call("pay", "{}", Some("e0")).await.code(), None);
    let forbid = "permit (principal, action, resource);\n\
                  forbid (principal, action == Action::\"up/pay\", resource);\n";
    std::fs::write(gateway.path().join("policies/test.cedar"), forbid).unwrap();
    let reloader = gateway.reloader.clone();
    let reload = async move { reloader.reload().await.unwrap() };
    let data = overtaken((&held, &gateway, &session), reload).await;
    assert_eq!(data["code"], "policy-denied", "{data}");
    assert_eq!(data["safe_with_new_id"], true, "{data}");
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entry = assert_decided_again(folder.path(), "policy-loaded");
    let entries = support::entries(folder.path());
    let loaded = entries.iter().rfind(|e| e["kind"] == "policy-loaded");
    assert_eq!(entry["policy_digest"], loaded.unwrap()["policy_digest"]);
    assert_eq!(entry["decision"]["allow"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_approval_that_comes_into_force_between_decide_and_reserve_decides_the_call_again() {
    let upstream = Upstream::start().await;
    let (held, gateway, session) = start(&upstream, "[catalog]\nfile = \"catalog.json\"\n").await;
    approve(gateway.path(), &[]).await;
    assert_eq!(session.call("pay", "{}", Some("e0")).await.code(), None);
    let path = gateway.path().to_owned();
    let approval = async move { approve(&path, &["pay"]).await };
    let data = overtaken((&held, &gateway, &session), approval).await;
    assert_eq!(data["code"], "tool-not-approved", "{data}");
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    assert_decided_again(folder.path(), "catalog-approved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_is_never_decided_for_good_is_refused_as_what_it_is_and_told_when_to_come_back()
{
    let upstream = Upstream::start().await;
    let (_held, gateway, session) = start(&upstream, "[catalog]\nfile = \"catalog.json\"\n").await;
    approve(gateway.path(), &[]).await;
    assert_eq!(session.call("pay", "{}", Some("e0")).await.code(), None);
    // A change of which one entry is written and the other never is: the log is
    // further than what decides, for as long as that lasts.
    let database = rusqlite::Connection::open(gateway.path().join("countersign.db")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON entries \
                  WHEN instr(CAST(NEW.bytes AS TEXT), '\"kind\":\"catalog-approved\"') \
                  BEGIN SELECT RAISE(ABORT, 'refused'); END";
    database.execute_batch(refuse).unwrap();
    std::fs::remove_file(gateway.path().join("catalog.json")).unwrap();
    assert!(gateway.reloader.reload().await.is_err());
    let mut data = Value::Null;
    for number in 0..100 {
        let id = format!("e1-{number}");
        data = session.call("pay", "{}", Some(&id)).await.data();
        // What shares a commit with the entry that is refused fails with it.
        if data["code"] == "overloaded" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(data["code"], "overloaded", "{data}");
    assert_eq!(data["retry_after_ms"], 250, "{data}");
    assert_eq!(data["safe_with_new_id"], true, "{data}");
    assert_eq!(upstream.effects(), 1);
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let mut refused = entries.iter().filter(|e| e["refusal"] == "overloaded");
    let entry = refused.next_back().unwrap();
    assert_eq!(entry["classification"]["verdict"], "fresh", "{entry}");
    assert_eq!(entry["tool"], "pay");
    assert!(entry["binding"].is_string(), "{entry}");
    assert!(entry["execution_id"].as_str().unwrap().starts_with("e1-"));
}
