//! What a gateway does where its ledger fails it, or gave its execution up:
//! the rows of `docs/spec/executions.md` §4 that meet a caller and an operator.
//! The database is a real one, held by another connection for a while.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::path::Path;
use std::time::Duration;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::operator::{Office, OperatorError, api};
use serde_json::Value;
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, client};

async fn start() -> (Upstream, Gateway, Client) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    // The tools are known before anything fails.
    session.call("look", "{}", None).await;
    (upstream, gateway, session)
}

/// A second connection to the gateway's database.
fn sql(gateway: &Gateway) -> rusqlite::Connection {
    rusqlite::Connection::open(gateway.path().join("countersign.db")).unwrap()
}

/// Makes a call in a task of its own, and waits until it has its effect.
async fn under_way(
    upstream: &Upstream,
    session: &Client,
    answers_after: Duration,
) -> tokio::task::JoinHandle<Value> {
    upstream.behave(Behaviour::Slow(answers_after));
    let (before, calling) = (upstream.effects(), session.clone());
    let call = tokio::spawn(async move {
        let message = client::call(7, "pay", "{}", Some("e1"));
        calling.post(message).await.json()
    });
    while upstream.effects() == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    call
}

/// Asks as the operator, off the threads that serve.
async fn operator<T: Send + 'static>(
    folder: &Path,
    ask: impl FnOnce(&Office) -> T + Send + 'static,
) -> T {
    let config = Config::read(&folder.join("countersign.toml")).unwrap();
    let asked = move || {
        let office = Office::open(&config.store, &Environment::system()).unwrap();
        assert!(office.is_running());
        ask(&office)
    };
    tokio::task::spawn_blocking(asked).await.unwrap()
}

