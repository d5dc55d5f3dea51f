//! Reads a bundle from a stranger: strictly, and within fixed memory.
//!
//! Opening finds the members and takes in what has to be held; entries and
//! proofs are read a chunk at a time, as often as needed.

use std::collections::HashSet;
use std::io::{Read, Seek};

use countersign_canon::{Digest, ProfileId};

use super::container::{self, BundleError, Place};
use super::{Manifest, limits};

/// A bundle, opened.
#[derive(Debug)]
pub struct Bundle<R> {
    file: R,
    manifest: Manifest,
    entries: Vec<Place>,
    proofs: Vec<Place>,
    salts: Vec<Place>,
    checkpoints: Vec<(String, Vec<u8>)>,
    profiles: Vec<Profile>,
    policies: Vec<Policy>,
    catalogs: Vec<(Digest, Vec<u8>)>,
    unknown: Vec<String>,
}

/// A component in a bundle.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile that its name says.
    pub id: ProfileId,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its bytes.
    pub component: Vec<u8>,
}

/// One file of a set of policies in a bundle.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The digest of the set that its folder says.
    pub set: Digest,
    /// Its path within the set.
    pub path: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

impl<R: Read + Seek> Bundle<R> {
    /// Opens a bundle.
    ///
    /// # Errors
    /// A file that cannot be read, is not a bundle, is cut off, or holds more
    /// than is read.
    pub fn open(mut file: R) -> Result<Self, BundleError> {
        let mut places = container::index(&mut file)?.into_iter();
        let first = places.next().filter(|place| place.name == "manifest.json");
        let manifest = first
            .ok_or(BundleError::Manifest)?
            .read(&mut file, limits::MANIFEST)?;
        let manifest = Manifest::parse(&manifest).ok_or(BundleError::Manifest)?;
        let mut bundle = Self {
            file,
            manifest,
            entries: Vec::new(),
            proofs: Vec::new(),
            salts: Vec::new(),
            checkpoints: Vec::new(),
            profiles: Vec::new(),
            policies: Vec::new(),
            catalogs: Vec::new(),
            unknown: Vec::new(),
        };
        let mut names = HashSet::from(["manifest.json".to_owned()]);
        let mut held = (0, 0);
        for place in places {
            if !names.insert(place.name.clone()) {
                return Err(BundleError::Twice(place.name));
            }
            bundle.take(place, &mut held)?;
        }
        Ok(bundle)
    }

    /// Puts one member where it belongs, and reads it if it is to be held;
    /// `held` counts members and bytes.
    fn take(&mut self, place: Place, held: &mut (usize, u64)) -> Result<(), BundleError> {
        let most = match sort(&place.name) {
            Sort::Entries => return push(&mut self.entries, place),
            Sort::Proofs => return push(&mut self.proofs, place),
            Sort::Salts => return push(&mut self.salts, place),
            Sort::Unknown => 0,
            Sort::Checkpoint => limits::CHECKPOINT,
            Sort::Profile(_) => limits::PROFILE,
            Sort::Policy(..) => limits::POLICY,
            Sort::Catalog(_) => limits::CATALOG,
        };
        held.0 += 1;
        held.1 = held.1.saturating_add(place.bytes.min(most));
        if held.0 > limits::HELD_MEMBERS || held.1 > limits::HELD {
            return Err(BundleError::TooMuch);
        }
        match sort(&place.name) {
            Sort::Checkpoint => {
                let note = place.read(&mut self.file, most)?;
                self.checkpoints.push((place.name, note));
            }
            Sort::Profile(id) => {
                let component = place.read(&mut self.file, most)?;
                self.profiles.push(Profile {
                    id,
                    digest: Digest::of(&[&component]),
                    component,
                });
            }
            Sort::Policy(set, path) => {
                let path = path.to_owned();
                let content = place.read(&mut self.file, most)?;
                self.policies.push(Policy { set, path, content });
            }
            Sort::Catalog(checkpoint) => {
                let text = place.read(&mut self.file, most)?;
                self.catalogs.push((checkpoint, text));
            }
            Sort::Entries | Sort::Proofs | Sort::Salts | Sort::Unknown => {
                self.unknown.push(place.name);
            }
        }
        Ok(())
    }

