//! Files that commands write: what is replaced keeps its owner, its mode and the links
//! to it, what is no file is written to as it is, and nobody's change is lost.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server, countersign, said};

const CONFIG: [&str; 2] = ["--config", "countersign.toml"];
const AGENTS: usize = 16;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(countersign());
    command.args(arguments).current_dir(folder);
    command.output().unwrap()
}

fn good(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

/// Who owns a file and what may be done with it.
fn rights(path: &Path) -> (u32, u32, u32) {
    let found = fs::metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode() & 0o7777)
}

/// Gives a file rights that no command gives it by itself, and puts a link in its place.
/// Only root can give it to others.
fn strange(path: &Path, mode: u32) -> (u32, u32, u32) {
    let folder = path.parent().unwrap().join("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let target = folder.join(path.file_name().unwrap());
    fs::rename(path, &target).unwrap();
    fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&target, Some(4_711), Some(4_712)).unwrap();
    }
    symlink(Path::new("elsewhere").join(path.file_name().unwrap()), path).unwrap();
    rights(&target)
}

/// The link is there, and the file behind it has these rights; nothing is left over.
fn kept(about: &str, path: &Path, wanted: (u32, u32, u32)) {
    assert!(path.is_symlink(), "{about}: the link stays");
    assert_eq!(rights(path), wanted, "{about}");
    let folder = path.parent().unwrap();
    for folder in [folder.to_owned(), folder.join("elsewhere")] {
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".new"), "{about}: `{name}` is left");
        }
    }
}

async fn called(plan: &Plan) -> Gateway {
    let gateway = plan.start().await;
    let client = gateway.client(Revision::July2026).await;
    let pay = r#"{"from":"a","to":"b","amount":1}"#;
    let call = Call::new("transfer", pay).under("once");
    assert_eq!(client.call(&call).await.verdict(), "ok");
    gateway
}

#[tokio::test]
async fn every_file_that_a_command_replaces_keeps_owner_mode_and_the_links_to_it() {
    let server = LedgerServer::http().await;
    let plan = Plan::new(Server::listening(&server))
        .permit_everything()
        .also("[catalog]\nfile = \"catalog.json\"\n");
    let mut gateway = plan.prepare();
    good(&gateway.run(&[&["catalog", "approve"], &CONFIG[..]].concat()));
    gateway.start().await;
    let at = |name: &str| gateway.folder().join(name);

    let lock = strange(&at("catalog.json"), 0o640);
    let before = fs::read(at("catalog.json")).unwrap();
    let without = ["catalog", "approve", "--without", "balance"];
    good(&gateway.run(&[&without[..], &CONFIG[..]].concat()));
    kept("approve, running", &at("catalog.json"), lock);
    assert!(fs::read(at("catalog.json")).unwrap() != before);

    fs::write(at("bundle.tar"), "old").unwrap();
    let bundle = strange(&at("bundle.tar"), 0o640);
    let export = ["audit", "export", "--output", "bundle.tar"];
    good(&gateway.run(&[&export[..], &CONFIG[..]].concat()));
    kept("export", &at("bundle.tar"), bundle);

    let folder = gateway.folder().to_owned();
    assert!(gateway.stop().await);
    let at = |name: &str| folder.join(name);
    good(&run(
        &folder,
        &[&["catalog", "approve"], &CONFIG[..]].concat(),
    ));
    kept("approve, stopped", &at("catalog.json"), lock);

    let key = strange(&at("countersign.db.key"), 0o400);
    let old = fs::read(at("countersign.db.key")).unwrap();
    good(&run(&folder, &[&["key", "rotate"], &CONFIG[..]].concat()));
    kept("key rotate", &at("countersign.db.key"), key);
    assert!(fs::read(at("countersign.db.key")).unwrap() != old);
    assert!(!at("countersign.db.key.next").exists());

    good(&run(
        &folder,
        &["agent", "add", "--tokens", "agents.toml", "a"],
    ));
    assert_eq!(
        rights(&at("agents.toml")).2,
        0o600,
        "a new one is its owner's"
    );
    let tokens = strange(&at("agents.toml"), 0o640);
    good(&run(
        &folder,
        &["agent", "add", "--tokens", "agents.toml", "b"],
    ));
    kept("agent add", &at("agents.toml"), tokens);
    good(&run(
        &folder,
        &["agent", "revoke", "--tokens", "agents.toml", "b"],
    ));
    kept("agent revoke", &at("agents.toml"), tokens);
}

