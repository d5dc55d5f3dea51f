//! The section that says where the ledger lives.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_evidence::LogId;

use super::check::Checked;
use super::{ConfigError, Database, KeyFrom, Shared, Store, UrlFrom, file};

/// A shorter lease runs out while a busy database answers.
const SHORTEST_LEASE_MS: u64 = 3_000;

pub(super) fn store(
    store: file::Store,
    evidence: &file::Evidence,
    folder: &Path,
) -> Checked<Store> {
    let origin = origin(store.origin.as_deref())?;
    let database = database(&store, folder)?;
    // What a gateway keeps for itself stands beside its database, or where that
    // would be.
    let base = match &database {
        Database::Sqlite(path) => path.clone(),
        Database::Postgres(_) => folder.join("countersign"),
    };
    let beside = |given: Option<PathBuf>, ending: &str| match given {
        Some(given) => folder.join(given),
        None => {
            let mut name = base.clone().into_os_string();
            name.push(ending);
            name.into()
        }
    };
    Ok(Store {
        anchor: beside(store.anchor, ".anchor"),
        key: match (store.key, store.key_variable) {
            (given, None) => KeyFrom::File(beside(given, ".key")),
            (None, Some(name)) => KeyFrom::Variable(name),
            (Some(_), Some(_)) => {
                return Err(ConfigError::new(
                    "the log's key is named twice: `key` and `key_variable` exclude each other",
                ));
            }
        },
        archive: beside(store.archive, ".archive"),
        operator: beside(store.operator, ".operator"),
        origin,
        database,
        base,
        blind: evidence.blind,
    })
}

fn origin(given: Option<&str>) -> Checked<LogId> {
    let origin = LogId::new(given.unwrap_or("countersign")).map_err(|error| {
        ConfigError::new(format!("`store.origin` is {error}"))
            .help("write a name of yours, like `gateway.example.com`")
    })?;
    if origin.as_str().len() > 90 {
        return Err(ConfigError::new(
            "`store.origin` is longer than 90 characters",
        ));
    }
    Ok(origin)
}

fn database(store: &file::Store, folder: &Path) -> Checked<Database> {
    let shared = [
        ("url", store.url.is_some()),
        ("url_file", store.url_file.is_some()),
        ("url_variable", store.url_variable.is_some()),
        ("lease_ms", store.lease_ms.is_some()),
        (
            "unsynchronous_standbys",
            store.unsynchronous_standbys.is_some(),
        ),
    ];
    match store.kind {
        file::Kind::Sqlite => match shared.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(ConfigError::new(format!(
                "`store.{key}` means nothing to SQLite"
            ))
            .help("write `kind = \"postgres\"`, or leave it out")),
            None => {
                let path = store.path.clone();
                let path = path.unwrap_or_else(|| "countersign.db".into());
                Ok(Database::Sqlite(folder.join(path)))
            }
        },
        file::Kind::Postgres if store.path.is_some() => {
            Err(ConfigError::new("`store.path` means nothing to PostgreSQL")
                .help("name the database by `url_file`, `url_variable` or `url`"))
        }
        file::Kind::Postgres => Ok(Database::Postgres(Shared {
            url: url(store, folder)?,
            lease: lease(store.lease_ms)?,
            unsynchronous_standbys: store.unsynchronous_standbys.unwrap_or(false),
        })),
    }
}

fn url(store: &file::Store, folder: &Path) -> Checked<UrlFrom> {
    match (&store.url, &store.url_file, &store.url_variable) {
        (Some(url), None, None) => {
            let url = url.parse().map_err(|error| {
                ConfigError::new(format!("`store.url` is {error}"))
                    .help("write it like `postgres://countersign@db.example/countersign`")
            })?;
            Ok(UrlFrom::Text(Box::new(url)))
        }
        (None, Some(path), None) => Ok(UrlFrom::File(folder.join(path))),
        (None, None, Some(name)) => Ok(UrlFrom::Variable(name.clone())),
        (None, None, None) => Err(ConfigError::new("the database is not named").help(
            "write `store.url_file`, `store.url_variable`, or, without a password, `store.url`",
        )),
        _ => Err(ConfigError::new(
            "the database is named more than once: `url`, `url_file` and `url_variable` exclude each other",
        )),
    }
}

fn lease(given_ms: Option<u64>) -> Checked<Duration> {
    match given_ms {
        None => Ok(Duration::from_secs(15)),
        Some(ms) if ms >= SHORTEST_LEASE_MS => Ok(Duration::from_millis(ms)),
        Some(_) => Err(ConfigError::new(format!(
            "`store.lease_ms` is less than {SHORTEST_LEASE_MS}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Database, KeyFrom, UrlFrom};
    use std::path::Path;

    fn read(store: &str) -> Result<Config, String> {
        let text = format!(
            "[identity]\nmode = \"open\"\n[store]\n{store}\n\
             [[server]]\nname = \"s\"\nurl = \"http://127.0.0.1/\"\n"
        );
        Config::parse(&text, Path::new("/etc/c")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_database_is_named_in_one_way_that_fits_its_kind() {
        for (store, sound) in [
            ("", true),
            ("kind = \"sqlite\"\npath = \"x.db\"", true),
            ("kind = \"postgres\"\nurl_file = \"url\"", true),
            ("kind = \"postgres\"\nurl_variable = \"DATABASE_URL\"", true),
            ("kind = \"postgres\"\nurl = \"postgres://u@db/d\"", true),
            ("kind = \"postgres\"", false),
            ("kind = \"postgres\"\nurl = \"mysql://u@db/d\"", false),
            (
                "kind = \"postgres\"\nurl_file = \"a\"\nurl_variable = \"B\"",
                false,
            ),
            (
                "kind = \"postgres\"\nurl_file = \"a\"\npath = \"x.db\"",
                false,
            ),
            (
                "kind = \"postgres\"\nurl_file = \"a\"\nlease_ms = 100",
                false,
            ),
            ("url_file = \"a\"", false),
            ("kind = \"oracle\"", false),
        ] {
            assert_eq!(read(store).is_ok(), sound, "{store}: {:?}", read(store));
        }
        let config = read("kind = \"postgres\"\nurl_file = \"url\"").unwrap();
        assert_eq!(config.store.anchor, Path::new("/etc/c/countersign.anchor"));
        let Database::Postgres(shared) = config.store.database else {
            panic!("another kind");
        };
        assert_eq!(shared.lease.as_secs(), 15);
        assert!(matches!(shared.url, UrlFrom::File(path) if path == Path::new("/etc/c/url")));
    }

    #[test]
    fn the_logs_key_is_in_a_file_or_in_a_variable_and_never_in_both() {
        let key = |store: &str| read(store).map(|config| config.store.key);
        let file = |path: &str| Ok(KeyFrom::File(Path::new(path).to_owned()));
        assert_eq!(key(""), file("/etc/c/countersign.db.key"));
        assert_eq!(key("key = \"k\""), file("/etc/c/k"));
        let variable = Ok(KeyFrom::Variable("LOG_KEY".into()));
        assert_eq!(key("key_variable = \"LOG_KEY\""), variable);
        assert!(key("key = \"k\"\nkey_variable = \"LOG_KEY\"").is_err());
    }

    #[test]
    fn a_password_in_the_configuration_is_never_shown() {
        let named = "kind = \"postgres\"\nurl = \"postgres://u:secret@db/d\"";
        assert!(!format!("{:?}", read(named).unwrap()).contains("secret"));
        let broken = "kind = \"postgres\"\nurl = \"postgres://u:secret@db\"";
        assert!(!read(broken).unwrap_err().contains("secret"));
    }
}
