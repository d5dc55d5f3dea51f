//! The bundles of `policies/`, held against their own cases.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use std::path::Path;

use countersign_policy::{Bundle, Class, PolicyId, PolicySet, Tool};
use serde_json::Value;
use support::Call;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../policies")
        .join(name)
}

fn run(name: &str) -> usize {
    let policies = PolicySet::load(Bundle::read(&folder(name)).unwrap()).unwrap();
    let cases = std::fs::read_to_string(folder(name).join("cases.jsonl")).unwrap();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |member: &str| case[member].as_str().map(str::to_owned);
        let (server, tool) = case["tool"].as_str().unwrap().split_once('/').unwrap();
        let mut call = Call::of(case["arguments"].as_str().unwrap());
        call.server = server.to_owned();
        call.tool = tool.to_owned();
        call.class = case["class"].as_str().unwrap().parse().unwrap();
        call.execution_id = text("execution_id");
        call.workflow_id = text("workflow_id");
        if let Some(agent) = case["agent"].as_array() {
            call.agent = [0, 1, 2].map(|part: usize| agent[part].as_str().unwrap().to_owned());
        }
        let decision = call.decide(&policies);
        let determining: Vec<&str> = decision
            .determining()
            .iter()
            .map(PolicyId::as_str)
            .collect();
        let expected: Vec<&str> = case["policies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        let name = &case["name"];
        assert_eq!(decision.reason().as_str(), case["reason"], "{name}");
        assert_eq!(determining, expected, "{name}");
        assert_eq!(
            decision.code().map(|code| code.as_str().to_owned()),
            text("code"),
            "{name}"
        );
        assert_eq!(decision.allow(), case["reason"] == "permitted", "{name}");
    }
    cases.lines().count()
}

#[test]
fn the_bundle_that_ships_decides_as_its_cases_say() {
    assert!(run("shipped") >= 9);
}

#[test]
fn the_bundle_of_the_demonstration_decides_as_its_cases_say() {
    assert!(run("demo") >= 40);
}

#[test]
fn what_is_embedded_is_what_stands_in_the_folder() {
    let folder_bundle = Bundle::read(&folder("shipped")).unwrap();
    assert_eq!(Bundle::shipped(), folder_bundle);
    let demo = Bundle::read(&folder("demo")).unwrap();
    assert!(demo.files().contains(&folder_bundle.files()[0]));
}

#[test]
fn a_digest_is_what_a_shell_computes() {
    // { printf 'countersign.policy-bundle.v1\n'; cd FOLDER; sha256sum a.cedar b/c.cedar; } | sha256sum
    let files = [
        (
            "b/c.cedar".to_owned(),
            "permit (principal, action, resource);\n".to_owned(),
        ),
        ("a.cedar".to_owned(), String::new()),
    ];
    let bundle = Bundle::of(files).unwrap();
    assert_eq!(bundle.files()[0].name.as_ref(), "a.cedar");
    assert_eq!(
        bundle.digest().as_str(),
        "sha256:7bec8045aa05f379c020c4b08b27e0bc6693415b3b183700237ed0f142ef2093"
    );
}

#[test]
fn the_demonstration_fits_the_tools_of_the_ledger_server_and_no_others() {
    let policies = PolicySet::load(Bundle::read(&folder("demo")).unwrap()).unwrap();
    let tool = |name, class| Tool {
        server: "ledger",
        name,
        class,
    };
    let tools = [
        tool("transfer", Class::SideEffecting),
        tool("transfer_slowly", Class::SideEffecting),
        tool("balance", Class::ReadOnly),
    ];
    policies.check(&tools).unwrap();
    let error = policies.check(&tools[..1]).unwrap_err();
    assert!(error.to_string().contains("transfer_slowly"), "{error}");
    assert_eq!(error.problems()[0].file(), "transfers.cedar");
}

#[test]
fn a_folder_is_read_whole_and_strictly() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let read = || Bundle::read(root.path()).map_err(|error| error.to_string());
    write("README.md", b"not a policy");
    assert!(read().unwrap_err().contains("no `*.cedar` file"));
    write("b/c.cedar", b"// c");
    write("a.cedar", b"// a");
    write(".hidden.cedar", b"// h");
    write("..data/x.cedar", b"// x");
    let names: Vec<String> = read()
        .unwrap()
        .files()
        .iter()
        .map(|file| file.name.to_string())
        .collect();
    assert_eq!(names, ["a.cedar", "b/c.cedar"]);
    write("bad.cedar", b"\xff");
    assert!(read().unwrap_err().contains("not UTF-8"));
    write("bad.cedar", &vec![b' '; 1024 * 1024 + 1]);
    assert!(read().unwrap_err().contains("1 MiB"));
    write("bad.cedar", b"");
    write("sp ace.cedar", b"");
    assert!(read().unwrap_err().contains("cannot name a policy file"));
    assert!(Bundle::read(&root.path().join("absent")).is_err());
}

#[test]
fn names_that_could_leave_a_bundle_or_hide_in_it_are_refused() {
    for name in [
        "",
        "a",
        ".cedar",
        "/a.cedar",
        "../a.cedar",
        "a/../b.cedar",
        "a//b.cedar",
        "a\n.cedar",
        "a\\b.cedar",
        "ü.cedar",
        "a.cedarschema",
    ] {
        let bundle = Bundle::of([(name.to_owned(), String::new())]);
        assert!(bundle.is_err(), "{name:?}");
    }
    let twice = [
        ("a.cedar".to_owned(), String::new()),
        ("a.cedar".to_owned(), String::new()),
    ];
    assert!(Bundle::of(twice).is_err());
    assert!(Bundle::of([]).is_err());
}
