//! Who is calling: tokens, proofs of possession, certificates.
//!
//! Everything here is a function of values: no network, no files, no clock.
//! `token` reads a bearer JWT, `keyset` the keys that it may be signed with,
//! `dpop` the proof that its key is held, `spiffe` a client's certificate,
//! `alias` what an operator declared to be one workload. The gateway fetches,
//! asks and answers; policy and evidence get a [`Principal`], whose facts stand
//! apart from each other (`docs/spec/protocol.md` §2).

#![forbid(unsafe_code)]

mod algorithm;
mod alias;
mod dpop;
mod jose;
mod jwk;
mod keyset;
mod principal;
mod refusal;
mod replays;
mod spiffe;
mod token;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use alias::{AliasError, Aliases};
pub use dpop::{Nonced, Nonces, Proof, ProofRules, Target};
pub use keyset::{KeySet, MalformedKeySet};
pub use principal::{Facts, Principal};
pub use refusal::{Fault, Refusal};
pub use replays::{Fresh, Replays};
pub use spiffe::{MalformedTrustDomain, SpiffeId, Svid, TrustDomain, thumbprint};
pub use token::{Authority, Issuer, Presented, Verified};
