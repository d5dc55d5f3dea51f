//! Where profiles come from: built in, from a file, or from a bundle.
//!
//! 1. the digest is compared with the pin,
//! 2. the form is checked on the bytes,
//! 3. the component is compiled, or its compiled code read from the cache,
//! 4. its exports are compared with the world,
//! 5. it describes itself, and is held to its vectors,
//! 6. only then is its compiled code kept.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use countersign_canon::{Digest, ProfileId};
use wasmtime::component::Component;

use crate::cache::{Cache, Warning};
use crate::check::{self, Instructions};
use crate::convert::Described;
use crate::embedded;
use crate::load_error::{EngineError, LoadError, Problem};
use crate::pin::Pin;
use crate::profile::{Loaded, Profile};
use crate::runtime::Runtime;
use crate::settings::{Compiled, Settings};

/// The most bytes that a component file may have: 16 MiB.
const MAX_COMPONENT_BYTES: u64 = 16 << 20;

/// Loads profiles and runs them under limits. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    runtime: Arc<Runtime>,
    cache: Option<Arc<Cache>>,
}

impl Engine {
    /// Sets up the engine and its pool of instances.
    ///
    /// # Errors
    ///
    /// [`EngineError`] where the settings are out of range or this machine
    /// does not have the address space. A cache that cannot be used is no
    /// error: each profile that is loaded says so in its warnings.
    pub fn new(settings: &Settings) -> Result<Self, EngineError> {
        let runtime = Arc::new(Runtime::new(settings)?);
        let cache = settings
            .cache
            .as_ref()
            .map(|cache| Arc::new(Cache::new(cache)));
        Ok(Self { runtime, cache })
    }

    /// Loads a component from its bytes, as `pin` says that it must be.
    ///
    /// # Errors
    ///
    /// The first check of `docs/spec/action-binding.md` §5 that fails.
    pub fn load(&self, source: &[u8], pin: Option<&Pin>) -> Result<Profile, LoadError> {
        self.load_as(
            source,
            pin.map(|pin| &pin.id),
            pin.map(|pin| pin.digest),
            true,
        )
    }

    /// Loads a component that a stranger sent, in a bundle for instance: its
    /// compiled code is never kept, and none is read.
    ///
    /// # Errors
    ///
    /// As [`Engine::load`].
    pub fn load_foreign(&self, source: &[u8], pin: Option<&Pin>) -> Result<Profile, LoadError> {
        self.load_as(
            source,
            pin.map(|pin| &pin.id),
            pin.map(|pin| pin.digest),
            false,
        )
    }

    /// Loads a profile that is built in.
    ///
    /// # Errors
    ///
    /// `profile-unknown` where it is not; else as [`Engine::load`].
    pub fn load_embedded(&self, id: &ProfileId) -> Result<Profile, LoadError> {
        let component =
            embedded::get(id).ok_or_else(|| LoadError::new(id.as_str(), Problem::Unknown))?;
        self.load(component.bytes(), Some(component.pin()))
    }

    /// Loads `NAME@VERSION.wasm`, which must be what its name says and, where
    /// `digest` is given, hash to that.
    ///
    /// # Errors
    ///
    /// As [`ComponentFile::read`] and [`Engine::load`].
    pub fn load_file(&self, path: &Path, digest: Option<Digest>) -> Result<Profile, LoadError> {
        let file = ComponentFile::read(path)?;
        self.load_as(&file.bytes, Some(&file.id), digest, true)
    }

    fn load_as(
        &self,
        source: &[u8],
        expected: Option<&ProfileId>,
        pinned: Option<Digest>,
        keep: bool,
    ) -> Result<Profile, LoadError> {
        let found = Digest::of(&[source]);
        let subject = || expected.map_or_else(|| found.to_string(), ToString::to_string);
        self.checked(source, found, expected, pinned, keep)
            .map_err(|problem| LoadError::new(subject(), problem))
    }

    fn checked(
        &self,
        source: &[u8],
        digest: Digest,
        expected: Option<&ProfileId>,
        pinned: Option<Digest>,
        keep: bool,
    ) -> Result<Profile, Problem> {
        let bytes = u64::try_from(source.len()).unwrap_or(u64::MAX);
        if bytes > MAX_COMPONENT_BYTES {
            return Err(Problem::TooLarge(bytes));
        }
        if let Some(pinned) = pinned.filter(|pinned| *pinned != digest) {
            return Err(Problem::DigestDiffers {
                pinned: Box::new(pinned),
                found: Box::new(digest),
            });
        }
        let mut warnings = Vec::new();
        let cache = self.cache.as_deref().filter(|_| keep);
        let engine = self.runtime.engine();
        let kept = cache
            .and_then(|cache| note(cache.read(engine, digest), &mut warnings))
            .flatten();
        let was_kept = kept.is_some();
        let component = match kept {
            // What was kept had passed the same check on the same bytes.
            Some(component) => component,
            None => {
                check::form(source, Instructions::Served)?;
                Component::new(engine, source).map_err(|_| Problem::Unsupported)?
            }
        };
        let (mut loaded, vectors) = self.described(&component, source, digest, expected)?;
        let profile = Profile::new(loaded.clone());
        check::self_test(&profile, &vectors)?;
        if let Some(cache) = cache.filter(|_| !was_kept) {
            note(cache.keep(engine, digest, &component), &mut warnings);
        }
        loaded.warnings = warnings;
        Ok(Profile::new(loaded))
    }

