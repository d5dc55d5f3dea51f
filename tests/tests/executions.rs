//! What happens to a second call: executions, through the whole gateway.
//!
//! Each test starts a real gateway in front of a real MCP server and counts
//! effects in that server's journal. The rules are `docs/spec/executions.md`.

use countersign_tests::{Call, Gateway, LedgerServer, Plan, Revision, Server};

const PAY: &str = r#"{"from":"alice","to":"bob","amount":10}"#;

/// A ledger server over each transport, with the gateway in front of it.
async fn each_transport() -> [(&'static str, LedgerServer, Gateway); 2] {
    let listening = LedgerServer::http().await;
    let before_http = Plan::new(Server::listening(&listening)).start().await;
    let spawned = LedgerServer::stdio();
    let before_stdio = Plan::new(Server::spawned(&spawned)).start().await;
    [
        ("http", listening, before_http),
        ("stdio", spawned, before_stdio),
    ]
}

#[tokio::test]
async fn a_call_reaches_the_server_once_and_its_receipt_says_where_it_is_recorded() {
    for (transport, ledger, gateway) in each_transport().await {
        for (number, revision) in (1..).zip(Revision::ALL) {
            let client = gateway.client(revision).await;
            let id = format!("call-{number}");
            let answer = client.call(&Call::new("transfer", PAY).under(&id)).await;
            let result = answer.result();
            assert_eq!(
                result["structuredContent"]["effect"], number,
                "{transport} {result}"
            );
            assert_eq!(result["content"][0]["text"], "paid 10 from alice to bob");
            let receipt = &result["_meta"]["countersign.dev/receipt"];
            assert_eq!(receipt["execution_id"], id, "{transport} {result}");
            assert_eq!(receipt["profile"], "exact@1.0.0");
            assert!(
                receipt["binding"].as_str().unwrap().starts_with("sha256:"),
                "{result}"
            );
            assert_eq!(ledger.effects().len(), number, "{transport}");
        }
    }
}

#[tokio::test]
async fn a_hundred_identical_calls_at_once_have_exactly_one_effect() {
    for (transport, ledger, gateway) in each_transport().await {
        let url = gateway.url();
        let calls = (0..100).map(|_| {
            let url = url.clone();
            tokio::spawn(async move {
                let client =
                    countersign_tests::Client::connect(&url, Revision::July2026, None).await;
                client
                    .call(&Call::new("transfer", PAY).under("one"))
                    .await
                    .verdict()
            })
        });
        let mut verdicts = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            verdicts.push(call.await.unwrap());
        }
        let count = |wanted| verdicts.iter().filter(|verdict| *verdict == wanted).count();
        assert_eq!(count("ok"), 1, "{transport}: {verdicts:?}");
        assert_eq!(
            count("ok") + count("in-flight") + count("replay"),
            100,
            "{transport}: {verdicts:?}"
        );
        assert_eq!(ledger.effects().len(), 1, "{transport}");
    }
}

#[tokio::test]
async fn a_hundred_calls_that_differ_have_one_effect_under_one_execution_id() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let url = gateway.url();
    let calls = (0..100).map(|amount| {
        let url = url.clone();
        tokio::spawn(async move {
            let client = countersign_tests::Client::connect(&url, Revision::July2026, None).await;
            let arguments = format!(r#"{{"from":"alice","to":"bob","amount":{amount}}}"#);
            client
                .call(&Call::new("transfer", &arguments).under("one"))
                .await
                .verdict()
        })
    });
    let mut verdicts = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        verdicts.push(call.await.unwrap());
    }
    let count = |wanted| verdicts.iter().filter(|verdict| *verdict == wanted).count();
    assert_eq!((count("ok"), count("collision")), (1, 99), "{verdicts:?}");
    assert_eq!(ledger.effects().len(), 1);
}

