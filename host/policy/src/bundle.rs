//! The exact files of a policy set, and the digest that names them.
//!
//! Reading a folder is the only I/O of this crate. What a file means is
//! another room's; here it is a name and a text within limits.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use countersign_canon::Digest;

/// Bytes in one file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Files in one bundle.
const MAX_FILES: usize = 1024;
/// Bytes in one file's name: what a member of an evidence bundle can be called.
const MAX_NAME_BYTES: usize = 100;
/// Folders within folders.
const MAX_DEPTH: usize = 8;
const EXTENSION: &str = ".cedar";

/// A set of policy files: at least one, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    files: Vec<File>,
    digest: Digest,
}

/// One policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path within the bundle, as `ledger/limits.cedar`: segments of letters,
    /// digits, `.`, `_` and `-` that do not begin with a dot, joined by `/`.
    pub name: Box<str>,
    /// The text, exactly.
    pub text: Box<str>,
}

/// Files that are no bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// There is no policy file.
    #[error("no `*.cedar` file in `{0}`")]
    Empty(String),
    /// Two files of one name.
    #[error("two files are named `{0}`")]
    Twice(String),
    /// A name that cannot stand in a bundle.
    #[error(
        "`{0}` cannot name a policy file: write `NAME.cedar` with letters, digits, `.`, `_`, `-`, in folders joined by `/`, within 100 bytes"
    )]
    Name(String),
    /// Larger than a bundle may be.
    #[error("`{what}` is over the limit of {limit}")]
    Limit {
        /// The file or folder.
        what: String,
        /// The limit, with its unit.
        limit: &'static str,
    },
    /// Not text.
    #[error("`{0}` is not UTF-8")]
    Encoding(String),
    /// The file system refused.
    #[error("cannot read `{path}`")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl BundleError {
    /// The stable code of every one of these.
    pub const CODE: &'static str = "policy-bundle";
}

impl Bundle {
    /// The bundle that ships: read-only tools are allowed, side-effecting ones
    /// need an `execution_id`, destructive ones wait until an operator names
    /// them.
    #[must_use]
    pub fn shipped() -> Self {
        let files = vec![File {
            name: "default.cedar".into(),
            text: include_str!("../../../policies/shipped/default.cedar").into(),
        }];
        let digest = digest(&files);
        Self { files, digest }
    }

    /// A bundle of files given by name and text, in any order.
    ///
    /// # Errors
    /// No file, a name twice or not of its form, or over a limit: 1,024 files,
    /// 1 MiB each.
    pub fn of(files: impl IntoIterator<Item = (String, String)>) -> Result<Self, BundleError> {
        let mut sorted = BTreeMap::new();
        for (name, text) in files {
            check_name(&name)?;
            if text.len() as u64 > MAX_FILE_BYTES {
                return Err(too_large(name));
            }
            if sorted.len() == MAX_FILES {
                return Err(too_many(name));
            }
            if sorted.insert(name.clone(), text).is_some() {
                return Err(BundleError::Twice(name));
            }
        }
        if sorted.is_empty() {
            return Err(BundleError::Empty("the bundle".to_owned()));
        }
        let files: Vec<File> = sorted
            .into_iter()
            .map(|(name, text)| File {
                name: name.into(),
                text: text.into(),
            })
            .collect();
        let digest = digest(&files);
        Ok(Self { files, digest })
    }

    /// Every `*.cedar` file of a folder and its folders; whatever begins with
    /// a dot, and every other file, is left out.
    ///
    /// # Errors
    /// As [`Bundle::of`], text that is not UTF-8, folders nested deeper than 8,
    /// and whatever the file system refuses.
    pub fn read(folder: &Path) -> Result<Self, BundleError> {
        let mut files = Vec::new();
        collect(folder, "", MAX_DEPTH, &mut files)?;
        if files.is_empty() {
            return Err(BundleError::Empty(folder.display().to_string()));
        }
        Self::of(files)
    }

    /// The files, sorted by name.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// SHA-256 of `countersign.policy-bundle.v1`, a line feed, and what
    /// `sha256sum` prints for the files in the byte order of their names.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

fn digest(files: &[File]) -> Digest {
    let mut preimage = String::from("countersign.policy-bundle.v1\n");
    for file in files {
        let content = Digest::of(&[file.text.as_bytes()]);
        let hex = content.as_str().trim_start_matches("sha256:");
        preimage.push_str(hex);
        preimage.push_str("  ");
        preimage.push_str(&file.name);
        preimage.push('\n');
    }
    Digest::of(&[preimage.as_bytes()])
}

fn check_name(name: &str) -> Result<(), BundleError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let plain = name.split('/').all(|segment| {
        !segment.is_empty() && !segment.starts_with('.') && segment.bytes().all(letter)
    });
    let named = name.ends_with(EXTENSION) && name.len() <= MAX_NAME_BYTES;
    if plain && named {
        Ok(())
    } else {
        Err(BundleError::Name(name.to_owned()))
    }
}

fn too_large(what: String) -> BundleError {
    BundleError::Limit {
        what,
        limit: "1 MiB a file",
    }
}

fn too_many(what: String) -> BundleError {
    BundleError::Limit {
        what,
        limit: "1,024 files",
    }
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut Vec<(String, String)>,
) -> Result<(), BundleError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| BundleError::Io { path, source }
    };
    if depth == 0 {
        return Err(BundleError::Limit {
            what: folder.display().to_string(),
            limit: "8 folders deep",
        });
    }
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        // Links are followed: mounted configuration is made of them.
        let about = fs::metadata(&path).map_err(failed(&path))?;
        if about.is_dir() {
            collect(&path, &format!("{name}/"), depth - 1, files)?;
        } else if name.ends_with(EXTENSION) {
            if files.len() == MAX_FILES {
                return Err(too_many(name));
            }
            let text = text(&path, &name)?;
            files.push((name, text));
        }
    }
    Ok(())
}

fn text(path: &Path, name: &str) -> Result<String, BundleError> {
    let failed = |source| BundleError::Io {
        path: path.to_path_buf(),
        source,
    };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(name.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| BundleError::Encoding(name.to_owned()))
}
