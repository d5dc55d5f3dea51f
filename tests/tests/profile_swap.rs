//! A profile is replaced by a newer version on a running gateway: executions are
//! told apart by the version that they were recorded under, new ones by the new
//! version, and nothing that is in flight is disturbed.
//!
//! The two versions of `docs/vendors/decimal.md`: under 1.0.0 `1.10` is `1.1`,
//! and `11e-1` is another amount; under 2.0.0 all three are one.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_tests::{Call, Client, Gateway, Plan, Reaction, Revision, Server, Upstream, said};
use serde_json::Value;
use tokio::sync::watch;

const FIRST: &str = "decimal@1.0.0";
const SECOND: &str = "decimal@2.0.0";
/// A section that changes a component's bytes and nothing else.
const CUSTOM_SECTION: &[u8] = b"\x00\x04\x03pad";
/// What the server answers.
const DONE: &str = r#"{"content":[]}"#;

fn component(id: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    fs::read(folder.join(format!("{id}.wasm"))).unwrap()
}

/// The tables of a configuration that load those versions, from `profiles` in
/// the gateway's own folder.
fn files(ids: &[&str]) -> String {
    let table = |id: &&str| {
        let digest = Digest::of(&[&component(id)]);
        format!("[[profile.file]]\npath = \"profiles/{id}.wasm\"\ndigest = \"{digest}\"\n")
    };
    ids.iter().map(table).collect()
}