    /// What the bundle says of itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The checkpoints' notes, each with its member's name.
    #[must_use]
    pub fn checkpoints(&self) -> &[(String, Vec<u8>)] {
        &self.checkpoints
    }

    /// The components.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The files of the sets of policies.
    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// What was approved, as texts, each with the checkpoint that its name says.
    #[must_use]
    pub fn catalogs(&self) -> &[(Digest, Vec<u8>)] {
        &self.catalogs
    }

    /// Names of members that this version does not know; they were not read.
    #[must_use]
    pub fn unknown_members(&self) -> &[String] {
        &self.unknown
    }

    /// The lines with entries, from the first one.
    pub fn entries(&mut self) -> Lines<'_, R> {
        Lines::of(&mut self.file, &self.entries)
    }

    /// The lines with proofs, from the first one.
    pub fn proofs(&mut self) -> Lines<'_, R> {
        Lines::of(&mut self.file, &self.proofs)
    }

    /// The lines with what opens blinded executions, from the first one.
    pub fn openings(&mut self) -> Lines<'_, R> {
        Lines::of(&mut self.file, &self.salts)
    }
}

fn push(places: &mut Vec<Place>, place: Place) -> Result<(), BundleError> {
    if place.bytes > limits::CHUNK {
        let (name, bytes) = (place.name, place.bytes);
        return Err(BundleError::TooLarge {
            name,
            bytes,
            most: limits::CHUNK,
        });
    }
    places.push(place);
    Ok(())
}

/// What a member is, by its name.
enum Sort<'n> {
    Entries,
    Proofs,
    Salts,
    Checkpoint,
    Profile(ProfileId),
    Policy(Digest, &'n str),
    Catalog(Digest),
    Unknown,
}

fn sort(name: &str) -> Sort<'_> {
    let numbered = |rest: &str, end: &str| {
        let digits = rest.strip_suffix(end).unwrap_or_default();
        digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match name.split_once('/') {
        Some(("entries", rest)) if numbered(rest, ".jsonl") => Sort::Entries,
        Some(("proofs", rest)) if numbered(rest, ".jsonl") => Sort::Proofs,
        Some(("salts", rest)) if numbered(rest, ".jsonl") => Sort::Salts,
        Some(("checkpoints", rest)) if numbered(rest, ".txt") => Sort::Checkpoint,
        Some(("profiles", rest)) => {
            let id = rest.strip_suffix(".wasm").and_then(|id| id.parse().ok());
            id.map_or(Sort::Unknown, Sort::Profile)
        }
        Some(("catalogs", rest)) => {
            let hex = rest.strip_suffix(".json");
            let checkpoint = hex.and_then(|hex| format!("sha256:{hex}").parse().ok());
            checkpoint.map_or(Sort::Unknown, Sort::Catalog)
        }
        Some(("policies", rest)) => {
            let parts = rest.split_once('/');
            let parts =
                parts.and_then(|(hex, path)| Some((format!("sha256:{hex}").parse().ok()?, path)));
            parts.map_or(Sort::Unknown, |(set, path)| Sort::Policy(set, path))
        }
        _ => Sort::Unknown,
    }
}

/// The lines of all chunks of one kind, in the order of the file.
///
/// A lending iterator: a line is good until the next one is asked for.
#[derive(Debug)]
pub struct Lines<'b, R> {
    file: &'b mut R,
    places: &'b [Place],
    chunk: Vec<u8>,
    at: usize,
}

impl<'b, R: Read + Seek> Lines<'b, R> {
    fn of(file: &'b mut R, places: &'b [Place]) -> Self {
        Self {
            file,
            places,
            chunk: Vec::new(),
            at: 0,
        }
    }

    /// The next line, without its line feed; none at the end.
    ///
    /// # Errors
    /// A file that cannot be read, or that has become shorter.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&[u8]>, BundleError> {
        while self.at >= self.chunk.len() {
            let Some((place, rest)) = self.places.split_first() else {
                return Ok(None);
            };
            self.places = rest;
            self.chunk = place.read(self.file, limits::CHUNK)?;
            self.at = 0;
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        self.at += line.len() + 1;
        Ok(Some(line))
    }
}
