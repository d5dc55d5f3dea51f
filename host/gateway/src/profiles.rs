//! The profiles of a running gateway: which pins hold, which one is for new
//! calls, and those by which older executions are told apart.
//!
//! 1. A component is held against its pins before anything of it runs: the
//!    digest, a trusted vendor's signature, or both, as the configuration says.
//! 2. All of them load, or nothing changes.
//! 3. An execution that was recorded under a profile that is configured no more
//!    is compared under that profile still: its component is in the archive, and
//!    is known by the digest in the execution's own row.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use countersign_canon::{Digest, ProfileId};
use countersign_engine::{
    CacheSettings, ComponentFile, Engine, EngineError, LoadError, Pin, Profile, Profiles, Settings,
    embedded,
};
use countersign_evidence::profile_signature::{ProfileSignature, SignatureProblem};
use thiserror::Error;

use crate::archive::Archive;
use crate::config;
use crate::environment::Environment;
use crate::pipeline::Rooms;

/// The most bytes of a signature's file.
const MAX_SIGNATURE_BYTES: u64 = 16_384;

/// Why a profile is not in use.
#[derive(Debug, Error)]
pub enum ProfilesError {
    /// The engine cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It does not load.
    #[error("{0} ({code})\n  help: {help}", code = .0.code(), help = .0.help())]
    Load(Box<LoadError>),
    /// It is not taken on a vendor's word.
    #[error("`{}`: {problem} ({code})\n  help: {help}", path.display(), code = problem.code(), help = problem.help())]
    Signature {
        /// The file of the signature.
        path: PathBuf,
        /// What is wrong.
        problem: SignatureProblem,
    },
    /// Its signature cannot be read.
    #[error("`{}`: {source} (profile-signature-malformed)", path.display())]
    SignatureFile {
        /// The file of the signature.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The default profile is none of those that are there.
    #[error("the profile `{0}` is neither built in nor configured (profile-unknown)")]
    Default(ProfileId),
    /// A version is loaded with other bytes than before.
    #[error(
        "`{profile}` is in use as `{before}`, and would be `{now}` (profile-digest)\n  help: a version never changes: what is new has a version of its own"
    )]
    Changed {
        /// Which.
        profile: ProfileId,
        /// The component in use.
        before: Box<Digest>,
        /// The component that is configured now.
        now: Box<Digest>,
    },
}

impl From<LoadError> for ProfilesError {
    fn from(error: LoadError) -> Self {
        Self::Load(Box::new(error))
    }
}

/// A component that its pins hold for.
struct Pinned {
    file: ComponentFile,
    pin: Pin,
}

/// Reads the files that are configured, and holds each against its pins;
/// nothing of them is run.
///
/// # Errors
/// The first pin that does not hold.
fn pinned(config: &config::Profiles) -> Result<Vec<Pinned>, ProfilesError> {
    config
        .files
        .iter()
        .map(|given| one(given, config))
        .collect()
}

fn one(given: &config::ProfileFile, config: &config::Profiles) -> Result<Pinned, ProfilesError> {
    let file = ComponentFile::read(&given.path)?;
    if let Some(path) = &given.signature {
        let failed = |problem| ProfilesError::Signature {
            path: path.clone(),
            problem,
        };
        let text = signature(path).map_err(|source| ProfilesError::SignatureFile {
            path: path.clone(),
            source,
        })?;
        let name = file.id().name();
        let trusted = config.vendors.iter();
        let trusted = trusted.filter(|vendor| vendor.profiles.iter().any(|one| one == name));
        let vendor = ProfileSignature::parse(&text)
            .and_then(|said| {
                said.check(trusted.map(|vendor| &vendor.key), file.id(), file.digest())
            })
            .map_err(failed)?;
        tracing::info!(profile = %file.id(), vendor = %vendor.name(), "signed");
    }
    // What is built in is pinned by the lock that is built in with it.
    let built_in = embedded::get(file.id()).map(|component| component.pin().digest);
    for pinned in built_in.into_iter().chain(given.digest) {
        file.expect(pinned)?;
    }
    Ok(Pinned {
        pin: Pin {
            id: file.id().clone(),
            digest: file.digest(),
        },
        file,
    })
}

