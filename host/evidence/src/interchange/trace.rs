//! A TRACE v0.2 trust record about one log: RFC 8785, signed with the log's
//! Ed25519 key, which stands in `cnf.jwk`.
//!
//! It binds the chain by the digest of its signed head and names no execution:
//! entries do that. What a gateway does not know (the model, the class of the
//! data) the operator states, or it is said to be unknown; nothing here is
//! attested by hardware, so the platform is `software-only`.

use std::io::{Read, Seek};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_canon::{Digest, write};

use super::base58;
use crate::bundle::{Bundle, BundleError};
use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::key::SigningKey;
use crate::tree::Frontier;
use crate::{Draft, Entry, Kind, RoundSays, Time};

const PROFILE: &str = "tag:agentrust-io.com,2026:trace-v0.2";

/// What only the operator can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFacts {
    /// The workload, as a SPIFFE or DID URI; `did:key` of the log's key where
    /// it is not given.
    pub subject: Option<String>,
    /// Who provides the model behind the agents.
    pub model_provider: String,
    /// Its name, as the provider writes it.
    pub model_id: String,
    /// The highest class of the data that was handled.
    pub data_class: String,
    /// Denials are recorded and not carried out, as the gateway is configured.
    pub observes: bool,
}

impl Default for TraceFacts {
    fn default() -> Self {
        let unknown = || "unknown".to_owned();
        Self {
            subject: None,
            model_provider: unknown(),
            model_id: unknown(),
            data_class: unknown(),
            observes: false,
        }
    }
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// It was filtered, so that it does not show the whole chain.
    #[error("a record is about a whole log, and the bundle is filtered")]
    Filtered,
    /// No checkpoint of the key's log that the key signed.
    #[error("the bundle holds no checkpoint of the key's log that the key signed")]
    Unsigned,
    /// The entries are not those that the key signed.
    #[error("the bundle's entries are not those under the newest head that the key signed")]
    Entries,
    /// No policy was ever in force.
    #[error("the log names no policies and no component yet")]
    Empty,
    /// The subject is neither a SPIFFE nor a DID URI.
    #[error("`{0}` is no subject: it begins with `spiffe://` or `did:`")]
    Subject(String),
}

/// Makes the record of the log that `key` signs, from a whole bundle.
///
/// # Errors
/// [`TraceError`].
pub fn trace<R: Read + Seek>(
    bundle: &mut Bundle<R>,
    key: &SigningKey,
    facts: &TraceFacts,
    now: Time,
) -> Result<Vec<u8>, TraceError> {
    if bundle.manifest().filter.is_some() {
        return Err(TraceError::Filtered);
    }
    let public = key.verifying_key();
    let raw = public.to_bytes();
    let own = format!(
        "did:key:z{}",
        base58::encode(&[&[0xed, 1], raw.as_slice()].concat())
    );
    let subject = facts.subject.clone().unwrap_or(own);
    if !subject.starts_with("spiffe://") && !subject.starts_with("did:") {
        return Err(TraceError::Subject(subject));
    }
    let notes = bundle.checkpoints().iter();
    let signed = notes
        .filter_map(|(_, note)| SignedCheckpoint::parse(std::str::from_utf8(note).ok()?).ok())
        .filter(|note| note.verify(&public))
        .max_by_key(|note| note.unverified().size);
    let signed = signed.ok_or(TraceError::Unsigned)?;
    let head = signed.unverified();
    let chain = Chain::read(bundle, head)?;
    let (Some(policies), Some(component)) = (chain.policies, chain.component) else {
        return Err(TraceError::Empty);
    };
    let mut out = Vec::new();
    object(&mut out, |out| {
        member(out, "appraisal", |out| {
            object(out, |out| {
                text(out, "status", "none");
                text(out, "verifier", &subject);
            });
        });
        member(out, "build_provenance", |out| {
            object(out, |out| {
                text(out, "digest", component.as_str());
                number(out, "slsa_level", 0);
            });
        });
        member(out, "cnf", |out| {
            object(out, |out| {
                member(out, "jwk", |out| {
                    object(out, |out| {
                        text(out, "crv", "Ed25519");
                        text(out, "kid", head.log_id.as_str());
                        text(out, "kty", "OKP");
                        text(out, "x", &URL_SAFE_NO_PAD.encode(raw));
                    });
                });
            });
        });
        text(out, "data_class", &facts.data_class);
        text(out, "eat_profile", PROFILE);
        number(out, "iat", now.micros().div_euclid(1_000_000));
        member(out, "model", |out| {
            object(out, |out| {
                text(out, "model_id", &facts.model_id);
                text(out, "provider", &facts.model_provider);
            });
        });
        member(out, "policy", |out| {
            object(out, |out| {
                text(out, "bundle_hash", policies.as_str());
                let observes = facts.observes || chain.observed;
                let mode = if observes { "advisory" } else { "enforce" };
                text(out, "enforcement_mode", mode);
            });
        });
        member(out, "runtime", |out| {
            object(out, |out| {
                text(out, "measurement", Digest::from_bytes(head.root).as_str());
                text(out, "platform", "software-only");
            });
        });
        text(out, "subject", &subject);
        member(out, "tool_transcript", |out| {
            object(out, |out| {
                number(out, "call_count", chain.calls.cast_signed());
                text(
                    out,
                    "hash",
                    Digest::of(&[signed.signed_text().as_bytes()]).as_str(),
                );
            });
        });
    });
    Ok(sign(&out, key))
}

