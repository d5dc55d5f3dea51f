//! The official clients of others, and a server of others, through the gateway.
//!
//! Needs the clients that `cargo xtask interop --install` installs, so these
//! tests run by `cargo xtask interop` and `cargo xtask test`, not by default.

use countersign_tests::{
    Foreign, Language, LedgerServer, Plan, Revision, Server, everything_server,
};
use serde_json::json;

/// Each client, in each revision that it negotiates.
const CLIENTS: [(Language, Revision); 6] = [
    (Language::Python, Revision::November2025),
    (Language::Python, Revision::July2026),
    (Language::TypeScriptSdk, Revision::November2025),
    (Language::TypeScriptClient, Revision::June2025),
    (Language::TypeScriptClient, Revision::November2025),
    (Language::TypeScriptClient, Revision::July2026),
];

#[tokio::test]
#[ignore = "needs the clients of `cargo xtask interop --install`"]
async fn official_clients_call_the_ledger_server_and_are_told_about_repeats() {
    for transport in ["http", "stdio"] {
        let ledger = match transport {
            "http" => LedgerServer::http().await,
            _ => LedgerServer::stdio(),
        };
        let server = match transport {
            "http" => Server::listening(&ledger),
            _ => Server::spawned(&ledger),
        };
        let gateway = Plan::new(server).start().await;
        for (number, (language, revision)) in (1..).zip(CLIENTS) {
            let case = format!("{transport} {language:?} {}", revision.text());
            let mut client = Foreign::connect(language, &gateway.url(), revision, None).await;
            assert_eq!(client.negotiated(), revision.text(), "{case}");
            let tools = client.tools().await;
            assert!(tools.contains(&"transfer".to_owned()), "{case}: {tools:?}");

            let pay = |amount| json!({ "from": "alice", "to": case.as_str(), "amount": amount });
            let paid = client
                .call("transfer", &pay(5), Some(&case.replace(' ', "-")))
                .await;
            let result = &paid["result"];
            assert_eq!(
                result["structuredContent"]["effect"], number,
                "{case}: {paid}"
            );
            let receipt = &result["_meta"]["countersign.dev/receipt"];
            assert_eq!(
                receipt["execution_id"],
                case.replace(' ', "-"),
                "{case}: {paid}"
            );

            let repeat = client
                .call("transfer", &pay(5), Some(&case.replace(' ', "-")))
                .await;
            assert_eq!(
                repeat["error"]["data"]["code"], "replay",
                "{case}: {repeat}"
            );
            let mutated = client
                .call("transfer", &pay(6), Some(&case.replace(' ', "-")))
                .await;
            assert_eq!(
                mutated["error"]["data"]["code"], "collision",
                "{case}: {mutated}"
            );
            let denied = client.call("transfer", &pay(5000), Some("too-much")).await;
            assert_eq!(
                denied["error"]["data"]["code"], "policy-denied",
                "{case}: {denied}"
            );

            let balance = client
                .call("balance", &json!({ "account": case }), None)
                .await;
            let structure = &balance["result"]["structuredContent"];
            assert_eq!(
                structure["balance"].as_f64(),
                Some(5.0),
                "{case}: {balance}"
            );
            assert_eq!(ledger.effects().len(), number, "{case}");
        }
    }
}

#[tokio::test]
#[ignore = "needs the clients of `cargo xtask interop --install`"]
async fn official_clients_call_npms_everything_server_through_the_gateway() {
    let plan = Plan::new(Server::Stdio(everything_server())).permit_everything();
    let gateway = plan.start().await;
    for (language, revision) in CLIENTS {
        let case = format!("{language:?}-{}", revision.text());
        let mut client = Foreign::connect(language, &gateway.url(), revision, None).await;
        assert_eq!(client.negotiated(), revision.text(), "{case}");
        let tools = client.tools().await;
        assert!(tools.contains(&"echo".to_owned()), "{case}: {tools:?}");

        let echoed = client
            .call("echo", &json!({ "message": "hé" }), Some(&case))
            .await;
        assert_eq!(
            echoed["result"]["content"][0]["text"], "Echo: hé",
            "{case}: {echoed}"
        );
        let repeat = client
            .call("echo", &json!({ "message": "hé" }), Some(&case))
            .await;
        assert_eq!(
            repeat["error"]["data"]["code"], "replay",
            "{case}: {repeat}"
        );

        let sum = client
            .call("get-sum", &json!({ "a": 2, "b": 3 }), None)
            .await;
        let said = sum["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        assert!(said.contains('5'), "{case}: {sum}");
        let place = json!({ "location": "New York" });
        let weather = client.call("get-structured-content", &place, None).await;
        assert!(
            weather["result"]["structuredContent"].is_object(),
            "{case}: {weather}"
        );
        let image = client.call("get-tiny-image", &json!({}), None).await;
        let blocks = image["result"]["content"].as_array().unwrap();
        assert!(
            blocks.iter().any(|block| block["type"] == "image"),
            "{case}: {image}"
        );
        let unknown = client.call("no-such-tool", &json!({}), None).await;
        assert!(
            unknown
                .get("result")
                .is_none_or(|result| result["isError"] == true),
            "{case}"
        );
    }
}
