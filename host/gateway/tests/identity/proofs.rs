//! Tokens that are bound to a key, and proofs of its possession.

use http::Method;

use crate::issuer::{Key, bound_to, claims, configured, now, proof, proof_made_at, token};
use crate::support::clock::Moved;
use crate::support::{Gateway, PERMIT_ALL, Upstream, entries};
use crate::{FILE, call, caller, challenges, folder, nonce};

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_token_counts_only_with_a_fresh_proof_for_this_very_request() {
    let (key, holder, thief) = (Key::ec(), Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let identity = configured("", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let bound = token(&key, &claims("cnf", &bound_to(&holder)));
    let other = token(&key, &claims("jti", "\"x\""));
    let plain = caller(&gateway).with("authorization", &format!("DPoP {bound}"));
    let with = |proof: &str| plain.with("dpop", proof);
    let nonce = nonce(&gateway, &holder, &bound).await;
    let fresh = |jti: &str| proof(&holder, &bound, "POST", "/mcp/up", jti, &nonce);
    assert_eq!(call(&with(&fresh("1")), "/mcp/up", "e1").await.code(), None);
    for (why, client, code) in [
        ("the same proof", with(&fresh("1")), "proof-replayed"),
        (
            "another method",
            with(&proof(&holder, &bound, "GET", "/mcp/up", "2", &nonce)),
            "proof-invalid",
        ),
        (
            "another server",
            with(&proof(&holder, &bound, "POST", "/mcp/other", "3", &nonce)),
            "proof-invalid",
        ),
        (
            "another token",
            with(&proof(&holder, &other, "POST", "/mcp/up", "4", &nonce)),
            "proof-invalid",
        ),
        (
            "a thief's key",
            with(&proof(&thief, &bound, "POST", "/mcp/up", "5", &nonce)),
            "proof-invalid",
        ),
        (
            "two proofs",
            with(&fresh("6")).with("dpop", &fresh("7")),
            "proof-invalid",
        ),
        ("no proof", plain.clone(), "proof-required"),
        (
            "a stolen token",
            caller(&gateway).with("authorization", &format!("Bearer {bound}")),
            "proof-required",
        ),
        (
            "a stolen token and proof",
            caller(&gateway)
                .with("authorization", &format!("Bearer {bound}"))
                .with("dpop", &fresh("8")),
            "proof-required",
        ),
    ] {
        let answer = call(&client, "/mcp/up", "e2").await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_deref()),
            (401, Some(code)),
            "{why}"
        );
        assert!(
            challenges(&answer)[0].starts_with("DPoP algs=\"ES256"),
            "{why}"
        );
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nonces_are_asked_for_the_refusal_brings_one_and_with_it_the_call_passes() {
    let (key, holder) = (Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let identity = configured("proofs = { nonces = true }", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let bound = token(&key, &claims("cnf", &bound_to(&holder)));
    let with = |jti: &str, more: &str| {
        caller(&gateway)
            .with("authorization", &format!("DPoP {bound}"))
            .with(
                "dpop",
                &proof(&holder, &bound, "POST", "/mcp/up", jti, more),
            )
    };
    let asked = call(&with("1", ""), "/mcp/up", "e1").await;
    assert_eq!(asked.code().as_deref(), Some("proof-nonce"));
    assert!(challenges(&asked)[0].contains("error=\"use_dpop_nonce\""));
    let nonce = asked.headers["dpop-nonce"].to_str().unwrap();
    let passed = call(
        &with("2", &format!(",\"nonce\":\"{nonce}\"")),
        "/mcp/up",
        "e1",
    )
    .await;
    assert_eq!(passed.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_whose_clock_is_ahead_counts_at_no_later_start_of_the_gateway() {
    let (key, holder) = (Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let identity = configured("proofs = { skew_s = 2 }", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let bound = token(&key, &claims("cnf", &bound_to(&holder)));
    let ahead = |jti: &str, more: &str| {
        let made = now() + 2;
        proof_made_at(made, &holder, &bound, "POST", "/mcp/up", jti, more)
    };
    let with = |gateway: &Gateway, proof: &str| {
        caller(gateway)
            .with("authorization", &format!("DPoP {bound}"))
            .with("dpop", proof)
    };
    // Once what it says of its time lies behind the first seconds, it needs none.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let used = ahead("1", "");
    let answer = call(&with(&gateway, &used), "/mcp/up", "e1").await;
    assert_eq!(answer.code(), None, "{}", answer.text());
    let (_, folder) = gateway.stop().await;
    let gateway = Gateway::start_in(folder).await;
    let again = call(&with(&gateway, &used), "/mcp/up", "e2").await;
    assert_eq!(again.code().as_deref(), Some("proof-nonce"));
    assert_eq!(upstream.effects(), 1);
    let nonce = nonce(&gateway, &holder, &bound).await;
    let fresh = call(&with(&gateway, &ahead("2", &nonce)), "/mcp/up", "e2").await;
    assert_eq!(fresh.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_over_its_agents_rate_is_counted_and_not_used_up_whatever_it_asks_for() {
    let (key, holder) = (Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let limits = "[limits]\nrequests_per_second = 1\nburst = 1\n";
    let identity = configured("proofs = { skew_s = 0 }", FILE);
    let folder = folder(
        &upstream,
        PERMIT_ALL,
        &format!("{identity}{limits}"),
        &key.set(),
    );
    let (clock, environment) = Moved::environment();
    let gateway = Gateway::start_at(folder, environment).await;
    let bound = token(&key, &claims("cnf", &bound_to(&holder)));
    let client = caller(&gateway).with("authorization", &format!("DPoP {bound}"));
    let mut moved = 0;
    let mut on = |seconds: u64| {
        clock.on(seconds);
        moved += seconds;
        moved
    };
    let mut counted = 0;
    for method in [Method::POST, Method::GET, Method::DELETE] {
        // Whatever was sent before, there is one request left now.
        let ahead = on(5);
        let made = |jti: &str| {
            let jti = format!("{method}{jti}");
            let name = method.as_str();
            proof_made_at(now() + ahead, &holder, &bound, name, "/mcp/up", &jti, "")
        };
        let code = async |proof: &str| {
            let client = client.with("dpop", proof);
            let sent = client.send(method.clone(), "/mcp/up", bytes::Bytes::from("{}"));
            let answer = sent.await;
            let said = answer.headers.get("retry-after").cloned();
            (answer.code().unwrap_or_default(), said)
        };
        let first = made("first");
        assert_ne!(code(&first).await.0, "rate-limited", "{method}");
        let mut over = None;
        for number in 0..50 {
            let proof = made(&number.to_string());
            let (code, wait) = code(&proof).await;
            if code == "rate-limited" {
                assert_eq!(wait.unwrap(), "1");
                over = Some(proof);
                break;
            }
        }
        let over = over.unwrap_or_else(|| panic!("{method}: never over its rate"));
        counted += 1;
        on(5);
        // Who sends what they have overheard takes nothing from the agent's rate.
        for _ in 0..3 {
            assert_eq!(code(&first).await.0, "proof-replayed", "{method}");
        }
        let (met, _) = code(&over).await;
        let used = ["rate-limited", "proof-replayed", "proof-invalid"].contains(&&*met);
        assert!(!used, "{method}: {met}");
        assert_eq!(code(&over).await.0, "proof-replayed", "{method}");
    }
    let (_, folder) = gateway.stop().await;
    let of_agent = entries(folder.path())
        .into_iter()
        .filter(|entry| entry["kind"] == "suppressed" && entry["agent"]["subject"] == "billing");
    let total: u64 = of_agent
        .map(|entry| entry["suppressed"]["count"].as_u64().unwrap())
        .sum();
    assert_eq!(total, counted, "each attempt over the rate is counted");
}
