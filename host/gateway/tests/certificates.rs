//! Agents that are known by a certificate, and tokens that are bound to one.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "support/issuer.rs"]
mod issuer;
#[path = "../../identity/tests/support/mod.rs"]
mod signing;
mod support;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use issuer::{BASE, ISSUER, Key, claims, encode, token};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};
use support::client::modern_call;
use support::{Gateway, PERMIT_ALL, Upstream, entries};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate with its key.
struct Pair(rcgen::Certificate, KeyPair);

fn leaf(authority: &Authority, uris: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    for uri in uris {
        params
            .subject_alt_names
            .push(SanType::URI((*uri).try_into().unwrap()));
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    Pair(params.signed_by(&key, authority).unwrap(), key)
}

fn write(folder: &Path, front: &Pair) {
    std::fs::write(folder.join("front.key"), front.1.serialize_pem()).unwrap();
    std::fs::write(folder.join("front.pem"), front.0.pem()).unwrap();
}

/// `identity` is a table, with other tables before it.
async fn start(upstream: &Upstream, ca: &Authority, identity: &str, keys: &str) -> Gateway {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &leaf(ca, &[], |_| {}));
    std::fs::write(folder.path().join("ca.pem"), ca.pem()).unwrap();
    std::fs::write(folder.path().join("jwks.json"), keys).unwrap();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(folder.path().join("policies/test.cedar"), PERMIT_ALL).unwrap();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{identity}\n[tls]\ncertificate = \"front.pem\"\nkey = \"front.key\"\n\
         client_ca = \"ca.pem\"\n[policy]\nfolder = \"policies\"\n[[server]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url()
    );
    std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
    Gateway::start_in(folder).await
}

type Sender = hyper::client::conn::http1::SendRequest<Full<Bytes>>;

/// A connection that shows a certificate; an error where TLS did not get so far.
async fn connect(
    gateway: &Gateway,
    ca: &Authority,
    shown: Option<&Pair>,
) -> Result<Sender, String> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some(Pair(certificate, key)) => {
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let chain = vec![certificate.der().clone()];
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await;
    let stream = stream.map_err(|error| failed(&error))?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failed(&error))?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The code of the refusal, or `passed`, with the challenges.
async fn ask(
    sender: &mut Sender,
    authorization: Option<&str>,
    execution_id: &str,
) -> Result<(String, Vec<String>), String> {
    let mut request = Request::post("/mcp/up")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "pay");
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    let body = Bytes::from(modern_call(1, "pay", "{}", Some(execution_id)));
    // An answer may be read before its connection takes another request.
    sender.ready().await.map_err(|error| error.to_string())?;
    let sent = sender
        .send_request(request.body(Full::new(body)).unwrap())
        .await;
    let response = sent.map_err(|error| error.to_string())?;
    let challenges = response.headers().get_all("www-authenticate").iter();
    let challenges = challenges
        .map(|value| value.to_str().unwrap().to_owned())
        .collect();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let code = json["error"]["data"]["code"].as_str();
    Ok((code.unwrap_or("passed").to_owned(), challenges))
}

/// The same on a connection of its own, without the challenges.
async fn call(
    gateway: &Gateway,
    ca: &Authority,
    shown: Option<&Pair>,
    authorization: Option<&str>,
    execution_id: &str,
) -> Result<String, String> {
    let mut sender = connect(gateway, ca, shown).await?;
    let told = ask(&mut sender, authorization, execution_id).await?;
    Ok(told.0)
}

