//! How a database is named: a connection string, read once.
//!
//! TLS is asked for by `sslmode` and is never half-hearted: either there is
//! none, or the server's certificate is verified for its name. What would leave
//! that to the other side (`prefer`, `allow`) is refused. The string may hold a
//! password, so it is never shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// A PostgreSQL connection string that was read.
#[derive(Clone)]
pub struct DatabaseUrl {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

/// How the connection is kept private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// Not at all.
    Off,
    /// Verified by the roots that the system trusts.
    System,
    /// Verified by the roots in a PEM file.
    File(PathBuf),
}

/// A text that names no database, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a database URL: {0}")]
pub struct MalformedDatabaseUrl(&'static str);

impl FromStr for DatabaseUrl {
    type Err = MalformedDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, MalformedDatabaseUrl> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(MalformedDatabaseUrl("it begins with `postgres://`"));
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        let rest = match rest.as_slice() {
            [] => address.to_owned(),
            more => format!("{address}?{}", more.join("&")),
        };
        let mut config: Config = rest
            .parse()
            .map_err(|_| MalformedDatabaseUrl("a part of it cannot be read"))?;
        if config.get_hosts().is_empty() {
            return Err(MalformedDatabaseUrl("it names no host"));
        }
        if config.get_dbname().is_none() {
            return Err(MalformedDatabaseUrl("it names no database"));
        }
        let verified = match mode {
            Some("disable") => false,
            Some("require" | "verify-full") => true,
            None => !config.get_hosts().iter().all(stays_here),
            Some(_) => {
                return Err(MalformedDatabaseUrl(
                    "`sslmode` is `disable`, `require` or `verify-full`",
                ));
            }
        };
        let tls = match (verified, roots) {
            (true, Some(file)) => Tls::File(file),
            (true, None) => Tls::System,
            (false, None) => Tls::Off,
            (false, Some(_)) => {
                return Err(MalformedDatabaseUrl(
                    "`sslrootcert` means nothing without TLS",
                ));
            }
        };
        config.ssl_mode(if verified {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        // Of several hosts the one that takes writes.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("countersign");
        Ok(Self { config, tls })
    }
}

/// Whether what is sent to a host leaves this machine never.
fn stays_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse()
                    .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let database = self.config.get_dbname().unwrap_or_default();
        write!(f, "{}/{database}", hosts.join(","))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_verified_unless_the_database_is_on_this_machine_or_none_is_asked_for() {
        for (url, tls) in [
            ("postgres://u@127.0.0.1/d", Some(Tls::Off)),
            ("postgres://u@localhost:5433/d", Some(Tls::Off)),
            ("postgresql://u@%2Frun%2Fpostgresql/d", Some(Tls::Off)),
            ("postgres://u@db.example/d", Some(Tls::System)),
            ("postgres://u@localhost,db.example/d", Some(Tls::System)),
            ("postgres://u@db.example/d?sslmode=disable", Some(Tls::Off)),
            (
                "postgres://u@localhost/d?sslmode=require",
                Some(Tls::System),
            ),
            (
                "postgres://u@db/d?connect_timeout=3&sslmode=verify-full&sslrootcert=/ca.pem",
                Some(Tls::File("/ca.pem".into())),
            ),
            ("postgres://u@db/d?sslmode=prefer", None),
            (
                "postgres://u@db/d?sslmode=disable&sslrootcert=/ca.pem",
                None,
            ),
            ("host=db dbname=d", None),
            ("postgres://u@db", None),
            ("postgres:///d", None),
            ("postgres://u@db/d?nonsense=1", None),
        ] {
            let read: Result<DatabaseUrl, _> = url.parse();
            assert_eq!(read.ok().map(|read| read.tls), tls, "{url}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let url: DatabaseUrl = "postgres://u:secret@db.example:5432/d".parse().unwrap();
        let shown = format!("{url} {url:?}");
        assert_eq!(shown, "db.example/d db.example/d");
        let error = "postgres://u:secret@db/d?x=1"
            .parse::<DatabaseUrl>()
            .unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }
}
