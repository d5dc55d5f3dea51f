//! How agents are told apart, checked.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_identity::{Algorithm, Aliases, Authority, ProofRules, TrustDomain};
use http::Uri;

use super::check::{Checked, certificates, credentials};
use super::file::{self, METHODS, Mode};
use super::suggest::nearest;
use super::{ConfigError, Identity, Issuer, Keys, Proofs};
use crate::identity::Resource;

/// What tokens and proofs may be signed under where nothing is configured.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];
const SKEW_S: u64 = 30;
const MOST_SKEW_S: u64 = 300;
const PROOF_AGE_S: u64 = 60;
const MOST_PROOF_AGE_S: u64 = 600;
const REFRESH_S: u64 = 300;
const KEEP_S: u64 = 86_400;
/// An issuer is not asked more often.
const SHORTEST_REFRESH_S: u64 = 10;

/// What of the rest of the configuration matters here.
pub(super) struct Around<'c> {
    pub(super) listen: IpAddr,
    pub(super) folder: &'c Path,
    /// Whether clients are asked for certificates.
    pub(super) certificates: bool,
}

pub(super) fn identity(given: file::Identity, around: &Around<'_>) -> Checked<Identity> {
    let modes: BTreeSet<Mode> = given.mode.iter().copied().collect();
    if modes.len() != given.mode.len() || modes.is_empty() {
        return Err(ConfigError::new(
            "`identity.mode` names none, or one of them twice",
        ));
    }
    let has = |mode| modes.contains(&mode);
    let open = has(Mode::Open);
    if open && modes.len() > 1 {
        return Err(ConfigError::new("mode `open` stands alone")
            .help("leave the others out, or leave `open` out"));
    }
    if open && !around.listen.is_loopback() {
        return Err(ConfigError::new("mode `open` listens on loopback only")
            .help("listen on 127.0.0.1, or use mode `tokens`"));
    }
    let belongs = |name: &str, given: bool, mode: Mode| match (given, has(mode)) {
        (true, false) => Err(ConfigError::new(format!(
            "`identity.{name}` means nothing without mode `{}`",
            mode.as_str()
        ))),
        (false, true) => {
            Err(ConfigError::new(format!("`identity.{name}` is missing")).help(mode.needs()))
        }
        _ => Ok(()),
    };
    belongs("tokens", given.tokens.is_some(), Mode::Tokens)?;
    belongs("issuer", !given.issuers.is_empty(), Mode::Jwt)?;
    belongs("resource", given.resource.is_some(), Mode::Jwt)?;
    belongs("trust_domain", given.trust_domain.is_some(), Mode::Mtls)?;
    let effects = [
        ("bound_only", given.bound_only),
        ("scopes", !given.scopes.is_empty()),
        ("proofs", given.proofs.says_anything()),
    ];
    if let Some((name, _)) = effects.iter().find(|(_, given)| *given && !has(Mode::Jwt)) {
        return Err(ConfigError::new(format!(
            "`identity.{name}` means nothing without mode `jwt`"
        ))
        .help("leave it out: it is about tokens that an issuer signs"));
    }
    if given.bound_only && has(Mode::Tokens) {
        return Err(ConfigError::new(
            "`identity.bound_only` and mode `tokens` contradict each other",
        )
        .help("leave one of them out: the tokens of a file are bound to nobody"));
    }
    if has(Mode::Mtls) && !around.certificates {
        return Err(ConfigError::new("mode `mtls` needs `tls.client_ca`")
            .help("name the file with the authorities of your workloads' certificates"));
    }
    let trust_domain = given.trust_domain.map(|text| text.parse()).transpose();
    let trust_domain = trust_domain
        .map_err(|error| ConfigError::new(format!("`identity.trust_domain`: {error}")))?;
    let proofs = proofs(&given.proofs)?;
    let scopes = given.scopes;
    let mut names = BTreeSet::new();
    let mut issuers = Vec::with_capacity(given.issuers.len());
    for issuer in given.issuers {
        let issuer = self::issuer(issuer, &scopes, given.bound_only, around.folder)?;
        if !names.insert(issuer.issuer.name.clone()) {
            return Err(ConfigError::new(format!(
                "two issuers are named `{}`",
                issuer.issuer.name
            )));
        }
        issuers.push(issuer);
    }
    let resource = match given.resource {
        None => None,
        Some(text) => Some(Resource {
            base: resource(&text)?,
            issuers: issuers.iter().map(|one| one.issuer.name.clone()).collect(),
            proofs: proofs
                .rules
                .algorithms
                .iter()
                .map(|one| one.as_str())
                .collect(),
            bound_only: given.bound_only,
            certificates: around.certificates,
            scopes,
        }),
    };
    let known = Known {
        modes: &modes,
        issuers: &names,
        domain: trust_domain.as_ref(),
    };
    let aliases = aliases(given.aliases, &known)?;
    Ok(Identity {
        open,
        tokens: given.tokens.map(|path| around.folder.join(path)),
        issuers,
        proofs,
        trust_domain,
        aliases,
        resource,
    })
}

