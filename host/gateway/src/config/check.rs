//! From the shape of the file to types that are valid.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::identity::Resource;
use countersign_canon::ProfileId;
use countersign_evidence::key::VerifyingKey;
use http::Uri;
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

fn telemetry(given: file::Telemetry, folder: &Path) -> Checked<Telemetry> {
    let listen = given.listen.map(|text| {
        text.parse().map_err(|_| {
            ConfigError::new("`telemetry.listen` is no address and port")
                .help("write an IP address and a port, like `127.0.0.1:9464`")
        })
    });
    let traces = match given.traces_url {
        None => None,
        Some(text) => {
            let url = text.parse::<Uri>().ok().filter(|url| {
                matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
            });
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
    let connections = at_least_one("connections", given.connections, 4_096)?;
    Ok(Limits {
        calls: at_least_one("calls", given.calls, 1_024)?,
        calls_per_server: at_least_one("calls_per_server", given.calls_per_server, 128)?,
        calls_per_agent: at_least_one("calls_per_agent", given.calls_per_agent, 16)?,
        requests_per_second: rate("requests_per_second", given.requests_per_second, 500)?,
        burst: rate("burst", given.burst, 1_000)?,
        sessions: at_least_one("sessions", given.sessions, 10_000)?,
        connections,
        connections_per_peer: at_least_one(
            "connections_per_peer",
            given.connections_per_peer,
            connections.div_ceil(4),
        )?,
        task_timeout: ms(given.task_timeout_ms, 86_400_000),
        head_timeout: ms(given.head_timeout_ms, 15_000),
        body_timeout: ms(given.body_timeout_ms, 30_000),
        drain: ms(given.drain_ms, 30_000),
    })
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
mod tests {
    use countersign_mcp::Revision;

    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("/etc/countersign"))
    }

    const OPEN: &str =
        "[identity]\nmode = \"open\"\n[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/mcp\"\n";

    const PROCESS: &str =
        "[identity]\nmode = \"open\"\n[[server]]\nname = \"a\"\ncommand = [\"x\"]\n";

    const VENDOR: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn a_component_is_pinned_by_a_digest_or_by_a_vendors_signature() {
        let config = parse(&format!(
            "{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = [\"b\"]\n\
             [[profile.file]]\npath = \"b@1.0.0.wasm\"\nsignature = \"b.sig\"\n"
        ))
        .unwrap();
        assert_eq!(config.profiles.vendors[0].key.to_string(), VENDOR);
        let file = &config.profiles.files[0];
        assert_eq!(
            file.signature.as_deref(),
            Some(Path::new("/etc/countersign/b.sig"))
        );
    }

    #[test]
    fn a_small_file_gives_a_whole_and_careful_configuration() {
        let config = parse(OPEN).unwrap();
        assert!(config.listen.ip().is_loopback());
        assert_eq!(
            config.store.base,
            Path::new("/etc/countersign/countersign.db")
        );
        assert_eq!(
            config.store.key,
            crate::config::KeyFrom::File("/etc/countersign/countersign.db.key".into())
        );
        assert_eq!(config.profiles.default.as_str(), "exact@1.0.0");
        assert_eq!(config.limits.calls_per_agent, 16);
        assert_eq!(config.required, Required::Never);
        assert_eq!(config.servers[0].revision, Revision::R2025_11_25);
    }

    #[test]
    fn a_key_that_there_is_not_is_refused_with_its_line_and_the_one_that_was_meant() {
        let error = parse(&format!("{OPEN}call_timeout = 5\n")).unwrap_err();
        assert_eq!(error.line(), Some(6));
        assert_eq!(
            error.suggestion(),
            Some("did you mean `call_timeout_ms`?"),
            "{error}"
        );
    }

    #[test]
    fn what_would_be_unsafe_or_mean_nothing_is_refused() {
        for (why, said, text) in [
            (
                "open mode beyond loopback",
                "loopback only",
                format!("listen = \"0.0.0.0:1\"\n{OPEN}"),
            ),
            (
                "no identity",
                "missing field `identity`",
                "[[server]]\nname = \"a\"\nurl = \"http://h/\"\n".to_owned(),
            ),
            (
                "no server",
                "no server is configured",
                "[identity]\nmode = \"open\"\n".to_owned(),
            ),
            (
                "tokens without a file",
                "`identity.tokens` is missing",
                OPEN.replace("\"open\"", "\"tokens\""),
            ),
            (
                "a name with a slash",
                "`a/b` is no name",
                OPEN.replace("\"a\"", "\"a/b\""),
            ),
            (
                "a name in upper case",
                "`A` is no name",
                OPEN.replace("\"a\"", "\"A\""),
            ),
            (
                "a name that begins with a hyphen",
                "`-a` is no name",
                OPEN.replace("\"a\"", "\"-a\""),
            ),
            (
                "credentials in a URL",
                "holds credentials",
                OPEN.replace("127.0.0.1:1", "u:p@127.0.0.1:1"),
            ),
            (
                "another scheme",
                "no http or https URL",
                OPEN.replace("http:", "ftp:"),
            ),
            (
                "two servers of one name",
                "two servers are named `a`",
                format!("{OPEN}[[server]]\nname = \"a\"\nurl = \"http://h/\"\n"),
            ),
            (
                "both transports",
                "both `url` and `command`",
                format!("{OPEN}command = [\"x\"]\n"),
            ),
            (
                "a variable without a command",
                "belong to a `command`",
                format!("{OPEN}env = {{ A = \"b\" }}\n"),
            ),
            (
                "a header of the gateway's",
                "is the gateway's own to set",
                format!("{OPEN}headers = {{ Mcp-Name = \"b\" }}\n"),
            ),
            (
                "a limit of nothing",
                "`limits.calls` is 0",
                format!("{OPEN}[limits]\ncalls = 0\n"),
            ),
            (
                "a certificate without TLS",
                "means nothing without TLS",
                format!("{OPEN}ca_file = \"ca.pem\"\n"),
            ),
            (
                "a certificate that is not there",
                "cannot be read",
                format!("{}ca_file = \"ca.pem\"\n", OPEN.replace("http:", "https:")),
            ),
            (
                "a method that does not pass",
                "no method that can be passed on",
                format!("{OPEN}methods = [\"tools/call\"]\n"),
            ),
            (
                "something that no server asks",
                "nothing that a server asks",
                format!("{OPEN}client_requests = [\"ping\"]\n"),
            ),
            (
                "no failure at all",
                "`unavailable_after` is 0",
                format!("{OPEN}unavailable_after = 0\n"),
            ),
            (
                "no pause between attempts",
                "`retry_ms` is less than 10",
                format!("{OPEN}retry_ms = 0\n"),
            ),
            (
                "a longest pause that is shorter than the first",
                "is less than `retry_ms`",
                format!("{OPEN}retry_ms = 2000\nlongest_retry_ms = 1000\n"),
            ),
            (
                "a component that nothing pins",
                "neither a `digest` nor a `signature`",
                format!("{OPEN}[[profile.file]]\npath = \"a@1.0.0.wasm\"\n"),
            ),
            (
                "a vendor without a key",
                "`profile.vendor.key`",
                format!("{OPEN}[[profile.vendor]]\nkey = \"a\"\nprofiles = [\"b\"]\n"),
            ),
            (
                "a vendor who may sign for nothing",
                "names no profile",
                format!("{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = []\n"),
            ),
            (
                "a vendor of one version",
                "names no profile",
                format!("{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = [\"b@1.0.0\"]\n"),
            ),
            (
                "an unknown revision",
                "2031-01-01",
                format!("{OPEN}revision = \"2031-01-01\"\n"),
            ),
            (
                "a header for a process",
                "belong to a `url`",
                format!("{PROCESS}headers = {{ X = \"b\" }}\n"),
            ),
            (
                "a token for a process",
                "belong to a `url`",
                format!("{PROCESS}bearer_token_file = \"token\"\n"),
            ),
            (
                "a certificate for a process",
                "belong to a `url`",
                format!("{PROCESS}ca_file = \"ca.pem\"\n"),
            ),
            (
                "a folder without a command",
                "belong to a `command`",
                format!("{OPEN}folder = \"x\"\n"),
            ),
            (
                "drift from nothing",
                "means nothing without `catalog.file`",
                format!("{OPEN}[catalog]\non_drift = \"record\"\n"),
            ),
            (
                "no pause between polls",
                "`catalog.poll_ms` is less than 100",
                format!("{OPEN}[catalog]\npoll_ms = 99\n"),
            ),
            (
                "a rate of nothing",
                "`limits.burst` is 0",
                format!("{OPEN}[limits]\nburst = 0\n"),
            ),
            (
                "traces that go nowhere",
                "no http or https URL with a host",
                format!("{OPEN}[telemetry]\ntraces_url = \"ftp://127.0.0.1/x\"\n"),
            ),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{why}: {error}");
        }
    }

    #[test]
    fn a_file_of_certificates_holds_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "# none yet\n").unwrap();
        let error = certificates(&path, "ca_file").unwrap_err();
        assert!(error.message().contains("holds no certificate"), "{error}");
    }

    #[test]
    fn secrets_are_never_shown() {
        let text = OPEN.to_owned()
            + "headers = { Authorization = \"hunter2\" }\n[[server]]\nname = \"b\"\ncommand = [\"x\"]\nenv = { KEY = \"hunter3\" }\n";
        let shown = format!("{:?}", parse(&text).unwrap());
        assert!(!shown.contains("hunter"), "{shown}");
        let broken = text.replace("env =", "env = 7 #");
        assert!(!parse(&broken).unwrap_err().to_string().contains("hunter"));
    }

    #[test]
    fn an_upstream_is_known_by_where_it_is_and_not_by_its_credentials() {
        let digest = |text: &str| parse(text).unwrap().servers[0].digest();
        let with_header = format!("{OPEN}headers = {{ Authorization = \"x\" }}\n");
        assert_eq!(digest(OPEN), digest(&with_header));
        assert_ne!(digest(OPEN), digest(&OPEN.replace("/mcp", "/mcp2")));
    }
}
