//! Components are loaded on their digest, or on the word of a vendor that the
//! operator trusts for that profile; otherwise the gateway does not start.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use countersign_canon::{Digest, ProfileId};
use countersign_evidence::LogId;
use countersign_evidence::key::SigningKey;
use countersign_evidence::profile_signature::sign;
use countersign_gateway::check_profiles;
use countersign_gateway::config::Config;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use support::{Gateway, PERMIT_ALL, Upstream};

const ID: &str = "decimal@1.0.0";

fn component(id: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/profiles");
    fs::read(folder.join(format!("{id}.wasm"))).unwrap()
}

fn vendor(seed: u8) -> SigningKey {
    SigningKey::from_seed(LogId::new("vendor.example/profiles").unwrap(), &[seed; 32])
}

fn note(key: &SigningKey, id: &str, bytes: &[u8]) -> String {
    sign(key, &id.parse::<ProfileId>().unwrap(), Digest::of(&[bytes]))
}

/// What a configuration in that folder comes to.
fn checked(folder: &Path, tables: &str) -> Result<(), String> {
    let text = format!(
        "[identity]\nmode = \"open\"\n{tables}[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/mcp\"\n"
    );
    let path = folder.join("countersign.toml");
    fs::write(&path, text).unwrap();
    let config = Config::read(&path).map_err(|error| error.to_string())?;
    check_profiles(&config.profiles).map_err(|error| error.to_string())?;
    Ok(())
}

fn trusted(key: &SigningKey, profiles: &str) -> String {
    let key = key.verifying_key();
    format!("[[profile.vendor]]\nkey = \"{key}\"\nprofiles = [{profiles}]\n")
}

const SIGNED: &str =
    "[[profile.file]]\npath = \"decimal@1.0.0.wasm\"\nsignature = \"decimal@1.0.0.wasm.sig\"\n";

