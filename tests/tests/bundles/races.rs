//! Bundles that are exported while calls race.

use countersign_tests::{Call, Client, LedgerServer, Plan, Revision, Server};

use crate::{PAY, exported, status};

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_exported_in_the_middle_of_races_is_never_contradicted() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let url = gateway.url();
            tokio::spawn(async move {
                let client = Client::connect(&url, Revision::July2026, None).await;
                for round in 0..40 {
                    // Six callers race for each identifier, half of them with
                    // another action.
                    let id = format!("race-{round}");
                    let call = Call::new("transfer", PAY).under(&id);
                    let other = r#"{"from":"alice","to":"bob","amount":11}"#;
                    let other = Call::new("transfer", other).under(&id);
                    let call = if round % 2 == 0 { call } else { other };
                    drop(client.try_call(&call).await);
                    drop(client.try_call(&Call::new("transfer", PAY)).await);
                }
            })
        })
        .collect();
    let mut exports = 0;
    while exports < 3 || !calls.iter().all(tokio::task::JoinHandle::is_finished) {
        exports += 1;
        let report = exported(&gateway, "racing.tar", &[], &["--threads", "2"]);
        assert_eq!(report["verdict"], "verified", "{report}");
        for claim in report["claims"].as_array().unwrap() {
            assert_ne!(claim["status"], "contradicted", "{claim}");
        }
        for claim in [
            "integrity",
            "completeness",
            "classification",
            "ordering",
            "outcome",
        ] {
            assert_eq!(status(&report, claim), "verified", "{claim}: {report}");
        }
    }
    println!("{exports} exports while calls ran");
}
