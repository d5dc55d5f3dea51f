//! A profile that carries less comes into force on a running gateway: what was
//! recorded under the one before stays what it was, whatever its state, though
//! the profile in force refuses its very message; and nothing new begins so.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_tests::{
    Answer, Call, Client, Gateway, Plan, Reaction, Revision, Server, Upstream, said,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const EXACT: &str = "exact@1.0.0";
const INTEGERS: &str = "jcs-integer@1.0.0";
const DECIMAL: &str = "decimal@2.0.0";

/// Recorded under the first, refused by the second: a number, and another one.
const PAIRS: [(&str, &str, &str, &str); 3] = [
    (EXACT, INTEGERS, "1.5", "2.5"),
    (DECIMAL, INTEGERS, "1.5", "2.5"),
    (
        EXACT,
        DECIMAL,
        "1e99999999999999999999",
        "2e99999999999999999999",
    ),
];

const DONE: &str = r#"{"resultType":"complete","content":[]}"#;
const FAILED: &str = r#"{"resultType":"complete","content":[],"isError":true}"#;
const ASKED: &str = r#"{"resultType":"input_required","requestState":"s1","inputRequests":{"q":{"method":"elicitation/create","params":{}}}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}"#;
const TASK: &str =
    r#"{"task":{"taskId":"t-1","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":null}}"#;
const ANSWERS: &str =
    r#","inputResponses":{"q":{"action":"accept","content":{"n":1.0}}},"requestState":"s1""#;
const WRONG: &str = r#","inputResponses":{"q":{"action":"accept"}},"requestState":"s2""#;

/// The states that a repeat can meet, each under an id of that name.
const STATES: [&str; 7] = [
    "succeeded",
    "tool-error",
    "upstream-error",
    "outcome-unknown",
    "in-flight",
    "awaiting-input",
    "blocked",
];

fn files() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    let path = folder.join(format!("{DECIMAL}.wasm"));
    let digest = Digest::of(&[&fs::read(&path).unwrap()]);
    format!("[[profile.file]]\npath = {path:?}\ndigest = \"{digest}\"\n")
}

fn plan(upstream: &Upstream, revision: Revision, profile: &'static str) -> Plan {
    Plan::new(Server::bytes(upstream))
        .permit_everything()
        .profile(profile)
        .also(&files())
        .upstream_revision(revision)
        .server_also("call_timeout_ms = 600000\n")
}

