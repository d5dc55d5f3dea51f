//! Several real gateways on one PostgreSQL database
//! (`docs/operators/postgresql.md`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use countersign_test_postgres::{Cluster, Database};
use countersign_tests::{Call, Client, Gateway, LedgerServer, Plan, Revision, Server, said};

const PAY: &str = r#"{"from":"alice","to":"bob","amount":10}"#;

/// Three gateways in front of one server, each with a key and an anchor of its
/// own, and one database.
async fn fleet(server: &LedgerServer, database: &Database) -> Vec<Gateway> {
    let store = format!("[store]\nkind = \"postgres\"\nurl = {:?}\n", database.url());
    let plan = Plan::new(Server::listening(server)).also(&store);
    let mut gateways = Vec::new();
    for _ in 0..3 {
        gateways.push(plan.start().await);
    }
    gateways
}

#[tokio::test]
async fn one_identifier_has_one_effect_at_whichever_gateway_it_is_tried() {
    let server = LedgerServer::http().await;
    let database = Cluster::shared().database();
    let gateways = fleet(&server, &database).await;
    let calls = (0..60).map(|number| {
        let url = gateways[number % 3].url();
        tokio::spawn(async move {
            let client = Client::connect(&url, Revision::July2026, None).await;
            let call = Call::new("transfer", PAY).under("one");
            client.call(&call).await.verdict()
        })
    });
    let mut verdicts = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        verdicts.push(call.await.unwrap());
    }
    let count = |wanted| verdicts.iter().filter(|verdict| *verdict == wanted).count();
    assert_eq!(count("ok"), 1, "{verdicts:?}");
    assert_eq!(
        count("ok") + count("in-flight") + count("replay"),
        60,
        "{verdicts:?}"
    );
    assert_eq!(server.effects().len(), 1);
}

#[tokio::test]
async fn the_bundle_of_a_fleet_verifies_as_one_whoever_exports_it() {
    let server = LedgerServer::http().await;
    let database = Cluster::shared().database();
    let mut gateways = fleet(&server, &database).await;
    for number in 0..9 {
        let client = gateways[number % 3].client(Revision::July2026).await;
        let id = format!("call-{number}");
        let call = Call::new("transfer", PAY).under(&id);
        assert_eq!(client.call(&call).await.verdict(), "ok");
        // The next one knows it.
        let client = gateways[(number + 1) % 3].client(Revision::July2026).await;
        let again = Call::new("transfer", PAY).under(&id);
        assert_eq!(client.call(&again).await.verdict(), "replay");
    }
    assert_eq!(server.effects().len(), 9);
    let keys: Vec<String> = gateways.iter().map(Gateway::public_key).collect();
    // One stops in good order, and its log stays in the bundle.
    assert!(gateways[2].stop().await);
    let bundle = gateways[0].export();
    let mut arguments = vec!["verify", bundle.to_str().unwrap()];
    for key in &keys {
        arguments.extend(["--trust", key]);
    }
    let under = [
        "--fail-under",
        "integrity,completeness,ordering,classification",
    ];
    arguments.extend(under);
    let done = gateways[0].run(&arguments);
    assert!(done.status.success(), "{}", said(&done));
    // Without the key of one, its log is nobody's word.
    let done = gateways[0].run(&arguments[..6]);
    assert_ne!(done.status.code(), Some(0), "{}", said(&done));
}

#[tokio::test]
async fn a_gateway_that_is_killed_leaves_nothing_that_another_runs_again() {
    let server = LedgerServer::http().await;
    let database = Cluster::shared().database();
    let store = format!(
        "[store]\nkind = \"postgres\"\nurl = {:?}\nlease_ms = 3000\n",
        database.url()
    );
    let plan = Plan::new(Server::listening(&server)).also(&store);
    let (mut one, two) = (plan.start().await, plan.start().await);
    let url = one.url();
    let slow = tokio::spawn(async move {
        let client = Client::connect(&url, Revision::July2026, None).await;
        let call = Call::new("transfer", PAY).under("killed");
        client.call(&call).await.verdict()
    });
    server.wait_for_effects(1).await;
    one.kill();
    drop(slow);
    let client = two.client(Revision::July2026).await;
    let call = Call::new("transfer", PAY).under("killed");
    let mut verdicts = Vec::new();
    for _ in 0..300 {
        let verdict = client.call(&call).await.verdict();
        let over = verdict == "blocked" || verdict == "replay";
        verdicts.push(verdict);
        if over {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    verdicts.dedup();
    let last = verdicts.last().unwrap();
    assert!(last == "blocked" || last == "replay", "{verdicts:?}");
    assert!(!verdicts.iter().any(|verdict| verdict == "ok"));
    assert_eq!(server.effects().len(), 1);
}

#[tokio::test]
async fn one_gateways_key_is_rotated_while_the_others_work_and_the_fleet_verifies() {
    let server = LedgerServer::http().await;
    let database = Cluster::shared().database();
    let mut gateways = fleet(&server, &database).await;
    let call = |id: &'static str| Call::new("transfer", PAY).under(id);
    let first = gateways[0].client(Revision::July2026).await;
    assert_eq!(first.call(&call("before")).await.verdict(), "ok");
    let mut keys: Vec<String> = gateways.iter().map(Gateway::public_key).collect();
    assert!(gateways[0].stop().await);
    let rotate = ["key", "rotate", "--config", "countersign.toml"];
    let done = gateways[0].run(&rotate);
    assert!(done.status.success(), "{}", said(&done));
    let second = gateways[1].client(Revision::July2026).await;
    assert_eq!(second.call(&call("before")).await.verdict(), "replay");
    gateways[0].start().await;
    assert_ne!(gateways[0].public_key(), keys[0]);
    let first = gateways[0].client(Revision::July2026).await;
    assert_eq!(first.call(&call("before")).await.verdict(), "replay");
    assert_eq!(first.call(&call("after")).await.verdict(), "ok");
    let bundle = gateways[1].export();
    for new in [false, true] {
        if new {
            keys[0] = gateways[0].public_key();
        }
        let mut arguments = vec!["verify", bundle.to_str().unwrap()];
        for key in &keys {
            arguments.extend(["--trust", key]);
        }
        let done = gateways[1].run(&arguments);
        assert!(done.status.success(), "{}", said(&done));
    }
}
