//! A bearer JWT (RFC 7519, RFC 9068): read, verified, and taken apart into
//! facts of which none follows from another.
//!
//! 1. read: form and issuer, so that the right keys can be found;
//! 2. verify: type, algorithm, key, signature;
//! 3. judge: time, audience, scopes;
//! 4. take: workload, represented user, authority, confirmation.

use countersign_canon::document::{Item, Kind};
use countersign_evidence::Agent;

use crate::algorithm::Algorithm;
use crate::jose::{self, Compact};
use crate::keyset::KeySet;
use crate::refusal::{Fault, Refusal};

/// The longest text that is taken for a name, in bytes.
const MAX_NAME: usize = 1_024;

/// What a configuration says of one issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Exactly as `iss` has it.
    pub name: String,
    /// Under which its tokens may be signed; at least one.
    pub algorithms: Vec<Algorithm>,
    /// Audiences that are taken beside the resource that is asked for.
    pub audiences: Vec<String>,
    /// The claim that names the workload.
    pub subject_claim: String,
    /// The claim that names the represented user, where there is one.
    pub user_claim: Option<String>,
    /// Where a delegated authority stands.
    pub authority: Authority,
    /// Scopes of which a token must have all.
    pub scopes: Vec<String>,
    /// By how many seconds its clock may differ.
    pub skew_s: i64,
    /// Whether a token without a confirmation is refused.
    pub bound_only: bool,
}

/// Where a delegated authority stands in a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// In the chain of actors of RFC 8693; recorded as canonical JSON.
    Actors,
    /// In a claim that is a text.
    Claim(String),
}

/// A token that was read; nothing in it is established.
pub struct Presented<'t> {
    compact: Compact<'t>,
    issuer: String,
}

/// A token that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The workload: method `jwt`, the issuer, the subject.
    pub agent: Agent,
    /// The represented user.
    pub represented_user: Option<String>,
    /// The audience under which it was taken.
    pub audience: String,
    /// The delegated authority.
    pub authority: Option<String>,
    /// The thumbprint of the key that a proof must be signed with.
    pub jkt: Option<String>,
    /// The thumbprint of the certificate that the connection must have.
    pub x5t: Option<String>,
    /// When it stops to hold, in seconds since 1970, the skew included.
    pub until_s: i64,
}

impl<'t> Presented<'t> {
    /// Reads a token.
    ///
    /// # Errors
    /// [`Refusal::Token`] where it has no form that could hold.
    pub fn read(text: &'t str) -> Result<Self, Refusal> {
        let compact = Compact::read(text).map_err(Refusal::Token)?;
        let claims = jose::object(&compact.payload).map_err(Refusal::Token)?;
        let issuer = jose::text(claims.root(), "iss").map_err(Refusal::Token)?;
        let issuer = issuer.ok_or(Refusal::Token(Fault::Issuer))?;
        Ok(Self { compact, issuer })
    }

    /// Who it says that it is from; not established.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Verifies and judges it. `resource` is what the request asks for, in the
    /// words of the protected-resource metadata.
    ///
    /// # Errors
    /// [`Refusal`]; with [`Fault::Key`] newer keys may help.
    pub fn verify(
        &self,
        issuer: &Issuer,
        keys: &KeySet,
        resource: &str,
        now_s: i64,
    ) -> Result<Verified, Refusal> {
        if self.issuer != issuer.name {
            return Err(Refusal::Token(Fault::Issuer));
        }
        self.signed(issuer, keys).map_err(Refusal::Token)?;
        let claims = jose::object(&self.compact.payload).map_err(Refusal::Token)?;
        let claims = claims.root();
        let until_s = time(claims, issuer, now_s)?;
        let audience = audience(claims, issuer, resource)?;
        scopes(claims, issuer)?;
        self.taken(claims, issuer, audience, until_s)
            .map_err(Refusal::Token)
    }

    fn signed(&self, issuer: &Issuer, keys: &KeySet) -> Result<(), Fault> {
        let header = jose::object(&self.compact.header)?;
        let header = header.root();
        if header.get("crit").is_some() {
            return Err(Fault::Critical);
        }
        if let Some(kind) = jose::text(header, "typ")? {
            let kind = kind.to_ascii_lowercase();
            let kind = kind.strip_prefix("application/").unwrap_or(&kind);
            // What is a proof or another object is no token.
            if !matches!(kind, "jwt" | "at+jwt") {
                return Err(Fault::Type);
            }
        }
        let algorithm = jose::text(header, "alg")?.ok_or(Fault::Algorithm)?;
        let algorithm: Algorithm = algorithm.parse().map_err(|_| Fault::Algorithm)?;
        if !issuer.algorithms.contains(&algorithm) {
            return Err(Fault::Algorithm);
        }
        // Keys and addresses of keys that a token brings itself are not looked at.
        let id = jose::text(header, "kid")?;
        let key = keys.find(id.as_deref(), algorithm).ok_or(Fault::Key)?;
        if algorithm.verifies(key, self.compact.signed, &self.compact.signature) {
            Ok(())
        } else {
            Err(Fault::Signature)
        }
    }

