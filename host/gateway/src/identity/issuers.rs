//! The issuers that are trusted, each with its keys.

use countersign_identity::{Fault, Presented, Refusal, Verified};

use super::keys::{Keys, KeysError};
use super::now_s;
use crate::config;
use crate::environment::Environment;

/// The issuers of one gateway.
#[derive(Debug)]
pub(super) struct Issuers(Vec<Trusted>);

#[derive(Debug)]
struct Trusted {
    issuer: countersign_identity::Issuer,
    keys: Keys,
}

impl Issuers {
    pub(super) async fn open(
        configured: &[config::Issuer],
        environment: &Environment,
    ) -> Result<Self, KeysError> {
        let mut issuers = Vec::with_capacity(configured.len());
        for config::Issuer { issuer, keys } in configured {
            issuers.push(Trusted {
                keys: Keys::open(keys, environment.monotonic()).await?,
                issuer: issuer.clone(),
            });
        }
        Ok(Self(issuers))
    }

    /// Verifies a token under the keys of the issuer that it names; where it
    /// names a key that is not known, newer ones are asked for.
    pub(super) async fn verify(
        &self,
        token: &str,
        resource: &str,
        environment: &Environment,
    ) -> Result<Verified, Refusal> {
        let presented = Presented::read(token)?;
        let trusted = self
            .0
            .iter()
            .find(|trusted| trusted.issuer.name == presented.issuer())
            .ok_or(Refusal::Token(Fault::Issuer))?;
        let now = environment.monotonic();
        let judge = |keys: Option<std::sync::Arc<countersign_identity::KeySet>>| {
            let keys = keys.ok_or(Refusal::KeysUnavailable)?;
            presented.verify(&trusted.issuer, &keys, resource, now_s(environment))
        };
        let held = trusted.keys.held(now);
        let (judged, seen) = (judge(held.clone()), held);
        match judged {
            Err(Refusal::Token(Fault::Key) | Refusal::KeysUnavailable) => {
                judge(trusted.keys.newer(seen.as_ref(), environment).await)
            }
            judged => judged,
        }
    }

    /// Reads again whatever keys are due.
    pub(super) async fn refresh(&self, environment: &Environment) {
        for trusted in &self.0 {
            trusted.keys.refresh(environment).await;
        }
    }
}