/// Puts another profile in force for new calls.
fn swap(gateway: &Gateway, default: &str) {
    let path = gateway.folder().join("countersign.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("default = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    fs::write(&path, format!("{before}default = {default:?}\n{after}")).unwrap();
    let done = gateway.run(&["policy", "reload", "--config", "countersign.toml"]);
    assert!(done.status.success(), "{}", said(&done));
}

/// A call under an id, with more members of `params`.
fn message(client: &Client, amount: &str, id: &str, more: &str) -> String {
    let arguments = format!(r#"{{"amount":{amount}}}"#);
    let message = client.message(&Call::new("anything", &arguments).under(id));
    message.replacen(r#","_meta""#, &format!(r#"{more},"_meta""#), 1)
}

async fn post(client: &Client, amount: &str, id: &str, more: &str) -> Answer {
    let message = message(client, amount, id, more);
    client
        .post_as("tools/call", Some("anything"), message.as_bytes())
        .await
}

/// What a caller is told that does not depend on when it asks.
fn told(answer: &Answer) -> Vec<String> {
    let mut told = vec![answer.verdict()];
    let message = answer.message();
    for member in [
        "/error/data/state",
        "/error/data/outcome",
        "/error/data/call_id",
        "/error/data/difference",
        "/error/data/safe_with_new_id",
        "/result/requestState",
    ] {
        let said = message.pointer(member).unwrap_or(&Value::Null);
        told.push(format!("{member} {said}"));
    }
    told
}

fn spawn(
    gateway: &Gateway,
    revision: Revision,
    amount: &'static str,
    id: &'static str,
) -> JoinHandle<Option<Answer>> {
    let url = gateway.url();
    tokio::spawn(async move {
        let client = Client::connect(&url, revision, None).await;
        let arguments = format!(r#"{{"amount":{amount}}}"#);
        client
            .try_call(&Call::new("anything", &arguments).under(id))
            .await
    })
}

async fn reached(upstream: &Upstream, calls: usize) {
    while upstream.calls().len() < calls {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_stays_what_it_was_under_a_profile_that_refuses_it() {
    for (recorded, stricter, amount, other) in PAIRS {
        let upstream = Upstream::start(Reaction::Result(DONE.to_owned())).await;
        let mut gateway = plan(&upstream, Revision::July2026, recorded).start().await;
        let client = gateway.client(Revision::July2026).await;

        let (release, held) = watch::channel(false);
        let hold = Reaction::Held(held, DONE.to_owned());
        upstream.react(hold.clone());
        let _lost = spawn(&gateway, Revision::July2026, amount, "blocked");
        reached(&upstream, 1).await;
        gateway.kill();
        gateway.start().await;
        let _slow = spawn(&gateway, Revision::July2026, amount, "in-flight");
        reached(&upstream, 2).await;
        for (id, reaction) in [
            ("succeeded", Reaction::Result(DONE.to_owned())),
            ("tool-error", Reaction::Result(FAILED.to_owned())),
            (
                "upstream-error",
                Reaction::Raw(200, "application/json", ERROR.to_owned()),
            ),
            ("outcome-unknown", Reaction::Hangup),
            ("awaiting-input", Reaction::Result(ASKED.to_owned())),
            ("continued", Reaction::Result(ASKED.to_owned())),
        ] {
            upstream.react(reaction);
            post(&client, amount, id, "").await;
        }
        upstream.react(Reaction::Result(DONE.to_owned()));
        let first = post(&client, amount, "continued", ANSWERS).await;
        assert_eq!(first.verdict(), "ok", "{recorded}");
        let sent = upstream.calls().len();

        let mut before = Vec::new();
        for id in STATES.into_iter().chain(["continued"]) {
            for (amount, more) in [(amount, ""), (amount, WRONG), (other, ""), (other, ANSWERS)] {
                let answer = post(&client, amount, id, more).await;
                before.push((id, amount, more, told(&answer)));
            }
        }
        swap(&gateway, stricter);
        for (id, amount, more, expected) in before {
            let answer = post(&client, amount, id, more).await;
            assert_eq!(
                told(&answer),
                expected,
                "{recorded} → {stricter}: {id} {amount} {more}"
            );
        }
        // What is new is refused, and what is recorded under it.
        let fresh = post(&client, amount, "new", "").await;
        assert_eq!(fresh.verdict(), "number", "{stricter}");
        assert_eq!(upstream.calls().len(), sent, "nothing was sent");
        for (amount, verdict) in [("7", "ok"), ("7", "replay"), (amount, "number")] {
            let answer = post(&client, amount, "new", "").await;
            assert_eq!(answer.verdict(), verdict, "{stricter}: {amount}");
        }
        // A round that is awaited goes on under the profile that it began under.
        let answer = post(&client, amount, "awaiting-input", ANSWERS).await;
        assert_eq!(answer.verdict(), "ok", "{recorded} → {stricter}");
        let receipt = &answer.result()["_meta"]["countersign.dev/receipt"];
        assert_eq!(receipt["profile"], recorded);
        let answer = post(&client, amount, "awaiting-input", ANSWERS).await;
        assert_eq!(answer.verdict(), "replay");
        release.send_replace(true);
        verify(&gateway, &client, amount);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_open_stays_open_under_a_profile_that_refuses_its_call() {
    for (recorded, stricter, amount, other) in PAIRS {
        let upstream = Upstream::start(Reaction::Result(TASK.to_owned())).await;
        let gateway = plan(&upstream, Revision::November2025, recorded)
            .start()
            .await;
        let client = gateway.client(Revision::November2025).await;
        let task = r#","task":{"ttl":60000}"#;
        let created = post(&client, amount, "task", task).await;
        assert_eq!(created.verdict(), "ok", "{}", created.text());
        let mut before = Vec::new();
        for (amount, more) in [(amount, task), (amount, ""), (other, task)] {
            before.push((
                amount,
                more,
                told(&post(&client, amount, "task", more).await),
            ));
        }
        assert_eq!(before[0].2[0], "in-flight");
        swap(&gateway, stricter);
        for (amount, more, expected) in before {
            let answer = post(&client, amount, "task", more).await;
            assert_eq!(told(&answer), expected, "{recorded} → {stricter}: {amount}");
        }
        assert_eq!(upstream.calls().len(), 1);
    }
}

/// Nothing is contradicted, and the requests can be read again.
fn verify(gateway: &Gateway, client: &Client, amount: &str) {
    let bundle = gateway.export().display().to_string();
    fs::create_dir(gateway.folder().join("profiles")).unwrap();
    let name = format!("profiles/{DECIMAL}.wasm");
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(&name),
        gateway.folder().join(&name),
    )
    .unwrap();
    let (key, mut requests) = (gateway.public_key(), Vec::new());
    for (number, (id, more)) in [("succeeded", ""), ("awaiting-input", ANSWERS)]
        .into_iter()
        .enumerate()
    {
        let path = gateway.folder().join(format!("request-{number}.json"));
        fs::write(&path, message(client, amount, id, more)).unwrap();
        requests.extend(["--request".to_owned(), path.display().to_string()]);
    }
    let mut arguments = vec!["verify", &bundle, "--trust", &key, "--profiles", "profiles"];
    arguments.extend(["--policies", "permit-everything", "--json"]);
    arguments.extend(requests.iter().map(String::as_str));
    let verified = gateway.run(&arguments);
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    let claims = report["claims"].as_array().unwrap();
    for claim in claims {
        assert_ne!(claim["status"], "contradicted", "{claim:#}");
    }
    let admission = claims.iter().find(|claim| claim["claim"] == "admission");
    assert_eq!(admission.unwrap()["status"], "verified", "{report:#}");
}
