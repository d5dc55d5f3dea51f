//! Compiled code, kept between runs in a folder that belongs to one user.
//!
//! Compiled code is machine code: whoever can write it runs as this process.
//! So a file is believed only if it carries a MAC under a key that only the
//! owner can read, over the component's digest, the engine's compatibility and
//! the code; and the buffer that was checked is the buffer that is run.
//! Whatever does not hold is compiled again and reported.

mod deserialize;
mod folder;
mod tag;

use std::fmt;
use std::sync::OnceLock;

use countersign_canon::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::settings::CacheSettings;
use folder::{Folder, Key};
use tag::{Compatibility, TAG_BYTES};

/// The most bytes of compiled code that are read: 64 MiB.
const MAX_CODE_BYTES: u64 = 64 << 20;

/// The cache of compiled code.
#[derive(Debug)]
pub(crate) struct Cache {
    settings: CacheSettings,
    opened: OnceLock<Result<(Folder, Key), Warning>>,
}

impl Cache {
    /// Nothing is read or made before the first use.
    pub(crate) fn new(settings: &CacheSettings) -> Self {
        Self {
            settings: settings.clone(),
            opened: OnceLock::new(),
        }
    }

    /// The compiled code of a component, if it is here and can be believed.
    pub(crate) fn read(
        &self,
        engine: &Engine,
        component: Digest,
    ) -> Result<Option<Component>, Warning> {
        let (folder, key) = self.open()?;
        let compatibility = Compatibility::of(engine);
        let Some(file) = folder.read(&compatibility.file_name(component), MAX_CODE_BYTES)? else {
            return Ok(None);
        };
        let (tag, code) = file.split_at_checked(TAG_BYTES).ok_or(Warning::Tag)?;
        if !key.verifies(tag, component, &compatibility, code) {
            return Err(Warning::Tag);
        }
        // INVARIANT: `code` is the very buffer that the tag was computed over.
        deserialize::component(engine, code)
            .map(Some)
            .map_err(|_| Warning::Incompatible)
    }

    /// Keeps the compiled code of a component that passed every check.
    pub(crate) fn keep(
        &self,
        engine: &Engine,
        component: Digest,
        compiled: &Component,
    ) -> Result<(), Warning> {
        let (folder, key) = self.open()?;
        let compatibility = Compatibility::of(engine);
        let code = compiled.serialize().map_err(|_| Warning::Incompatible)?;
        let mut file = key.tag(component, &compatibility, &code).to_vec();
        file.extend_from_slice(&code);
        folder.write(&compatibility.file_name(component), &file)
    }

    fn open(&self) -> Result<&(Folder, Key), Warning> {
        let opened = self.opened.get_or_init(|| {
            let folder = Folder::open(&self.settings.folder)?;
            let key = folder.key(self.settings.random)?;
            Ok((folder, key))
        });
        opened.as_ref().map_err(Clone::clone)
    }
}

/// Why the cache was not used; the component was compiled instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The folder, its key or a file in it is not the owner's alone: its path.
    Shared(String),
    /// The folder or a file in it cannot be used: its path, and why.
    Unusable(String, String),
    /// A file's MAC is not that of this key: the file was damaged or forged.
    Tag,
    /// The code is another engine's.
    Incompatible,
    /// No key could be made: there was no randomness.
    NoRandomness,
}

impl Warning {
    /// The stable code of every warning of the cache.
    pub const CODE: &'static str = "profile-cache";
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(path) => write!(
                f,
                "`{path}` is not used for compiled code: it must belong to this user, and to nobody else"
            ),
            Self::Unusable(path, why) => {
                write!(f, "`{path}` cannot be used for compiled code: {why}")
            }
            Self::Tag => f.write_str("compiled code was damaged or forged, and is made again"),
            Self::Incompatible => {
                f.write_str("compiled code is another engine's, and is made again")
            }
            Self::NoRandomness => f.write_str("there is no randomness for the cache's key"),
        }
    }
}
