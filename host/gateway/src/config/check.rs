//! From the shape of the file to types that are valid.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::identity::Resource;
use countersign_canon::ProfileId;
use countersign_evidence::key::VerifyingKey;
use http::Uri;
use http::uri::Authority;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::identity::{Around, identity};
use super::server::check::servers;
use super::store::store;
use super::{
    Answers, Catalog, Config, ConfigError, Enforcement, Limits, OnDrift, ProfileFile, Profiles,
    Required, Store, Telemetry, Tls, Traces, Vendor, file,
};

pub(super) type Checked<T> = Result<T, ConfigError>;

pub(super) fn config(file: file::File, folder: &Path) -> Checked<Config> {
    let listen: SocketAddr = file.listen.parse().map_err(|_| {
        ConfigError::new("`listen` is no address and port")
            .help("write an IP address and a port, like `127.0.0.1:7400`")
    })?;
    let store = store(file.store, &file.evidence, folder)?;
    let around = Around {
        listen: listen.ip(),
        folder,
        certificates: file.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()),
    };
    let identity = identity(file.identity, &around)?;
    // Where tokens name workloads a certificate is something that may be shown.
    let client_required = identity.tokens.is_none() && identity.issuers.is_empty();
    let outside = identity.resource.as_ref().and_then(Resource::host);
    file.hosts.iter().try_for_each(|given| host(given))?;
    file.origins.iter().try_for_each(|given| origin(given))?;
    Ok(Config {
        file: None,
        answers: answers(&file.executions, &file.limits, &store, folder),
        listen,
        hosts: file
            .hosts
            .iter()
            .map(|host| host.to_ascii_lowercase())
            .chain(outside)
            .collect(),
        origins: file.origins,
        tls: file.tls.map(|tls| Tls {
            certificate: folder.join(tls.certificate),
            key: folder.join(tls.key),
            client_ca: tls.client_ca.map(|path| folder.join(path)),
            client_required,
        }),
        identity,
        telemetry: telemetry(file.telemetry, folder)?,
        store,
        policies: file.policy.folder.map(|path| folder.join(path)),
        enforcement: match file.policy.enforcement {
            file::Enforcement::Enforce => Enforcement::Enforce,
            file::Enforcement::Observe => Enforcement::Observe,
        },
        catalog: catalog(&file.catalog, folder)?,
        profiles: profiles(file.profile, folder)?,
        required: match file.executions.required {
            file::Required::Never => Required::Never,
            file::Required::SideEffecting => Required::SideEffecting,
            file::Required::Always => Required::Always,
        },
        limits: limits(&file.limits)?,
        servers: servers(file.servers, folder)?,
    })
}

/// A value of `Host` without its port: another is never met.
fn host(given: &str) -> Checked<()> {
    let authority = given.parse::<Authority>().ok();
    if authority.is_some_and(|authority| authority.host() == given) {
        return Ok(());
    }
    let bare = given.split_once("://").map_or(given, |(_, rest)| rest);
    let bare = bare.split('/').next().unwrap_or_default();
    let meant = bare.parse::<Authority>().ok();
    let fault = ConfigError::new(format!("`hosts`: `{given}` is no host alone"));
    Err(match meant {
        Some(meant) => fault.help(format!("write `{}`, without scheme and port", meant.host())),
        None => fault.help("write it like `gateway.example.com`"),
    })
}

/// A value of `Origin`: another is never met.
fn origin(given: &str) -> Checked<()> {
    let url = given.parse::<Uri>().ok();
    let written = url.and_then(|url| {
        let (scheme, authority) = (url.scheme_str()?, url.authority()?);
        Some(format!("{scheme}://{authority}").to_ascii_lowercase())
    });
    match written {
        Some(written) if written == given && !given.contains('@') => Ok(()),
        Some(written) => Err(
            ConfigError::new(format!("`origins`: `{given}` is no origin"))
                .help(format!("write `{written}`, as browsers do")),
        ),
        None if given == "null" => Ok(()),
        None => Err(
            ConfigError::new(format!("`origins`: `{given}` is no origin"))
                .help("write it like `https://app.example.com`"),
        ),
    }
}

/// Whether a URL holds a name or a password, which logs would tell.
pub(super) fn credentials(url: &Uri) -> bool {
    url.authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
}