/// Scheme and authority of where the outside world finds the gateway.
fn resource(text: &str) -> Checked<String> {
    let fault = || {
        ConfigError::new("`identity.resource` is no `https` URL of a host alone")
            .help("write it like `https://gateway.example.com`, without a path")
    };
    let url: Uri = text.parse().map_err(|_| fault())?;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err(fault());
    };
    let plain = matches!(url.path(), "" | "/") && url.query().is_none();
    let quiet = visible(text) && !authority.as_str().contains('@');
    if !plain || !quiet || !secure(&url) {
        return Err(fault());
    }
    Ok(format!(
        "{scheme}://{}",
        authority.as_str().to_ascii_lowercase()
    ))
}

/// `https`, or a host that nobody can come between us and.
fn secure(url: &Uri) -> bool {
    match url.scheme_str() {
        Some("https") => url.host().is_some(),
        Some("http") => matches!(url.host(), Some("localhost" | "127.0.0.1" | "[::1]")),
        _ => false,
    }
}

/// Visible ASCII that stands in a header's quotes as it is.
fn visible(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

fn proofs(given: &file::Proofs) -> Checked<Proofs> {
    Ok(Proofs {
        rules: ProofRules {
            algorithms: algorithms("identity.proofs.algorithms", &given.algorithms)?,
            age_s: seconds(
                "identity.proofs.age_s",
                given.age_s,
                PROOF_AGE_S,
                MOST_PROOF_AGE_S,
            )?,
            skew_s: seconds("identity.proofs.skew_s", given.skew_s, SKEW_S, MOST_SKEW_S)?,
        },
        nonces: given.nonces,
    })
}

fn seconds(name: &str, given: Option<u64>, default: u64, most: u64) -> Checked<i64> {
    let value = given.unwrap_or(default);
    let signed = i64::try_from(value).ok().filter(|_| value <= most);
    signed.ok_or_else(|| ConfigError::new(format!("`{name}` is more than {most}")))
}

fn algorithms(name: &str, given: &[String]) -> Checked<Vec<Algorithm>> {
    if given.is_empty() {
        return Ok(ALGORITHMS.to_vec());
    }
    let parse = |text: &String| {
        text.parse().map_err(|error| {
            let all = Algorithm::ALL.map(Algorithm::as_str).join(", ");
            ConfigError::new(format!("`{name}`: `{text}` is {error}")).help(format!("one of {all}"))
        })
    };
    given.iter().map(parse).collect()
}

fn issuer(
    given: file::Issuer,
    scopes: &[String],
    bound_only: bool,
    folder: &Path,
) -> Checked<Issuer> {
    let name = given.name;
    let fault = |what: &str| ConfigError::new(format!("issuer `{name}`: {what}"));
    if !visible(&name) {
        return Err(fault("its name is not as `iss` has it"));
    }
    if !scopes.iter().all(|scope| visible(scope)) {
        return Err(ConfigError::new("`identity.scopes` holds what is no scope"));
    }
    let keys = match (given.jwks_file, given.jwks_url) {
        (Some(path), None) => {
            let of_url = [
                ("ca_file", given.ca_file.is_some()),
                ("refresh_s", given.refresh_s.is_some()),
                ("keep_s", given.keep_s.is_some()),
            ];
            if let Some((key, _)) = of_url.iter().find(|(_, given)| *given) {
                return Err(fault(&format!("`{key}` belongs to a `jwks_url`"))
                    .help("leave it out: a file is read again when it changes"));
            }
            Keys::File(folder.join(path))
        }
        (None, Some(url)) => {
            let url: Uri = url.parse().map_err(|_| fault("`jwks_url` is no URL"))?;
            if !secure(&url) {
                return Err(fault("`jwks_url` is no `https` URL"));
            }
            if credentials(&url) {
                return Err(fault("`jwks_url` holds credentials")
                    .help("leave them out: the keys of an issuer are public"));
            }
            let refresh_s = given.refresh_s.unwrap_or(REFRESH_S);
            if refresh_s < SHORTEST_REFRESH_S {
                return Err(fault(&format!(
                    "`refresh_s` is less than {SHORTEST_REFRESH_S}"
                )));
            }
            let keep_s = given.keep_s.unwrap_or(KEEP_S);
            if keep_s < refresh_s {
                return Err(fault(&format!(
                    "`keep_s` is {keep_s}, less than `refresh_s`, which is {refresh_s}"
                ))
                .help(
                    "keys that are not kept until they are asked for again are there for nobody",
                ));
            }
            let roots = given.ca_file.map(|path| folder.join(path));
            let roots = roots
                .map(|path| certificates(&path, "ca_file"))
                .transpose()?;
            Keys::Url {
                url,
                roots,
                refresh: Duration::from_secs(refresh_s),
                keep: Duration::from_secs(keep_s),
            }
        }
        (Some(_), Some(_)) => return Err(fault("both `jwks_file` and `jwks_url`")),
        (None, None) => return Err(fault("neither `jwks_file` nor `jwks_url`")),
    };
    let authority = match given.authority_claim.as_deref() {
        None | Some("act") => Authority::Actors,
        Some(claim) => Authority::Claim(claim.to_owned()),
    };
    Ok(Issuer {
        issuer: countersign_identity::Issuer {
            algorithms: algorithms("identity.issuer.algorithms", &given.algorithms)?,
            audiences: given.audiences,
            subject_claim: given.subject_claim.unwrap_or_else(|| "sub".to_owned()),
            user_claim: given.user_claim,
            authority,
            scopes: scopes.to_vec(),
            skew_s: seconds("identity.issuer.skew_s", given.skew_s, SKEW_S, MOST_SKEW_S)?,
            bound_only,
            name,
        },
        keys,
    })
}

/// Who can authenticate.
struct Known<'c> {
    modes: &'c BTreeSet<Mode>,
    issuers: &'c BTreeSet<String>,
    domain: Option<&'c TrustDomain>,
}