#[test]
fn agents_that_are_added_at_once_are_all_added() {
    let folder = tempfile::tempdir().unwrap();
    let adding: Vec<_> = (0..AGENTS)
        .map(|number| {
            let mut command = Command::new(countersign());
            command
                .args(["agent", "add", "--tokens", "tokens.toml"])
                .arg(format!("agent-{number}"))
                .current_dir(folder.path())
                .stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut adding in adding {
        assert!(adding.wait().unwrap().success());
    }
    let listed = run(folder.path(), &["agent", "list", "--tokens", "tokens.toml"]);
    good(&listed);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().count(), AGENTS, "{listed}");
}

#[tokio::test]
async fn an_output_that_is_no_file_is_written_to_and_nobody_elses_file_is_touched() {
    let server = LedgerServer::http().await;
    let mut gateway = called(&Plan::new(Server::listening(&server))).await;
    let folder = gateway.folder().to_owned();
    let at = |name: &str| folder.join(name);
    let export = [
        "audit",
        "export",
        "--config",
        "countersign.toml",
        "--output",
    ];
    let call = {
        let done = gateway.run(&[&export[..], &["whole.tar"]].concat());
        good(&done);
        assert_eq!(rights(&at("whole.tar")).2, 0o600, "a bundle holds salts");
        let of = ["--method", "open", "--agent", "anonymous", "--json"];
        let show = ["executions", "show", "--execution-id", "once"];
        let shown = gateway.run(&[&show[..], &of].concat());
        good(&shown);
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["execution"]["call_id"].as_str().unwrap().to_owned()
    };
    let prove = [
        "receipt",
        "prove",
        "--bundle",
        "whole.tar",
        "--call",
        &call,
        "--output",
    ];
    for (name, command) in [("export", &export[..]), ("prove", &prove[..])] {
        let into = |output: &str| gateway.run(&[command, &[output]].concat());
        let whole = format!("{name}.whole");
        good(&into(&whole));
        let bytes = fs::read(at(&whole)).unwrap();
        assert!(!bytes.is_empty());
        assert_eq!(rights(&at(&whole)).2, 0o600, "{name}");

        // A device; one that a mistake would cost nothing.
        let null = fs::metadata("/dev/null").unwrap().rdev();
        if rustix::process::geteuid().is_root() {
            let mut make = Command::new("mknod");
            make.args(["null", "c", "1", "3"]).current_dir(&folder);
            let made = make.status().is_ok_and(|made| made.success());
            if made && into("null").status.success() {
                assert_eq!(fs::metadata(at("null")).unwrap().rdev(), null, "{name}");
            }
            let _ = fs::remove_file(at("null"));
        }

        let pipe = at("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        good(&into("pipe"));
        let read = reader.join().unwrap();
        assert!(!read.is_empty(), "{name}");
        assert!(!fs::metadata(&pipe).unwrap().is_file(), "{name}");
        fs::remove_file(&pipe).unwrap();

        // What stands where a name could be guessed is somebody's.
        fs::write(at("precious"), "precious").unwrap();
        let output = format!("{name}.out");
        symlink("precious", at(&format!("{output}.part"))).unwrap();
        good(&into(&output));
        assert_eq!(fs::read(at("precious")).unwrap(), b"precious", "{name}");
        assert!(at(&format!("{output}.part")).is_symlink(), "{name}");

        // A link to what is not there yet stays one.
        let link = format!("{name}.link");
        symlink(format!("{name}.target"), at(&link)).unwrap();
        good(&into(&link));
        assert!(
            at(&link).is_symlink() && at(&format!("{name}.target")).is_file(),
            "{name}"
        );
    }
    assert!(gateway.stop().await);
}
