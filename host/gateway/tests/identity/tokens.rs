//! Which tokens name an agent, and what a client is told of how to get one.

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::issuer::{BASE, ISSUER, Key, claims, configured, encode, now, token};
use crate::support::{Gateway, PERMIT_ALL, Upstream, entries};
use crate::{FILE, call, caller, challenges, folder};

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
async fn nothing_that_a_caller_writes_stands_in_a_challenge() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let identity = configured("scopes = [\"tools\"]", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let challenges = async |method: &str, target: &str| {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let lines = answer
            .lines()
            .filter(|line| line.starts_with("www-authenticate:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let known = format!("resource_metadata=\"{BASE}/.well-known/oauth-protected-resource/mcp/up\"");
    for method in ["GET", "POST", "DELETE"] {
        for target in ["/mcp/up", "/mcp/up?marker=1"] {
            let told = challenges(method, target).await;
            assert!(
                told.len() == 2 && told.iter().all(|one| one.contains(&known)),
                "{told:?}"
            );
        }
        for target in [
            "/mcp/a\",error=\"marker",
            "/mcp/up\",error=\"marker",
            "/mcp/marker",
            "/mcp/marker,DPoP",
            "/mcp/marker%22%2Cerror",
            "/mcp/u%70",
            "/mcp/UP",
            "/mcp",
        ] {
            let told = challenges(method, target).await;
            // Some are no target of a request at all.
            for one in &told {
                assert!(
                    !one.contains("marker") && !one.contains("%"),
                    "{target}: {one}"
                );
                assert!(!one.contains("resource_metadata"), "{target}: {one}");
                assert!(one.contains("scope=\"tools\""), "{target}: {one}");
            }
        }
        assert_eq!(challenges(method, "/mcp/marker").await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_token_is_bound_a_proof_is_what_is_asked_for() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let identity = configured("bound_only = true", FILE);
    let gateway = Gateway::start_in(folder(&upstream, PERMIT_ALL, &identity, &key.set())).await;
    let told = challenges(&call(&caller(&gateway), "/mcp/up", "e1").await);
    assert!(told.len() == 1 && told[0].starts_with("DPoP "), "{told:?}");
    let path = "/.well-known/oauth-protected-resource/mcp/up";
    let found = gateway.client().send(Method::GET, path, Bytes::new()).await;
    assert_eq!(found.json()["dpop_bound_access_tokens_required"], true);
}
