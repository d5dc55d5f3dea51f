//! A profile that is at fault refuses the one request; the entry names the
//! component that is at fault, and whoever asks meanwhile is answered.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "../../engine/tests/common/mod.rs"]
mod stubs;
mod support;

use std::fs;

use serde_json::json;
use stubs::Stub;
use support::{Client, Gateway, PERMIT_ALL, Upstream, entries};
use tokio::sync::mpsc;

const WATCHED: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

/// A gateway that has a stub's component beside it, and a client in a session,
/// which no stub could open.
async fn start(stub: &Stub) -> (Upstream, Gateway, Client) {
    let upstream = Upstream::start().await;
    upstream.offer(json!([{"name": "t", "inputSchema": {"type": "object"}}]));
    let gateway = Gateway::start(&upstream, PERMIT_ALL, WATCHED).await;
    let session = gateway.client().session().await;
    let path = gateway.path().join(format!("{}.wasm", stub.id));
    fs::write(path, stub.component()).unwrap();
    (upstream, gateway, session)
}

/// Puts a profile in force, with the stub's component loaded.
async fn put_in_force(gateway: &Gateway, stub: &Stub, default: &str) {
    let path = gateway.path().join("countersign.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("[profile]").unwrap_or((&text, ""));
    let (id, digest) = (stub.id, stub.pin().digest);
    let tables = format!(
        "[profile]\ndefault = {default:?}\n[[profile.file]]\npath = \"{id}.wasm\"\ndigest = \"{digest}\"\n"
    );
    fs::write(&path, format!("{before}{tables}")).unwrap();
    gateway.reloader.reload().await.unwrap();
}

/// A call of `t` under `e1`, of so many bytes.
fn message(bytes: usize) -> String {
    let call = support::client::call(1, "t", "{}", Some("e1"));
    format!("{call}{}", " ".repeat(bytes - call.len()))
}

/// A function that does `body` where its argument has `length` bytes.
fn on(length: usize, body: &str) -> String {
    format!("(if (i32.eq (local.get 1) (i32.const {length})) (then {body}))")
}

/// Lengths of messages at which the stub is at fault, and how.
const FAULTS: [(usize, &str); 6] = [
    (1_001, "it traps"),
    (1_002, "it loops"),
    (1_003, "its answer is nowhere"),
    (1_004, "its binding is another action's"),
    (1_005, "it traps over its own action"),
    (1_006, "it refuses its own action"),
];

/// Keeps its word for a message of any other length: the call of `t` under `e1`.
fn at_fault() -> Stub {
    // The length of the action that it says it read.
    let action = |length: usize| {
        format!("(i32.store (i32.add (i32.const $call) (i32.const 36)) (i32.const {length}))")
    };
    let admit = [
        on(1_001, "(unreachable)"),
        on(1_002, "(loop (br 0))"),
        on(1_003, "(return (i32.const 0x7ffffff0))"),
        on(1_004, &action(4)),
        on(1_005, &action(5)),
        on(1_006, &action(6)),
        "(select (i32.const $call) (i32.const $refusal) (i32.gt_u (local.get 1) (i32.const 1)))"
            .to_owned(),
    ];
    // A refusal, put together where nothing else is.
    let refusal = "(i32.store (i32.const 64) (i32.const 1)) (i32.store (i32.const 68) (i32.const 1)) \
         (i32.store (i32.const 80) (i32.const 1)) (return (i32.const 64))";
    let interpret = [
        on(5, "(unreachable)"),
        on(6, refusal),
        "(i32.const $meaning)".to_owned(),
    ];
    Stub {
        execution_id: Some("e1"),
        admit: Some(admit.concat().leak()),
        interpret: Some(interpret.concat().leak()),
        ..Stub::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_of_a_fault_names_the_component_that_is_at_fault() {
    let stub = at_fault();
    let (upstream, gateway, client) = start(&stub).await;
    let mut faults = 0;
    for default in [stub.id, "exact@1.0.0"] {
        put_in_force(&gateway, &stub, default).await;
        if default == stub.id {
            let first = client.post(message(1_000)).await;
            assert_eq!(first.code(), None, "{}", first.text());
        }
        // What is recorded it calls fresh, whatever it is.
        let lengths = FAULTS
            .into_iter()
            .chain([(1_000, "it calls a replay fresh")]);
        for (length, what) in lengths {
            let answer = client.post(message(length)).await;
            let code = answer.code();
            assert_eq!(code.as_deref(), Some("profile-fault"), "{default}: {what}");
            faults += 1;
        }
    }
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let recorded: Vec<_> = entries
        .iter()
        .filter(|entry| entry["refusal"] == "profile-fault")
        .collect();
    assert_eq!(recorded.len(), faults);
    let digest = stub.pin().digest.to_string();
    for entry in recorded {
        let said = ["kind", "profile", "component"].map(|member| entry[member].clone());
        assert_eq!(said, ["profile-fault", stub.id, &digest], "{entry}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_while_long_messages_loop_is_answered_before_they_end() {
    // More than there are slots, each so long that it is read elsewhere.
    const LOOPING: usize = 40;
    const BYTES: usize = 70_000;
    let stub = Stub {
        memory: "4 16",
        admit: Some(
            "(if (i32.gt_u (local.get 1) (i32.const 65536)) (then (loop (br 0))))
             (select (i32.const $call) (i32.const $refusal) (i32.gt_u (local.get 1) (i32.const 1)))",
        ),
        ..Stub::default()
    };
    let (_upstream, gateway, client) = start(&stub).await;
    put_in_force(&gateway, &stub, stub.id).await;
    let (told, mut answers) = mpsc::unbounded_channel();
    for _ in 0..LOOPING {
        let (client, told) = (client.clone(), told.clone());
        tokio::spawn(async move {
            let answer = client.post(message(BYTES)).await;
            assert_eq!(answer.code().as_deref(), Some("profile-fault"));
            told.send("a loop").unwrap();
        });
    }
    // They are being read: nothing else takes the places of long messages.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    for _ in 0..4 {
        let (client, told) = (client.clone(), told.clone());
        tokio::spawn(async move {
            // Of a refusal nobody has to be asked.
            let answer = client.post("x").await;
            assert_eq!(answer.code().as_deref(), Some("syntax"));
            told.send("a short message").unwrap();
        });
    }
    let health = Client::new(gateway.telemetry.unwrap());
    let told_of_health = told.clone();
    tokio::spawn(async move {
        let answer = health.send(http::Method::GET, "/healthz", bytes::Bytes::new());
        assert_eq!(answer.await.status, 200);
        told_of_health.send("health").unwrap();
    });
    drop(told);
    let mut order = Vec::new();
    while let Some(answer) = answers.recv().await {
        order.push(answer);
    }
    assert_eq!(order.len(), LOOPING + 5);
    let others = order
        .iter()
        .rposition(|answer| *answer != "a loop")
        .unwrap();
    let loops_before = others + 1 - 5;
    assert!(loops_before < LOOPING / 4, "{order:?}");
}
