//! A crate for a new profile, which stands on its own: a vendor can carry it
//! away, and needs this repository no more.
//!
//! What is written is decided first, as paths and texts; only then is anything
//! written, and nothing that is there is touched.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use countersign_canon::{ProfileId, preimage};

use crate::KitError;
use crate::sources::{LOCK, TAKEN, TEMPLATES};

/// The version that a new profile begins with.
pub const FIRST_VERSION: &str = "1.0.0";

/// Names that are taken by the profiles that every host knows.
const TAKEN_NAMES: [&str; 2] = ["exact", "jcs-integer"];

/// A crate that is not written yet.
#[derive(Clone, Debug)]
pub struct Scaffold {
    id: ProfileId,
}

impl Scaffold {
    /// The scaffold of a profile of that name.
    ///
    /// # Errors
    /// [`KitError::Name`].
    pub fn new(name: &str) -> Result<Self, KitError> {
        let wrong = |why| KitError::Name {
            name: name.to_owned(),
            why,
        };
        if TAKEN_NAMES.contains(&name) {
            return Err(wrong("it is a profile that every gateway has"));
        }
        let id = format!("{name}@{FIRST_VERSION}").parse();
        Ok(Self {
            id: id.map_err(|_| wrong("it is not `[a-z][a-z0-9-]{0,63}`"))?,
        })
    }

    /// The profile that it builds.
    #[must_use]
    pub fn id(&self) -> &ProfileId {
        &self.id
    }

    /// Every file of the crate: its path, and its text.
    #[must_use]
    pub fn files(&self) -> Vec<(PathBuf, String)> {
        let templates = TEMPLATES
            .iter()
            .map(|(path, text)| (PathBuf::from(path), self.filled(text)));
        let taken = TAKEN.iter().map(|(path, text)| {
            let bare = path.strip_prefix("guest/").unwrap_or(path);
            (Path::new("countersign").join(bare), (*text).to_owned())
        });
        let lock = (PathBuf::from("Cargo.lock"), self.lock());
        templates.chain(taken).chain([lock]).collect()
    }

    /// Writes the crate into `folder`, which must not be there yet: it appears
    /// whole or not at all.
    ///
    /// # Errors
    /// [`KitError::Exists`] and [`KitError::File`].
    pub fn write(&self, folder: &Path) -> Result<(), KitError> {
        if fs::symlink_metadata(folder).is_ok() {
            return Err(KitError::Exists(folder.to_owned()));
        }
        // Made alone, so that of two that write at once one is told.
        let mut beside = folder.file_name().unwrap_or_default().to_owned();
        beside.push(".part");
        let draft = folder.with_file_name(beside);
        fs::create_dir(&draft).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => KitError::Exists(draft.clone()),
            _ => KitError::file(&draft, error),
        })?;
        let written = self.write_into(&draft).and_then(|()| {
            if fs::symlink_metadata(folder).is_ok() {
                return Err(KitError::Exists(folder.to_owned()));
            }
            fs::rename(&draft, folder).map_err(|error| KitError::file(folder, error))
        });
        if written.is_err() {
            // What is left of it would be nothing whole.
            let _ = fs::remove_dir_all(&draft);
        }
        written
    }

    fn write_into(&self, folder: &Path) -> Result<(), KitError> {
        for (path, text) in self.files() {
            let path = folder.join(path);
            let written = path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| File::create_new(&path)?.write_all(text.as_bytes()));
            written.map_err(|error| KitError::file(&path, error))?;
        }
        Ok(())
    }

    /// A template with the profile's own words in it.
    fn filled(&self, template: &str) -> String {
        let mut text = template
            .replace("{{name}}", self.id.name())
            .replace("{{version}}", self.id.version())
            .replace("{{crate}}", &self.package());
        // `{{binding ACTION}}`: the binding depends on the profile's name.
        while let Some((before, rest)) = text.split_once("{{binding ") {
            let Some((action, after)) = rest.split_once("}}binding") else {
                break;
            };
            let binding = preimage::binding(&self.id, action.as_bytes());
            text = format!("{before}{binding}{after}");
        }
        text
    }

    /// The crate's name; never a word that cargo or Rust has taken.
    fn package(&self) -> String {
        format!("{}-profile", self.id.name())
    }

    /// The lockfile: what the released profiles were built with, and no more.
    fn lock(&self) -> String {
        let mut blocks = LOCK.split("\n[[package]]\n");
        let head = blocks.next().unwrap_or_default();
        let own = format!(
            "name = \"{}\"\nversion = \"{}\"\ndependencies = [\n \"countersign-canon\",\n \
             \"countersign-component\",\n]\n",
            self.package(),
            self.id.version()
        );
        let mut packages: Vec<&str> = blocks
            .filter(|block| {
                let name = name_of(block);
                !name.starts_with("countersign-")
                    || matches!(name, "countersign-canon" | "countersign-component")
            })
            .chain([own.as_str()])
            .map(str::trim_end)
            .collect();
        packages.sort_by_key(|block| name_of(block));
        packages
            .iter()
            .fold(head.trim_end().to_owned() + "\n", |mut text, block| {
                let _ = write!(text, "\n[[package]]\n{block}\n");
                text
            })
    }
}

/// The name of a package in a lockfile.
fn name_of(block: &str) -> &str {
    let line = block
        .lines()
        .find_map(|line| line.strip_prefix("name = \""));
    line.and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_profile_may_have_is_refused_and_says_why() {
        for name in [
            "",
            "Decimal",
            "1st",
            "a b",
            "a_b",
            "../a",
            "é",
            "a@1",
            "exact",
            "jcs-integer",
            &"a".repeat(65),
        ] {
            let error = Scaffold::new(name).unwrap_err();
            assert_eq!(error.code(), "profile-name", "{name}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
        assert_eq!(Scaffold::new("test").unwrap().id().as_str(), "test@1.0.0");
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (path, text) in Scaffold::new("mine").unwrap().files() {
            let taken = path.starts_with("countersign");
            assert!(taken || !text.contains("{{"), "{}", path.display());
            assert!(text.ends_with('\n'), "{}", path.display());
        }
    }

    #[test]
    fn what_is_there_is_never_overwritten() {
        let room = tempfile::tempdir().unwrap();
        let scaffold = Scaffold::new("mine").unwrap();
        let folder = room.path().join("mine");
        scaffold.write(&folder).unwrap();
        fs::write(folder.join("README.md"), "mine\n").unwrap();
        let file = room.path().join("file");
        fs::write(&file, "x").unwrap();
        let link = room.path().join("link");
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        for taken in [&folder, &file, &link] {
            assert_eq!(
                scaffold.write(taken).unwrap_err().code(),
                "profile-folder-exists"
            );
        }
        assert_eq!(
            fs::read_to_string(folder.join("README.md")).unwrap(),
            "mine\n"
        );
        let nowhere = room.path().join("no/such/folder");
        assert_eq!(
            scaffold.write(&nowhere).unwrap_err().code(),
            "profile-folder-unusable"
        );
        let left: Vec<_> = fs::read_dir(room.path()).unwrap().collect();
        assert_eq!(left.len(), 3, "no drafts are left: {left:?}");
    }
}