#[test]
fn a_pin_that_does_not_hold_is_refused_before_anything_of_the_component_runs() {
    let bytes = component(ID);
    let digest = Digest::of(&[&bytes]);
    let (right, wrong) = (vendor(1), vendor(2));
    let good = note(&right, ID, &bytes);
    let vouched = trusted(&right, "\"decimal\"");
    let mut tampered = bytes.clone();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    let pinned =
        |digest: &str| format!("[[profile.file]]\npath = \"{ID}.wasm\"\ndigest = \"{digest}\"\n");
    let both = |digest: Digest| SIGNED.to_owned() + &format!("digest = \"{digest}\"\n");
    let other = Digest::of(&[b"other"]);
    for (why, file, note, tables, code) in [
        (
            "the digest",
            &bytes,
            String::new(),
            pinned(digest.as_str()),
            "",
        ),
        (
            "a vendor's signature",
            &bytes,
            good.clone(),
            vouched.clone() + SIGNED,
            "",
        ),
        (
            "both",
            &bytes,
            good.clone(),
            vouched.clone() + &both(digest),
            "",
        ),
        (
            "another digest",
            &bytes,
            String::new(),
            pinned(other.as_str()),
            "profile-digest",
        ),
        (
            "tampered bytes, pinned",
            &tampered,
            String::new(),
            pinned(digest.as_str()),
            "profile-digest",
        ),
        (
            "tampered bytes, signed",
            &tampered,
            good.clone(),
            vouched.clone() + SIGNED,
            "profile-signature-other",
        ),
        (
            "a signature that holds, and another digest",
            &bytes,
            good.clone(),
            vouched.clone() + &both(other),
            "profile-digest",
        ),
        (
            "a digest that holds, and no signature of a vendor",
            &bytes,
            note(&wrong, ID, &bytes),
            vouched.clone() + &both(digest),
            "profile-vendor-unknown",
        ),
        (
            "nothing to pin it",
            &bytes,
            good.clone(),
            format!("[[profile.file]]\npath = \"{ID}.wasm\"\n"),
            "neither a `digest` nor a `signature`",
        ),
        (
            "no vendor is trusted",
            &bytes,
            good.clone(),
            SIGNED.to_owned(),
            "profile-vendor-unknown",
        ),
        (
            "the vendor is trusted for another profile",
            &bytes,
            good.clone(),
            trusted(&right, "\"decimals\", \"exact\"") + SIGNED,
            "profile-vendor-unknown",
        ),
        (
            "another key of the vendor's name",
            &bytes,
            note(&wrong, ID, &bytes),
            vouched.clone() + SIGNED,
            "profile-vendor-unknown",
        ),
        (
            "the signature of another version",
            &bytes,
            note(&right, "decimal@1.0.1", &bytes),
            vouched.clone() + SIGNED,
            "profile-signature-other",
        ),
        (
            "the signature of another component",
            &bytes,
            note(&right, ID, b"x"),
            vouched.clone() + SIGNED,
            "profile-signature-other",
        ),
        (
            "a note that was changed",
            &bytes,
            note(&right, "decimal@1.0.1", &bytes).replacen("1.0.1", "1.0.0", 1),
            vouched.clone() + SIGNED,
            "profile-signature-invalid",
        ),
        (
            "no note at all",
            &bytes,
            "x".to_owned(),
            vouched.clone() + SIGNED,
            "profile-signature-malformed",
        ),
        (
            "a checkpoint's text",
            &bytes,
            "log\n1\nCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\n".to_owned(),
            vouched.clone() + SIGNED,
            "profile-signature-malformed",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{ID}.wasm")), file).unwrap();
        fs::write(folder.path().join(format!("{ID}.wasm.sig")), note).unwrap();
        let said = checked(folder.path(), &tables);
        match code {
            "" => assert_eq!(said, Ok(()), "{why}"),
            code => assert!(said.clone().unwrap_err().contains(code), "{why}: {said:?}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(format!("{ID}.wasm")), &bytes).unwrap();
    let said = checked(folder.path(), &(vouched + SIGNED)).unwrap_err();
    assert!(
        said.contains("profile-signature-malformed"),
        "no file: {said}"
    );
}

#[test]
fn two_files_of_one_version_are_one_component() {
    let folder = tempfile::tempdir().unwrap();
    let one = component(ID);
    let other = [component(ID), b"\x00\x04\x03pad".to_vec()].concat();
    for (second, code) in [(&one, ""), (&other, "profile-digest")] {
        let mut tables = String::new();
        for (name, bytes) in [("a", &one), ("b", second)] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(format!("{name}/{ID}.wasm")), bytes).unwrap();
            let digest = Digest::of(&[bytes]);
            tables +=
                &format!("[[profile.file]]\npath = \"{name}/{ID}.wasm\"\ndigest = \"{digest}\"\n");
        }
        let said = checked(folder.path(), &tables);
        let found = said.clone().err().unwrap_or_default();
        assert_eq!(said.is_ok(), code.is_empty(), "{said:?}");
        assert!(found.contains(code), "{found}");
    }
}

#[test]
fn a_profile_that_is_built_in_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = component(ID);
    let name = "exact@1.0.0.wasm";
    fs::write(folder.path().join(name), &bytes).unwrap();
    fs::write(
        folder.path().join("sig"),
        note(&vendor(1), "exact@1.0.0", &bytes),
    )
    .unwrap();
    let digest = Digest::of(&[&bytes]);
    let tables = trusted(&vendor(1), "\"exact\"")
        + &format!(
            "[[profile.file]]\npath = \"{name}\"\nsignature = \"sig\"\ndigest = \"{digest}\"\n"
        );
    let said = checked(folder.path(), &tables).unwrap_err();
    assert!(said.contains("profile-digest"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_profile_serves_and_a_reload_that_cannot_vouch_changes_nothing() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let bytes = component(ID);
    fs::write(folder.path().join(format!("{ID}.wasm")), &bytes).unwrap();
    let signature = folder.path().join(format!("{ID}.wasm.sig"));
    fs::write(&signature, note(&vendor(1), ID, &bytes)).unwrap();
    let here = SIGNED.replace(
        "\"decimal",
        &format!("\"{}/decimal", folder.path().display()),
    );
    let tables = format!(
        "[profile]\ndefault = \"{ID}\"\n{}{here}",
        trusted(&vendor(1), "\"decimal\"")
    );
    let gateway = Gateway::start(&upstream, PERMIT_ALL, &tables).await;
    let session = gateway.client().session().await;
    let first = session
        .call("pay", r#"{"amount":1.10}"#, Some("e1"))
        .await
        .json();
    assert_eq!(
        first["result"]["_meta"]["countersign.dev/receipt"]["profile"], ID,
        "{first}"
    );
    fs::write(&signature, note(&vendor(2), ID, &bytes)).unwrap();
    let error = gateway.reloader.reload().await.unwrap_err().to_string();
    assert!(error.contains("profile-vendor-unknown"), "{error}");
    for (amount, code) in [("1.1", "replay"), ("1", "collision")] {
        let arguments = format!(r#"{{"amount":{amount}}}"#);
        let again = session.call("pay", &arguments, Some("e1")).await;
        assert_eq!(again.code().as_deref(), Some(code), "{amount}");
    }
    assert_eq!(upstream.effects(), 1);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_reloads_at_once_the_one_that_begins_later_decides() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(&upstream, PERMIT_ALL, "").await;
    let config = gateway.path().join("countersign.toml");
    let before = fs::read_to_string(&config).unwrap();
    let bytes = component(ID);
    // A pipe, so that the first one reads for as long as the test likes.
    let pipe = gateway.path().join(format!("{ID}.wasm"));
    let (kind, mode) = (FileType::Fifo, Mode::RUSR | Mode::WUSR);
    mknodat(CWD, &pipe, kind, mode, 0).unwrap();
    let digest = Digest::of(&[&bytes]);
    let tables = format!(
        "[profile]\ndefault = \"{ID}\"\n[[profile.file]]\npath = \"{ID}.wasm\"\ndigest = \"{digest}\"\n"
    );
    fs::write(&config, format!("{before}{tables}")).unwrap();
    let reload = || {
        let reloader = gateway.reloader.clone();
        tokio::spawn(async move { reloader.reload().await.unwrap().profile })
    };
    let first = reload();
    let opening = tokio::task::spawn_blocking(move || File::options().write(true).open(pipe));
    let mut pipe = opening.await.unwrap().unwrap();
    // Meanwhile its operator thinks better of it.
    fs::write(&config, before).unwrap();
    let mut second = reload();
    let early = tokio::time::timeout(Duration::from_secs(1), &mut second).await;
    tokio::task::spawn_blocking(move || pipe.write_all(&bytes).unwrap());
    assert_eq!(first.await.unwrap(), ID);
    assert!(early.is_err(), "it did not wait for the first");
    let now = second.await.unwrap();
    let session = gateway.client().session().await;
    let answer = session.call("pay", "{}", None).await.json();
    let receipt = &answer["result"]["_meta"]["countersign.dev/receipt"];
    assert_eq!(
        (receipt["profile"].as_str(), now == ID),
        (Some(&*now), false)
    );
    gateway.stop().await;
}
