//! What an `execution_id` promises, through the whole gateway and on a real
//! SQLite file: one effect, whatever the caller repeats.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use countersign_gateway::Ended;
use support::upstream::Behaviour;
use support::{Gateway, PERMIT_ALL, Upstream, client};

const SOME: &str = r#"{"amount":1}"#;

async fn start() -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    (upstream, gateway)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_reaches_the_upstream_once_and_its_repeat_not_at_all() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    let first = session.call("pay", SOME, Some("e1")).await.json();
    let receipt = &first["result"]["_meta"]["countersign.dev/receipt"];
    assert_eq!(receipt["execution_id"], "e1", "{first}");
    let again = session.call("pay", SOME, Some("e1")).await;
    assert_eq!(again.status, 200);
    let data = again.data();
    assert_eq!(data["code"], "replay", "{data}");
    assert_eq!(data["state"], "settled");
    assert_eq!(data["outcome"], "succeeded");
    assert_eq!(data["call_id"], receipt["call_id"]);
    assert_ne!(data["attempt"], data["call_id"]);
    assert_eq!(data["log_position"]["sequence"], receipt["sequence"]);
    assert_eq!(data["safe_with_new_id"], false);
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_action_or_another_tool_under_the_same_id_is_a_collision() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    session.call("pay", SOME, Some("e1")).await;
    for (tool, arguments, difference) in [
        ("pay", r#"{"amount":1.0}"#, "binding"),
        ("pay", r#"{"amount":2}"#, "binding"),
        ("pay", r#"{"amount":"1"}"#, "binding"),
        ("Pay", SOME, "target"),
    ] {
        let data = session.call(tool, arguments, Some("e1")).await.data();
        assert_eq!(data["code"], "collision", "{tool} {arguments}");
        let differs = data["difference"]
            .as_array()
            .unwrap()
            .iter()
            .any(|d| d == difference);
        assert!(differs, "{tool} {arguments}: {data}");
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_in_another_spelling_is_the_same_call() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    session.call("pay", r#"{"a":1,"b":"é"}"#, Some("e1")).await;
    let spelled = r#"{ "b" : "\u00e9", "\u0061":1 }"#;
    assert_eq!(
        session
            .call("pay", spelled, Some("e1"))
            .await
            .code()
            .as_deref(),
        Some("replay")
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_identical_calls_at_once_have_one_effect() {
    let (upstream, gateway) = start().await;
    upstream.behave(Behaviour::Slow(Duration::from_millis(300)));
    let session = gateway.client().session().await;
    let calls: Vec<_> = (0..100)
        .map(|id| {
            let session = session.clone();
            tokio::spawn(async move {
                session
                    .post(client::call(id, "pay", SOME, Some("race")))
                    .await
                    .code()
            })
        })
        .collect();
    let mut succeeded = 0;
    for call in calls {
        match call.await.unwrap().as_deref() {
            None => succeeded += 1,
            Some("in-flight" | "replay") => {}
            Some(other) => panic!("{other}"),
        }
    }
    assert_eq!((succeeded, upstream.effects()), (1, 1));
    let (_, folder) = gateway.stop().await;
    let entries = support::entries(folder.path());
    let of = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!((of("admission"), of("terminal"), of("refusal")), (1, 1, 99));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_of_two_agents_is_two_executions() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = countersign_gateway::identity::TokenFile::default();
    let mut secrets = Vec::new();
    for (byte, name) in [(1, "a"), (2, "b")] {
        let token = countersign_gateway::identity::Token::from_random([byte; 32]);
        tokens.add(name, &token, "now").unwrap();
        secrets.push(format!("Bearer {}", token.reveal()));
    }
    std::fs::write(folder.path().join("tokens.toml"), tokens.to_text()).unwrap();
    std::fs::create_dir(folder.path().join("p")).unwrap();
    std::fs::write(folder.path().join("p/a.cedar"), PERMIT_ALL).unwrap();
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"\n[policy]\nfolder = \"p\"\n[[server]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url()
    );
    std::fs::write(folder.path().join("countersign.toml"), config).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let client = gateway.client();
    assert_eq!(client.post("{}").await.status, 401);
    let a = client.with("authorization", &secrets[0]).session().await;
    let b = client.with("authorization", &secrets[1]).session().await;
    assert_eq!(a.call("pay", SOME, Some("e1")).await.code(), None);
    assert_eq!(b.call("pay", SOME, Some("e1")).await.code(), None);
    assert_eq!(
        a.call("pay", SOME, Some("e1")).await.code().as_deref(),
        Some("replay")
    );
    assert_eq!(upstream.effects(), 2);
    assert_eq!(
        upstream.initializes(),
        2,
        "an upstream session belongs to one agent"
    );
    // A session of one agent does not exist for the other.
    let foreign = a
        .without("authorization")
        .with("authorization", &secrets[1]);
    let answer = foreign.call("pay", SOME, None).await;
    assert_eq!(
        (answer.status.as_u16(), answer.code().as_deref()),
        (404, Some("unknown-session"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_id_is_refused_and_nothing_is_sent() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    let with = |correlation: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"pay","arguments":{{}},{correlation}}}}}"#
        )
    };
    for correlation in [
        r#""_cmcp":{"execution_id":""}"#,
        r#""_cmcp":{"execution_id":"a b"}"#,
        r#""_cmcp":{"execution_id":null}"#,
        r#""_cmcp":{"execution_id":7}"#,
        r#""_cmcp":{"execution_id":"a"},"_meta":{"countersign.dev/execution_id":"b"}"#,
    ] {
        let answer = session.post(with(correlation)).await;
        assert_eq!(
            answer.code().as_deref(),
            Some("correlation"),
            "{correlation}"
        );
        assert_eq!(
            answer.json()["id"],
            7,
            "the client can tell which request it was"
        );
        assert_eq!(answer.status, 200);
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_an_id_runs_each_time_and_is_in_the_log() {
    let (upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    for _ in 0..2 {
        assert_eq!(session.call("pay", SOME, None).await.code(), None);
    }
    assert_eq!(upstream.effects(), 2);
    let (ended, folder) = gateway.stop().await;
    assert_eq!(ended, Ended::Settled);
    let entries = support::entries(folder.path());
    let terminals = entries
        .iter()
        .filter(|entry| entry["kind"] == "terminal")
        .count();
    assert_eq!(terminals, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_what_is_known_and_a_client_that_left_took_nothing_with_it() {
    let (upstream, gateway) = start().await;
    upstream.behave(Behaviour::Slow(Duration::from_millis(400)));
    let session = gateway.client().session().await;
    let left = tokio::time::timeout(
        Duration::from_millis(100),
        session.call("pay", SOME, Some("e1")),
    );
    assert!(left.await.is_err(), "the client is gone");
    let (ended, folder) = gateway.stop().await;
    assert_eq!(ended, Ended::Settled, "the call ran on and was settled");
    let gateway = Gateway::start_in(folder).await;
    let session = gateway.client().session().await;
    let data = session.call("pay", SOME, Some("e1")).await.data();
    assert_eq!(
        (&data["code"], &data["outcome"]),
        (&"replay".into(), &"succeeded".into())
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_never_sent_says_that_a_new_id_is_safe() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    session.call("look", "{}", None).await;
    let data = session.call("nothing", "{}", Some("e1")).await.data();
    assert_eq!(
        (&data["code"], &data["safe_with_new_id"]),
        (&"unknown-tool".into(), &true.into())
    );
    assert_eq!(
        session.call("look", "{}", Some("e1")).await.code(),
        None,
        "nothing was reserved"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn jcs_integer_refuses_a_fraction_that_exact_keeps() {
    let upstream = Upstream::start().await;
    let more = "[profile]\ndefault = \"jcs-integer@1.0.0\"";
    let gateway = Gateway::start(&upstream, PERMIT_ALL, more).await;
    let session = gateway.client().session().await;
    assert_eq!(session.call("pay", SOME, Some("e1")).await.code(), None);
    let second = session.call("pay", r#"{"amount":1.0}"#, Some("e1")).await;
    assert_eq!(second.code().as_deref(), Some("number"));
    assert_eq!(second.data()["pointer"], "/params/arguments/amount");
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_gateway_and_a_stopped_one_export_the_same_entries() {
    let (_upstream, gateway) = start().await;
    let session = gateway.client().session().await;
    session.call("pay", "{}", Some("e1")).await;
    let operator = gateway.path().join("countersign.db.operator");
    let all = countersign_gateway::export::Wanted {
        selection: countersign_ledger::Selection::All,
        salts: true,
    };
    let again = all.clone();
    let running = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        countersign_gateway::operator::export(&operator, &all, &mut out).unwrap();
        out
    });
    let running = bundle(running.await.unwrap());
    let (_, folder) = gateway.stop().await;
    let config = folder.path().join("countersign.toml");
    let store = countersign_gateway::config::Config::read(&config)
        .unwrap()
        .store;
    let stopped = tokio::task::spawn_blocking(move || {
        countersign_gateway::export::from_store(
            &store,
            &countersign_gateway::environment::Environment::system(),
            &again,
            Vec::new(),
        )
    });
    let stopped = stopped.await.unwrap();
    let stopped = bundle(stopped.unwrap());
    assert!(
        running.0.len() >= 6,
        "start, profiles, policy, discovery, admission, terminal"
    );
    assert_eq!(stopped.0[..running.0.len()], running.0[..]);
    assert_eq!(
        (running.1, running.2),
        (1, 1),
        "the profile and the policy that entries name"
    );
}

/// The entries, and how many checkpoints, profiles and policy files there are.
fn bundle(bytes: Vec<u8>) -> (Vec<Vec<u8>>, usize, usize) {
    let mut bundle =
        countersign_evidence::bundle::Bundle::open(std::io::Cursor::new(bytes)).unwrap();
    let mut entries = Vec::new();
    let mut lines = bundle.entries();
    while let Some(line) = lines.next().unwrap() {
        entries.push(line.to_vec());
    }
    (entries, bundle.checkpoints().len(), bundle.policies().len())
}