fn signature(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_SIGNATURE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Says whether the profiles of a configuration can be used, as a start would:
/// pins, signatures, and every check of the components.
///
/// # Errors
/// The first that does not hold.
pub fn check_profiles(config: &config::Profiles) -> Result<Vec<Pin>, ProfilesError> {
    let engine = Engine::new(&Settings {
        slots: 1,
        cache: None,
    })?;
    let profiles = load(&engine, config, None)?;
    let pins = profiles.iter().map(|profile| Pin {
        id: profile.id().clone(),
        digest: profile.component_digest(),
    });
    Ok(pins.collect())
}

/// Loads what is configured and what is built in; what is loaded already is
/// taken as it is.
fn load(
    engine: &Engine,
    config: &config::Profiles,
    before: Option<&Profiles>,
) -> Result<Profiles, ProfilesError> {
    let pinned = pinned(config)?;
    let mut loaded = BTreeMap::new();
    let built_in = embedded::all();
    let files = pinned.iter().map(|one| (one.file.bytes(), &one.pin));
    let built_in = built_in.iter().map(|one| (one.bytes(), one.pin()));
    for (bytes, pin) in built_in.chain(files) {
        // Two files of one version are one component, too.
        let known = loaded.get(&pin.id);
        let known = known.or_else(|| before.and_then(|before| before.get(&pin.id)));
        let profile: Profile = match known {
            Some(known) if known.component_digest() == pin.digest => known.clone(),
            Some(known) => {
                return Err(ProfilesError::Changed {
                    profile: pin.id.clone(),
                    before: Box::new(known.component_digest()),
                    now: Box::new(pin.digest),
                });
            }
            None => engine.load(bytes, Some(pin))?,
        };
        loaded.insert(pin.id.clone(), profile);
    }
    let wanted = &config.default;
    let default = loaded
        .get(wanted)
        .ok_or_else(|| ProfilesError::Default(wanted.clone()))?;
    let mut profiles = Profiles::new(default.clone());
    for profile in loaded.values() {
        profiles.insert(profile.clone());
        for warning in profile.warnings() {
            tracing::warn!(profile = %profile.id(), "{warning}");
        }
    }
    Ok(profiles)
}

/// The profiles in use, which a reload replaces whole.
#[derive(Debug)]
pub(crate) struct InUse {
    engine: Engine,
    archive: Archive,
    /// Where they run.
    pub(crate) rooms: Rooms,
    set: RwLock<Arc<Profiles>>,
    /// Those that were looked for in the archive since the last change; none
    /// where they are not there.
    retired: Mutex<BTreeMap<(ProfileId, Digest), Option<Profile>>>,
}

impl InUse {
    /// The profiles of a start.
    pub(crate) fn open(
        config: &config::Profiles,
        archive: Archive,
        environment: &Environment,
    ) -> Result<Self, ProfilesError> {
        let cache = config.cache.clone().map(|folder| CacheSettings {
            folder,
            random: environment.random,
        });
        let engine = Engine::new(&Settings {
            cache,
            ..Settings::default()
        })?;
        let set = load(&engine, config, None)?;
        Ok(Self {
            engine,
            archive,
            rooms: Rooms::default(),
            set: RwLock::new(Arc::new(set)),
            retired: Mutex::default(),
        })
    }

    /// What a configuration says now, loaded and put in use nowhere yet.
    pub(crate) async fn read(&self, config: config::Profiles) -> Result<Profiles, ProfilesError> {
        let (engine, before) = (self.engine.clone(), self.current());
        let again = config.clone();
        let loaded =
            tokio::task::spawn_blocking(move || load(&engine, &again, Some(&before))).await;
        match loaded {
            Ok(loaded) => loaded,
            // The pool is gone, or the task was ended with it.
            Err(_) => load(&self.engine, &config, Some(&self.current())),
        }
    }

    /// All of them, as they are now.
    pub(crate) fn current(&self) -> Arc<Profiles> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The one for new calls, as it is now: whoever asks works with it to the
    /// end.
    pub(crate) fn default(&self) -> Profile {
        self.current().default().clone()
    }

    /// The one that is built in and carries whatever can be read.
    pub(crate) fn as_written(&self) -> Option<Profile> {
        let current = self.current();
        current.get(&embedded::default()?.pin().id).cloned()
    }

    /// Puts others in use. What is under way goes on with what it has.
    pub(crate) fn replace(&self, profiles: Profiles) {
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(profiles);
        self.retired().clear();
    }

    /// The profile that an execution was recorded under: one in use, or one of
    /// the archive that was in use once.
    pub(crate) async fn recorded(
        self: &Arc<Self>,
        id: &ProfileId,
        component: Digest,
    ) -> Option<Profile> {
        let current = self.current();
        let same = |profile: &&Profile| profile.component_digest() == component;
        if let Some(profile) = current.get(id).filter(same) {
            return Some(profile.clone());
        }
        let (this, id) = (Arc::clone(self), id.clone());
        // Compiling takes longer than a request may hold a thread.
        let found = tokio::task::spawn_blocking(move || this.revive(&id, component)).await;
        found.ok().flatten()
    }

    fn revive(&self, id: &ProfileId, component: Digest) -> Option<Profile> {
        // Held while it compiles, so that it is compiled once.
        let mut retired = self.retired();
        let pin = Pin {
            id: id.clone(),
            digest: component,
        };
        let key = (id.clone(), component);
        if let Some(known) = retired.get(&key) {
            return known.clone();
        }
        let kept = self
            .archive
            .profile(component)
            // It may be readable the next time.
            .inspect_err(|error| tracing::error!(profile = %id, "the archive: {error}"))
            .ok()?;
        let loaded = kept.map(|bytes| self.engine.load(&bytes, Some(&pin)));
        let found = match loaded {
            Some(Ok(profile)) => {
                tracing::info!(profile = %id, "taken from the archive");
                Some(profile)
            }
            Some(Err(error)) => {
                tracing::error!("{error}");
                None
            }
            None => {
                tracing::warn!(profile = %id, %component, "neither configured nor in the archive: executions under it are incomparable");
                None
            }
        };
        retired.insert(key, found.clone());
        found
    }

    fn retired(&self) -> std::sync::MutexGuard<'_, BTreeMap<(ProfileId, Digest), Option<Profile>>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
