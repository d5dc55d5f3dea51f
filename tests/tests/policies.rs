//! No spelling slips past a policy: the demo's limit of 1000 on transfers.
//!
//! The policy sees what the server would get, so a table of spellings is a
//! table of effects. `docs/spec/action-binding.md` §7 says what policies see.

use countersign_tests::{Call, LedgerServer, Plan, Revision, Server};

#[tokio::test]
async fn a_limit_holds_for_every_spelling_of_an_amount() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    for revision in [Revision::November2025, Revision::July2026] {
        let client = gateway.client(revision).await;
        for (number, (amount, verdict)) in (0..).zip([
            ("1000", "ok"),
            ("1000.0", "ok"),
            ("1e3", "ok"),
            ("999.99", "ok"),
            ("0", "ok"),
            ("-0", "ok"),
            ("1e-300", "ok"),
            ("1001", "policy-denied"),
            ("1000.5", "policy-denied"),
            ("1000.00000000000000000000000000001", "policy-denied"),
            ("5000", "policy-denied"),
            ("5000.0", "policy-denied"),
            ("5e3", "policy-denied"),
            ("5E+3", "policy-denied"),
            ("1e30", "policy-denied"),
            ("1e400", "policy-denied"),
            ("9223372036854775808", "policy-denied"),
            (
                r#"{"__extn":{"fn":"decimal","arg":"5000.0"}}"#,
                "policy-denied",
            ),
            (
                r#"{"__extn":{"fn":"decimal","arg":"5.0"}}"#,
                "policy-denied",
            ),
            (r#"{"__entity":{"type":"Agent","id":"x"}}"#, "policy-denied"),
            (r#""5000""#, "policy-denied"),
            (r#""10""#, "policy-denied"),
            ("null", "policy-denied"),
            ("true", "policy-denied"),
            ("[10]", "policy-denied"),
            ("-1", "policy-denied"),
            ("-1e400", "policy-denied"),
        ]) {
            let before = ledger.effects().len();
            let arguments = format!(r#"{{"from":"alice","to":"bob","amount":{amount}}}"#);
            let id = format!("{}-{number}", revision.text());
            let answer = client
                .call(&Call::new("transfer", &arguments).under(&id))
                .await;
            assert_eq!(answer.verdict(), verdict, "{amount}: {answer:?}");
            let effects = ledger.effects().len() - before;
            assert_eq!(effects, usize::from(verdict == "ok"), "{amount}");
        }
    }
}

#[tokio::test]
async fn what_a_member_is_called_decides_and_not_how_the_name_is_escaped() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    for (number, (why, arguments, verdict)) in (0..).zip([
        (
            "an escaped name",
            r#"{"from":"a","to":"b","am\u006funt":5000}"#,
            "policy-denied",
        ),
        (
            "the name in another case",
            r#"{"from":"a","to":"b","Amount":5}"#,
            "policy-denied",
        ),
        ("no amount", r#"{"from":"a","to":"b"}"#, "policy-denied"),
        (
            "two amounts",
            r#"{"from":"a","to":"b","amount":5000,"amount":5}"#,
            "duplicate-member",
        ),
        (
            "two amounts, one escaped",
            r#"{"from":"a","to":"b","amount":5,"\u0061mount":5000}"#,
            "duplicate-member",
        ),
    ]) {
        let id = format!("execution-{number}");
        let answer = client
            .call(&Call::new("transfer", arguments).under(&id))
            .await;
        assert_eq!(answer.verdict(), verdict, "{why}: {answer:?}");
    }
    assert_eq!(ledger.effects().len(), 0);
}

#[tokio::test]
async fn a_denial_reserves_nothing() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let pay = |amount| format!(r#"{{"from":"alice","to":"bob","amount":{amount}}}"#);
    let (much, little) = (pay(5000), pay(5));
    for _ in 0..2 {
        let denied = client
            .call(&Call::new("transfer", &much).under("one"))
            .await;
        assert_eq!(denied.code(), "policy-denied");
        assert_eq!(
            denied.error()["data"]["safe_with_new_id"],
            true,
            "{denied:?}"
        );
    }
    let paid = client
        .call(&Call::new("transfer", &little).under("one"))
        .await;
    assert_eq!(paid.verdict(), "ok", "{paid:?}");
    assert_eq!(ledger.effects().len(), 1);
}

#[tokio::test]
async fn a_tool_with_side_effects_needs_an_execution_id_where_the_policies_say_so() {
    let ledger = LedgerServer::http().await;
    let gateway = Plan::new(Server::listening(&ledger)).start().await;
    let client = gateway.client(Revision::July2026).await;
    let pay = Call::new("transfer", r#"{"from":"alice","to":"bob","amount":5}"#);
    assert_eq!(client.call(&pay).await.code(), "execution-id-required");
    let read = client
        .call(&Call::new("balance", r#"{"account":"bob"}"#))
        .await;
    assert_eq!(read.result()["structuredContent"]["balance"], 0.0);
    assert_eq!(ledger.effects().len(), 0);
}
