//! Who is calling. Only what authentication establishes is an agent; nothing
//! that a caller writes into a message ever is (`docs/spec/protocol.md` §2).
//!
//! `credential` finds the one credential of a request, `file`, `issuers` and
//! `proofs` say what it is worth, `metadata` and `challenge` tell a client where
//! to get one, `standing` whether one that was taken still holds. What a token, a proof or a certificate means is asked of
//! `countersign_identity`; here is what needs files, a network or a clock.

mod challenge;
mod credential;
mod file;
mod issuers;
mod key_file;
mod keys;
mod metadata;
mod proofs;
mod standing;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_identity::{Aliases, Fault, Principal, Refusal, Svid, TrustDomain, thumbprint};

use crate::config;
use crate::environment::{Environment, NoRandomness};

pub(crate) use challenge::challenge;
pub(crate) use credential::{Peer, Request, Scheme};
pub use file::{Refreshed, Tokens, TokensError};
pub use keys::KeysError;
pub(crate) use metadata::Resource;
pub(crate) use standing::Standing;
pub use tokens::{Grant, MalformedTokens, Token, TokenFile};

use credential::Credential;
use issuers::Issuers;
use proofs::{Bound, Proofs};

/// What begins every token of a token file.
const OF_A_FILE: &str = "csgn_";
/// What begins the thumbprint of a certificate that was shown.
const BY_CERTIFICATE: &str = "x5t#S256:";
/// How often files and keys are looked at.
const CHORES_EVERY: Duration = Duration::from_secs(1);
/// What an agent over its rate is told to wait.
const OVER_RATE: Duration = Duration::from_secs(1);

/// How the gateway tells agents apart.
#[derive(Debug)]
pub(crate) struct Identities {
    /// Everyone is one agent. Only for loopback.
    open: bool,
    tokens: Option<Tokens>,
    issuers: Option<Issuers>,
    proofs: Option<Proofs>,
    /// Whose certificates name workloads.
    domain: Option<TrustDomain>,
    aliases: Aliases,
    resource: Option<Resource>,
}

/// Why a request is not taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// Nobody is known to have sent it.
    Unknown(Refusal),
    /// Who sent it is known, and sends too much.
    TooMuch {
        agent: Agent,
        /// How long to wait.
        wait: Duration,
    },
}

impl From<Refusal> for NotTaken {
    fn from(refusal: Refusal) -> Self {
        Self::Unknown(refusal)
    }
}

impl NotTaken {
    fn over_rate(agent: Agent) -> Self {
        let wait = OVER_RATE;
        Self::TooMuch { agent, wait }
    }

    /// As whom the agent counts.
    fn resolved(self, aliases: &Aliases) -> Self {
        match self {
            Self::TooMuch { agent, wait } => Self::TooMuch {
                agent: aliases.resolve(agent),
                wait,
            },
            unknown @ Self::Unknown(_) => unknown,
        }
    }
}

/// Why agents cannot be told apart.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The token file cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// An issuer's keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// There is no randomness.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

impl Identities {
    /// Reads every file and asks every URL that a configuration names. An
    /// issuer that cannot be reached now is asked again later.
    pub(crate) async fn open(
        config: &config::Identity,
        environment: &Environment,
    ) -> Result<Self, IdentityError> {
        let tokens = config.tokens.clone().map(Tokens::open).transpose()?;
        let (issuers, proofs) = if config.issuers.is_empty() {
            (None, None)
        } else {
            let issuers = Issuers::open(&config.issuers, environment).await?;
            (
                Some(issuers),
                Some(Proofs::new(&config.proofs, environment)?),
            )
        };
        Ok(Self {
            open: config.open,
            tokens,
            issuers,
            proofs,
            domain: config.trust_domain.clone(),
            aliases: config.aliases.clone(),
            resource: config.resource.clone(),
        })
    }