    fn taken(
        &self,
        claims: Item<'_>,
        issuer: &Issuer,
        audience: String,
        until_s: i64,
    ) -> Result<Verified, Fault> {
        let subject = name(claims, &issuer.subject_claim)?.ok_or(Fault::Claims)?;
        let represented_user = match &issuer.user_claim {
            Some(claim) => name(claims, claim)?,
            None => None,
        };
        let authority = match &issuer.authority {
            Authority::Actors => actors(claims)?,
            Authority::Claim(claim) => name(claims, claim)?,
        };
        let (jkt, x5t) = confirmation(claims)?;
        if issuer.bound_only && jkt.is_none() && x5t.is_none() {
            return Err(Fault::Confirmation);
        }
        Ok(Verified {
            agent: Agent {
                method: "jwt".to_owned(),
                issuer: issuer.name.clone(),
                subject,
            },
            represented_user,
            audience,
            authority,
            jkt,
            x5t,
            until_s,
        })
    }
}

/// Answers until when it holds.
fn time(claims: Item<'_>, issuer: &Issuer, now_s: i64) -> Result<i64, Refusal> {
    let date = |name| jose::date(claims, name).map_err(Refusal::Token);
    let expires = date("exp")?.ok_or(Refusal::Token(Fault::Claims))?;
    let until_s = expires.saturating_add(issuer.skew_s);
    if now_s >= until_s {
        return Err(Refusal::Expired);
    }
    let latest = now_s.saturating_add(issuer.skew_s);
    let begins = [date("nbf")?, date("iat")?];
    if begins.into_iter().flatten().any(|begins| begins > latest) {
        return Err(Refusal::NotYetValid);
    }
    Ok(until_s)
}

/// The first audience that is ours: the resource itself, then those that are
/// configured, in their order.
fn audience(claims: Item<'_>, issuer: &Issuer, resource: &str) -> Result<String, Refusal> {
    let given = claims.get("aud").ok_or(Refusal::Audience)?;
    let has = |wanted: &str| match given.kind() {
        Kind::String => given.is_text(wanted),
        Kind::Array => given.children().any(|one| one.is_text(wanted)),
        _ => false,
    };
    std::iter::once(resource)
        .chain(issuer.audiences.iter().map(String::as_str))
        .find(|wanted| has(wanted))
        .map(str::to_owned)
        .ok_or(Refusal::Audience)
}

fn scopes(claims: Item<'_>, issuer: &Issuer) -> Result<(), Refusal> {
    if issuer.scopes.is_empty() {
        return Ok(());
    }
    let given = jose::text(claims, "scope").map_err(Refusal::Token)?;
    let given: Vec<&str> = given.as_deref().unwrap_or_default().split(' ').collect();
    let all = issuer
        .scopes
        .iter()
        .all(|scope| given.contains(&scope.as_str()));
    if all { Ok(()) } else { Err(Refusal::Scope) }
}

/// A claim that names somebody: a text without control characters.
fn name(claims: Item<'_>, claim: &str) -> Result<Option<String>, Fault> {
    let Some(text) = jose::text(claims, claim)? else {
        return Ok(None);
    };
    let sound = (1..=MAX_NAME).contains(&text.len()) && !text.chars().any(char::is_control);
    if sound {
        Ok(Some(text))
    } else {
        Err(Fault::Claims)
    }
}

/// The actors of RFC 8693 §4.1, as canonical JSON, so that equal chains are
/// equal texts and nothing in a name can look like another chain.
fn actors(claims: Item<'_>) -> Result<Option<String>, Fault> {
    let Some(chain) = claims.get("act") else {
        return Ok(None);
    };
    let named = chain.get("sub").and_then(Item::text).is_some();
    let text = String::from_utf8(chain.canonical()).map_err(|_| Fault::Claims)?;
    if named && text.len() <= MAX_NAME {
        Ok(Some(text))
    } else {
        Err(Fault::Claims)
    }
}

/// The keys that it is bound to. What it is bound to otherwise cannot be
/// checked here, and a binding that is not checked is none.
fn confirmation(claims: Item<'_>) -> Result<(Option<String>, Option<String>), Fault> {
    let Some(bound) = claims.get("cnf") else {
        return Ok((None, None));
    };
    let known = |name: &str| matches!(name, "jkt" | "x5t#S256");
    let all = bound.children().all(|one| one.name().is_some_and(known));
    if bound.kind() != Kind::Object || bound.count() == 0 || !all {
        return Err(Fault::Confirmation);
    }
    let thumbprint = |name: &str| -> Result<Option<String>, Fault> {
        let text = jose::text(bound, name).map_err(|_| Fault::Confirmation)?;
        let sound = text
            .as_ref()
            .is_none_or(|text| jose::decode(text).is_ok_and(|bytes| bytes.len() == 32));
        if sound {
            Ok(text)
        } else {
            Err(Fault::Confirmation)
        }
    };
    Ok((thumbprint("jkt")?, thumbprint("x5t#S256")?))
}
