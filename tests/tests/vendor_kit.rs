//! A vendor's way, outside this repository: a crate of their own, a component, a
//! signature, and a gateway that serves under it (`docs/vendors.md`).
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::process::Command;

use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server, countersign, said};

/// Runs a command that succeeds, in the vendor's folder; answers what it prints.
fn done(workshop: &Gateway, arguments: &[&str]) -> String {
    let output = workshop.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that fails with this status and says this code.
fn fails(workshop: &Gateway, arguments: &[&str], status: i32, code: &str) {
    let output = workshop.run(arguments);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {}",
        said(&output)
    );
    assert!(
        said(&output).contains(&format!("({code})")),
        "{}",
        said(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_a_vendor_makes_elsewhere_is_built_certified_signed_and_served() {
    let ledger = LedgerServer::http().await;
    // Its folder is the vendor's; nothing is started there.
    let workshop = Plan::new(Server::listening(&ledger)).prepare();
    let folder = workshop.folder();

    let written = done(&workshop, &["profile", "new", "tidy"]);
    assert!(
        written.starts_with("tidy: the profile tidy@1.0.0\n"),
        "{written}"
    );
    fails(
        &workshop,
        &["profile", "new", "tidy"],
        2,
        "profile-folder-exists",
    );
    fails(&workshop, &["profile", "new", "Tidy"], 2, "profile-name");
    fails(&workshop, &["profile", "new", "exact"], 2, "profile-name");
    fails(
        &workshop,
        &["profile", "build", "nowhere"],
        2,
        "profile-folder-unusable",
    );

    let component = "tidy/released/tidy@1.0.0.wasm";
    let built = done(&workshop, &["profile", "build", "tidy"]);
    assert!(
        built.contains(&format!("file       {component}\nprofile    tidy@1.0.0\n")),
        "{built}"
    );
    assert_eq!(
        done(&workshop, &["profile", "build", "tidy"]),
        built,
        "the same again"
    );

    // Its own tests, natively and of the component.
    let tests = folder.join("tidy/tests/component.rs");
    let text = fs::read_to_string(&tests).unwrap();
    assert!(text.contains("\"5000\""));
    fs::write(&tests, text.replace("\"5000\"", "\"200\"")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["test", "--quiet", "--locked"])
        .current_dir(folder.join("tidy"));
    cargo.env("COUNTERSIGN", countersign());
    cargo.env("CARGO_TARGET_DIR", folder.join("tidy/target"));
    let tested = cargo.output().unwrap();
    assert!(tested.status.success(), "{}", said(&tested));

    // What is released is never written over.
    let lib = folder.join("tidy/src/spelling.rs");
    let text = fs::read_to_string(&lib).unwrap();
    fs::write(&lib, text.replace("kept.max(1)", "kept.max(2)")).unwrap();
    let before = fs::read(folder.join(component)).unwrap();
    let changed = workshop.run(&["profile", "build", "tidy"]);
    // Its own vectors say that it is another profile now.
    assert_eq!(changed.status.code(), Some(4), "{}", said(&changed));
    assert!(
        said(&changed).contains("profile-vectors"),
        "{}",
        said(&changed)
    );
    assert_eq!(fs::read(folder.join(component)).unwrap(), before);
    fs::write(&lib, text.replace("// One digit", "// A digit")).unwrap();
    assert_eq!(
        done(&workshop, &["profile", "build", "tidy"]),
        built,
        "comments change nothing"
    );
    fs::write(folder.join(component), b"released before").unwrap();
    fails(
        &workshop,
        &["profile", "build", "tidy"],
        2,
        "profile-released",
    );
    fs::write(folder.join(component), &before).unwrap();

    // Signed, and checked as an operator would.
    let key = done(
        &workshop,
        &[
            "profile",
            "key",
            "vendor.example/profiles",
            "--output",
            "vendor.key",
        ],
    );
    let other = done(
        &workshop,
        &[
            "profile",
            "key",
            "other.example/profiles",
            "--output",
            "other.key",
        ],
    );
    let (key, other) = (key.trim(), other.trim());
    assert!(
        !workshop
            .run(&["profile", "key", "a/b", "--output", "vendor.key"])
            .status
            .success()
    );
    done(
        &workshop,
        &["profile", "sign", component, "--key", "vendor.key"],
    );
    done(
        &workshop,
        &["profile", "verify", component, "--key", other, "--key", key],
    );
    fails(
        &workshop,
        &["profile", "verify", component, "--key", other],
        1,
        "profile-vendor-unknown",
    );
    fs::write(folder.join("tidy@1.0.1.wasm"), &before).unwrap();
    let signature = format!("{component}.sig");
    let foreign = [
        "profile",
        "verify",
        "tidy@1.0.1.wasm",
        "--key",
        key,
        "--signature",
        &signature,
    ];
    fails(&workshop, &foreign, 1, "profile-signature-other");
    fails(
        &workshop,
        &["profile", "sign", "tidy@1.0.1.wasm", "--key", "vendor.key"],
        4,
        "profile-identity",
    );
    let note = folder.join(&signature);
    let good = fs::read_to_string(&note).unwrap();
    fs::write(&note, good.replacen("tidy@1.0.0", "tidy@1.0.9", 1)).unwrap();
    fails(
        &workshop,
        &["profile", "verify", component, "--key", key],
        1,
        "profile-signature-invalid",
    );
    fs::write(&note, "no note").unwrap();
    fails(
        &workshop,
        &["profile", "verify", component, "--key", key],
        1,
        "profile-signature-malformed",
    );
    fs::write(&note, good).unwrap();

    // Served.
    let path = folder.join(component);
    let tables = format!(
        "[[profile.vendor]]\nkey = {key:?}\nprofiles = [\"tidy\"]\n\
         [[profile.file]]\npath = {path:?}\nsignature = {note:?}\n"
    );
    let plan = Plan::new(Server::listening(&ledger)).permit_everything();
    let gateway = plan.profile("tidy@1.0.0").also(&tables).start().await;
    let good = gateway.run(&["config", "check", "countersign.toml"]);
    assert!(good.status.success(), "{}", said(&good));
    let client = gateway.client(Revision::July2026).await;
    for (amount, verdict) in [
        ("1.10", "ok"),
        ("1.1", "replay"),
        ("1.2", "collision"),
        ("1", "collision"),
    ] {
        let arguments = format!(r#"{{"from":"a","to":"b","amount":{amount}}}"#);
        let answer = client
            .call(&Call::new("transfer", &arguments).under("e"))
            .await;
        assert_eq!(answer.verdict(), verdict, "{amount}: {answer:?}");
    }
    assert_eq!(ledger.effects().len(), 1);
    assert_eq!(ledger.effects()[0]["amount"].to_string(), "1.1");
}