const MTLS: &str = "[identity]\nmode = \"mtls\"\ntrust_domain = \"example.org\"";

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_the_trust_domain_names_a_workload_and_no_other_does() {
    let (ca, stranger) = (authority(), authority());
    let upstream = Upstream::start().await;
    let gateway = start(&upstream, &ca, MTLS, "{}").await;
    let billing = ["spiffe://example.org/billing"];
    let good = leaf(&ca, &billing, |_| {});
    assert_eq!(
        call(&gateway, &ca, Some(&good), None, "e1").await,
        Ok("passed".into())
    );
    let refused = Ok("client-certificate".to_owned());
    for (why, shown) in [
        (
            "two workloads",
            leaf(
                &ca,
                &["spiffe://example.org/a", "spiffe://example.org/b"],
                |_| {},
            ),
        ),
        ("none", leaf(&ca, &[], |_| {})),
        (
            "a page",
            leaf(&ca, &["https://example.org/billing"], |_| {}),
        ),
        (
            "another trust domain",
            leaf(&ca, &["spiffe://evil.example/billing"], |_| {}),
        ),
        (
            "a key that signs certificates",
            leaf(&ca, &billing, |p| {
                p.key_usages.push(KeyUsagePurpose::KeyCertSign);
            }),
        ),
    ] {
        assert_eq!(
            call(&gateway, &ca, Some(&shown), None, "e2").await,
            refused,
            "{why}"
        );
    }
    let expired = leaf(&ca, &billing, |p| {
        p.not_before = rcgen::date_time_ymd(2020, 1, 1);
        p.not_after = rcgen::date_time_ymd(2020, 1, 2);
    });
    let strange = leaf(&stranger, &billing, |_| {});
    for (why, shown) in [
        ("no certificate", None),
        ("a stranger's", Some(&strange)),
        ("expired", Some(&expired)),
    ] {
        let met = call(&gateway, &ca, shown, None, "e2").await;
        assert!(met.is_err(), "{why}: {met:?}");
    }
    assert_eq!(upstream.effects(), 1);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let admission = entries
        .iter()
        .find(|entry| entry["kind"] == "admission")
        .unwrap();
    let agent = &admission["agent"];
    assert_eq!(
        (&agent["method"], &agent["issuer"], &agent["subject"]),
        (&"mtls".into(), &"example.org".into(), &"/billing".into())
    );
    let key = admission["policy_inputs"]["proof_key"].as_str().unwrap();
    assert!(key.starts_with("x5t#S256:"));
    assert!(admission["policy_inputs"]["audience"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_bound_to_a_certificate_counts_on_its_connections_alone() {
    let ca = authority();
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let identity = format!(
        "[identity]\nmode = [\"jwt\", \"mtls\"]\nresource = \"{BASE}\"\ntrust_domain = \"example.org\"\n\
         [[identity.issuer]]\nname = \"{ISSUER}\"\njwks_file = \"jwks.json\""
    );
    let gateway = start(&upstream, &ca, &identity, &key.set()).await;
    let holder = leaf(&ca, &["spiffe://example.org/a"], |_| {});
    let other = leaf(&ca, &["spiffe://example.org/b"], |_| {});
    let hash = ring::digest::digest(&ring::digest::SHA256, holder.0.der());
    let bound = token(
        &key,
        &claims("cnf", &format!("{{\"x5t#S256\":\"{}\"}}", encode(hash))),
    );
    let bearer = format!("Bearer {bound}");
    for (why, shown, authorization, code) in [
        ("its own", Some(&holder), Some(&*bearer), "passed"),
        ("another's", Some(&other), Some(&*bearer), "proof-invalid"),
        ("none", None, Some(&*bearer), "proof-required"),
        ("the certificate alone", Some(&other), None, "passed"),
        ("neither", None, None, "unauthenticated"),
    ] {
        let id = why.replace(['\'', ' '], "-");
        let met = call(&gateway, &ca, shown, authorization, &id).await;
        assert_eq!(met, Ok(code.to_owned()), "{why}");
    }
    let (_, folder) = gateway.stop().await;
    let agents: Vec<String> = entries(folder.path())
        .iter()
        .filter(|entry| entry["kind"] == "admission")
        .map(|entry| entry["agent"]["subject"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        agents,
        ["billing", "/b"],
        "the token names the workload, the certificate only itself"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_bound_to_a_certificate_is_refused_under_its_own_scheme() {
    let ca = authority();
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let holder = leaf(&ca, &["spiffe://example.org/a"], |_| {});
    let other = leaf(&ca, &["spiffe://example.org/b"], |_| {});
    let hash = ring::digest::digest(&ring::digest::SHA256, holder.0.der());
    let cnf = format!("{{\"x5t#S256\":\"{}\"}}", encode(hash));
    let bearer = format!("Bearer {}", token(&key, &claims("cnf", &cnf)));
    for bound_only in [false, true] {
        let identity = format!(
            "[identity]\nmode = [\"jwt\", \"mtls\"]\nresource = \"{BASE}\"\ntrust_domain = \"example.org\"\n\
             bound_only = {bound_only}\n\
             [[identity.issuer]]\nname = \"{ISSUER}\"\njwks_file = \"jwks.json\""
        );
        let gateway = start(&upstream, &ca, &identity, &key.set()).await;
        for (why, shown, code) in [
            ("another certificate", Some(&other), "proof-invalid"),
            ("none", None, "proof-required"),
        ] {
            let mut sender = connect(&gateway, &ca, shown).await.unwrap();
            let (met, challenges) = ask(&mut sender, Some(&bearer), "e1").await.unwrap();
            assert_eq!(met, code, "{why}");
            let [challenge] = &*challenges else {
                panic!("{why}: {challenges:?}");
            };
            let sound =
                challenge.starts_with("Bearer ") && challenge.contains("error=\"invalid_token\"");
            assert!(sound, "{why}: {challenge}");
        }
        // Who has nothing is told of both ways, since a certificate is one.
        let mut sender = connect(&gateway, &ca, None).await.unwrap();
        let (_, challenges) = ask(&mut sender, None, "e1").await.unwrap();
        assert!(challenges[0].starts_with("Bearer "), "{challenges:?}");
        assert!(challenges[1].starts_with("DPoP "), "{challenges:?}");
        let path = "/.well-known/oauth-protected-resource/mcp/up";
        let request = Request::get(path).header("host", "localhost");
        sender.ready().await.unwrap();
        let sent = sender.send_request(request.body(Full::default()).unwrap());
        let body = sent.await.unwrap().into_body().collect().await.unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&body.to_bytes()).unwrap();
        assert_eq!(metadata["dpop_bound_access_tokens_required"], false);
        assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true);
    }
}

/// A client's own stream on a connection, open.
async fn stream(mut sender: Sender) -> hyper::body::Incoming {
    let request = |method: &str, session: &str| {
        let request = Request::builder()
            .method(method)
            .uri("/mcp/up")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2025-11-25");
        match session {
            "" => request.header("accept", "application/json, text/event-stream"),
            session => request
                .header("accept", "text/event-stream")
                .header("mcp-session-id", session),
        }
    };
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let opened = request("POST", "").body(Full::new(Bytes::from(body)));
    let opened = sender.send_request(opened.unwrap()).await.unwrap();
    let session = opened.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    opened.into_body().collect().await.unwrap();
    let stream = request("GET", &session).body(Full::default()).unwrap();
    sender.ready().await.unwrap();
    let stream = sender.send_request(stream).await.unwrap();
    assert_eq!(stream.status(), 200);
    stream.into_body()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_taken_out_admits_nobody_on_open_connections_either() {
    let (ca, next, third) = (authority(), authority(), authority());
    let upstream = Upstream::start().await;
    let gateway = start(&upstream, &ca, MTLS, "{}").await;
    let billing = ["spiffe://example.org/billing"];
    let of = |authority: &Authority| leaf(authority, &billing, |_| {});
    let (first, second, of_third) = (of(&ca), of(&next), of(&third));
    let authorities = |all: &[&Authority]| {
        let all: Vec<String> = all.iter().map(|one| one.pem()).collect();
        std::fs::write(gateway.path().join("ca.pem"), all.concat()).unwrap();
    };
    let becomes = async |shown: &Pair, taken: bool| {
        for _ in 0..300 {
            if call(&gateway, &ca, Some(shown), None, "e1").await.is_ok() == taken {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("taken should be {taken}");
    };
    authorities(&[&ca, &next]);
    becomes(&second, true).await;
    let mut open = connect(&gateway, &ca, Some(&second)).await.unwrap();
    let held = connect(&gateway, &ca, Some(&second)).await.unwrap();
    let mut held = stream(held).await;
    // One more takes nothing from anybody.
    authorities(&[&third, &next, &ca]);
    becomes(&of_third, true).await;
    let kept = ask(&mut open, None, "e1").await;
    assert_eq!(kept.unwrap().0, "replay", "an open connection is let be");
    // Whatever else stays.
    for (left, gone, stays) in [
        (vec![&third, &ca], &second, &first),
        (vec![&ca], &of_third, &first),
    ] {
        let mut of_gone = connect(&gateway, &ca, Some(gone)).await.unwrap();
        assert_eq!(ask(&mut of_gone, None, "e1").await.unwrap().0, "replay");
        let mut of_left = connect(&gateway, &ca, Some(stays)).await.unwrap();
        assert_eq!(ask(&mut of_left, None, "e1").await.unwrap().0, "replay");
        authorities(&left);
        let mut refused = false;
        for _ in 0..300 {
            match ask(&mut of_gone, None, "e1").await {
                Err(_) => refused = true,
                Ok((code, _)) if code == "client-certificate" => refused = true,
                Ok((code, _)) => assert_eq!(code, "replay"),
            }
            if refused {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(refused, "the open connection is taken for ever");
        let again = call(&gateway, &ca, Some(gone), None, "e1").await;
        assert!(again.is_err(), "{again:?}");
        let again = call(&gateway, &ca, Some(stays), None, "e1").await;
        assert_eq!(again.unwrap(), "replay", "who is still trusted comes again");
    }
    let ended = async { while let Some(Ok(_)) = held.frame().await {} };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), ended).await;
    assert!(ended.is_ok(), "a stream ends, too");
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_shown_without_a_restart_and_a_bad_one_is_not() {
    let (ca, next) = (authority(), authority());
    let upstream = Upstream::start().await;
    let gateway = start(&upstream, &ca, MTLS, "{}").await;
    let good = leaf(&ca, &["spiffe://example.org/billing"], |_| {});
    assert_eq!(
        call(&gateway, &ca, Some(&good), None, "e1").await,
        Ok("passed".into())
    );
    std::fs::write(gateway.path().join("front.pem"), "no certificate").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(
        call(&gateway, &ca, Some(&good), None, "e1").await,
        Ok("replay".into())
    );
    write(gateway.path(), &leaf(&next, &[], |_| {}));
    for _ in 0..50 {
        if call(&gateway, &next, Some(&good), None, "e1").await == Ok("replay".into()) {
            assert!(call(&gateway, &ca, Some(&good), None, "e1").await.is_err());
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the new certificate is never shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_shake_hands_is_not_waited_for() {
    let upstream = Upstream::start().await;
    let identity = format!("[limits]\nhead_timeout_ms = 300\n{MTLS}");
    let gateway = start(&upstream, &authority(), &identity, "{}").await;
    let mut silent = TcpStream::connect(gateway.address).await.unwrap();
    let mut buffer = [0; 64];
    let closed = tokio::io::AsyncReadExt::read(&mut silent, &mut buffer);
    let closed = tokio::time::timeout(std::time::Duration::from_secs(5), closed).await;
    assert!(matches!(closed.unwrap(), Ok(0) | Err(_)));
}