    /// Who sent a request, by its one credential. `within_rate` takes one request
    /// off the rate of whom an agent counts as, and answers whether there was one
    /// left; it is asked once, and of nobody who is not known to have sent it.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub(crate) async fn authenticate(
        &self,
        request: &Request<'_>,
        within_rate: impl Fn(&Agent) -> bool,
        environment: &Environment,
    ) -> Result<Principal, NotTaken> {
        let taken = self.known(request, &within_rate, environment).await;
        let (mut principal, counted) = taken.map_err(|why| why.resolved(&self.aliases))?;
        principal.agent = self.aliases.resolve(principal.agent);
        if counted || within_rate(&principal.agent) {
            Ok(principal)
        } else {
            Err(NotTaken::over_rate(principal.agent))
        }
    }

    /// Who it is, by themselves, and whether the request was counted already.
    async fn known(
        &self,
        request: &Request<'_>,
        within_rate: &impl Fn(&Agent) -> bool,
        environment: &Environment,
    ) -> Result<(Principal, bool), NotTaken> {
        if self.open {
            let anybody = Principal::bare(Agent {
                method: "open".to_owned(),
                issuer: String::new(),
                subject: "anonymous".to_owned(),
            });
            return Ok((anybody, false));
        }
        let Some(credential) = request.credential()? else {
            return Ok((self.by_certificate(request, environment)?, false));
        };
        let rate = |agent: &Agent| within_rate(&self.aliases.resolve(agent.clone()));
        let principal = self
            .by_token(request, &credential, rate, environment)
            .await?;
        // Whoever brings a proof was counted before that was remembered.
        Ok((principal, credential.scheme == Scheme::Dpop))
    }

    /// A token names the workload; a certificate beside it only shows who holds
    /// what the token is bound to.
    async fn by_token(
        &self,
        request: &Request<'_>,
        credential: &Credential<'_>,
        within_rate: impl FnOnce(&Agent) -> bool,
        environment: &Environment,
    ) -> Result<Principal, NotTaken> {
        if let Some(tokens) = self.tokens_for(credential) {
            let bearer = credential.scheme == Scheme::Bearer;
            let agent = tokens.find(credential.token).filter(|_| bearer);
            return Ok(agent.map(Principal::bare).ok_or(Refusal::Missing)?);
        }
        let (Some(issuers), Some(proofs), Some(resource)) =
            (&self.issuers, &self.proofs, &self.resource)
        else {
            return Err(Refusal::Missing.into());
        };
        let of = resource.at(request.path);
        let verified = issuers.verify(credential.token, &of, environment).await?;
        // Looked at first, since a proof is used up by being taken.
        if let Some(x5t) = &verified.x5t {
            holds(request, x5t)?;
        }
        let mut shown = Vec::new();
        match (&verified.jkt, credential.scheme) {
            (Some(jkt), Scheme::Dpop) => {
                let bound = Bound {
                    agent: &verified.agent,
                    token: credential.token,
                    jkt,
                    url: &of,
                };
                proofs.check(request, &bound, within_rate, environment)?;
                shown.push(format!("jkt:{jkt}"));
            }
            (Some(_), Scheme::Bearer) => return Err(Refusal::ProofRequired.into()),
            (None, Scheme::Dpop) => return Err(Refusal::Proof(Fault::Binding).into()),
            (None, Scheme::Bearer) => {}
        }
        if let Some(x5t) = &verified.x5t {
            shown.push(format!("{BY_CERTIFICATE}{x5t}"));
        }
        let proof_key = (!shown.is_empty()).then(|| shown.join(" "));
        let mut principal = Principal::bare(verified.agent);
        principal.facts.represented_user = verified.represented_user;
        principal.facts.audience = Some(verified.audience);
        principal.facts.proof_key = proof_key;
        principal.facts.authority = verified.authority;
        principal.until_s = Some(verified.until_s);
        Ok(principal)
    }

    /// The token file, where it has to know a credential.
    fn tokens_for(&self, credential: &Credential<'_>) -> Option<&Tokens> {
        let in_file = self.issuers.is_none() || credential.token.starts_with(OF_A_FILE);
        self.tokens.as_ref().filter(|_| in_file)
    }

    fn by_certificate(
        &self,
        request: &Request<'_>,
        environment: &Environment,
    ) -> Result<Principal, Refusal> {
        let domain = self.domain.as_ref().ok_or(Refusal::Missing)?;
        let der = request.certificate()?.ok_or(Refusal::Missing)?;
        let named = || -> Result<Principal, Fault> {
            let svid = Svid::read(der)?;
            let mut principal = Principal::bare(svid.id.agent(domain)?);
            principal.facts.proof_key = Some(format!("{BY_CERTIFICATE}{}", thumbprint(der)));
            principal.until_s = Some(svid.until_s);
            Ok(principal)
        };
        let principal = named().map_err(Refusal::Certificate)?;
        // The handshake checked it; a connection can outlive it.
        if principal.holds(now_s(environment)) {
            Ok(principal)
        } else {
            Err(Refusal::Certificate(Fault::Time))
        }
    }

    /// What clients are told about where a credential comes from; none where no
    /// issuer is configured.
    pub(crate) fn resource(&self) -> Option<&Resource> {
        self.resource.as_ref()
    }

    /// What a client must put into its next proof, where that is asked for.
    pub(crate) fn nonce(&self, environment: &Environment) -> Option<String> {
        Some(self.proofs.as_ref()?.nonce(now_s(environment)))
    }

    /// The names of the algorithms that proofs may be signed under.
    pub(crate) fn proof_algorithms(&self) -> Option<String> {
        self.proofs.as_ref().map(Proofs::algorithms)
    }

    /// Who counts as whom.
    pub(crate) fn aliases(&self) -> &Aliases {
        &self.aliases
    }

    /// Whether no token of the file is good, since it cannot be read. `now` is
    /// monotonic.
    pub(crate) fn closed(&self, now: Duration) -> bool {
        self.tokens
            .as_ref()
            .is_some_and(|tokens| tokens.closed(now))
    }

    /// Whether the token file could be read when it was looked at last; none where
    /// none is configured.
    pub(crate) fn tokens_readable(&self) -> Option<bool> {
        self.tokens.as_ref().map(Tokens::readable)
    }

    /// Keeps the token file and issuers' keys fresh, for as long as it is polled.
    /// Neither waits for the other: an issuer that does not answer delays no
    /// revocation.
    pub(crate) async fn chores(self: Arc<Self>, environment: Environment) {
        tokio::join!(self.keep_tokens(&environment), self.keep_keys(&environment));
    }

    async fn keep_tokens(&self, environment: &Environment) {
        let Some(tokens) = &self.tokens else { return };
        let mut tick = tokio::time::interval(CHORES_EVERY);
        loop {
            tick.tick().await;
            match tokens.refresh(environment.monotonic()) {
                Some(Refreshed::Read) => tracing::info!("the token file was read again"),
                Some(Refreshed::Unread(why)) => {
                    tracing::error!("{why}; the grants stay as they were for a few seconds");
                }
                Some(Refreshed::Closed) => {
                    tracing::error!("no token is accepted until the token file can be read");
                }
                None => {}
            }
        }
    }

    async fn keep_keys(&self, environment: &Environment) {
        let Some(issuers) = &self.issuers else { return };
        issuers.keep_fresh(CHORES_EVERY, environment).await;
    }
}

/// Whether the connection has the certificate that a token is bound to.
fn holds(request: &Request<'_>, x5t: &str) -> Result<(), Refusal> {
    let der = request.certificate()?.ok_or(Refusal::CertificateRequired)?;
    if thumbprint(der) == x5t {
        Ok(())
    } else {
        Err(Refusal::OtherCertificate)
    }
}

/// Seconds since 1970.
pub(crate) fn now_s(environment: &Environment) -> i64 {
    environment.now().micros().div_euclid(1_000_000)
}
