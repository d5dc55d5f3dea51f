//! Signed notes, as C2SP writes them: a text, an empty line, and the lines of
//! those who signed the text. What the text says is not read here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::key::{KeyHash, SigningKey, VerifyingKey};

/// The longest note that is read, in bytes, and the most signatures in it.
const MAX_BYTES: usize = 16_384;
const MAX_SIGNATURES: usize = 64;

/// A note whose signatures are not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    signed: String,
    signatures: Vec<NoteSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoteSignature {
    name: String,
    pub(crate) hash: KeyHash,
    pub(crate) signature: Vec<u8>,
}

/// Signs a text, which ends with a line feed; gives the whole note.
pub(crate) fn sign(text: &str, key: &SigningKey) -> String {
    let mut blob = key.verifying_key().hash().to_vec();
    blob.extend_from_slice(&key.sign(text.as_bytes()));
    format!(
        "{text}\n\u{2014} {} {}\n",
        key.name(),
        STANDARD.encode(blob)
    )
}

impl Note {
    /// Reads a note; `None` where a text is none. Signatures by unknown keys are
    /// kept and not understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let control = |c: char| c.is_control() && c != '\n';
        if text.len() > MAX_BYTES || text.contains(control) {
            return None;
        }
        let (signed, rest) = text.split_at(text.rfind("\n\n")? + 1);
        let lines = rest.strip_prefix('\n')?.strip_suffix('\n')?;
        let signatures = lines
            .split('\n')
            .take(MAX_SIGNATURES + 1)
            .map(NoteSignature::parse)
            .collect::<Option<Vec<_>>>()?;
        (signatures.len() <= MAX_SIGNATURES).then(|| Self {
            signed: signed.to_owned(),
            signatures,
        })
    }

    /// What was signed: the text up to and with its last line feed.
    pub(crate) fn signed(&self) -> &str {
        &self.signed
    }

    /// Whether somebody signed it in the name of `key`; well or badly.
    pub(crate) fn names(&self, key: &VerifyingKey) -> bool {
        self.by(key).next().is_some()
    }

    /// Whether `key` signed it.
    pub(crate) fn verifies(&self, key: &VerifyingKey) -> bool {
        self.by(key).any(|line| {
            let signature = line.signature.as_slice().try_into();
            signature.is_ok_and(|signature| key.verifies(self.signed.as_bytes(), signature))
        })
    }

    fn by<'n>(&'n self, key: &'n VerifyingKey) -> impl Iterator<Item = &'n NoteSignature> {
        let hash = key.hash();
        self.signatures
            .iter()
            .filter(move |line| line.name == key.name().as_str() && line.hash == hash)
    }
}

impl NoteSignature {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (name, blob) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '+') {
            return None;
        }
        let blob = STANDARD.decode(blob).ok()?;
        let (hash, signature) = blob.split_first_chunk::<4>()?;
        (!signature.is_empty()).then(|| Self {
            name: name.to_owned(),
            hash: *hash,
            signature: signature.to_vec(),
        })
    }
}