/// Writes another `[profile]` into the configuration of a gateway that runs.
fn configure(gateway: &Gateway, default: &str, files: &str) {
    let path = gateway.folder().join("countersign.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("[profile]\n").unwrap();
    let cache = rest.lines().find(|line| line.starts_with("cache")).unwrap();
    let (_, after) = rest.split_once("[[server]]\n").unwrap();
    let text =
        format!("{before}[profile]\ndefault = \"{default}\"\n{cache}\n{files}[[server]]\n{after}");
    fs::write(path, text).unwrap();
}

fn reload(gateway: &Gateway) -> Output {
    gateway.run(&["policy", "reload", "--config", "countersign.toml"])
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn pay(client: &Client, amount: &str, id: &str) -> (String, Value) {
    let arguments = format!(r#"{{"from":"a","to":"b","amount":{amount}}}"#);
    let call = Call::new("anything", &arguments).under(id);
    let answer = client.call(&call).await;
    let verdict = answer.verdict();
    let receipt = match verdict.as_str() {
        "ok" => answer.result()["_meta"]["countersign.dev/receipt"].clone(),
        _ => answer.error()["data"].clone(),
    };
    (verdict, receipt)
}

async fn verdict(client: &Client, amount: &str, id: &str) -> String {
    pay(client, amount, id).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_replaced_while_calls_are_in_flight() {
    let upstream = Upstream::start(Reaction::Result(DONE.to_owned())).await;
    let plan = Plan::new(Server::bytes(&upstream))
        .permit_everything()
        .server_also("call_timeout_ms = 600000\n");
    let mut gateway = plan.profile(FIRST).also(&files(&[FIRST])).prepare();
    let profiles = gateway.folder().join("profiles");
    fs::create_dir(&profiles).unwrap();
    for id in [FIRST, SECOND] {
        fs::write(profiles.join(format!("{id}.wasm")), component(id)).unwrap();
    }
    gateway.start().await;
    let client = gateway.client(Revision::July2026).await;

    // Under the first version: one execution is settled, one is in flight.
    let (settled, receipt) = pay(&client, "1.10", "old").await;
    assert_eq!(
        (settled.as_str(), &receipt["profile"]),
        ("ok", &FIRST.into())
    );
    let (release, held) = watch::channel(false);
    upstream.react(Reaction::Held(held, DONE.to_owned()));
    let slow = tokio::spawn({
        let client = gateway.client(Revision::July2026).await;
        async move { pay(&client, "2.50", "flying").await }
    });
    while upstream.calls().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    upstream.react(Reaction::Result(DONE.to_owned()));

    // A version whose bytes are not what is pinned: nothing changes.
    let both = files(&[FIRST, SECOND]);
    let digest = Digest::of(&[&component(SECOND)]).to_string();
    let other = Digest::of(&[b"other"]).to_string();
    configure(&gateway, SECOND, &both.replace(&digest, &other));
    let refused = reload(&gateway);
    assert!(
        !refused.status.success() && said(&refused).contains("profile-digest"),
        "{}",
        said(&refused)
    );
    // A version that is loaded, with other bytes: nothing changes either.
    fs::write(profiles.join(format!("{FIRST}.wasm")), component(SECOND)).unwrap();
    let swapped = both.replace(&Digest::of(&[&component(FIRST)]).to_string(), &digest);
    configure(&gateway, SECOND, &swapped);
    let refused = reload(&gateway);
    assert!(
        !refused.status.success() && said(&refused).contains("never changes"),
        "{}",
        said(&refused)
    );
    fs::write(profiles.join(format!("{FIRST}.wasm")), component(FIRST)).unwrap();
    let (settled, receipt) = pay(&client, "3.10", "between").await;
    assert_eq!(
        (settled.as_str(), &receipt["profile"]),
        ("ok", &FIRST.into())
    );

    // The swap.
    configure(&gateway, SECOND, &both);
    let done = reload(&gateway);
    assert!(done.status.success(), "{}", said(&done));
    let told = format!("new calls: {SECOND}; profiles loaded: {SECOND}\n");
    assert!(text(&done).ends_with(&told), "{}", text(&done));
    assert!(!slow.is_finished(), "it is in flight still");

    // What is in flight, and what is settled, is told apart by the first.
    for (amount, expected) in [
        ("2.5", "in-flight"),
        ("25e-1", "collision"),
        ("2.6", "collision"),
    ] {
        assert_eq!(
            verdict(&client, amount, "flying").await,
            expected,
            "{amount}"
        );
    }
    assert!(!slow.is_finished(), "it is in flight still");
    let told_apart = [
        ("1.10", "replay"),
        ("1.1", "replay"),
        ("11e-1", "collision"),
        ("1.2", "collision"),
    ];
    for (amount, expected) in told_apart {
        assert_eq!(verdict(&client, amount, "old").await, expected, "{amount}");
    }
    // New executions are told apart by the second.
    let (settled, receipt) = pay(&client, "1.10", "new").await;
    assert_eq!(
        (settled.as_str(), &receipt["profile"]),
        ("ok", &SECOND.into())
    );
    for (amount, expected) in [
        ("1.1", "replay"),
        ("11e-1", "replay"),
        ("1", "collision"),
        ("1.2", "collision"),
    ] {
        assert_eq!(verdict(&client, amount, "new").await, expected, "{amount}");
    }
    // What was in flight settles under the version that it began with.
    release.send_replace(true);
    let (settled, receipt) = slow.await.unwrap();
    assert_eq!(
        (settled.as_str(), &receipt["profile"]),
        ("ok", &FIRST.into())
    );
    assert_eq!(verdict(&client, "2.5", "flying").await, "replay");

    // The first version is retired: its component is in the archive.
    configure(&gateway, SECOND, &files(&[SECOND]));
    let done = reload(&gateway);
    assert!(done.status.success(), "{}", said(&done));
    for (amount, expected) in told_apart {
        assert_eq!(verdict(&client, amount, "old").await, expected, "{amount}");
    }
    assert_eq!(upstream.calls().len(), 4);

    // The log has both, and both verify.
    verify(&gateway, &client);

    // A start finds it there too; without it, nothing is called different.
    gateway.kill();
    gateway.start().await;
    let client = gateway.client(Revision::July2026).await;
    for (amount, expected) in told_apart {
        assert_eq!(verdict(&client, amount, "old").await, expected, "{amount}");
    }
    configure(&gateway, SECOND, &files(&[SECOND]));
    let hex = Digest::of(&[&component(FIRST)]).to_string();
    let (_, hex) = hex.split_once(':').unwrap();
    let archived = find(gateway.folder(), &format!("{hex}.wasm")).unwrap();
    fs::remove_file(archived).unwrap();
    assert!(reload(&gateway).status.success());
    for (amount, _) in told_apart {
        let is = verdict(&client, amount, "old").await;
        assert_eq!(is, "incomparable", "{amount}");
    }
    // What now goes by its name, in other bytes, is not what it was recorded under.
    let other = [component(FIRST), CUSTOM_SECTION.to_vec()].concat();
    fs::write(profiles.join(format!("{FIRST}.wasm")), &other).unwrap();
    let digest = Digest::of(&[&component(FIRST)]).to_string();
    let pinned = files(&[FIRST, SECOND]).replace(&digest, &Digest::of(&[&other]).to_string());
    configure(&gateway, SECOND, &pinned);
    let done = reload(&gateway);
    assert!(done.status.success(), "{}", said(&done));
    for (amount, _) in told_apart {
        let is = verdict(&client, amount, "old").await;
        assert_eq!(is, "incomparable", "{amount}");
    }
    // Nor is it as the version for new calls, whose bindings look comparable.
    configure(&gateway, FIRST, &pinned);
    let done = reload(&gateway);
    assert!(done.status.success(), "{}", said(&done));
    for (amount, _) in told_apart {
        let (is, data) = pay(&client, amount, "old").await;
        assert_eq!(is, "incomparable", "{amount}");
        assert_eq!(data["outcome"], "succeeded", "{amount}");
        assert_eq!(data["safe_with_new_id"], false, "{amount}");
    }
    let (settled, receipt) = pay(&client, "7.10", "newest").await;
    assert_eq!(
        (settled.as_str(), &receipt["profile"]),
        ("ok", &FIRST.into())
    );
    assert_eq!(upstream.calls().len(), 5);
    let bundle = gateway.export().display().to_string();
    let verified = gateway.run(&["verify", &bundle, "--trust", &gateway.public_key()]);
    assert!(verified.status.success(), "{}", said(&verified));
    assert!(
        gateway
            .log()
            .contains("neither configured nor in the archive")
    );
}

/// Every claim that the requests can establish holds, for both versions.
fn verify(gateway: &Gateway, client: &Client) {
    let bundle = gateway.export();
    let bytes = fs::read(&bundle).unwrap();
    for id in [FIRST, SECOND] {
        let name = format!("profiles/{id}.wasm");
        let held = bytes
            .windows(name.len())
            .any(|part| part == name.as_bytes());
        assert!(held, "the bundle holds {id}");
    }
    let mut arguments = vec!["verify".to_owned(), bundle.display().to_string()];
    arguments.extend(["--trust".to_owned(), gateway.public_key()]);
    arguments.extend(
        [
            "--profiles",
            "profiles",
            "--policies",
            "permit-everything",
            "--json",
        ]
        .map(str::to_owned),
    );
    for (number, (amount, id)) in (0..).zip([
        ("1.10", "old"),
        ("1.1", "old"),
        ("11e-1", "old"),
        ("1.10", "new"),
        ("11e-1", "new"),
    ]) {
        let sent = format!(r#"{{"from":"a","to":"b","amount":{amount}}}"#);
        let message = client.message(&Call::new("anything", &sent).under(id));
        let path = gateway.folder().join(format!("request-{number}.json"));
        fs::write(&path, message).unwrap();
        arguments.extend(["--request".to_owned(), path.display().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let verified = gateway.run(&arguments);
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    let contradicted = report["claims"]
        .as_array()
        .unwrap()
        .iter()
        .any(|claim| claim["status"] == "contradicted");
    assert!(verified.status.success() && !contradicted, "{report:#}");
}

/// A file of that name, somewhere in a folder.
fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    fs::read_dir(folder).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, name)
        } else {
            path.ends_with(name).then_some(path)
        }
    })
}
