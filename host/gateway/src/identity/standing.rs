//! Whether the credential of a request still holds, for what is held open on the
//! strength of it.

use countersign_canon::Digest;
use countersign_evidence::Agent;
use countersign_identity::Principal;

use super::tokens::hash;
use super::{BY_CERTIFICATE, CHORES_EVERY, Identities, Request, now_s};
use crate::environment::Environment;
use crate::tls::Accepted;

/// What of a credential can lapse: its time, its grant in the token file, and the
/// authorities under which its certificate was verified. A
/// signature is not looked at again, so that a key which is taken back ends
/// nothing before the token's own end.
pub(crate) struct Standing {
    agent: Agent,
    until_s: Option<i64>,
    /// The hash of a token that the file knows.
    granted: Option<Digest>,
    /// Of a certificate that it rests on.
    accepted: Option<Accepted>,
}

impl Identities {
    /// What `request`, which was authenticated as `principal`, is held to.
    pub(crate) fn standing(&self, request: &Request<'_>, principal: &Principal) -> Standing {
        let credential = request.credential().ok().flatten();
        let shown = principal.facts.proof_key.as_deref().unwrap_or_default();
        let rests = shown.contains(BY_CERTIFICATE);
        let in_file = |credential: &_| !self.open && self.tokens_for(credential).is_some();
        Standing {
            agent: principal.agent.clone(),
            until_s: principal.until_s,
            granted: credential
                .filter(in_file)
                .map(|credential| hash(credential.token)),
            accepted: request.accepted.filter(|_| rests).cloned(),
        }
    }

    /// Whether a credential holds at `now_s`, seconds since 1970.
    fn stands(&self, standing: &Standing, now_s: i64) -> bool {
        let granted = || {
            let Some(token) = &standing.granted else {
                return true;
            };
            let agent = self
                .tokens
                .as_ref()
                .and_then(|file| file.find_hashed(token));
            agent.map(|agent| self.aliases.resolve(agent)).as_ref() == Some(&standing.agent)
        };
        let accepted = standing.accepted.as_ref().is_none_or(Accepted::holds);
        accepted && standing.until_s.is_none_or(|until| now_s < until) && granted()
    }

    /// Resolves about a second after a credential has ceased to hold.
    pub(crate) async fn lapsed(&self, standing: &Standing, environment: &Environment) {
        while self.stands(standing, now_s(environment)) {
            tokio::time::sleep(CHORES_EVERY).await;
        }
    }
}
