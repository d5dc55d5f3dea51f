//! The operator's way out of a blocked execution, through the real binary: while
//! the gateway runs, and where none does (`docs/operators/blocked.md`).

#![allow(clippy::unwrap_used, reason = "equipment of tests fails as tests do")]

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Output;

use countersign_canon::Digest;
use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};
use serde_json::{Value, json};

const SLOW: &str = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":60000}"#;

fn slow(id: &str) -> Call<'_> {
    Call::new("transfer_slowly", SLOW).under(id)
}

/// A gateway that was killed in the middle of one call for each identifier, and
/// started again where `running`.
async fn blocked(ledger: &LedgerServer, ids: &[&'static str], running: bool) -> Gateway {
    let mut gateway = Plan::new(Server::listening(ledger)).start().await;
    let calls: Vec<_> = ids
        .iter()
        .map(|id| {
            let (url, id) = (gateway.url(), *id);
            tokio::spawn(async move {
                let client = Client::connect(&url, Revision::July2026, None).await;
                client.try_call(&slow(id)).await
            })
        })
        .collect();
    ledger.wait_for_effects(ids.len()).await;
    gateway.kill();
    for call in calls {
        assert!(call.await.unwrap().is_none(), "nothing was answered");
    }
    if running {
        gateway.start().await;
    }
    gateway
}

fn ask(gateway: &Gateway, arguments: &[&str]) -> Output {
    let mut all = vec!["executions"];
    all.extend(arguments);
    gateway.run(&all)
}

fn text(gateway: &Gateway, arguments: &[&str]) -> String {
    let done = ask(gateway, arguments);
    assert!(done.status.success(), "{}", said(&done));
    String::from_utf8(done.stdout).unwrap()
}

fn answer(gateway: &Gateway, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    serde_json::from_str(&text(gateway, &all)).unwrap()
}

/// Where the tests' one agent calls from.
const MINE: [&str; 4] = ["--method", "open", "--agent", "anonymous"];

#[tokio::test]
async fn a_blocked_execution_is_found_explained_and_resolved_with_and_without_a_gateway() {
    for running in [true, false] {
        let ledger = LedgerServer::http().await;
        let id = if running { "with" } else { "without" };
        let mut gateway = blocked(&ledger, &[id], running).await;

        let listed = answer(&gateway, &["list", "--blocked"]);
        let rows = listed["executions"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{listed}");
        assert_eq!(rows[0]["execution_id"], id);
        assert_eq!(listed["next"], Value::Null);
        let call = rows[0]["call_id"].as_str().unwrap().to_owned();
        let table = text(&gateway, &["list", "--blocked"]);
        assert!(table.contains(&call) && table.contains("ledger/transfer_slowly"));
        let nothing = text(&gateway, &["list", "--state", "task-open"]);
        assert_eq!(nothing, "no execution is open here\n");

        let named = [&["show", "--execution-id", id][..], &MINE].concat();
        let shown = answer(&gateway, &named);
        let kinds: Vec<&str> = shown["log"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["admission", "blocked"], "{shown}");

        let explained = text(&gateway, &["explain", "--call", &call]);
        for part in [
            "What is known",
            "What is not known",
            "whether the upstream acted",
            "tell the caller not to try again under a new id",
            "`transfer_slowly` for call",
            &format!("countersign executions resolve --call {call} --outcome succeeded"),
        ] {
            assert!(explained.contains(part), "{part}: {explained}");
        }

        let evidence = gateway.folder().join("extract.txt");
        std::fs::write(&evidence, "transfer 1: done\n").unwrap();
        let resolve = [
            "resolve",
            "--call",
            &call,
            "--outcome",
            "succeeded",
            "--reason",
            "it is in the bank's ledger",
            "--evidence",
            "extract.txt",
        ];
        let resolved = answer(&gateway, &resolve);
        assert_eq!(
            (&resolved["state"], &resolved["outcome"]),
            (&json!("settled"), &json!("succeeded"))
        );
        let shown = answer(&gateway, &["show", "--call", &call]);
        let entry = shown["log"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(entry["kind"], "resolution", "{entry}");
        let stated = &entry["resolution"];
        assert_eq!(stated["reason"], "it is in the bank's ledger");
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(stated["operator"], format!("uid:{user}"));
        assert_eq!(
            stated["evidence"],
            Digest::of(&[b"transfer 1: done\n"]).as_str()
        );

        // A further statement replaces nothing, and the identifier stays used.
        let later = [
            "resolve",
            "--call",
            &call,
            "--outcome",
            "tool-error",
            "--reason",
            "a second look",
        ];
        assert_eq!(answer(&gateway, &later)["outcome"], "succeeded");
        if !running {
            gateway.start().await;
        }
        let repeat = gateway.client(Revision::July2026).await;
        let repeat = repeat.call(&slow(id)).await;
        assert_eq!(repeat.code(), "replay", "{repeat:?}");
        assert_eq!(repeat.error()["data"]["outcome"], "succeeded");
        assert_eq!(ledger.effects().len(), 1, "nothing was ever sent again");
        verifies(&gateway);
        assert!(gateway.stop().await);
    }
}

#[tokio::test]
async fn what_an_operator_may_not_state_is_refused_and_changes_nothing() {
    let ledger = LedgerServer::http().await;
    let gateway = blocked(&ledger, &["stuck"], true).await;
    let listed = answer(&gateway, &["list", "--blocked"]);
    let call = listed["executions"][0]["call_id"].as_str().unwrap();
    let why = ["--reason", "why"];
    let cases: [(&str, &[&str], i32, &str); 6] = [
        (
            "no such call",
            &["resolve", "--call", "nothing", "--outcome", "succeeded"],
            1,
            "execution-unknown",
        ),
        (
            "nothing is awaited",
            &["abandon", "--call", call],
            1,
            "execution-state",
        ),
        (
            "no answer came late",
            &["resolve", "--call", call, "--late-answer"],
            2,
            "operator-request",
        ),
        (
            "no outcome of that name",
            &["resolve", "--call", call, "--outcome", "done"],
            2,
            "invalid value",
        ),
        (
            "another agent's identifier",
            &[
                "resolve",
                "--execution-id",
                "stuck",
                "--agent",
                "someone",
                "--outcome",
                "succeeded",
            ],
            1,
            "execution-unknown",
        ),
        (
            "evidence that is not there",
            &[
                "resolve",
                "--call",
                call,
                "--outcome",
                "succeeded",
                "--evidence",
                "nowhere",
            ],
            2,
            "nowhere",
        ),
    ];
    for (name, arguments, status, word) in cases {
        let done = ask(&gateway, &[arguments, &why].concat());
        assert_eq!(done.status.code(), Some(status), "{name}: {}", said(&done));
        assert!(said(&done).contains(word), "{name}: {}", said(&done));
    }
    let blank = [
        "resolve",
        "--call",
        call,
        "--outcome",
        "succeeded",
        "--reason",
        "  ",
    ];
    assert!(said(&ask(&gateway, &blank)).contains("operator-request"));
    let shown = answer(&gateway, &["show", "--call", call]);
    assert_eq!(shown["log"].as_array().unwrap().len(), 2, "{shown}");
}

#[tokio::test]
async fn not_attempted_is_an_outcome_and_the_caller_may_then_begin_anew() {
    let ledger = LedgerServer::http().await;
    let gateway = blocked(&ledger, &["lost"], true).await;
    let mut arguments = vec!["resolve", "--execution-id", "lost"];
    arguments.extend(MINE);
    arguments.extend(["--outcome", "not-attempted", "--reason", "no request came"]);
    assert_eq!(answer(&gateway, &arguments)["outcome"], "not-attempted");
    let client = gateway.client(Revision::July2026).await;
    let repeat = client.call(&slow("lost")).await;
    assert_eq!(repeat.code(), "replay");
    assert_eq!(repeat.error()["data"]["safe_with_new_id"], true);
}

#[tokio::test]
async fn a_list_goes_on_page_by_page_and_by_agent() {
    let ledger = LedgerServer::http().await;
    let gateway = blocked(&ledger, &["a", "b", "c", "d", "e"], true).await;
    let (mut after, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let page = answer(&gateway, &["list", "--limit", "2", "--after", &after]);
        let rows = page["executions"].as_array().unwrap();
        assert!(rows.len() <= 2);
        found.extend(rows.iter().map(|row| row["execution_id"].to_string()));
        match page["next"].as_i64() {
            Some(next) => after = next.to_string(),
            None => break,
        }
    }
    found.sort();
    assert_eq!(found, [r#""a""#, r#""b""#, r#""c""#, r#""d""#, r#""e""#]);
    let by = |agent| answer(&gateway, &["list", "--agent", agent])["executions"].clone();
    assert_eq!(by("anonymous").as_array().unwrap().len(), 5);
    assert_eq!(by("nobody").as_array().unwrap().len(), 0);
}

/// One question by hand, as other tools ask it; its status and its answer.
fn by_hand(gateway: &Gateway, path: &str, question: &str) -> (u16, Value) {
    let socket = gateway.folder().join("countersign.db.operator/socket");
    let mut stream = UnixStream::connect(socket).unwrap();
    let length = question.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: operator\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{question}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn other_tools_ask_the_same_questions_over_the_socket() {
    let ledger = LedgerServer::http().await;
    let gateway = blocked(&ledger, &["tool"], true).await;
    let (status, listed) = by_hand(&gateway, "/v1/executions/list", r#"{"state":"blocked"}"#);
    assert_eq!(status, 200);
    let call = listed["executions"][0]["call_id"].clone();
    let which =
        json!({"agent": {"method": "open", "subject": "anonymous"}, "execution_id": "tool"});
    let (status, shown) = by_hand(&gateway, "/v1/executions/show", &which.to_string());
    assert_eq!((status, &shown["execution"]["call_id"]), (200, &call));
    let (status, ledger) = by_hand(&gateway, "/v1/ledger/status", "null");
    assert_eq!((status, &ledger["rolled_back"]), (200, &json!(false)));
    let resolve = json!({"which": {"call_id": call}, "outcome": "succeeded", "reason": "seen"});
    let (status, done) = by_hand(&gateway, "/v1/executions/resolve", &resolve.to_string());
    assert_eq!((status, &done["state"]), (200, &json!("settled")));
    for (path, question, expected, code) in [
        (
            "/v1/executions/list",
            r#"{"stat":"blocked"}"#,
            400,
            "operator-request",
        ),
        (
            "/v1/executions/list",
            r#"{"limit":0}"#,
            400,
            "operator-request",
        ),
        (
            "/v1/executions/show",
            r#"{"call_id":"x"}"#,
            404,
            "execution-unknown",
        ),
        ("/v1/nothing", "{}", 400, "operator-request"),
    ] {
        let (status, refused) = by_hand(&gateway, path, question);
        assert_eq!(
            (status, refused["error"]["code"].as_str()),
            (expected, Some(code)),
            "{path} {question}: {refused}"
        );
    }
}

/// Exports everything and has it verified.
fn verifies(gateway: &Gateway) {
    let bundle = gateway.export();
    let key = gateway.public_key();
    let done = gateway.run(&["verify", bundle.to_str().unwrap(), "--trust", &key]);
    let report = said(&done);
    assert!(!report.contains("contradicted"), "{report}");
}