    /// A component of the world, and what it says of itself.
    fn described(
        &self,
        component: &Component,
        source: &[u8],
        digest: Digest,
        expected: Option<&ProfileId>,
    ) -> Result<(Loaded, Vec<Described>), Problem> {
        check::exports(self.runtime.engine(), component)?;
        let pre = self
            .runtime
            .prepare(component)
            .map_err(|error| wrong_type(&error))?;
        self.runtime
            .has_types_of_the_world(&pre)
            .map_err(|error| wrong_type(&error))?;
        let described = check::describe(&self.runtime, &pre, digest, expected)?;
        let loaded = Loaded {
            runtime: Arc::clone(&self.runtime),
            pre,
            id: described.id,
            digest,
            limits: described.limits,
            vectors: described.vectors.len(),
            bytes: source.into(),
            warnings: Vec::new(),
        };
        Ok((loaded, described.vectors))
    }

    /// Sets up an engine to certify with: it runs floats too, so that what
    /// they lead to is seen, keeps no compiled code, and is never to serve.
    ///
    /// # Errors
    ///
    /// As [`Engine::new`].
    pub fn for_certification(slots: u32, compiled: Compiled) -> Result<Self, EngineError> {
        let runtime = Arc::new(Runtime::for_certification(slots, compiled)?);
        Ok(Self {
            runtime,
            cache: None,
        })
    }

    /// Loads a component that is to be certified. What [`Engine::load`] would
    /// refuse it for is noted where it can run all the same.
    ///
    /// # Errors
    ///
    /// What keeps it from running at all.
    pub fn load_candidate(&self, source: &[u8]) -> Result<Candidate, LoadError> {
        let digest = Digest::of(&[source]);
        self.candidate(source, digest)
            .map_err(|problem| LoadError::new(digest.as_str(), problem))
    }

    fn candidate(&self, source: &[u8], digest: Digest) -> Result<Candidate, Problem> {
        let bytes = u64::try_from(source.len()).unwrap_or(u64::MAX);
        if bytes > MAX_COMPONENT_BYTES {
            return Err(Problem::TooLarge(bytes));
        }
        check::form(source, Instructions::Certified)?;
        let component =
            Component::new(self.runtime.engine(), source).map_err(|_| Problem::Unsupported)?;
        let (loaded, vectors) = self.described(&component, source, digest, None)?;
        let profile = Profile::new(loaded);
        let noted = [
            check::form(source, Instructions::Served),
            check::self_test(&profile, &vectors),
        ];
        let id = profile.id().as_str();
        let problems = noted.into_iter().filter_map(Result::err);
        let problems = problems
            .map(|problem| LoadError::new(id, problem))
            .collect();
        Ok(Candidate { profile, problems })
    }
}

/// A component as it stands in a file, before anything of it is believed.
#[derive(Clone, Debug)]
pub struct ComponentFile {
    id: ProfileId,
    digest: Digest,
    bytes: Vec<u8>,
}

impl ComponentFile {
    /// Reads `NAME@VERSION.wasm`.
    ///
    /// # Errors
    ///
    /// `profile-file-name`, `profile-unreadable` or `profile-too-large`.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let failed = |problem| LoadError::new(path.display().to_string(), problem);
        let id: ProfileId = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".wasm"))
            .and_then(|name| name.parse().ok())
            .ok_or_else(|| failed(Problem::FileName))?;
        let bytes = read_component(path).map_err(failed)?;
        Ok(Self {
            id,
            digest: Digest::of(&[&bytes]),
            bytes,
        })
    }

    /// Holds it against a pin.
    ///
    /// # Errors
    ///
    /// `profile-digest` where its bytes are others.
    pub fn expect(&self, pinned: Digest) -> Result<(), LoadError> {
        if pinned == self.digest {
            return Ok(());
        }
        let differs = Problem::DigestDiffers {
            pinned: Box::new(pinned),
            found: Box::new(self.digest),
        };
        Err(LoadError::new(self.id.as_str(), differs))
    }

    /// The profile that the file's name says it is.
    #[must_use]
    pub fn id(&self) -> &ProfileId {
        &self.id
    }

    /// SHA-256 of the file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A component that is to be certified.
#[derive(Debug)]
pub struct Candidate {
    /// It runs; whether it keeps its word is to be seen.
    pub profile: Profile,
    /// Why no gateway would load it.
    pub problems: Vec<LoadError>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// The same folder may give the same warning when it is read and when it is
/// written.
fn note<T>(result: Result<T, Warning>, warnings: &mut Vec<Warning>) -> Option<T> {
    match result {
        Ok(value) => return Some(value),
        Err(warning) if warnings.contains(&warning) => {}
        Err(warning) => warnings.push(warning),
    }
    None
}

/// The engine says in one line which function has another type; what follows
/// that line is about its insides.
fn wrong_type(error: &wasmtime::Error) -> Problem {
    Problem::Exports(error.to_string().lines().next().unwrap_or_default().into())
}

fn read_component(path: &Path) -> Result<Vec<u8>, Problem> {
    use std::io::Read as _;
    let unreadable = |error: std::io::Error| Problem::Unreadable(error.kind().to_string());
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    if bytes > MAX_COMPONENT_BYTES {
        return Err(Problem::TooLarge(bytes));
    }
    let mut source = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut source)
        .map_err(unreadable)?;
    Ok(source)
}
