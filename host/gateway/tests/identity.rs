//! Who is taken for an agent, by token and proof, over real HTTP.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "support/issuer.rs"]
mod issuer;
#[path = "../../identity/tests/support/mod.rs"]
mod signing;
mod support;

use std::path::Path;

use bytes::Bytes;
use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::export;
use countersign_verifier::{Claim, Components, Inputs, Level, RequestFile, Status, verify};
use http::Method;
use issuer::{BASE, ISSUER, Jwks, Key, bound_to, claims, configured, encode, now, proof, token};
use support::client::modern_call;
use support::clock::Moved;
use support::{Client, Gateway, PERMIT_ALL, Upstream, entries};

const FILE: &str = "jwks_file = \"jwks.json\"";

fn folder(upstream: &Upstream, policies: &str, identity: &str, keys: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(folder.path().join("policies/test.cedar"), policies).unwrap();
    std::fs::write(folder.path().join("jwks.json"), keys).unwrap();
    let url = upstream.url();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{identity}\n[policy]\nfolder = \"policies\"\n\
         [[server]]\nname = \"up\"\nurl = \"{url}\"\n[[server]]\nname = \"other\"\nurl = \"{url}\"\n"
    );
    std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
    folder
}

/// A call of 2026-07-28, so that each request stands alone.
fn caller(gateway: &Gateway) -> Client {
    gateway.client().modern("tools/call", Some("pay"))
}

async fn call(client: &Client, path: &str, execution_id: &str) -> support::client::Answer {
    let body = modern_call(1, "pay", "{}", Some(execution_id));
    client.send(Method::POST, path, Bytes::from(body)).await
}