impl Known<'_> {
    /// Whether a workload of that method and issuer can authenticate here. One whose
    /// executions those are may have done so before, and is held to its form alone.
    fn admits(&self, given: &file::Workload, authenticates: bool) -> Checked<()> {
        let (method, issuer) = (given.method.as_str(), given.issuer.as_str());
        let fault = |what: String| Err(ConfigError::new(format!("`identity.alias`: {what}")));
        let Some(mode) = Mode::of_method(method) else {
            let meant = match method {
                "tokens" => Some("token"),
                other => nearest(other, METHODS.into_iter()),
            };
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("one of {}", METHODS.join(", ")),
            };
            return fault(format!("nobody authenticates by `{method}`"))
                .map_err(|error| error.help(help));
        };
        if issuer.is_empty() == matches!(mode, Mode::Jwt | Mode::Mtls) {
            return fault(format!(
                "`{method}` and `issuer = \"{issuer}\"` do not go together"
            ))
            .map_err(|error| {
                error.help("`jwt` has an issuer, `mtls` a trust domain, `token` and `open` none")
            });
        }
        if !authenticates {
            return Ok(());
        }
        if !self.modes.contains(&mode) {
            return fault(format!(
                "nobody authenticates by `{method}` without mode `{}`",
                mode.as_str()
            ));
        }
        let configured = match mode {
            Mode::Jwt => self.issuers.contains(issuer),
            Mode::Mtls => self.domain.is_some_and(|domain| domain.as_str() == issuer),
            Mode::Open | Mode::Tokens => true,
        };
        if !configured {
            let names = self.issuers.iter().map(String::as_str);
            let meant = nearest(issuer, names).map(|name| format!("did you mean `{name}`?"));
            let help = meant.unwrap_or_else(|| "write it as it is configured".to_owned());
            return fault(format!("no issuer is named `{issuer}`"))
                .map_err(|error| error.help(help));
        }
        Ok(())
    }
}

fn aliases(given: Vec<file::Alias>, known: &Known<'_>) -> Checked<Aliases> {
    let mut pairs = Vec::with_capacity(given.len());
    for alias in given {
        known.admits(&alias.from, true)?;
        known.admits(&alias.to, false)?;
        let [now, before] = [alias.from, alias.to].map(|workload| Agent {
            method: workload.method,
            issuer: workload.issuer,
            subject: workload.subject,
        });
        pairs.push((now, before));
    }
    Aliases::new(pairs).map_err(|error| ConfigError::new(format!("`identity.alias`: {error}")))
}