/// Puts the signature over the record without it where it belongs.
fn sign(record: &[u8], key: &SigningKey) -> Vec<u8> {
    const AFTER: &[u8] = br#","subject":"#;
    let signature = URL_SAFE_NO_PAD.encode(key.sign(record));
    let at = record
        .windows(AFTER.len())
        .rposition(|window| window == AFTER)
        .unwrap_or(record.len());
    let (before, after) = record.split_at(at);
    let mut out = before.to_vec();
    out.extend_from_slice(br#","signature":"#);
    write::string(&mut out, &signature);
    out.extend_from_slice(after);
    out
}

/// What the entries below a head say.
#[derive(Default)]
struct Chain {
    calls: u64,
    policies: Option<Digest>,
    component: Option<Digest>,
    /// A call went on that was denied: denials were only observed then.
    observed: bool,
}

impl Chain {
    fn read<R: Read + Seek>(bundle: &mut Bundle<R>, head: &Checkpoint) -> Result<Self, TraceError> {
        let mut chain = Self::default();
        let mut tree = Frontier::new();
        let mut lines = bundle.entries();
        // Signed is only what the head covers, each entry once and in its place.
        while tree.size() < head.size
            && let Some(line) = lines.next()?
        {
            let entry = Entry::parse(line).map_err(|_| TraceError::Entries)?;
            if *entry.log_id() != head.log_id {
                continue;
            }
            if entry.sequence() != tree.size() {
                return Err(TraceError::Entries);
            }
            tree.append(entry.hash().to_bytes());
            chain.add(entry.said());
        }
        if (tree.size(), tree.root()) == (head.size, head.root) {
            Ok(chain)
        } else {
            Err(TraceError::Entries)
        }
    }

    fn add(&mut self, said: &Draft) {
        let denied = said.decision.as_ref().is_some_and(|said| !said.allow);
        let claims = said
            .round
            .is_some_and(|round| round.says == RoundSays::Claimed);
        self.observed |= denied && (said.kind == Kind::Admission || claims);
        match said.kind {
            Kind::Admission => {
                self.calls += 1;
                self.component = said.component.or(self.component);
            }
            Kind::Round if claims => self.calls += 1,
            Kind::PolicyLoaded => self.policies = said.policy_digest.or(self.policies),
            // The default profile is the first that is loaded.
            Kind::ProfileLoaded if self.component.is_none() => self.component = said.component,
            _ => {}
        }
    }
}

fn object(out: &mut Vec<u8>, members: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'{');
    members(out);
    out.push(b'}');
}

fn member(out: &mut Vec<u8>, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write::string(out, name);
    out.push(b':');
    value(out);
}

fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    member(out, name, |out| write::string(out, value));
}

fn number(out: &mut Vec<u8>, name: &str, value: i64) {
    member(out, name, |out| {
        out.extend_from_slice(value.to_string().as_bytes());
    });
}