fn challenges(answer: &support::client::Answer) -> Vec<String> {
    let values = answer.headers.get_all("www-authenticate").iter();
    values
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_token_of_the_issuer_for_this_server_at_this_time_names_an_agent() {
    let (key, stranger) = (Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let identity = configured("scopes = [\"tools\"]", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let good = |name: &str, value: &str| {
        let claims = claims(name, value).replacen('{', "{\"scope\":\"tools\",", 1);
        token(&key, &claims)
    };
    let none = format!(
        "{}.{}.",
        encode(r#"{"alg":"none"}"#),
        encode(claims("x", "1"))
    );
    let secret = {
        let signed = format!(
            "{}.{}",
            encode(r#"{"alg":"HS256","kid":"k"}"#),
            encode(claims("x", "1"))
        );
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.set().as_bytes());
        format!(
            "{signed}.{}",
            encode(ring::hmac::sign(&secret, signed.as_bytes()))
        )
    };
    let unknown_key = key.compact(r#"{"alg":"ES256","kid":"other"}"#, &claims("x", "1"));
    let bearer = |token: &str| caller(&gateway).with("authorization", &format!("Bearer {token}"));
    let whole = good("x", "1");
    let metadata =
        format!("resource_metadata=\"{BASE}/.well-known/oauth-protected-resource/mcp/up\"");
    for (why, client, status, code, error) in [
        ("nothing", caller(&gateway), 401, "unauthenticated", ""),
        (
            "expired",
            bearer(&good("exp", &(now() - 31).to_string())),
            401,
            "token-expired",
            "invalid_token",
        ),
        (
            "not valid yet",
            bearer(&good("nbf", &(now() + 40).to_string())),
            401,
            "token-not-yet-valid",
            "invalid_token",
        ),
        (
            "another server's token",
            bearer(&good("aud", &format!("\"{BASE}/mcp/other\""))),
            401,
            "token-audience",
            "invalid_token",
        ),
        (
            "another resource's token",
            bearer(&good("aud", "\"https://api.example\"")),
            401,
            "token-audience",
            "invalid_token",
        ),
        (
            "another issuer",
            bearer(&good("iss", "\"https://evil.example\"")),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "alg none",
            bearer(&none),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "HS256 with the public key",
            bearer(&secret),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "a stranger's key",
            bearer(&token(&stranger, &claims("scope", "\"tools\""))),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "an unknown key",
            bearer(&unknown_key),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "no JWT",
            bearer("csgn_00"),
            401,
            "token-invalid",
            "invalid_token",
        ),
        (
            "without the scope",
            bearer(&token(&key, &claims("x", "1"))),
            403,
            "token-scope",
            "insufficient_scope",
        ),
        (
            "two headers",
            bearer(&whole).with("authorization", &format!("Bearer {whole}")),
            400,
            "authorization-malformed",
            "invalid_request",
        ),
        (
            "the scheme of a proof",
            caller(&gateway).with("authorization", &format!("DPoP {whole}")),
            401,
            "proof-invalid",
            "invalid_dpop_proof",
        ),
    ] {
        let answer = call(&client, "/mcp/up", "e1").await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_deref()),
            (status, Some(code)),
            "{why}"
        );
        let challenges = challenges(&answer);
        let first = challenges.first().unwrap_or_else(|| panic!("{why}"));
        assert!(
            first.contains(&metadata) && first.contains("scope=\"tools\""),
            "{why}: {first}"
        );
        assert_eq!(
            first.contains(&format!("error=\"{error}\"")),
            !error.is_empty(),
            "{why}: {first}"
        );
    }
    let in_url = call(
        &caller(&gateway),
        &format!("/mcp/up?access_token={whole}"),
        "e1",
    )
    .await;
    assert_eq!(in_url.code().as_deref(), Some("authorization-malformed"));
    // The confused deputy: a good token for one server, presented at another.
    let elsewhere = call(&bearer(&whole), "/mcp/other", "e1").await;
    assert_eq!(elsewhere.code().as_deref(), Some("token-audience"));
    assert_eq!(upstream.effects(), 0);
    assert_eq!(call(&bearer(&whole), "/mcp/up", "e1").await.code(), None);
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let attempts = entries
        .iter()
        .filter(|entry| !entry["call_id"].is_null())
        .count();
    assert_eq!(
        attempts, 2,
        "admission and terminal of the one call: others leave none"
    );
    let log = format!("{entries:?}");
    assert!(
        !log.contains(whole.rsplit('.').next().unwrap()),
        "no token is in the log"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_and_evidence_have_each_fact_in_a_field_of_its_own() {
    let (key, holder) = (Key::ec(), Key::ec());
    let policies = format!(
        "permit (principal, action, resource) when {{\n\
         context has represented_user && context.represented_user == \"alice\" &&\n\
         context has audience && context.audience == \"{BASE}/mcp/up\" &&\n\
         context has proof_key && context.proof_key like \"jkt:*\" &&\n\
         context has authority && context.authority == \"{{\\\"sub\\\":\\\"desk\\\"}}\" }};\n"
    );
    let upstream = Upstream::start().await;
    let identity = configured("", &format!("{FILE}\nuser_claim = \"user\""));
    let gateway = Gateway::start_in(folder(&upstream, &policies, &identity, &key.set())).await;
    let with = |more: &str, jti: &str| {
        let claims = claims("cnf", &bound_to(&holder)).replacen('{', &format!("{{{more}"), 1);
        let token = token(&key, &claims);
        caller(&gateway)
            .with("authorization", &format!("DPoP {token}"))
            .with("dpop", &proof(&holder, &token, "POST", "/mcp/up", jti, ""))
    };
    let act = "\"act\":{\"sub\":\"desk\"},";
    let user = "\"user\":\"alice\",";
    let all = call(&with(&format!("{act}{user}"), "1"), "/mcp/up", "e1").await;
    assert_eq!(all.code(), None, "{}", all.text());
    for (more, jti) in [(act, "2"), (user, "3")] {
        let denied = call(&with(more, jti), "/mcp/up", jti).await;
        assert_eq!(
            denied.code().as_deref(),
            Some("policy-denied"),
            "without {more}"
        );
    }
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let admission = entries
        .iter()
        .find(|entry| entry["kind"] == "admission")
        .unwrap();
    assert_eq!(admission["agent"]["method"], "jwt");
    assert_eq!(admission["agent"]["issuer"], ISSUER);
    assert_eq!(admission["agent"]["subject"], "billing");
    assert_eq!(admission["represented_user"], "alice");
    assert_eq!(admission["authority"], "{\"sub\":\"desk\"}");
    assert_eq!(
        admission["policy_inputs"]["audience"],
        format!("{BASE}/mcp/up")
    );
    let proof_key = admission["policy_inputs"]["proof_key"].as_str().unwrap();
    assert_eq!(
        bound_to(&holder),
        format!("{{\"jkt\":\"{}\"}}", &proof_key[4..])
    );
    tokio::task::block_in_place(|| decided_again(folder.path()));
    let denied: Vec<_> = entries
        .iter()
        .filter(|entry| entry["refusal"] == "policy-denied")
        .collect();
    assert!(denied[0]["represented_user"].is_null() && denied[1]["authority"].is_null());
}

/// A stranger who holds the requests makes the same decisions from what the
/// entries say of the caller.
fn decided_again(folder: &Path) {
    let config = Config::read(&folder.join("countersign.toml")).unwrap();
    let environment = Environment::system();
    let key = export::open_store(&config.store, &environment).unwrap();
    let trusted = key.key.clone();
    key.ledger.stop().unwrap();
    let all = export::Wanted {
        selection: countersign_ledger::Selection::All,
        salts: true,
    };
    let bundle = export::from_store(&config.store, &environment, &all, Vec::new()).unwrap();
    let requests = ["e1", "2", "3"].map(|id| RequestFile {
        name: id.to_owned(),
        message: modern_call(1, "pay", "{}", Some(id)).into_bytes(),
    });
    let engine = countersign_engine::Engine::new(&countersign_engine::Settings::default()).unwrap();
    let inputs = Inputs {
        requests: requests.to_vec(),
        trusted: vec![trusted],
        components: Components::of(&countersign_engine::Profiles::embedded(&engine).unwrap()),
        ..Inputs::default()
    };
    let report = verify(std::io::Cursor::new(bundle), &inputs).unwrap();
    let claims = String::from_utf8(report.to_json(&Level::default())).unwrap();
    assert_eq!(report.status(Claim::Decision), Status::Verified, "{claims}");
    assert!(
        claims.contains("3 decisions made again, the same"),
        "{claims}"
    );
}

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
    let fresh = |jti: &str| proof(&holder, &bound, "POST", "/mcp/up", jti, "");
    assert_eq!(call(&with(&fresh("1")), "/mcp/up", "e1").await.code(), None);
    for (why, client, code) in [
        ("the same proof", with(&fresh("1")), "proof-replayed"),
        (
            "another method",
            with(&proof(&holder, &bound, "GET", "/mcp/up", "2", "")),
            "proof-invalid",
        ),
        (
            "another server",
            with(&proof(&holder, &bound, "POST", "/mcp/other", "3", "")),
            "proof-invalid",
        ),
        (
            "another token",
            with(&proof(&holder, &other, "POST", "/mcp/up", "4", "")),
            "proof-invalid",
        ),
        (
            "a thief's key",
            with(&proof(&thief, &bound, "POST", "/mcp/up", "5", "")),
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
async fn a_client_finds_out_where_to_get_a_token_for_each_server() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let identity = configured("scopes = [\"tools\"]", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let get = async |path: &str| gateway.client().send(Method::GET, path, Bytes::new()).await;
    let found = get("/.well-known/oauth-protected-resource/mcp/up").await;
    assert_eq!(found.headers["content-type"], "application/json");
    assert_eq!(
        found.json(),
        serde_json::json!({
            "resource": format!("{BASE}/mcp/up"),
            "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["tools"],
            "dpop_signing_alg_values_supported": ["ES256", "EdDSA", "RS256"],
            "dpop_bound_access_tokens_required": false,
            "tls_client_certificate_bound_access_tokens": false,
        })
    );
    let unknown = get("/.well-known/oauth-protected-resource/mcp/none").await;
    assert_eq!(unknown.status, 404);
    let ambiguous = get("/.well-known/oauth-protected-resource").await;
    assert_eq!(ambiguous.status, 404, "with two servers it names none");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_kept_and_fetched_again_but_never_at_a_callers_pace() {
    let (first, second) = (Key::ec(), Key::ec());
    let upstream = Upstream::start().await;
    let jwks = Jwks::serve(&first.set()).await;
    let url = format!(
        "jwks_url = \"http://{}/keys\"\nkeep_s = 3600\nrefresh_s = 300",
        jwks.address
    );
    let (clock, environment) = Moved::environment();
    let folder = folder(&upstream, PERMIT_ALL, &configured("", &url), "{}");
    let gateway = Gateway::start_at(folder, environment).await;
    assert_eq!(jwks.asked(), 1);
    let code = async |token: String, id: &str| {
        let client = caller(&gateway).with("authorization", &format!("Bearer {token}"));
        call(&client, "/mcp/up", id).await.code()
    };
    let long = format!("{}", now() + 100_000);
    let of = |key: &Key, name: &str| {
        let header = format!(r#"{{"alg":"ES256","kid":"{name}"}}"#);
        key.compact(&header, &claims("exp", &long))
    };
    assert_eq!(code(of(&first, "k"), "1").await, None);
    for number in 0..5 {
        let strange = of(&first, &format!("s{number}"));
        assert_eq!(code(strange, "x").await.as_deref(), Some("token-invalid"));
    }
    assert_eq!(jwks.asked(), 1, "tried within the last ten seconds");
    // The issuer changes its key: the first token under it brings the news.
    jwks.give("200 OK", &second.set().replace("\"k\"", "\"k2\""));
    clock.on(11);
    assert_eq!(code(of(&second, "k2"), "2").await, None);
    assert_eq!(jwks.asked(), 2);
    assert_eq!(
        code(of(&first, "k"), "3").await.as_deref(),
        Some("token-invalid"),
        "withdrawn"
    );
    // What is no set, or somewhere else, or too large, changes nothing.
    let large = format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(262_144));
    for (status, body) in [
        ("200 OK", "{}"),
        ("302 Found", ""),
        ("500 Oops", ""),
        ("200 OK", &*large),
    ] {
        jwks.give(status, body);
        clock.on(400);
        let asked = jwks.asked();
        assert_eq!(
            code(of(&second, "zz"), "x").await.as_deref(),
            Some("token-invalid")
        );
        assert!(jwks.asked() > asked, "{status}");
        assert_eq!(
            code(of(&second, "k2"), "2").await.as_deref(),
            Some("replay")
        );
    }
    // But not for ever.
    clock.on(3_601);
    assert_eq!(
        code(of(&second, "k2"), "2").await.as_deref(),
        Some("issuer-unavailable")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_moves_to_tokens_of_an_issuer_keeps_its_executions() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let secret = countersign_gateway::identity::Token::from_random([7; 32]);
    let mut file = countersign_gateway::identity::TokenFile::default();
    file.add("old-billing", &secret, "2026-01-01T00:00:00.000000Z")
        .unwrap();
    let identity = "[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"";
    let folder = folder(&upstream, PERMIT_ALL, identity, &key.set());
    std::fs::write(folder.path().join("tokens.toml"), file.to_text()).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let client = caller(&gateway).with("authorization", &format!("Bearer {}", secret.reveal()));
    assert_eq!(call(&client, "/mcp/up", "e1").await.code(), None);
    let (_, folder) = gateway.stop().await;

    let path = folder.path().join("countersign.toml");
    let both =
        configured("tokens = \"tokens.toml\"", FILE).replace("\"jwt\"", "[\"tokens\", \"jwt\"]");
    let alias = format!(
        "[[identity.alias]]\nfrom = {{ method = \"jwt\", issuer = \"{ISSUER}\", subject = \"billing\" }}\n\
         to = {{ method = \"token\", subject = \"old-billing\" }}\n"
    );
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace(identity, &format!("{both}{alias}"));
    std::fs::write(&path, text).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let jwt = token(&key, &claims("x", "1"));
    let moved = caller(&gateway).with("authorization", &format!("Bearer {jwt}"));
    assert_eq!(
        call(&moved, "/mcp/up", "e1").await.code().as_deref(),
        Some("replay")
    );
    let still = caller(&gateway).with("authorization", &format!("Bearer {}", secret.reveal()));
    assert_eq!(
        call(&still, "/mcp/up", "e1").await.code().as_deref(),
        Some("replay")
    );
    let stranger = token(&key, &claims("sub", "\"other\""));
    let stranger = caller(&gateway).with("authorization", &format!("Bearer {stranger}"));
    assert_eq!(
        call(&stranger, "/mcp/up", "e1").await.code(),
        None,
        "an execution of its own"
    );
    assert_eq!(upstream.effects(), 2);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let alias = entries
        .iter()
        .find(|entry| entry["kind"] == "alias")
        .unwrap();
    assert_eq!(alias["agent"]["method"], "jwt");
    assert_eq!(alias["agent_before"]["subject"], "old-billing");
}
