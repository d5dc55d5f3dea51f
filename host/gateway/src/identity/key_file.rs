//! The file with an issuer's keys: read again where it has changed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use countersign_identity::KeySet;

use super::file::{UNREAD_FOR, stamp};
use super::keys::KeysError;

/// A file of keys as it was looked at last.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    changed: Option<(SystemTime, u64)>,
    /// Since when it cannot be read, and why; none where it can.
    unread: Option<(Duration, String)>,
    /// Whether that was for too long.
    closed: bool,
}

/// What looking at the file again gave, where something is new.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It was read again.
    Read(KeySet),
    /// It cannot be read, and why; its keys stay as they were for now.
    Unread(String),
    /// It could not be read for too long: no key of it is in use until it can.
    Closed,
}

impl KeyFile {
    /// Reads the file, which has a key that can be used.
    ///
    /// # Errors
    /// [`KeysError`].
    pub(super) fn open(path: PathBuf) -> Result<(Self, KeySet), KeysError> {
        // Taken before the content, so that a change in between is seen later.
        let changed = stamp(&path);
        let set = read(&path)?;
        if set.is_empty() {
            let from = path.display().to_string();
            return Err(KeysError::Empty { from });
        }
        let seen = Mutex::new(Seen {
            changed,
            unread: None,
            closed: false,
        });
        Ok((Self { path, seen }, set))
    }

    /// How it is told of.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads the file again where it has changed; answers what is new, and nothing
    /// where nothing is. `now` is monotonic. A file that cannot be read leaves its
    /// keys as they were for ten seconds, as somebody may be editing it, and none
    /// from then on, since that a key is withdrawn may be what it says.
    pub(super) fn refresh(&self, now: Duration) -> Option<News> {
        let changed = stamp(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.is_some() && changed == seen.changed && seen.unread.is_none() {
            return None;
        }
        let why = match read(&self.path) {
            Ok(set) => {
                *seen = Seen {
                    changed,
                    unread: None,
                    closed: false,
                };
                return Some(News::Read(set));
            }
            Err(error) => error.to_string(),
        };
        let (since, known) = match seen.unread.take() {
            Some((since, known)) => (since, Some(known)),
            None => (now, None),
        };
        let differs = known.is_none_or(|known| known != why);
        seen.unread = Some((since, why.clone()));
        if !seen.closed && now.saturating_sub(since) >= UNREAD_FOR {
            seen.closed = true;
            return Some(News::Closed);
        }
        differs.then_some(News::Unread(why))
    }
}

fn read(path: &Path) -> Result<KeySet, KeysError> {
    let bytes = std::fs::read(path).map_err(|source| KeysError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    KeySet::parse(&bytes).map_err(|source| KeysError::Malformed {
        from: path.display().to_string(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_once_and_its_keys_end_after_a_while() {
        let large = format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(262_144));
        for (name, spoiled) in [
            ("gone", None),
            ("emptied", Some("")),
            ("half", Some("{\"keys\":[")),
            ("no set", Some("{}")),
            ("too large", Some(&*large)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("jwks.json");
            std::fs::write(&path, ONE).unwrap();
            let (file, set) = KeyFile::open(path.clone()).unwrap();
            assert_eq!(set.len(), 1, "{name}");
            assert_eq!(file.refresh(at(99)), None, "{name}: nothing has changed");
            match spoiled {
                None => std::fs::remove_file(&path).unwrap(),
                Some(text) => std::fs::write(&path, text).unwrap(),
            }
            let told = file.refresh(at(100));
            assert!(matches!(told, Some(News::Unread(_))), "{name}: {told:?}");
            for now in 101..110 {
                assert_eq!(file.refresh(at(now)), None, "{name}: told once");
            }
            assert_eq!(file.refresh(at(110)), Some(News::Closed), "{name}");
            for now in 111..120 {
                assert_eq!(file.refresh(at(now)), None, "{name}: told once");
            }
            std::fs::write(&path, ONE).unwrap();
            let told = file.refresh(at(120));
            assert_eq!(told, Some(News::Read(set)), "{name}: again");
        }
    }

    #[test]
    fn a_set_without_usable_keys_is_one_while_running_and_none_to_start_with() {
        let folder = tempfile::tempdir().unwrap();
        for (number, empty) in [
            r#"{"keys":[]}"#,
            r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#,
            r#"{"keys":[1]}"#,
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("{number}.json"));
            std::fs::write(&path, ONE).unwrap();
            let (file, _) = KeyFile::open(path.clone()).unwrap();
            std::fs::write(&path, empty).unwrap();
            let told = file.refresh(at(1));
            assert_eq!(told, Some(News::Read(KeySet::default())), "{empty}");
            assert_eq!(file.refresh(at(100)), None, "{empty}: told once");
            let opened = KeyFile::open(path);
            assert!(matches!(opened, Err(KeysError::Empty { .. })), "{empty}");
        }
    }
}
