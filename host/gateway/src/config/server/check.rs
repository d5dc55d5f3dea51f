//! From the tables of servers to servers that are valid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use countersign_evidence::ServerName;
use countersign_mcp::Revision;
use countersign_mcp::asks::{Ask, Permitted};
use countersign_mcp::methods::{METHODS, Passed};
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Uri};

use super::{OnDisconnect, Patience, Secret, Server, Transport};
use crate::config::check::{Checked, certificates, credentials};
use crate::config::{ConfigError, file};

/// The shortest time for which a server is left alone.
const SHORTEST_RETRY_MS: u64 = 10;

pub(in crate::config) fn servers(
    servers: Vec<file::Server>,
    folder: &Path,
) -> Checked<Vec<Server>> {
    if servers.is_empty() {
        return Err(ConfigError::new("no server is configured")
            .help("add a `[[server]]` with a `name` and a `url` or a `command`"));
    }
    let mut names = BTreeSet::new();
    let mut checked = Vec::with_capacity(servers.len());
    for given in servers {
        let server = server(given, folder)?;
        if !names.insert(server.name.clone()) {
            return Err(ConfigError::new(format!(
                "two servers are named `{}`",
                server.name
            )));
        }
        checked.push(server);
    }
    Ok(checked)
}

fn server(given: file::Server, folder: &Path) -> Checked<Server> {
    let name = server_name(&given.name)?;
    let revision = match given.revision.as_deref() {
        None => Revision::NEWEST_WITH_SESSIONS,
        Some(text) => text.parse().map_err(|error| {
            ConfigError::new(format!("server `{name}`: {error} `{text}`")).help(format!(
                "one of {}",
                Revision::ALL.map(Revision::as_str).join(", ")
            ))
        })?,
    };
    let ms = |key: &str, value: Option<u64>, default| match value {
        Some(0) => Err(ConfigError::new(format!(
            "server `{name}`: `{key}` is 0, so nothing would be in time"
        ))),
        value => Ok(Duration::from_millis(value.unwrap_or(default))),
    };
    Ok(Server {
        patience: patience(&given, &name)?,
        call_timeout: ms("call_timeout_ms", given.call_timeout_ms, 60_000)?,
        connect_timeout: ms("connect_timeout_ms", given.connect_timeout_ms, 10_000)?,
        send_call_id: given.send_call_id,
        passed: passed(&given.methods, &name)?,
        permitted: permitted(&given.client_requests, &name)?,
        on_disconnect: given
            .on_disconnect
            .iter()
            .map(|(tool, what)| {
                let what = match what {
                    file::OnDisconnect::Forward => OnDisconnect::Forward,
                    file::OnDisconnect::Finish => OnDisconnect::Finish,
                };
                (tool.clone(), what)
            })
            .collect(),
        transport: transport(given, &name, folder)?,
        revision,
        name,
    })
}

fn patience(given: &file::Server, server: &ServerName) -> Checked<Patience> {
    let fault = |what: &str| ConfigError::new(format!("server `{server}`: {what}"));
    let failures = given.unavailable_after.unwrap_or(5);
    let first = given.retry_ms.unwrap_or(1_000);
    let longest = given.longest_retry_ms.unwrap_or(first.max(30_000));
    if failures == 0 {
        return Err(
            fault("`unavailable_after` is 0, so it would never be tried")
                .help("write how many failures in a row are borne, 5 by default"),
        );
    }
    if first < SHORTEST_RETRY_MS {
        return Err(fault(&format!(
            "`retry_ms` is less than {SHORTEST_RETRY_MS}"
        )));
    }
    if longest < first {
        return Err(fault("`longest_retry_ms` is less than `retry_ms`"));
    }
    Ok(Patience {
        failures,
        first: Duration::from_millis(first),
        longest: Duration::from_millis(longest),
    })
}

fn passed(methods: &[String], server: &ServerName) -> Checked<Passed> {
    Passed::of(methods.iter().map(String::as_str)).map_err(|error| {
        let known = METHODS.map(|method| method.name).join(", ");
        ConfigError::new(format!("server `{server}`: `methods`: {error}")).help(format!(
            "a group like `resources/*`, or one of {known}; tools always pass"
        ))
    })
}

fn permitted(methods: &[String], server: &ServerName) -> Checked<Permitted> {
    Permitted::of(methods.iter().map(String::as_str)).map_err(|error| {
        let known = Ask::ALL.map(Ask::method).join(", ");
        ConfigError::new(format!("server `{server}`: `client_requests`: {error}"))
            .help(format!("one of {known}"))
    })
}

