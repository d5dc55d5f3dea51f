//! An issuer's keys, from a URL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_gateway::identity::{Token, TokenFile};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::issuer::{Jwks, Key, claims, configured, now};
use crate::support::clock::Moved;
use crate::support::{self, Gateway, PERMIT_ALL, Upstream};
use crate::{FILE, call, caller, folder};

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

/// Issuers that take connections and never answer: where each listens, and how many of
/// all connections came and have ended.
async fn black_holes(count: usize) -> (Vec<String>, Arc<[AtomicUsize; 2]>) {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let mut addresses = Vec::new();
    for _ in 0..count {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap().to_string());
        let counts = Arc::clone(&counts);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counts[0].fetch_add(1, Ordering::SeqCst);
                let counts = Arc::clone(&counts);
                tokio::spawn(async move {
                    let mut asked = Vec::new();
                    let _ = stream.read_to_end(&mut asked).await;
                    counts[1].fetch_add(1, Ordering::SeqCst);
                });
            }
        });
    }
    (addresses, counts)
}

#[tokio::test(flavor = "multi_thread")]
async fn issuers_that_do_not_answer_delay_no_revocation() {
    const ISSUERS: usize = 2;
    let upstream = Upstream::start().await;
    let (addresses, counts) = black_holes(ISSUERS).await;
    let mut identity = "[identity]\nmode = [\"tokens\", \"jwt\"]\ntokens = \"tokens.toml\"\n\
                        resource = \"https://gateway.example\"\n"
        .to_owned();
    for address in &addresses {
        identity.push_str(&format!(
            "[[identity.issuer]]\nname = \"https://{address}\"\njwks_url = \"http://{address}/\"\n"
        ));
    }
    let folder = folder(&upstream, PERMIT_ALL, &identity, "{}");
    let path = folder.path().join("tokens.toml");
    let token = Token::from_random([7; 32]);
    let mut granted = TokenFile::default();
    granted
        .add("billing", &token, "2026-01-01T00:00:00.000000Z")
        .unwrap();
    std::fs::write(&path, granted.to_text()).unwrap();
    let (clock, environment) = Moved::environment();
    let gateway = Gateway::start_at(folder, environment).await;
    let code = async || {
        let bearer = format!("Bearer {}", token.reveal());
        let client = caller(&gateway).with("authorization", &bearer);
        call(&client, "/mcp/up", "once").await.code()
    };
    let becomes = async |revoked: bool| {
        while (code().await.as_deref() == Some("unauthenticated")) != revoked {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    // A fetch ends after five seconds, so a machine that was busy is asked again.
    for _ in 0..5 {
        std::fs::write(&path, granted.to_text()).unwrap();
        becomes(false).await;
        let [came, ended] = &*counts;
        let before = came.load(Ordering::SeqCst);
        clock.on(11);
        support::until("an issuer is asked", || {
            came.load(Ordering::SeqCst) > before
        })
        .await;
        std::fs::write(&path, "# nobody\n").unwrap();
        becomes(true).await;
        if ended.load(Ordering::SeqCst) < before + ISSUERS {
            return;
        }
    }
    panic!("the revocation always waited for the issuers");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_asked_for_are_fetched_though_whoever_caused_it_hangs_up() {
    let upstream = Upstream::start().await;
    let (clock, environment) = Moved::environment();
    let first = Key::ec();
    let jwks = Jwks::serve(&first.set()).await;
    let url = format!("jwks_url = \"http://{}/keys\"", jwks.address);
    let folder = folder(&upstream, PERMIT_ALL, &configured("", &url), "{}");
    let gateway = Gateway::start_at(folder, environment).await;
    // Nobody signed it: an issuer's name is all that it takes.
    let header = crate::issuer::encode(r#"{"alg":"ES256","kid":"zz"}"#);
    let unsigned = format!(
        "{header}.{}.AA",
        crate::issuer::encode(claims("sub", "\"x\""))
    );
    let (mut asked, code) = (jwks.asked(), async |token: &str| {
        let client = caller(&gateway).with("authorization", &format!("Bearer {token}"));
        call(&client, "/mcp/up", "x").await.code()
    });
    for (number, method) in ["GET", "POST", "DELETE"].into_iter().enumerate() {
        let next = Key::ec();
        let name = format!("k{number}");
        jwks.give(
            "200 OK",
            &next.set().replace("\"k\"", &format!("\"{name}\"")),
        );
        jwks.hold(true);
        clock.on(11);
        let mut client = TcpStream::connect(gateway.address).await.unwrap();
        let head = format!(
            "{method} /mcp/up HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {unsigned}\r\n\
             Content-Length: 0\r\n\r\n"
        );
        client.write_all(head.as_bytes()).await.unwrap();
        asked += 1;
        support::until("the keys are asked for", || jwks.asked() == asked).await;
        drop(client);
        // So that the gateway sees that before the answer comes.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        jwks.hold(false);
        let header = format!(r#"{{"alg":"ES256","kid":"{name}"}}"#);
        let token = next.compact(&header, &claims("", ""));
        let invalid = Some("token-invalid".to_owned());
        for _ in 0..200 {
            if code(&token).await != invalid {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_ne!(code(&token).await, invalid, "{method}");
        assert_eq!(jwks.asked(), asked, "{method}: the try was not lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_without_usable_keys_withdraws_all_of_them() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let for_encryption = key.set().replace("\"kid\"", "\"use\":\"enc\",\"kid\"");
    for without in [
        r#"{"keys":[]}"#,
        r#"{"keys":[{"kty":"oct","k":"AAAA","kid":"k"}]}"#,
        r#"{"keys":[{"kty":"RSA","kid":"k"},{}]}"#,
        &for_encryption,
    ] {
        for of_url in [true, false] {
            let jwks = Jwks::serve(&key.set()).await;
            let from = match of_url {
                true => format!("jwks_url = \"http://{}/keys\"", jwks.address),
                false => FILE.to_owned(),
            };
            let folder = folder(&upstream, PERMIT_ALL, &configured("", &from), &key.set());
            let (clock, environment) = Moved::environment();
            let gateway = Gateway::start_at(folder, environment).await;
            let long = format!("{}", now() + 100_000);
            let header = r#"{"alg":"ES256","kid":"k"}"#;
            let token = key.compact(header, &claims("exp", &long));
            let client = caller(&gateway).with("authorization", &format!("Bearer {token}"));
            let code = async || call(&client, "/mcp/up", "x").await.code();
            assert_ne!(code().await.as_deref(), Some("token-invalid"));
            jwks.give("200 OK", without);
            std::fs::write(gateway.path().join("jwks.json"), without).unwrap();
            clock.on(400);
            let mut said = code().await;
            for _ in 0..200 {
                if said.as_deref() == Some("token-invalid") {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                said = code().await;
            }
            assert_eq!(
                said.as_deref(),
                Some("token-invalid"),
                "{of_url}: {without}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_whose_file_cannot_be_read_end_after_a_while_and_come_back_with_it() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    for spoiled in [None, Some(""), Some("{}")] {
        let folder = folder(&upstream, PERMIT_ALL, &configured("", FILE), &key.set());
        let (clock, environment) = Moved::environment();
        let gateway = Gateway::start_at(folder, environment).await;
        let path = gateway.path().join("jwks.json");
        let long = format!("{}", now() + 100_000);
        let token = crate::issuer::token(&key, &claims("exp", &long));
        let client = caller(&gateway).with("authorization", &format!("Bearer {token}"));
        let becomes = async |away: bool| {
            for _ in 0..400 {
                let code = call(&client, "/mcp/up", "x").await.code();
                if (code.as_deref() == Some("issuer-unavailable")) == away {
                    return;
                }
                // Looked at each second; ten of them pass with ten looks.
                clock.on(1);
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            panic!("{spoiled:?}: away should be {away}");
        };
        becomes(false).await;
        match spoiled {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        }
        becomes(true).await;
        std::fs::write(&path, key.set()).unwrap();
        becomes(false).await;
    }
}
