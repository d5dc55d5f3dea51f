//! An authorization server as far as a resource sees it: a key, tokens signed
//! with it, and a place from which its keys can be fetched.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use crate::signing::{Key, encode};

pub const ISSUER: &str = "https://issuer.example";
pub const BASE: &str = "http://127.0.0.1";

#[allow(clippy::disallowed_methods, reason = "a test's own tokens")]
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A configuration of the issuer with its keys in `jwks.json`.
pub fn configured(more: &str, of_issuer: &str) -> String {
    format!(
        "[identity]\nmode = \"jwt\"\nresource = \"{BASE}\"\n{more}\n[[identity.issuer]]\nname = \"{ISSUER}\"\n{of_issuer}\n"
    )
}

/// Claims that hold at `/mcp/up`, with one of them changed or, where its value
/// is empty, left out.
pub fn claims(name: &str, value: &str) -> String {
    let base = [
        ("iss", format!("\"{ISSUER}\"")),
        ("sub", "\"billing\"".to_owned()),
        ("aud", format!("\"{BASE}/mcp/up\"")),
        ("exp", (now() + 600).to_string()),
        ("iat", now().to_string()),
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

pub fn token(key: &Key, claims: &str) -> String {
    let header = format!(
        r#"{{"alg":"{}","typ":"at+jwt","kid":"k"}}"#,
        key.algorithm()
    );
    key.compact(&header, claims)
}

/// The claim that binds a token to a key, as its value.
pub fn bound_to(key: &Key) -> String {
    let members = key.members();
    let of = |name: &str| {
        let start = members.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
        members[start..].split('"').next().unwrap().to_owned()
    };
    let text = format!(
        r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#,
        of("x"),
        of("y")
    );
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("{{\"jkt\":\"{}\"}}", encode(hash))
}

/// A proof for a POST to `/mcp/up` with `token`; `more` is added to its claims.
pub fn proof(key: &Key, token: &str, method: &str, path: &str, jti: &str, more: &str) -> String {
    proof_made_at(now(), key, token, method, path, jti, more)
}

pub fn proof_made_at(
    made_s: u64,
    key: &Key,
    token: &str,
    method: &str,
    path: &str,
    jti: &str,
    more: &str,
) -> String {
    let header = format!(
        r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{{{}}}}}"#,
        key.members()
    );
    let hash = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let claims = format!(
        r#"{{"htm":"{method}","htu":"{BASE}{path}","iat":{},"jti":"{jti}","ath":"{}"{more}}}"#,
        made_s,
        encode(hash)
    );
    key.compact(&header, &claims)
}

/// A server of key sets that counts how often it is asked.
pub struct Jwks {
    pub address: SocketAddr,
    asked: Arc<AtomicUsize>,
    answer: Arc<Mutex<String>>,
    /// Whether answers wait.
    held: watch::Sender<bool>,
}

impl Jwks {
    pub async fn serve(keys: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let jwks = Self {
            address,
            asked: Arc::default(),
            answer: Arc::default(),
            held: watch::Sender::new(false),
        };
        jwks.give("200 OK", keys);
        let (asked, answer) = (Arc::clone(&jwks.asked), Arc::clone(&jwks.answer));
        let held = jwks.held.subscribe();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                asked.fetch_add(1, Ordering::SeqCst);
                let (answer, mut held) = (answer.lock().unwrap().clone(), held.clone());
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 4_096]).await;
                    let _ = held.wait_for(|held| !held).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        jwks
    }

    pub fn give(&self, status: &str, body: &str) {
        *self.answer.lock().unwrap() = format!(
            "HTTP/1.1 {status}\r\nlocation: http://{}/other\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
    }

    /// Keeps whoever asks waiting for an answer until it is told otherwise.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