fn telemetry(given: file::Telemetry, folder: &Path) -> Checked<Telemetry> {
    let listen = given.listen.map(|text| {
        text.parse().map_err(|_| {
            ConfigError::new("`telemetry.listen` is no address and port")
                .help("write an IP address and a port, like `127.0.0.1:9464`")
        })
    });
    let traces = match given.traces_url {
        None => {
            let of_url = [
                ("traces_ca_file", given.traces_ca_file.is_some()),
                ("service", given.service.is_some()),
            ];
            if let Some((key, _)) = of_url.iter().find(|(_, given)| *given) {
                return Err(ConfigError::new(format!(
                    "`telemetry.{key}` means nothing without `telemetry.traces_url`"
                ))
                .help("name the collector, or leave it out"));
            }
            None
        }
        Some(text) => {
            let url = text.parse::<Uri>().ok().filter(|url| {
                matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
            });
            if url.as_ref().is_some_and(credentials) {
                return Err(ConfigError::new("`telemetry.traces_url` holds credentials")
                    .help("leave them out: whatever is in a URL is told in logs"));
            }
            let fault = "`telemetry.traces_url` is no http or https URL with a host";
            let roots = given.traces_ca_file.map(|path| folder.join(path));
            let roots = roots.map(|path| certificates(&path, "telemetry.traces_ca_file"));
            Some(Traces {
                url: url.ok_or_else(|| {
                    ConfigError::new(fault).help("like `http://127.0.0.1:4318/v1/traces`")
                })?,
                roots: roots.transpose()?,
                service: given.service.unwrap_or_else(|| "countersign".to_owned()),
            })
        }
    };
    Ok(Telemetry {
        listen: listen.transpose()?,
        traces,
    })
}

/// The shortest time between two polls.
const SHORTEST_POLL_MS: u64 = 100;

fn catalog(given: &file::Catalog, folder: &Path) -> Checked<Catalog> {
    if given.file.is_none() && given.on_drift.is_some() {
        return Err(
            ConfigError::new("`catalog.on_drift` means nothing without `catalog.file`")
                .help("name the file that `countersign catalog approve` writes"),
        );
    }
    let poll_ms = given.poll_ms.unwrap_or(30_000);
    if poll_ms < SHORTEST_POLL_MS {
        return Err(ConfigError::new(format!(
            "`catalog.poll_ms` is less than {SHORTEST_POLL_MS}"
        )));
    }
    Ok(Catalog {
        lock: given.file.as_ref().map(|path| folder.join(path)),
        on_drift: match given.on_drift {
            None | Some(file::OnDrift::Refuse) => OnDrift::Refuse,
            Some(file::OnDrift::Record) => OnDrift::Record,
        },
        poll: Duration::from_millis(poll_ms),
    })
}

fn profiles(profile: file::Profile, folder: &Path) -> Checked<Profiles> {
    let default = profile.default.as_deref().unwrap_or("exact@1.0.0");
    let default = default.parse().map_err(|error| {
        ConfigError::new(format!("`profile.default`: {error}")).help("write `exact@1.0.0`")
    })?;
    let files = profile.files.into_iter().map(|file| {
        let digest = file.digest.map(|digest| digest.parse()).transpose();
        let digest =
            digest.map_err(|error| ConfigError::new(format!("`profile.file.digest`: {error}")))?;
        if digest.is_none() && file.signature.is_none() {
            return Err(ConfigError::new(format!(
                "`profile.file` `{}` has neither a `digest` nor a `signature`",
                file.path.display()
            ))
            .help(
                "`countersign profile inspect` prints the digest of a component that you trust",
            ));
        }
        Ok(ProfileFile {
            path: folder.join(file.path),
            digest,
            signature: file.signature.map(|path| folder.join(path)),
        })
    });
    Ok(Profiles {
        default,
        files: files.collect::<Checked<_>>()?,
        vendors: vendors(profile.vendors)?,
        cache: profile.cache.map(|path| folder.join(path)),
    })
}

fn vendors(given: Vec<file::Vendor>) -> Checked<Vec<Vendor>> {
    let vendors = given.into_iter().map(|vendor| {
        let key = VerifyingKey::parse(&vendor.key).map_err(|error| {
            ConfigError::new(format!("`profile.vendor.key`: {error}"))
                .help("write what `countersign profile key` printed for the vendor")
        })?;
        let named = |name: &String| format!("{name}@0.0.0").parse::<ProfileId>().is_ok();
        if vendor.profiles.is_empty() || !vendor.profiles.iter().all(named) {
            let fault = format!(
                "`profile.vendor.profiles` of `{}` names no profile",
                key.name()
            );
            return Err(ConfigError::new(fault)
                .help("list the names, without versions, that the vendor may sign for"));
        }
        Ok(Vendor {
            key,
            profiles: vendor.profiles,
        })
    });
    vendors.collect()
}