/// `[a-z0-9][a-z0-9-]{0,62}`, so that `server/tool` names one tool.
fn server_name(text: &str) -> Checked<ServerName> {
    let sound = text.len() <= 63
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !text.starts_with('-');
    let name = ServerName::new(text).ok().filter(|_| sound);
    name.ok_or_else(|| {
        ConfigError::new(format!("`{text}` is no name of a server"))
            .help("write 1 to 63 of a-z, 0-9 and `-`, not beginning with `-`")
    })
}

fn transport(given: file::Server, name: &ServerName, folder: &Path) -> Checked<Transport> {
    let fault = |what: &str| ConfigError::new(format!("server `{name}`: {what}"));
    match (given.url, given.command) {
        (Some(url), None) => {
            if !given.env.is_empty() || given.folder.is_some() {
                return Err(fault("`env` and `folder` belong to a `command`"));
            }
            let url: Uri = url.parse().map_err(|_| fault("`url` is no URL"))?;
            if !matches!(url.scheme_str(), Some("http" | "https")) || url.host().is_none() {
                return Err(fault("`url` is no http or https URL with a host"));
            }
            if credentials(&url) {
                return Err(fault("`url` holds credentials")
                    .help("put a token into a file and name it in `bearer_token_file`"));
            }
            let mut headers = headers(given.headers, name)?;
            if let Some(path) = given.bearer_token_file {
                if headers.iter().any(|(name, _)| *name == AUTHORIZATION) {
                    return Err(
                        fault("both `bearer_token_file` and a header `authorization`")
                            .help("leave one of them out: a request has one"),
                    );
                }
                headers.push(bearer(&folder.join(path), name)?);
            }
            let roots = match given.ca_file {
                Some(_) if url.scheme_str() == Some("http") => {
                    return Err(fault("`ca_file` means nothing without TLS")
                        .help("write an `https` URL, or leave it out"));
                }
                Some(path) => {
                    let roots = certificates(&folder.join(path), "ca_file");
                    Some(roots.map_err(|error| fault(error.message()))?)
                }
                None => None,
            };
            Ok(Transport::Http {
                url,
                headers,
                roots,
            })
        }
        (None, Some(command)) => {
            if !given.headers.is_empty()
                || given.bearer_token_file.is_some()
                || given.ca_file.is_some()
            {
                return Err(fault(
                    "`headers`, `bearer_token_file` and `ca_file` belong to a `url`",
                ));
            }
            let mut command = command.into_iter();
            let program = command.next().ok_or_else(|| fault("`command` is empty"))?;
            Ok(Transport::Stdio {
                program,
                arguments: command.collect(),
                environment: given.env.into_iter().map(|(k, v)| (k, Secret(v))).collect(),
                folder: given.folder.map(|path| folder.join(path)),
            })
        }
        (Some(_), Some(_)) => Err(fault("both `url` and `command`")),
        (None, None) => Err(fault("neither `url` nor `command`")),
    }
}

fn headers(
    given: BTreeMap<String, String>,
    server: &ServerName,
) -> Checked<Vec<(HeaderName, HeaderValue)>> {
    let fault = |name: &str, what: &str| {
        ConfigError::new(format!("server `{server}`: the header `{name}` {what}"))
    };
    given
        .into_iter()
        .map(|(name, value)| {
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| fault(&name, "has no valid name"))?;
            let lower = parsed.as_str();
            let ours = lower.starts_with("mcp-")
                || matches!(
                    lower,
                    "host"
                        | "content-length"
                        | "content-type"
                        | "accept"
                        | "connection"
                        | "transfer-encoding"
                        | "upgrade"
                        | "te"
                        | "trailer"
                        | "expect"
                );
            if ours {
                return Err(fault(&name, "is the gateway's own to set"));
            }
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| fault(&name, "has a value that no header carries"))?;
            value.set_sensitive(true);
            Ok((parsed, value))
        })
        .collect()
}

fn bearer(path: &Path, server: &ServerName) -> Checked<(HeaderName, HeaderValue)> {
    let token =
        std::fs::read_to_string(path).map_err(|source| ConfigError::unreadable(path, &source))?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| {
        ConfigError::new(format!(
            "server `{server}`: `bearer_token_file` holds no token"
        ))
    })?;
    value.set_sensitive(true);
    Ok((AUTHORIZATION, value))
}