#[tokio::test]
async fn a_repeat_is_a_replay_whatever_does_not_belong_to_the_action() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let first = Call::new("transfer", PAY).under("one");
    let owner = client.call(&first).await.result()["_meta"]["countersign.dev/receipt"].clone();
    for (why, repeat) in [
        ("another JSON-RPC id", first.clone()),
        (
            "another order and spacing",
            Call {
                arguments: r#"{ "amount" : 10, "to": "bob", "from": "alice" }"#,
                ..first.clone()
            },
        ),
        (
            "an escaped letter",
            Call {
                arguments: r#"{"from":"\u0061lice","to":"bob","amount":10}"#,
                ..first.clone()
            },
        ),
        (
            "a progress token",
            Call {
                meta: r#","progressToken":7"#,
                ..first.clone()
            },
        ),
    ] {
        let answer = client.call(&repeat).await;
        assert_eq!(answer.code(), "replay", "{why}");
        let data = answer.error()["data"].clone();
        assert_eq!(data["state"], "settled", "{why}");
        assert_eq!(data["outcome"], "succeeded", "{why}");
        assert_eq!(data["call_id"], owner["call_id"], "{why}");
        assert_eq!(data["safe_with_new_id"], false, "{why}");
        assert!(data["log_position"]["sequence"].is_u64(), "{why}: {data}");
    }
    assert_eq!(ledger.effects().len(), 1);
}

#[tokio::test]
async fn any_change_of_the_action_is_a_collision() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let first = Call::new("transfer", PAY).under("one");
    assert_eq!(client.call(&first).await.verdict(), "ok");
    for (why, mutated) in [
        (
            "another amount",
            Call {
                arguments: r#"{"from":"alice","to":"bob","amount":11}"#,
                ..first.clone()
            },
        ),
        (
            "the amount as text",
            Call {
                arguments: r#"{"from":"alice","to":"bob","amount":"10"}"#,
                ..first.clone()
            },
        ),
        (
            "a member more",
            Call {
                arguments: r#"{"from":"alice","to":"bob","amount":10,"memo":null}"#,
                ..first.clone()
            },
        ),
        (
            "a name with another case",
            Call {
                arguments: r#"{"From":"alice","to":"bob","amount":10}"#,
                ..first.clone()
            },
        ),
        (
            "metadata of the action",
            Call {
                meta: r#","example.com/note":1"#,
                ..first.clone()
            },
        ),
        (
            "another tool",
            Call {
                tool: "balance",
                ..first.clone()
            },
        ),
    ] {
        let answer = client.call(&mutated).await;
        assert_eq!(answer.code(), "collision", "{why}: {answer:?}");
        let difference = answer.error()["data"]["difference"].clone();
        assert!(
            difference.as_array().unwrap().contains(&"binding".into()),
            "{why}: {difference}"
        );
    }
    assert_eq!(ledger.effects().len(), 1);
}

#[tokio::test]
async fn one_and_one_point_zero_collide_under_exact_and_the_second_is_refused_under_jcs_integer() {
    let one = r#"{"from":"alice","to":"bob","amount":1}"#;
    let point_zero = r#"{"from":"alice","to":"bob","amount":1.0}"#;
    for (profile, code) in [
        ("exact@1.0.0", "collision"),
        ("jcs-integer@1.0.0", "number"),
    ] {
        let ledger = LedgerServer::http().await;
        let gateway = Plan::new(Server::listening(&ledger))
            .profile(profile)
            .start()
            .await;
        for revision in Revision::ALL {
            let client = gateway.client(revision).await;
            let id = format!("execution-{}", revision.text());
            let first = client.call(&Call::new("transfer", one).under(&id)).await;
            assert_eq!(first.verdict(), "ok", "{profile} {first:?}");
            let second = client
                .call(&Call::new("transfer", point_zero).under(&id))
                .await;
            assert_eq!(second.code(), code, "{profile} {second:?}");
            if code == "number" {
                let data = second.error()["data"].clone();
                assert_eq!(data["pointer"], "/params/arguments/amount", "{data}");
            }
        }
        assert_eq!(ledger.effects().len(), Revision::ALL.len(), "{profile}");
    }
}