/// A quarter of an hour.
const RETAIN_ANSWERS_S: u64 = 900;

fn answers(
    executions: &file::Executions,
    limits: &file::Limits,
    store: &Store,
    folder: &Path,
) -> Answers {
    let key = match &executions.answers_key {
        Some(path) => folder.join(path),
        None => {
            let mut name = store.base.clone().into_os_string();
            name.push(".answers-key");
            name.into()
        }
    };
    Answers {
        keep_for: Duration::from_secs(executions.retain_answers.unwrap_or(RETAIN_ANSWERS_S)),
        key,
        most_bytes: limits.answer_bytes.unwrap_or(1 << 20),
        most: limits.answers.unwrap_or(10_000),
        all_bytes: limits.answers_bytes.unwrap_or(64 << 20),
    }
}

fn limits(given: &file::Limits) -> Checked<Limits> {
    let at_least_one = |name: &str, value: Option<usize>, default: usize| match value {
        Some(0) => Err(ConfigError::new(format!(
            "`limits.{name}` is 0, so nothing would pass"
        ))),
        value => Ok(value.unwrap_or(default)),
    };
    let rate = |name: &str, value: Option<u32>, default: u32| match value {
        Some(0) => Err(ConfigError::new(format!(
            "`limits.{name}` is 0, so nothing would pass"
        ))),
        value => Ok(value.unwrap_or(default)),
    };
    let ms = |value: Option<u64>, default| Duration::from_millis(value.unwrap_or(default));
    let some = |name: &str, value: Option<u64>, default| match value {
        Some(0) => Err(ConfigError::new(format!(
            "`limits.{name}` is 0, so nothing would be in time"
        ))),
        value => Ok(ms(value, default)),
    };
    let connections = at_least_one("connections", given.connections, 4_096)?;
    Ok(Limits {
        calls: at_least_one("calls", given.calls, 1_024)?,
        calls_per_server: at_least_one("calls_per_server", given.calls_per_server, 128)?,
        calls_per_agent: at_least_one("calls_per_agent", given.calls_per_agent, 16)?,
        requests_per_second: rate("requests_per_second", given.requests_per_second, 500)?,
        burst: rate("burst", given.burst, 1_000)?,
        sessions: at_least_one("sessions", given.sessions, 10_000)?,
        bodies_bytes: bodies_bytes(given.bodies_bytes)?,
        connections,
        connections_per_peer: at_least_one(
            "connections_per_peer",
            given.connections_per_peer,
            connections.div_ceil(4),
        )?,
        task_timeout: some("task_timeout_ms", given.task_timeout_ms, 86_400_000)?,
        head_timeout: some("head_timeout_ms", given.head_timeout_ms, 15_000)?,
        body_timeout: some("body_timeout_ms", given.body_timeout_ms, 30_000)?,
        write_timeout: some("write_timeout_ms", given.write_timeout_ms, 30_000)?,
        drain: ms(given.drain_ms, 30_000),
    })
}

/// Bytes of all bodies in memory: 256 MiB unless something else is said.
fn bodies_bytes(given: Option<usize>) -> Checked<usize> {
    const MESSAGE: u32 = countersign_canon::Limits::STANDARD.message_bytes;
    let bytes = given.unwrap_or(256 << 20);
    if u32::try_from(bytes).is_ok_and(|bytes| bytes < MESSAGE) {
        return Err(ConfigError::new(format!(
            "`limits.bodies_bytes` is less than the {MESSAGE} bytes that one message may have"
        )));
    }
    Ok(bytes)
}

/// The certificates of a PEM file, at least one.
pub(super) fn certificates(path: &Path, key: &str) -> Checked<Vec<CertificateDer<'static>>> {
    let fault = |what: &str| ConfigError::new(format!("`{key}` `{}` {what}", path.display()));
    let text = std::fs::read(path).map_err(|source| ConfigError::unreadable(path, &source))?;
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(fault("holds no certificate")),
        Err(_) => Err(fault("is no PEM")),
    }
}

#[cfg(test)]
mod effects;
#[cfg(test)]
mod tests;
