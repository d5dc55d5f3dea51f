//! Writes a bundle as it goes, in constant memory.

use std::collections::BTreeSet;
use std::io::Write;

use countersign_canon::{Digest, ProfileId};

use super::container::{self, BundleError};
use super::{Consistency, Manifest, Opening, Proof, limits};
use crate::{Entry, Kind};

/// A chunk is written when it has grown to this many bytes; well below the
/// limit, so that one more line never goes over it.
const CHUNK_BYTES: usize = 2 << 20;

/// Writes the members of a bundle in order: the manifest, entries, and, at any
/// time before [`Writer::finish`], the rest. What no reader would hold is left out
/// and counted, so that everything that is written can be read: a verifier misses
/// it, and says so.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    entries: Chunks,
    proofs: Chunks,
    salts: Chunks,
    checkpoints: u32,
    profiles: BTreeSet<String>,
    /// Members that a reader holds in memory, and their bytes.
    held: (usize, u64),
    left_out: u64,
    named: Named,
}

/// What the entries written so far name, and a verifier will need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Profiles with the digests of their components.
    pub profiles: BTreeSet<(String, Digest)>,
    /// Digests of sets of policies.
    pub policies: BTreeSet<Digest>,
    /// Checkpoints of approved catalogs.
    pub catalogs: BTreeSet<Digest>,
}

#[derive(Debug)]
struct Chunks {
    folder: &'static str,
    count: u32,
    lines: Vec<u8>,
}

impl Chunks {
    fn new(folder: &'static str) -> Self {
        Self {
            folder,
            count: 0,
            lines: Vec::new(),
        }
    }

    fn line(&mut self, out: &mut impl Write, line: &[u8]) -> Result<(), BundleError> {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        if self.lines.len() >= CHUNK_BYTES {
            self.flush(out)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self, out: &mut impl Write) -> Result<(), BundleError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.count = self.count.saturating_add(1);
        let name = format!("{}/{:06}.jsonl", self.folder, self.count);
        container::write(out, &name, &self.lines)?;
        self.lines.clear();
        Ok(())
    }
}

impl<W: Write> Writer<W> {
    /// Begins a bundle.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn new(mut out: W, manifest: &Manifest) -> Result<Self, BundleError> {
        container::write(&mut out, "manifest.json", &manifest.to_json())?;
        Ok(Self {
            out,
            entries: Chunks::new("entries"),
            proofs: Chunks::new("proofs"),
            salts: Chunks::new("salts"),
            checkpoints: 0,
            profiles: BTreeSet::new(),
            held: (0, 0),
            left_out: 0,
            named: Named::default(),
        })
    }

    /// Adds an entry; each log's in ascending order of sequence.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), BundleError> {
        let said = entry.said();
        if let (Some(profile), Some(component)) = (&said.profile, said.component) {
            self.named.profiles.insert((profile.clone(), component));
        }
        self.named.policies.extend(said.policy_digest);
        if said.kind != Kind::CatalogDrift {
            self.named.catalogs.extend(said.catalog.approved);
        }
        self.entries.line(&mut self.out, entry.bytes())
    }

    /// Adds an entry as the bytes that a log holds, which this version need not
    /// be able to read; what it names is not noted.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn raw_entry(&mut self, line: &[u8]) -> Result<(), BundleError> {
        self.entries.line(&mut self.out, line)
    }

    /// Adds the proof of an entry.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn proof(&mut self, proof: &Proof) -> Result<(), BundleError> {
        self.proofs.line(&mut self.out, &proof.to_json())
    }

    /// Adds the proof that an earlier head is the beginning of a later one.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn consistency(&mut self, proof: &Consistency) -> Result<(), BundleError> {
        self.proofs.line(&mut self.out, &proof.to_json())
    }

    /// Adds what opens a blinded execution; once for each.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn opening(&mut self, opening: &Opening) -> Result<(), BundleError> {
        self.salts.line(&mut self.out, &opening.to_json())
    }

    /// Adds a signed checkpoint, as its note's text.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn checkpoint(&mut self, note: &str) -> Result<(), BundleError> {
        self.checkpoints = self.checkpoints.saturating_add(1);
        let name = format!("checkpoints/{:06}.txt", self.checkpoints);
        self.hold(&name, note.as_bytes(), limits::CHECKPOINT)
    }

    /// Adds a component. A bundle holds one of each profile: another one under
    /// the same name is left out.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn profile(&mut self, id: &ProfileId, component: &[u8]) -> Result<(), BundleError> {
        if !self.profiles.insert(id.to_string()) {
            self.left_out = self.left_out.saturating_add(1);
            return Ok(());
        }
        self.hold(&format!("profiles/{id}.wasm"), component, limits::PROFILE)
    }

    /// Adds one file of the set of policies with that digest. `path` is
    /// relative, of letters, digits, `.`, `_` and `-`.
    ///
    /// # Errors
    /// Another path; what `out` reports.
    pub fn policy(&mut self, set: Digest, path: &str, content: &[u8]) -> Result<(), BundleError> {
        let hex = set.as_str().trim_start_matches("sha256:").to_owned();
        self.hold(&format!("policies/{hex}/{path}"), content, limits::POLICY)
    }

    /// Adds what was approved under that checkpoint.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn catalog(&mut self, checkpoint: Digest, text: &[u8]) -> Result<(), BundleError> {
        let hex = checkpoint.as_str().trim_start_matches("sha256:").to_owned();
        self.hold(&format!("catalogs/{hex}.json"), text, limits::CATALOG)
    }

    /// Writes a member that readers hold, where they would.
    fn hold(&mut self, name: &str, content: &[u8], most: u64) -> Result<(), BundleError> {
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let (members, held) = (self.held.0 + 1, self.held.1.saturating_add(bytes));
        if bytes > most || members > limits::HELD_MEMBERS || held > limits::HELD {
            self.left_out = self.left_out.saturating_add(1);
            return Ok(());
        }
        self.held = (members, held);
        container::write(&mut self.out, name, content)
    }

    /// How many members were left out, since no reader would hold them.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What the entries written so far name.
    #[must_use]
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// Writes what is still held, and the end; gives the output back.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn finish(mut self) -> Result<W, BundleError> {
        self.entries.flush(&mut self.out)?;
        self.proofs.flush(&mut self.out)?;
        self.salts.flush(&mut self.out)?;
        container::end(&mut self.out)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
