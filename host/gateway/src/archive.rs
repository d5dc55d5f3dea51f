//! Every component, policy set and approved catalog that an entry ever named.
//!
//! An export carries them, so that a verifier can execute again what decided,
//! also after an operator has moved on. Files are named by their digests and
//! never written twice.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use countersign_canon::Digest;
use countersign_catalog::Offer;
use countersign_engine::Profile;
use countersign_policy::{File, PolicySet};

/// The folder of an archive.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// The archive in `folder`, which need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps a component.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn keep_profile(&self, profile: &Profile) -> io::Result<()> {
        write_once(
            &self.profile_path(profile.component_digest()),
            profile.bytes(),
        )
    }

    /// Keeps the files of a policy set.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn keep_policies(&self, policies: &PolicySet) -> io::Result<()> {
        let folder = self.policies_path(policies.digest());
        for File { name, text } in policies.files() {
            write_once(&folder.join(&**name), text.as_bytes())?;
        }
        Ok(())
    }

    /// Keeps what was approved of a server.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn keep_offer(&self, offer: &Offer) -> io::Result<()> {
        write_once(&self.offer_path(offer.checkpoint()), &offer.to_json())
    }

    /// The offer with that checkpoint; none where it was not kept, or is not
    /// what it was any more.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn offer(&self, checkpoint: Digest) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.offer_path(checkpoint)) {
            Ok(text) => {
                let offer = Offer::from_json(&text).ok();
                let same = offer.is_some_and(|offer| offer.checkpoint() == checkpoint);
                Ok(same.then_some(text))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The component with that digest; none where it was not kept, or is not
    /// what it was any more.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn profile(&self, component: Digest) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.profile_path(component)) {
            Ok(bytes) => Ok((Digest::of(&[&bytes]) == component).then_some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The files of the policy set with that digest, by name; none where it was
    /// not kept.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn policies(&self, set: Digest) -> io::Result<Vec<(String, Vec<u8>)>> {
        let folder = self.policies_path(set);
        let mut files = Vec::new();
        if folder.is_dir() {
            collect(&folder, "", &mut files)?;
        }
        files.sort();
        Ok(files)
    }

    fn profile_path(&self, component: Digest) -> PathBuf {
        self.folder
            .join("profiles")
            .join(format!("{}.wasm", bare(component)))
    }

    fn offer_path(&self, checkpoint: Digest) -> PathBuf {
        self.folder
            .join("catalogs")
            .join(format!("{}.json", bare(checkpoint)))
    }

    fn policies_path(&self, set: Digest) -> PathBuf {
        self.folder.join("policies").join(bare(set))
    }
}

fn bare(digest: Digest) -> String {
    digest.as_str().trim_start_matches("sha256:").to_owned()
}

/// Writes beside and renames, so that a crash leaves no half a file under a
/// digest that says otherwise.
fn write_once(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), files)?;
        } else if name.ends_with(".cedar") {
            files.push((format!("{prefix}{name}"), fs::read(entry.path())?));
        }
    }
    Ok(())
}
