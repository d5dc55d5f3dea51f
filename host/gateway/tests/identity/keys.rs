//! An issuer's keys, from a URL.

use crate::issuer::{Jwks, Key, claims, configured, now};
use crate::support::clock::Moved;
use crate::support::{Gateway, PERMIT_ALL, Upstream};
use crate::{call, caller, folder};

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
