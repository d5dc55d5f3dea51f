//! The issuers that are trusted, each with its keys.

use std::sync::Arc;
use std::time::Duration;

use countersign_identity::{Fault, Presented, Refusal, Verified};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::keys::{Keys, KeysError};
use super::now_s;
use crate::config;
use crate::environment::Environment;

/// The issuers of one gateway.
#[derive(Debug)]
pub(super) struct Issuers(Vec<Arc<Trusted>>);

#[derive(Debug)]
struct Trusted {
    issuer: countersign_identity::Issuer,
    keys: Arc<Keys>,
}

impl Issuers {
    pub(super) async fn open(
        configured: &[config::Issuer],
        environment: &Environment,
    ) -> Result<Self, KeysError> {
        let mut issuers = Vec::with_capacity(configured.len());
        for config::Issuer { issuer, keys } in configured {
            issuers.push(Arc::new(Trusted {
                keys: Arc::new(Keys::open(keys, environment.monotonic()).await?),
                issuer: issuer.clone(),
            }));
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
        let judge = |keys: Option<Arc<countersign_identity::KeySet>>| {
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

    /// Reads again whatever keys are due, for as long as it is polled. No issuer waits
    /// for another.
    pub(super) async fn keep_fresh(&self, every: Duration, environment: &Environment) {
        let mut keeping = JoinSet::new();
        for trusted in &self.0 {
            let (trusted, environment) = (Arc::clone(trusted), environment.clone());
            keeping.spawn(async move {
                let mut tick = tokio::time::interval(every);
                tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    tick.tick().await;
                    trusted.keys.refresh(&environment).await;
                }
            });
        }
        while keeping.join_next().await.is_some() {}
    }
}
