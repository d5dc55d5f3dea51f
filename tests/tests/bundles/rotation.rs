//! A log that goes on under a new key.

use countersign_evidence::key::SigningKey;
use countersign_evidence::keyfile;
use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server};

use crate::{PAY, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_log_goes_on_under_a_new_key_and_whoever_trusted_the_old_one_trusts_it() {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    client
        .call(&Call::new("transfer", PAY).under("before"))
        .await;
    let old = gateway.public_key();
    let rotate = ["key", "rotate", "--config", "countersign.toml"];
    assert!(!gateway.run(&rotate).status.success(), "while it runs");
    assert!(gateway.stop().await, "{}", gateway.log());
    // As a rotation that was broken off leaves it: nothing starts beside it.
    let next = gateway.folder().join("countersign.db.key.next");
    assert!(!next.exists(), "a refused rotation leaves nothing behind");
    let log = old.split('+').next().unwrap().parse().unwrap();
    let begun = SigningKey::from_seed(log, &[7; 32]);
    keyfile::create(&next, &begun).unwrap();
    run(
        &gateway,
        2,
        &["key", "show", "--config", "countersign.toml"],
    );
    run(
        &gateway,
        2,
        &[
            "audit",
            "export",
            "--config",
            "countersign.toml",
            "-o",
            "no.tar",
        ],
    );
    let new = run(&gateway, 0, &rotate).trim_end().to_owned();
    assert!(!next.exists());
    assert_eq!(
        new,
        begun.verifying_key().to_string(),
        "it goes on with the key that it had begun with"
    );
    assert_eq!(new.split('+').next(), old.split('+').next(), "the same log");
    gateway.start().await;
    let answer = client
        .call(&Call::new("transfer", PAY).under("after"))
        .await;
    let again = client
        .call(&Call::new("transfer", PAY).under("before"))
        .await;
    assert_eq!(again.code(), "replay");
    drop(gateway.export());
    for key in [&old, &new] {
        let report = run(&gateway, 0, &["verify", "bundle.tar", "--trust", key]);
        assert!(report.starts_with("integrity       verified"), "{report}");
        assert!(!report.contains("contradicted"), "{report}");
    }
    // So does a part, wherever it was made: each carries the rotation.
    let part = ["--execution", "after", "--agent", "open", "", "anonymous"];
    let export = ["audit", "export", "-o"];
    let asked = ["asked.tar", "--config", "countersign.toml"];
    run(&gateway, 0, &[&export[..], &asked, &part].concat());
    let made = ["made.tar", "--from", "bundle.tar"];
    run(&gateway, 0, &[&export[..], &made, &part].concat());
    for name in ["asked.tar", "made.tar"] {
        for key in [&old, &new] {
            let report = run(&gateway, 0, &["verify", name, "--trust", key]);
            assert!(report.starts_with("integrity       verified"), "{report}");
            assert!(!report.contains("contradicted"), "{report}");
        }
    }
    // A proof carries no rotation, and so shows the old key's holder nothing.
    std::fs::write(gateway.folder().join("answer.json"), answer.text()).unwrap();
    let prove = ["receipt", "prove", "answer.json", "--bundle", "bundle.tar"];
    run(&gateway, 0, &[&prove[..], &["-o", "proof.txt"]].concat());
    for (key, status, word) in [(&new, 0, "verified"), (&old, 2, "not established")] {
        let check = ["receipt", "check", "proof.txt", "--trust", key];
        let said = run(&gateway, status, &check);
        assert!(said.starts_with(word), "{said}");
    }
    a_key_is_no_file(&gateway, &new);
}

/// A key's text is a path too: whoever unpacks something there replaces no key.
fn a_key_is_no_file(gateway: &Gateway, key: &str) {
    let log = key.split('+').next().unwrap().parse().unwrap();
    let stranger = SigningKey::from_seed(log, &[9; 32]).verifying_key();
    let file = gateway.folder().join(key);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, stranger.to_string()).unwrap();
    for command in [
        &["verify", "bundle.tar", "--trust", key][..],
        &["receipt", "check", "proof.txt", "--trust", key],
    ] {
        run(gateway, 0, command);
    }
    let named = format!("./{key}");
    run(gateway, 1, &["verify", "bundle.tar", "--trust", &named]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_variable_signs_the_log_until_another_follows_and_then_no_more() {
    let ledger = LedgerServer::http().await;
    let key = |seed: u8| {
        let log = "countersign/variable".parse().unwrap();
        let key = SigningKey::from_seed(log, &[seed; 32]);
        (
            key.to_secret_text().to_string(),
            key.verifying_key().to_string(),
        )
    };
    let ((old_secret, old), (next_secret, next)) = (key(1), key(2));
    let plan = Plan::new(Server::listening(&ledger))
        .also("[store]\nkey_variable = \"LOG_KEY\"")
        .variable("LOG_KEY", &old_secret);
    let mut gateway = plan.start().await;
    assert_eq!(gateway.public_key(), old);
    assert!(!gateway.folder().join("countersign.db.key").exists());
    let client = gateway.client(Revision::July2026).await;
    client.call(&Call::new("transfer", PAY).under("e-1")).await;
    assert!(gateway.stop().await, "{}", gateway.log());
    let rotate = ["key", "rotate", "--config", "countersign.toml"];
    run(&gateway, 2, &rotate);
    let rotate = [&rotate[..], &["--next-variable", "NEXT_KEY"]].concat();
    run(&gateway, 2, &rotate);
    gateway.set_variable("NEXT_KEY", &old_secret);
    run(&gateway, 2, &rotate);
    gateway.set_variable("NEXT_KEY", &next_secret);
    assert_eq!(run(&gateway, 0, &rotate).trim_end(), next);
    // Whoever forgets to exchange the variable signs nothing.
    let refused = gateway.try_start().await.unwrap_err();
    assert!(refused.contains("goes on under another key"), "{refused}");
    run(&gateway, 2, &rotate);
    for wrong in ["", "PRIVATE+KEY+x", &next_secret[..next_secret.len() - 4]] {
        gateway.set_variable("LOG_KEY", wrong);
        let refused = gateway.try_start().await.unwrap_err();
        assert!(refused.contains("`LOG_KEY`"), "{refused}");
    }
    gateway.set_variable("LOG_KEY", &next_secret);
    gateway.start().await;
    let client = gateway.client(Revision::July2026).await;
    let again = client.call(&Call::new("transfer", PAY).under("e-1")).await;
    assert_eq!(again.code(), "replay");
    drop(gateway.export());
    for key in [&old, &next] {
        let report = run(&gateway, 0, &["verify", "bundle.tar", "--trust", key]);
        assert!(report.starts_with("integrity       verified"), "{report}");
        assert!(!report.contains("contradicted"), "{report}");
    }
    // The last part of a key's text is its seed.
    for secret in [&old_secret, &next_secret] {
        let seed = secret.rsplit('+').next().unwrap();
        assert!(!gateway.log().contains(seed), "a key was logged");
    }
}
