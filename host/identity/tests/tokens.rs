//! What a token must be like to name an agent, and what each fact comes from.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_identity::{
    Algorithm, Authority, Fault, Issuer, KeySet, Presented, Refusal, Verified,
};
use ring::hmac;
use support::{Key, encode};

const ISSUER: &str = "https://issuer.example";
const RESOURCE: &str = "https://gateway.example/mcp/up";
const NOW: i64 = 1_800_000_000;

fn issuer() -> Issuer {
    Issuer {
        name: ISSUER.to_owned(),
        algorithms: vec![Algorithm::Es256, Algorithm::EdDsa],
        audiences: Vec::new(),
        subject_claim: "sub".to_owned(),
        user_claim: None,
        authority: Authority::Actors,
        scopes: Vec::new(),
        skew_s: 30,
        bound_only: false,
    }
}

/// Claims that hold, with `change` in place of the member that it names, or
/// without that member where it holds nothing.
fn claims(name: &str, value: &str) -> String {
    let base = [
        ("iss", format!("\"{ISSUER}\"")),
        ("sub", "\"billing\"".to_owned()),
        ("aud", format!("\"{RESOURCE}\"")),
        ("exp", (NOW + 600).to_string()),
        ("iat", NOW.to_string()),
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

fn header(algorithm: &str) -> String {
    format!(r#"{{"alg":"{algorithm}","typ":"at+jwt","kid":"k"}}"#)
}

fn verify(token: &str, issuer: &Issuer, key: &Key) -> Result<Verified, Refusal> {
    let keys = KeySet::parse(key.set().as_bytes()).unwrap();
    Presented::read(token)?.verify(issuer, &keys, RESOURCE, NOW)
}

#[test]
fn a_token_says_whose_it_claims_to_be_before_anything_is_verified() {
    let key = Key::ec();
    let token = key.compact(
        &header("ES256"),
        &claims("iss", "\"https://other.example\""),
    );
    let presented = Presented::read(&token).unwrap();
    assert_eq!(presented.issuer(), "https://other.example");
}

#[test]
fn a_token_holds_only_with_its_issuer_audience_time_and_workload() {
    let key = Key::ec();
    for (why, name, value, refusal) in [
        ("as it should be", "x", "1".to_owned(), None),
        (
            "another issuer",
            "iss",
            "\"https://evil.example\"".to_owned(),
            Some(Refusal::Token(Fault::Issuer)),
        ),
        (
            "the issuer with a slash",
            "iss",
            format!("\"{ISSUER}/\""),
            Some(Refusal::Token(Fault::Issuer)),
        ),
        (
            "no issuer",
            "iss",
            String::new(),
            Some(Refusal::Token(Fault::Issuer)),
        ),
        (
            "another server's",
            "aud",
            "\"https://gateway.example/mcp/other\"".to_owned(),
            Some(Refusal::Audience),
        ),
        (
            "another resource's",
            "aud",
            "\"https://gateway.example\"".to_owned(),
            Some(Refusal::Audience),
        ),
        ("nobody's", "aud", String::new(), Some(Refusal::Audience)),
        (
            "of a number",
            "aud",
            "7".to_owned(),
            Some(Refusal::Audience),
        ),
        (
            "of many, ours among them",
            "aud",
            format!("[\"x\",\"{RESOURCE}\"]"),
            None,
        ),
        (
            "of many others",
            "aud",
            "[\"x\",\"y\"]".to_owned(),
            Some(Refusal::Audience),
        ),
        (
            "expired",
            "exp",
            (NOW - 30).to_string(),
            Some(Refusal::Expired),
        ),
        (
            "expired within the skew",
            "exp",
            (NOW - 29).to_string(),
            None,
        ),
        (
            "without an end",
            "exp",
            String::new(),
            Some(Refusal::Token(Fault::Claims)),
        ),
        (
            "an end that is a text",
            "exp",
            "\"9999999999\"".to_owned(),
            Some(Refusal::Token(Fault::Claims)),
        ),
        (
            "not valid yet",
            "nbf",
            (NOW + 31).to_string(),
            Some(Refusal::NotYetValid),
        ),
        ("valid within the skew", "nbf", (NOW + 30).to_string(), None),
        (
            "issued in the future",
            "iat",
            (NOW + 31).to_string(),
            Some(Refusal::NotYetValid),
        ),
        (
            "without a workload",
            "sub",
            String::new(),
            Some(Refusal::Token(Fault::Claims)),
        ),
        (
            "an empty workload",
            "sub",
            "\"\"".to_owned(),
            Some(Refusal::Token(Fault::Claims)),
        ),
        (
            "a workload with a line feed",
            "sub",
            "\"a\\nb\"".to_owned(),
            Some(Refusal::Token(Fault::Claims)),
        ),
        (
            "bound in an unknown way",
            "cnf",
            "{\"kid\":\"x\"}".to_owned(),
            Some(Refusal::Token(Fault::Confirmation)),
        ),
        (
            "bound to nothing",
            "cnf",
            "{}".to_owned(),
            Some(Refusal::Token(Fault::Confirmation)),
        ),
        (
            "bound to half a key",
            "cnf",
            "{\"jkt\":\"AAAA\"}".to_owned(),
            Some(Refusal::Token(Fault::Confirmation)),
        ),
        (
            "an actor without a name",
            "act",
            "{}".to_owned(),
            Some(Refusal::Token(Fault::Claims)),
        ),
    ] {
        let token = key.compact(&header("ES256"), &claims(name, &value));
        assert_eq!(verify(&token, &issuer(), &key).err(), refusal, "{why}");
    }
}

#[test]
fn only_a_signature_of_the_named_key_under_an_allowed_algorithm_counts() {
    let (key, stranger) = (Key::ec(), Key::ec());
    let good = claims("x", "1");
    let bare = |header: &str| format!("{}.{}.", encode(header), encode(&good));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.set().as_bytes());
    let by_secret = {
        let signed = format!("{}.{}", encode(header("HS256")), encode(&good));
        let tag = hmac::sign(&secret, signed.as_bytes());
        format!("{signed}.{}", encode(tag))
    };
    let whole = key.compact(&header("ES256"), &good);
    let spliced = {
        let (signed, _) = whole.rsplit_once('.').unwrap();
        let (head, _) = signed.split_once('.').unwrap();
        let (_, signature) = whole.rsplit_once('.').unwrap();
        format!("{head}.{}.{signature}", encode(claims("sub", "\"root\"")))
    };
    let with = |header: &str| key.compact(header, &good);
    for (why, token, fault) in [
        ("no algorithm", bare(r#"{"alg":"none"}"#), Fault::Algorithm),
        (
            "none in another case",
            bare(r#"{"alg":"nOnE"}"#),
            Fault::Algorithm,
        ),
        ("the public key as a secret", by_secret, Fault::Algorithm),
        (
            "an algorithm that is not allowed",
            with(&header("ES384")),
            Fault::Algorithm,
        ),
        (
            "the algorithm of another kind of key",
            with(&header("EdDSA")),
            Fault::Key,
        ),
        (
            "a stranger's key under its name",
            stranger.compact(&header("ES256"), &good),
            Fault::Signature,
        ),
        (
            "other claims under its signature",
            spliced,
            Fault::Signature,
        ),
        (
            "an unknown key",
            with(r#"{"alg":"ES256","kid":"other"}"#),
            Fault::Key,
        ),
        (
            "a key of its own",
            stranger.compact(
                &format!(
                    r#"{{"alg":"ES256","kid":"s","jwk":{{{}}}}}"#,
                    stranger.members()
                ),
                &good,
            ),
            Fault::Key,
        ),
        (
            "an extension",
            with(r#"{"alg":"ES256","kid":"k","crit":["b64"],"b64":false}"#),
            Fault::Critical,
        ),
        (
            "the type of a proof",
            with(r#"{"alg":"ES256","kid":"k","typ":"dpop+jwt"}"#),
            Fault::Type,
        ),
        (
            "an algorithm twice",
            with(r#"{"alg":"ES256","alg":"none","kid":"k"}"#),
            Fault::Form,
        ),
        (
            "no signature",
            format!("{}.{}.", encode(header("ES256")), encode(&good)),
            Fault::Signature,
        ),
    ] {
        assert_eq!(
            verify(&token, &issuer(), &key).err(),
            Some(Refusal::Token(fault)),
            "{why}"
        );
    }
    assert!(
        verify(&with(r#"{"alg":"ES256"}"#), &issuer(), &key).is_ok(),
        "the only key"
    );
    assert!(verify(&whole, &issuer(), &key).is_ok());
    let ed = Key::ed();
    assert!(verify(&ed.compact(&header("EdDSA"), &good), &issuer(), &ed).is_ok());
}

/// RFC 7515 appendices A.2 and A.3: signatures that others made.
#[test]
fn signatures_of_the_standards_are_good_and_fail_when_a_bit_is_turned() {
    let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let rs = format!(
        "eyJhbGciOiJSUzI1NiJ9.{claims}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    );
    let rs_key = r#"{"keys":[{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}]}"#;
    let es = format!(
        "eyJhbGciOiJFUzI1NiJ9.{claims}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    );
    let es_key = r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
    let mut joe = issuer();
    joe.name = "joe".to_owned();
    joe.algorithms = Algorithm::ALL.to_vec();
    for (token, keys) in [(rs, rs_key), (es, es_key)] {
        let keys = KeySet::parse(keys.as_bytes()).unwrap();
        let at = |token: &str| {
            Presented::read(token)
                .unwrap()
                .verify(&joe, &keys, RESOURCE, 1_300_819_379)
                .err()
        };
        // The signature is good: what is missing is an audience.
        assert_eq!(at(&token), Some(Refusal::Audience));
        let turned = token
            .replacen(".cC4h", ".cC4i", 1)
            .replacen(".DtEh", ".DtEi", 1);
        assert_eq!(at(&turned), Some(Refusal::Token(Fault::Signature)));
    }
}

#[test]
fn each_fact_comes_from_its_own_claim_and_from_no_other() {
    let key = Key::ec();
    let mut issuer = issuer();
    issuer.user_claim = Some("user".to_owned());
    issuer.audiences = vec!["api".to_owned()];
    let all = format!(
        r#"{{"iss":"{ISSUER}","sub":"billing","aud":["x","api"],"exp":{},"user":"zoë","act":{{"sub":"b","act":{{"sub":"a"}}}},"cnf":{{"jkt":"{}"}},"email":"eve@x","azp":"y"}}"#,
        NOW + 600,
        encode([7; 32])
    );
    let whole = verify(&key.compact(&header("ES256"), &all), &issuer, &key).unwrap();
    assert_eq!(
        (
            whole.agent.method.as_str(),
            whole.agent.issuer.as_str(),
            whole.agent.subject.as_str()
        ),
        ("jwt", ISSUER, "billing")
    );
    assert_eq!(whole.represented_user.as_deref(), Some("zoë"));
    assert_eq!(whole.audience, "api");
    assert_eq!(
        whole.authority.as_deref(),
        Some(r#"{"act":{"sub":"a"},"sub":"b"}"#)
    );
    assert_eq!((whole.jkt, whole.x5t), (Some(encode([7; 32])), None));
    assert_eq!(whole.until_s, NOW + 630);

    let bare = verify(
        &key.compact(&header("ES256"), &claims("x", "1")),
        &issuer,
        &key,
    )
    .unwrap();
    assert_eq!(
        (bare.represented_user, bare.authority, bare.jkt, bare.x5t),
        (None, None, None, None)
    );

    issuer.user_claim = None;
    let unnamed = verify(&key.compact(&header("ES256"), &all), &issuer, &key).unwrap();
    assert_eq!(
        unnamed.represented_user, None,
        "no claim stands in for another"
    );

    issuer.bound_only = true;
    let bare = verify(
        &key.compact(&header("ES256"), &claims("x", "1")),
        &issuer,
        &key,
    );
    assert_eq!(bare.err(), Some(Refusal::Token(Fault::Confirmation)));
}

#[test]
fn a_token_needs_every_scope_that_is_asked_for() {
    let key = Key::ec();
    let mut issuer = issuer();
    issuer.scopes = vec!["tools".to_owned(), "read".to_owned()];
    for (scope, refusal) in [
        ("\"read tools x\"", None),
        ("\"tools\"", Some(Refusal::Scope)),
        ("\"toolsread\"", Some(Refusal::Scope)),
        ("", Some(Refusal::Scope)),
        ("[\"read\",\"tools\"]", Some(Refusal::Token(Fault::Claims))),
    ] {
        let token = key.compact(&header("ES256"), &claims("scope", scope));
        assert_eq!(verify(&token, &issuer, &key).err(), refusal, "{scope}");
    }
}
