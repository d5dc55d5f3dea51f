//! Tasks of 2025-11-25 through the whole gateway: acknowledged, observed,
//! ended, each with its entry; bound to their agent; ended by time at last.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::client::Answer;
use support::upstream::Behaviour;
use support::{Client, Gateway, PERMIT_ALL, Upstream, until};

const CREATED: &str = r#"{"task":{"taskId":"t-1","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":60000,"n":1.0}}"#;

async fn start(more: &str) -> (Upstream, Gateway, Client) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Result(CREATED.to_owned()));
    (upstream, gateway, session)
}

async fn begin(session: &Client, id: &str) -> Answer {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"pay","arguments":{{}},"task":{{"ttl":60000}},"_meta":{{"countersign.dev/execution_id":"{id}"}}}}}}"#
    );
    session.post(body).await
}

async fn ask(session: &Client, method: &str) -> Answer {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{"taskId":"t-1"}}}}"#);
    session.post(body).await
}

fn state(data: &Value) -> (&str, Option<&str>) {
    (data["state"].as_str().unwrap(), data["outcome"].as_str())
}

async fn known(session: &Client, id: &str) -> Value {
    begin(session, id).await.data()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledgement_state_change_and_end_are_three_entries_and_a_restart_between_them_is_nothing()
 {
    let (upstream, gateway, session) = start("").await;
    let created = begin(&session, "e1").await.json();
    assert_eq!(created["result"]["task"]["taskId"], "t-1");
    let receipt = &created["result"]["_meta"]["countersign.dev/receipt"];
    assert_eq!(receipt["execution_id"], "e1");
    assert_eq!(state(&known(&session, "e1").await), ("task-open", None));

    let (_, folder) = gateway.stop().await;
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    assert_eq!(state(&known(&session, "e1").await), ("task-open", None));
    upstream.about_task(r#"{"taskId":"t-1","status":"input_required","n":1.0}"#);
    for _ in 0..3 {
        let seen = ask(&session, "tasks/get").await;
        assert!(seen.text().contains(r#""status":"input_required","n":1.0"#));
    }
    upstream.about_task(r#"{"content":[{"type":"text","text":"paid"}],"n":1.0}"#);
    let result = ask(&session, "tasks/result").await;
    assert!(result.text().contains(r#""n":1.0"#), "{}", result.text());
    let receipt = &result.json()["result"]["_meta"]["countersign.dev/receipt"];
    assert_eq!(receipt["execution_id"], "e1");
    assert_eq!(
        state(&known(&session, "e1").await),
        ("settled", Some("succeeded"))
    );
    assert_eq!(upstream.effects(), 1);

    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let chain: Vec<_> = entries
        .iter()
        .filter(|entry| entry["execution_id"] == "e1" && entry["kind"] != "refusal")
        .map(|entry| {
            let status = entry["task"]["status"].as_str().unwrap_or_default();
            (entry["kind"].as_str().unwrap(), status)
        })
        .collect();
    assert_eq!(
        chain,
        [
            ("admission", ""),
            ("task", "working"),
            ("task", "input_required"),
            ("terminal", "ended")
        ]
    );
    let text = serde_json::to_string(&entries).unwrap();
    assert!(!text.contains("t-1"), "a task's id is its agent's alone");
    let terminal = entries
        .iter()
        .find(|entry| entry["kind"] == "terminal")
        .unwrap();
    assert_eq!(terminal["sequence"], receipt["sequence"]);
    assert!(terminal["answer_digest"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn how_a_task_ended_maps_to_an_outcome() {
    let error = |code: i32| format!(r#"{{"code":{code},"message":"no"}}"#);
    let cases = [
        (
            "tasks/get",
            r#"{"taskId":"t-1","status":"completed"}"#.to_owned(),
            Some("succeeded"),
        ),
        (
            "tasks/get",
            r#"{"taskId":"t-1","status":"failed"}"#.to_owned(),
            Some("tool-error"),
        ),
        (
            "tasks/get",
            r#"{"taskId":"t-1","status":"cancelled"}"#.to_owned(),
            Some("outcome-unknown"),
        ),
        (
            "tasks/cancel",
            r#"{"taskId":"t-1","status":"cancelled"}"#.to_owned(),
            Some("outcome-unknown"),
        ),
        (
            "tasks/get",
            r#"{"taskId":"t-1","status":"working"}"#.to_owned(),
            None,
        ),
        (
            "tasks/get",
            r#"{"taskId":"t-2","status":"completed"}"#.to_owned(),
            None,
        ),
        (
            "tasks/get",
            r#"{"taskId":"t-1","status":"strolling"}"#.to_owned(),
            None,
        ),
        (
            "tasks/result",
            r#"{"content":[]}"#.to_owned(),
            Some("succeeded"),
        ),
        (
            "tasks/result",
            r#"{"content":[],"isError":true}"#.to_owned(),
            Some("tool-error"),
        ),
        ("tasks/result", error(-32000), Some("upstream-error")),
        ("tasks/result", error(-32602), None),
        ("tasks/result", error(-32603), None),
    ];
    for (method, answer, outcome) in cases {
        let (upstream, _gateway, session) = start("").await;
        begin(&session, "e1").await;
        upstream.about_task(&answer);
        let said = ask(&session, method).await.json();
        assert!(
            said["error"]["data"]["code"].is_null(),
            "{method} {answer}: {said}"
        );
        let data = known(&session, "e1").await;
        let expected = outcome.map_or(("task-open", None), |outcome| ("settled", Some(outcome)));
        assert_eq!(state(&data), expected, "{method} {answer}");
        assert_eq!(upstream.effects(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_or_unknown_task_is_refused_and_nothing_is_asked_upstream() {
    let (upstream, _gateway, session) = start("").await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let said = ask(&session, method).await;
        assert_eq!(said.code().as_deref(), Some("task-unknown"), "{method}");
    }
    assert_eq!(upstream.asked_about_tasks(), 0);
    begin(&session, "e1").await;
    upstream.about_task(
        r#"{"tasks":[{"taskId":"t-0","status":"working"},{"taskId":"t-1","status":"working","n":1.0}],"nextCursor":"t-0"}"#,
    );
    let page = |cursor: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tasks/list","params":{{{cursor}}}}}"#)
    };
    let listed = session.post(page("")).await;
    let text = listed.text();
    assert!(
        text.contains(r#""tasks":[{"taskId":"t-1","status":"working","n":1.0}]"#),
        "{text}"
    );
    assert!(
        text.contains(r#""nextCursor":""#) && !text.contains("t-0"),
        "{text}"
    );
    // It goes on by the name that it was given, in this session and no other.
    let name = listed.json()["result"]["nextCursor"].clone();
    let next = page(&format!(r#""cursor":{name}"#));
    let other = _gateway.client().session().await;
    for (client, asked) in [
        (&other, next.as_str()),
        (&session, &page(r#""cursor":"t-0""#)),
        (&session, &page(r#""cursor":7"#)),
    ] {
        let said = client.post(asked).await;
        assert_eq!(said.code().as_deref(), Some("params"), "{asked}");
        assert_eq!(said.json()["error"]["data"]["pointer"], "/params/cursor");
    }
    assert_eq!(session.post(&next).await.code(), None);
    let (_, sent) = upstream.asked("tasks/list").pop().unwrap();
    assert!(sent.contains(r#""params":{"cursor":"t-0"}"#), "{sent}");
    let without = r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{}}"#;
    assert_eq!(
        session.post(without).await.code().as_deref(),
        Some("params")
    );
    let older = _gateway.client().session_of("2025-06-18").await;
    let said = ask(&older, "tasks/get").await;
    assert_eq!(said.code().as_deref(), Some("method-not-supported"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_nobody_asks_for_ends_when_its_time_is_up() {
    let (upstream, gateway, session) = start("[limits]\ntask_timeout_ms = 1500\n").await;
    begin(&session, "e1").await;
    assert_eq!(state(&known(&session, "e1").await), ("task-open", None));
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(
        state(&known(&session, "e1").await),
        ("settled", Some("outcome-unknown"))
    );
    assert_eq!((upstream.effects(), upstream.asked_about_tasks()), (1, 0));
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let terminal = entries
        .iter()
        .find(|entry| entry["kind"] == "terminal")
        .unwrap();
    assert_eq!(terminal["refusal"], "task-timeout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_with_a_member_named_task_is_no_task_where_none_was_asked_for() {
    let (upstream, _gateway, session) = start("").await;
    session.call("pay", "{}", Some("e1")).await;
    let again = session.call("pay", "{}", Some("e1")).await.data();
    assert_eq!(state(&again), ("settled", Some("succeeded")));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_see_a_task_end_at_once_both_are_told_and_one_ends_it() {
    let (upstream, gateway, session) = start("").await;
    begin(&session, "e1").await;
    upstream.about_task(r#"{"taskId":"t-1","status":"completed"}"#);
    // Long enough that both have asked before either is answered.
    upstream.ponder(Duration::from_millis(500));
    let ask = |id: u64| {
        let session = session.clone();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"taskId":"t-1"}}}}"#
        );
        async move { session.post(body).await.json()["result"]["status"].clone() }
    };
    let told = tokio::join!(ask(2), ask(3));
    assert_eq!(told, ("completed".into(), "completed".into()));
    assert_eq!(upstream.asked_about_tasks(), 2);
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let ends = entries.iter().filter(|entry| entry["kind"] == "terminal");
    assert_eq!(ends.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_a_task_is_recorded_though_its_client_goes_away() {
    for (method, answer, outcome) in [
        (
            "tasks/cancel",
            r#"{"taskId":"t-1","status":"cancelled"}"#,
            "outcome-unknown",
        ),
        ("tasks/result", r#"{"content":[]}"#, "succeeded"),
    ] {
        let (upstream, _gateway, session) = start("").await;
        begin(&session, "e1").await;
        upstream.about_task(answer);
        upstream.ponder(Duration::from_millis(500));
        let asking = {
            let session = session.clone();
            tokio::spawn(async move { ask(&session, method).await })
        };
        until("it is asked", || upstream.asked_about_tasks() == 1).await;
        asking.abort();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let data = known(&session, "e1").await;
        assert_eq!(state(&data), ("settled", Some(outcome)), "{method}");
        assert_eq!(upstream.asked_about_tasks(), 1, "once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_about_tasks_have_the_places_of_calls_and_their_ids() {
    let (upstream, _gateway, session) = start("[limits]\ncalls_per_agent = 1\n").await;
    begin(&session, "e1").await;
    upstream.about_task(r#"{"taskId":"t-1","status":"working"}"#);
    upstream.ponder(Duration::from_millis(500));
    let asking = |id: u64, method: &str| {
        let session = session.clone();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"taskId":"t-1"}}}}"#
        );
        async move { session.post(body).await }
    };
    let first = tokio::spawn(asking(1, "tasks/get"));
    until("it is asked", || upstream.asked_about_tasks() == 1).await;
    for (id, method, code) in [
        (2, "tasks/get", "overloaded"),
        (3, "tasks/list", "overloaded"),
        (1, "tasks/get", "duplicate-id"),
    ] {
        let said = asking(id, method).await.code();
        assert_eq!(said.as_deref(), Some(code), "{method}");
    }
    assert_eq!(first.await.unwrap().code(), None);
    assert_eq!(upstream.asked_about_tasks(), 1);
    // A cancel reaches it as it reaches a call.
    upstream.ponder(Duration::from_secs(30));
    let waiting = tokio::spawn(asking(4, "tasks/result"));
    until("it is asked", || upstream.asked_about_tasks() == 2).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;
    assert_eq!(session.post(cancel).await.status, 202);
    let said = waiting.await.unwrap();
    assert_eq!(said.code().as_deref(), Some("task-unanswered"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_a_list_tells_is_in_the_log_before_and_nothing_else_of_a_list_is() {
    for (status, entered, outcome) in [
        ("working", None, None),
        ("input_required", None, None),
        ("completed", Some("completed"), Some("succeeded")),
        ("failed", Some("failed"), Some("tool-error")),
        ("cancelled", Some("cancelled"), Some("outcome-unknown")),
        ("strolling", None, None),
    ] {
        let (upstream, gateway, session) = start("").await;
        begin(&session, "e1").await;
        upstream.about_task(&format!(
            r#"{{"tasks":[{{"taskId":"t-0","status":"completed"}},{{"taskId":"t-1","status":"{status}"}}]}}"#
        ));
        for _ in 0..2 {
            let listed = ask(&session, "tasks/list").await.text();
            let told = format!(r#""tasks":[{{"taskId":"t-1","status":"{status}"}}]"#);
            // A word that is no status makes no task.
            assert_eq!(listed.contains(&told), status != "strolling", "{listed}");
        }
        let data = known(&session, "e1").await;
        let expected = outcome.map_or(("task-open", None), |outcome| ("settled", Some(outcome)));
        assert_eq!(state(&data), expected, "{status}");
        let (_, folder) = gateway.stop().await;
        let entries = support::entries(folder.path());
        let of_task = entries.iter().filter(|e| e["task"]["status"].is_string());
        let told: Vec<_> = of_task
            .map(|entry| entry["task"]["status"].as_str().unwrap())
            .filter(|told| *told != "working")
            .collect();
        assert_eq!(told, entered.into_iter().collect::<Vec<_>>(), "once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_more_tasks_than_are_looked_at_is_no_answer() {
    let (upstream, _gateway, session) = start("").await;
    begin(&session, "e1").await;
    let mine = r#"{"taskId":"t-1","status":"working"}"#;
    for (count, code) in [(999, None), (1_000, Some("task-unanswered"))] {
        let others = r#"{"taskId":"t","status":"working"},"#.repeat(count);
        upstream.about_task(&format!(r#"{{"tasks":[{others}{mine}]}}"#));
        let said = ask(&session, "tasks/list").await;
        assert_eq!(said.code().as_deref(), code, "{count}");
        assert_eq!(said.text().contains("t-1"), code.is_none(), "{count}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_the_ledger_refused_once_is_not_told_until_it_is_in_the_log() {
    let task = r#"{"taskId":"t-1","status":"STATUS"}"#;
    let tasks = r#"{"tasks":[{"taskId":"t-1","status":"STATUS"}]}"#;
    for (method, answer, status) in [
        ("tasks/get", task, "input_required"),
        ("tasks/cancel", task, "input_required"),
        ("tasks/get", task, "completed"),
        ("tasks/list", tasks, "completed"),
    ] {
        let (upstream, gateway, session) = start("").await;
        begin(&session, "e1").await;
        upstream.about_task(&answer.replace("STATUS", status));
        let held = rusqlite::Connection::open(gateway.path().join("countersign.db")).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        let said = ask(&session, method).await;
        assert!(said.code().is_some(), "{method} {status}: {}", said.text());
        held.execute_batch("ROLLBACK").unwrap();
        let in_the_log = || {
            let sql = "SELECT count(*) FROM entries WHERE instr(CAST(bytes AS TEXT), ?1)";
            let named = format!(r#""status":"{status}""#);
            let count = held.query_row(sql, [named], |row| row.get::<_, i64>(0));
            count.unwrap()
        };
        let mut told = false;
        for _ in 0..200 {
            told = ask(&session, method).await.code().is_none();
            if told {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(told, "{method} {status}");
        assert_eq!(in_the_log(), 1, "{method} {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_ends_when_its_time_is_up_though_many_before_it_have_a_later_one() {
    let upstream = Upstream::start().await;
    let more = "[limits]\ntask_timeout_ms = 1500\n";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    upstream.behave(Behaviour::Result(CREATED.to_owned()));
    // More than are looked at at once, as from before a clock was set back.
    for number in 0..257 {
        upstream.behave(Behaviour::Result(
            CREATED.replace("t-1", &format!("t-{number}")),
        ));
        begin(&session, &format!("later-{number}")).await;
        if number == 0 {
            // None of them ends meanwhile.
            let sql = "CREATE TRIGGER later AFTER INSERT ON executions \
                       WHEN NEW.execution_id LIKE 'later-%' BEGIN UPDATE executions \
                       SET reserved_us = reserved_us + 3600000000 WHERE number = NEW.number; END";
            let database = gateway.path().join("countersign.db");
            let database = rusqlite::Connection::open(database).unwrap();
            database.execute_batch(sql).unwrap();
        }
    }
    upstream.behave(Behaviour::Result(CREATED.replace("t-1", "t-due")));
    begin(&session, "e1").await;
    let mut ended = false;
    for _ in 0..600 {
        ended = known(&session, "e1").await["state"] == "settled";
        if ended {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(ended, "never");
    assert_eq!(state(&known(&session, "later-256").await).0, "task-open");
}