#[tokio::test]
async fn a_malformed_execution_id_is_refused_before_anything_is_sent() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger))
        .permit_everything()
        .start()
        .await;
    let too_long = format!(r#","countersign.dev/execution_id":"{}""#, "x".repeat(201));
    for (why, meta) in [
        ("a null", r#","countersign.dev/execution_id":null"#),
        ("a number", r#","countersign.dev/execution_id":7"#),
        ("an empty text", r#","countersign.dev/execution_id":"""#),
        ("a space", r#","countersign.dev/execution_id":"a b""#),
        (
            "a letter beyond ASCII",
            r#","countersign.dev/execution_id":"é""#,
        ),
        ("201 characters", too_long.as_str()),
    ] {
        for revision in Revision::ALL {
            let client = gateway.client(revision).await;
            let answer = client
                .call(&Call {
                    meta,
                    ..Call::new("transfer", PAY)
                })
                .await;
            assert_eq!(answer.code(), "correlation", "{why}: {answer:?}");
        }
    }
    assert_eq!(ledger.effects().len(), 0);
}

#[tokio::test]
async fn execution_ids_of_every_legal_spelling_are_taken_and_the_same_one_in_both_places_agrees() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::November2025).await;
    let longest = "~".repeat(200);
    for id in ["!", "a/b#c", "{\"}", longest.as_str()] {
        let answer = client.call(&Call::new("transfer", PAY).under(id)).await;
        assert_eq!(answer.verdict(), "ok", "{id} {answer:?}");
    }
    let both = |other: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"transfer","arguments":{PAY},"_meta":{{"countersign.dev/execution_id":"both"}},"_cmcp":{{"execution_id":"{other}"}}}}}}"#
        )
    };
    assert_eq!(
        client.post(both("other").as_bytes()).await.code(),
        "correlation"
    );
    assert_eq!(client.post(both("both").as_bytes()).await.verdict(), "ok");
    assert_eq!(ledger.effects().len(), 5);
}

#[tokio::test]
async fn without_an_execution_id_every_call_is_its_own() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger))
        .permit_everything()
        .start()
        .await;
    let client = gateway.client(Revision::July2026).await;
    for _ in 0..3 {
        let result = client.call(&Call::new("transfer", PAY)).await.result();
        let receipt = &result["_meta"]["countersign.dev/receipt"];
        assert!(receipt["execution_id"].is_null(), "{result}");
    }
    assert_eq!(ledger.effects().len(), 3);
}

#[tokio::test]
async fn a_repeat_while_the_first_is_running_is_in_flight_and_waits_for_nothing() {
    for (transport, ledger, gateway) in each_transport().await {
        let client = gateway.client(Revision::November2025).await;
        let arguments = r#"{"from":"alice","to":"bob","amount":10,"delay_ms":1500}"#;
        let slow = Call::new("transfer_slowly", arguments).under("slow");
        let impatient = async {
            ledger.wait_for_effects(1).await;
            let other = gateway.client(Revision::July2026).await;
            other.call(&slow).await
        };
        let (first, second) = tokio::join!(client.call(&slow), impatient);
        assert_eq!(second.code(), "in-flight", "{transport}");
        assert_eq!(second.error()["data"]["state"], "in-flight", "{transport}");
        assert_eq!(first.verdict(), "ok", "{transport} {first:?}");
        assert_eq!(client.call(&slow).await.code(), "replay", "{transport}");
        assert_eq!(ledger.effects().len(), 1, "{transport}");
    }
}

#[tokio::test]
async fn a_clean_restart_forgets_nothing() {
    for (transport, ledger, mut gateway) in each_transport().await {
        let call = Call::new("transfer", PAY).under("before");
        let client = gateway.client(Revision::July2026).await;
        assert_eq!(client.call(&call).await.verdict(), "ok", "{transport}");
        assert!(gateway.stop().await, "{transport}: {}", gateway.log());
        gateway.start().await;
        assert_eq!(client.call(&call).await.code(), "replay", "{transport}");
        let next = Call::new("transfer", PAY).under("after");
        assert_eq!(client.call(&next).await.verdict(), "ok", "{transport}");
        assert_eq!(ledger.effects().len(), 2, "{transport}");
    }
}
