//! What a proof of possession must be like, for one request and one token.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_identity::{Algorithm, Fault, Nonced, Nonces, Proof, ProofRules, Refusal, Target};
use ring::digest::{SHA256, digest};
use support::{Key, encode};

const NOW: i64 = 1_800_000_000;
const TOKEN: &str = "a.b.c";
const URL: &str = "https://gateway.example/mcp/up";

fn rules() -> ProofRules {
    ProofRules {
        algorithms: vec![Algorithm::Es256],
        age_s: 60,
        skew_s: 5,
    }
}

fn header(key: &Key) -> String {
    format!(
        r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{{{}}}}}"#,
        key.members()
    )
}

fn claims(name: &str, value: &str) -> String {
    let base = [
        ("htm", "\"POST\"".to_owned()),
        ("htu", format!("\"{URL}\"")),
        ("iat", NOW.to_string()),
        ("jti", "\"1\"".to_owned()),
        (
            "ath",
            format!("\"{}\"", encode(digest(&SHA256, TOKEN.as_bytes()))),
        ),
    ];
    let mut members: Vec<String> = base
        .iter()
        .filter(|(known, _)| *known != name)
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    if !value.is_empty() {
        members.push(format!("\"{name}\":{value}"));
    }
    format!("{{{}}}", members.join(","))
}

fn check(proof: &str, nonces: Option<&Nonces>) -> Result<Proof, Refusal> {
    let target = Target {
        method: "POST",
        url: URL,
        token: TOKEN,
    };
    let nonced = nonces.map(|nonces| Nonced {
        nonces,
        made_until_s: i64::MAX,
    });
    Proof::check(proof, target, &rules(), nonced, NOW)
}

#[test]
fn a_proof_is_for_one_method_one_url_one_token_and_a_short_time() {
    let key = Key::ec();
    for (why, name, value, refusal) in [
        ("as it should be", "x", "1".to_owned(), None),
        (
            "another method",
            "htm",
            "\"GET\"".to_owned(),
            Some(Refusal::Proof(Fault::Method)),
        ),
        (
            "another spelling of it",
            "htm",
            "\"post\"".to_owned(),
            Some(Refusal::Proof(Fault::Method)),
        ),
        (
            "another server",
            "htu",
            "\"https://gateway.example/mcp/other\"".to_owned(),
            Some(Refusal::Proof(Fault::Url)),
        ),
        (
            "another gateway",
            "htu",
            "\"https://evil.example/mcp/up\"".to_owned(),
            Some(Refusal::Proof(Fault::Url)),
        ),
        (
            "no URL",
            "htu",
            String::new(),
            Some(Refusal::Proof(Fault::Url)),
        ),
        (
            "another token",
            "ath",
            format!("\"{}\"", encode([0; 32])),
            Some(Refusal::Proof(Fault::Token)),
        ),
        (
            "no token",
            "ath",
            String::new(),
            Some(Refusal::Proof(Fault::Token)),
        ),
        (
            "old",
            "iat",
            (NOW - 61).to_string(),
            Some(Refusal::Proof(Fault::Time)),
        ),
        (
            "of the future",
            "iat",
            (NOW + 6).to_string(),
            Some(Refusal::Proof(Fault::Time)),
        ),
        ("young enough", "iat", (NOW - 60).to_string(), None),
        (
            "of no time",
            "iat",
            String::new(),
            Some(Refusal::Proof(Fault::Claims)),
        ),
        (
            "without a name",
            "jti",
            String::new(),
            Some(Refusal::Proof(Fault::Claims)),
        ),
        (
            "with an empty name",
            "jti",
            "\"\"".to_owned(),
            Some(Refusal::Proof(Fault::Claims)),
        ),
    ] {
        let proof = key.compact(&header(&key), &claims(name, &value));
        assert_eq!(check(&proof, None).err(), refusal, "{why}");
    }
}

#[test]
fn a_proof_is_signed_with_the_public_key_that_it_carries() {
    let (key, stranger) = (Key::ec(), Key::ec());
    let good = claims("x", "1");
    let head = |typ: &str, alg: &str, jwk: &str| {
        format!(r#"{{"typ":"{typ}","alg":"{alg}","jwk":{{{jwk}}}}}"#)
    };
    let own = key.members();
    for (why, header, fault) in [
        (
            "the type of a token",
            head("at+jwt", "ES256", &own),
            Fault::Type,
        ),
        ("none", head("dpop+jwt", "none", &own), Fault::Algorithm),
        (
            "a shared secret",
            head("dpop+jwt", "HS256", &own),
            Fault::Algorithm,
        ),
        (
            "one that is not allowed",
            head("dpop+jwt", "EdDSA", &own),
            Fault::Algorithm,
        ),
        (
            "a stranger's key",
            head("dpop+jwt", "ES256", &stranger.members()),
            Fault::Signature,
        ),
        (
            "a private key",
            head("dpop+jwt", "ES256", &format!("{own},\"d\":\"AA\"")),
            Fault::Key,
        ),
        (
            "no key",
            r#"{"typ":"dpop+jwt","alg":"ES256","kid":"k"}"#.to_owned(),
            Fault::Key,
        ),
    ] {
        let proof = key.compact(&header, &good);
        assert_eq!(
            check(&proof, None).err(),
            Some(Refusal::Proof(fault)),
            "{why}"
        );
    }
}

#[test]
fn where_nonces_are_given_a_proof_has_a_current_one() {
    let key = Key::ec();
    let nonces = Nonces::new([1; 32]);
    let with = |nonce: &str| key.compact(&header(&key), &claims("nonce", nonce));
    let quoted = |nonce: String| format!("\"{nonce}\"");
    for (why, nonce, refusal) in [
        ("none", String::new(), Some(Refusal::ProofNonce)),
        (
            "a stranger's",
            quoted(Nonces::new([2; 32]).current(NOW)),
            Some(Refusal::ProofNonce),
        ),
        (
            "an old one",
            quoted(nonces.current(NOW - 300)),
            Some(Refusal::ProofNonce),
        ),
        ("a current one", quoted(nonces.current(NOW - 299)), None),
    ] {
        assert_eq!(check(&with(&nonce), Some(&nonces)).err(), refusal, "{why}");
    }
}

#[test]
fn only_what_was_made_until_then_has_to_have_a_nonce() {
    let key = Key::ec();
    let nonces = Nonces::new([1; 32]);
    let made = |at: i64| key.compact(&header(&key), &claims("iat", &at.to_string()));
    let target = Target {
        method: "POST",
        url: URL,
        token: TOKEN,
    };
    let nonced = Nonced {
        nonces: &nonces,
        made_until_s: NOW - 1,
    };
    for (at, refusal) in [
        (NOW - 2, Some(Refusal::ProofNonce)),
        (NOW - 1, Some(Refusal::ProofNonce)),
        (NOW, None),
    ] {
        let said = Proof::check(&made(at), target, &rules(), Some(nonced), NOW);
        assert_eq!(said.err(), refusal, "{at}");
    }
}

/// RFC 9449 §7.1: a proof that others made, and the thumbprint of its key in
/// §6.1.
#[test]
fn the_proof_of_the_standard_is_good() {
    let proof = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
    let target = Target {
        method: "GET",
        url: "https://resource.example.org/protectedresource",
        token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU",
    };
    let proof = Proof::check(proof, target, &rules(), None, 1_562_262_618).unwrap();
    assert_eq!(proof.jkt, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
    assert_eq!(proof.jti, "e1j3V_bKic8-LAEB");
}