fn e1() -> api::Which {
    api::Which::Execution {
        agent: api::Agent {
            method: "open".into(),
            issuer: String::new(),
            subject: "anonymous".into(),
        },
        execution_id: "e1".into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_settlement_fails_is_not_given_as_if_it_were_safe_and_settles_later() {
    let (upstream, gateway, session) = start().await;
    let call = under_way(&upstream, &session, Duration::from_millis(300)).await;
    let held = sql(&gateway);
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = call.await.unwrap();
    let data = &said["error"]["data"];
    assert_eq!(data["code"], "settlement-failed", "{said}");
    assert_eq!(data["safe_with_new_id"], false, "{said}");
    assert!(said["result"].is_null(), "{said}");
    held.execute_batch("ROLLBACK").unwrap();
    drop(held);
    // The outcome was kept, and is made durable with the same fence.
    let mut data = Value::Null;
    for _ in 0..100 {
        data = session.call("pay", "{}", Some("e1")).await.data();
        if data["code"] == "replay" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        (&data["code"], &data["outcome"]),
        (&"replay".into(), &"succeeded".into()),
        "{data}"
    );
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_that_cannot_be_made_sends_nothing_and_leaves_the_identifier_fresh() {
    let (upstream, gateway, session) = start().await;
    let held = sql(&gateway);
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let data = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(data["code"], "ledger-unavailable", "{data}");
    assert_eq!(upstream.effects(), 1, "nothing was sent");
    held.execute_batch("ROLLBACK").unwrap();
    drop(held);
    let mut said = Value::Null;
    for _ in 0..100 {
        said = session.call("pay", "{}", Some("e1")).await.json();
        if said["result"].is_object() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(said["result"].is_object(), "{said}");
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_of_an_owner_that_was_given_up_settles_nothing_until_an_operator_adopts_it() {
    let (upstream, gateway, session) = start().await;
    let call = under_way(&upstream, &session, Duration::from_millis(300)).await;
    // As a sweeper of another replica would: the row is blocked, the fence up.
    let given_up = "UPDATE executions SET state = 'blocked', fence = fence + 1 \
                    WHERE execution_id = 'e1'";
    assert_eq!(sql(&gateway).execute(given_up, []).unwrap(), 1);
    let said = call.await.unwrap();
    let data = &said["error"]["data"];
    assert_eq!(data["code"], "settlement-failed", "{said}");
    let repeat = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(repeat["code"], "blocked", "{repeat}");
    let fetch = r#"{"jsonrpc":"2.0","id":2,"method":"countersign.dev/answer","params":{"execution_id":"e1"}}"#;
    assert_eq!(session.post(fetch).await.code().as_deref(), Some("blocked"));

    let folder = gateway.path().to_owned();
    let explained = operator(&folder, |office| office.explain(e1()).unwrap()).await;
    let told = |lines: &[String], part: &str| lines.iter().any(|line| line.contains(part));
    assert!(
        told(&explained.known, "had been given up: `succeeded`"),
        "{explained:?}"
    );
    assert!(told(&explained.next, "adopt it"), "{explained:?}");
    assert!(told(&explained.commands, "--late-answer"), "{explained:?}");
    let adopted = operator(&folder, |office| {
        office
            .resolve(api::Resolve {
                which: e1(),
                outcome: None,
                late_answer: true,
                reason: "nothing speaks against it".into(),
                evidence: None,
            })
            .unwrap()
    })
    .await;
    assert_eq!(
        (adopted.state.as_str(), adopted.outcome.as_deref()),
        ("settled", Some("succeeded"))
    );
    let repeat = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(
        (&repeat["code"], &repeat["outcome"]),
        (&"replay".into(), &"succeeded".into()),
        "{repeat}"
    );
    assert_eq!(upstream.effects(), 2);
    let (_, folder) = gateway.stop().await;
    let kinds: Vec<String> = support::entries(folder.path())
        .iter()
        .filter(|entry| entry["execution_id"] == "e1" && entry["kind"] != "refusal")
        .map(|entry| entry["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["admission", "late-answer", "resolution"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_late_answer_nobody_states_that_nothing_was_attempted_however_long_the_chain() {
    let (upstream, gateway, session) = start().await;
    let call = under_way(&upstream, &session, Duration::from_secs(15)).await;
    let given_up = "UPDATE executions SET state = 'blocked', fence = fence + 1, \
                    boundary = 'transport-may-have-started' WHERE execution_id = 'e1'";
    assert_eq!(sql(&gateway).execute(given_up, []).unwrap(), 1);
    // More than a page, before the answer; were it slower, some would come after it.
    for _ in 0..1_010 {
        let repeat = session.call("pay", "{}", Some("e1")).await.data();
        assert_eq!(repeat["code"], "blocked", "{repeat}");
    }
    call.await.unwrap();
    let (_, folder) = gateway.stop().await;
    // Its owner is gone now. A row of an older gateway does not say what came.
    for older in [false, true] {
        let path = folder.path().to_owned();
        if older {
            let lower = "UPDATE executions SET boundary = 'transport-may-have-started' \
                         WHERE execution_id = 'e1'";
            let sql = rusqlite::Connection::open(path.join("countersign.db")).unwrap();
            assert_eq!(sql.execute(lower, []).unwrap(), 1);
        }
        let asked = move || {
            let config = Config::read(&path.join("countersign.toml")).unwrap();
            let office = Office::open(&config.store, &Environment::system()).unwrap();
            let explained = office.explain(e1()).unwrap();
            let resolved = office.resolve(api::Resolve {
                which: e1(),
                outcome: Some("not-attempted".into()),
                late_answer: false,
                reason: "no request came".into(),
                evidence: None,
            });
            let shown = office.show(e1()).unwrap();
            (explained, resolved.map(drop), shown.log)
        };
        let (explained, resolved, log) = tokio::task::spawn_blocking(asked).await.unwrap();
        let commands = explained.commands.join("\n");
        assert!(commands.contains("--late-answer"), "{older}: {commands}");
        let all = format!("{commands}\n{}", explained.next.join("\n"));
        assert!(!all.contains("not-attempted"), "{older}: {all}");
        let refused = resolved.unwrap_err().to_string();
        assert!(refused.ends_with("(execution-state)"), "{older}: {refused}");
        let kinds = |kind: &str| log.iter().filter(|entry| entry["kind"] == kind).count();
        let shown = ["admission", "late-answer", "refusal"].map(kinds);
        assert_eq!(shown, [1, 1, 1_000], "{older}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_left_before_delivery_fetches_the_answer_that_was_settled() {
    let (upstream, _gateway, session) = start().await;
    let call = under_way(&upstream, &session, Duration::from_millis(300)).await;
    call.abort();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let replay = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(replay["code"], "replay", "{replay}");
    let fetch = r#"{"jsonrpc":"2.0","id":9,"method":"countersign.dev/answer","params":{"execution_id":"e1"}}"#;
    let answer = session.post(fetch).await.json();
    assert!(answer["result"]["content"].is_array(), "{answer}");
    assert_eq!(upstream.effects(), 2, "nothing ran again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_does_not_ask_rightly_is_refused_and_changes_nothing() {
    let (upstream, gateway, session) = start().await;
    let call = under_way(&upstream, &session, Duration::from_secs(3)).await;
    let given_up = "UPDATE executions SET state = 'blocked', fence = fence + 1 \
                    WHERE execution_id = 'e1'";
    // Before anything of the answer comes, so that there is no late one either.
    assert_eq!(sql(&gateway).execute(given_up, []).unwrap(), 1);
    let folder = gateway.path().to_owned();
    let resolve = |outcome: Option<&str>, late_answer, reason: &str, evidence: Option<&str>| {
        let asked = api::Resolve {
            which: e1(),
            outcome: outcome.map(str::to_owned),
            late_answer,
            reason: reason.to_owned(),
            evidence: evidence.map(str::to_owned),
        };
        Box::new(move |office: &Office| office.resolve(asked).map(drop)) as Asks
    };
    let list = |state: Option<&str>, limit| {
        let asked = api::List {
            state: state.map(str::to_owned),
            limit,
            ..api::List::default()
        };
        Box::new(move |office: &Office| office.list(asked).map(drop)) as Asks
    };
    let backup = |file: &str| {
        let asked = api::Backup {
            file: file.to_owned(),
        };
        Box::new(move |office: &Office| office.backup(asked).map(drop)) as Asks
    };
    let (succeeded, long) = (Some("succeeded"), "x".repeat(4_097));
    for (why, asks) in [
        (
            "a late answer that never came",
            resolve(None, true, "seen", None),
        ),
        ("no reason", resolve(succeeded, false, " ", None)),
        ("too long a reason", resolve(succeeded, false, &long, None)),
        (
            "evidence that is no digest",
            resolve(succeeded, false, "seen", Some("x")),
        ),
        (
            "an outcome that is none",
            resolve(Some("fine"), false, "seen", None),
        ),
        (
            "neither outcome nor answer",
            resolve(None, false, "seen", None),
        ),
        ("both", resolve(succeeded, true, "seen", None)),
        ("a state that is none", list(Some("settled"), None)),
        ("a page of nothing", list(None, Some(0))),
        ("a page of too much", list(None, Some(1_001))),
        ("a copy somewhere", backup("copy.db")),
    ] {
        let refused = operator(&folder, asks).await.unwrap_err().to_string();
        assert!(refused.ends_with("(operator-request)"), "{why}: {refused}");
    }
    call.await.unwrap();
    let repeat = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(repeat["code"], "blocked", "{repeat}");
    let whole = resolve(succeeded, false, &long[1..], None);
    operator(&folder, whole).await.unwrap();
}

/// Something that is asked of an office.
type Asks = Box<dyn FnOnce(&Office) -> Result<(), OperatorError> + Send>;
