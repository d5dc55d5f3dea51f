//! Every field of a real bundle, changed without the key.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use countersign_evidence::bundle::{Bundle, Writer};
use countersign_evidence::key::VerifyingKey;
use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server};
use countersign_verifier::{Claim, Inputs, Level, Report, Status, Verdict, verify};

use crate::{PAY, lies};

/// What every kind of attempt leaves, in a real bundle.
async fn real_bundle() -> (Gateway, std::path::PathBuf) {
    let ledger = LedgerServer::http().await;
    let mut gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let call = Call::new("transfer", PAY).under("e-1");
    client.call(&call).await;
    client.call(&call).await;
    let other = r#"{"from":"alice","to":"bob","amount":10.0}"#;
    client
        .call(&Call::new("transfer", other).under("e-1"))
        .await;
    client.call(&Call::new("transfer", PAY)).await;
    client
        .call(&Call::new("no such tool, 工具", "{}").under("e-2"))
        .await;
    client
        .post(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}"#)
        .await;
    let slow = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":60000}"#;
    let before = ledger.effects().len();
    let url = gateway.url();
    let waiting = tokio::spawn(async move {
        let client = Client::connect(&url, Revision::July2026, None).await;
        client
            .try_call(&Call::new("transfer_slowly", slow).under("slow"))
            .await
    });
    ledger.wait_for_effects(before + 1).await;
    gateway.kill();
    drop(waiting.await);
    gateway.start().await;
    client
        .call(&Call::new("transfer_slowly", slow).under("slow"))
        .await;
    let bundle = gateway.export();
    (gateway, bundle)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_of_a_real_bundle_can_be_changed_without_the_key() {
    let (gateway, path) = real_bundle().await;
    let inputs = Inputs {
        trusted: vec![VerifyingKey::parse(&gateway.public_key()).unwrap()],
        ..Inputs::default()
    };
    let real = Real::read(&path);
    let honest = real.check(&real.lines, &inputs);
    assert_eq!(honest.verdict(&Level::default()), Verdict::Verified);
    let all = lies::values(&real.lines);
    let kinds: std::collections::BTreeSet<&str> = all
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    println!("{} entries of {kinds:?}", all.len());
    for kind in ["admission", "terminal", "refusal", "blocked"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
    let mut count = 0;
    for index in lies::sorts(&all) {
        for (field, value) in lies::changes(&all[index]) {
            let mut lie = all[index].clone();
            lie[&field] = value.clone();
            lies::seal(&mut lie);
            if lie == all[index] {
                continue;
            }
            count += 1;
            let mut lines = real.lines.clone();
            lines[index] = lies::bytes(&lie);
            let report = real.check(&lines, &inputs);
            let caught = [Claim::Integrity, Claim::Completeness]
                .map(|claim| report.status(claim) == Status::Contradicted);
            assert!(caught.contains(&true), "{index} {field} {value}");
        }
    }
    for index in 0..real.lines.len() {
        let mut without = real.lines.clone();
        without.remove(index);
        let report = real.check(&without, &inputs);
        assert_eq!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "{index}"
        );
    }
    println!("{count} changed fields, each contradicted");
}

/// A bundle taken apart.
struct Real {
    manifest: countersign_evidence::bundle::Manifest,
    lines: Vec<Vec<u8>>,
    notes: Vec<String>,
}

impl Real {
    fn read(path: &Path) -> Self {
        let mut bundle = Bundle::open(File::open(path).unwrap()).unwrap();
        let notes = bundle.checkpoints().iter();
        let notes = notes
            .map(|(_, note)| String::from_utf8(note.clone()).unwrap())
            .collect();
        let manifest = bundle.manifest().clone();
        let mut lines = Vec::new();
        let mut entries = bundle.entries();
        while let Some(line) = entries.next().unwrap() {
            lines.push(line.to_vec());
        }
        Self {
            manifest,
            lines,
            notes,
        }
    }

    fn check(&self, lines: &[Vec<u8>], inputs: &Inputs) -> Report {
        let mut writer = Writer::new(Vec::new(), &self.manifest).unwrap();
        for line in lines {
            writer.raw_entry(line).unwrap();
        }
        for note in &self.notes {
            writer.checkpoint(note).unwrap();
        }
        verify(Cursor::new(writer.finish().unwrap()), inputs).unwrap()
    }
}
