//! One entry of a log: what a draft says, its place, its bytes and its hash.
//!
//! The bytes are RFC 8785 and are what is stored, exported and checked; the
//! hash is `SHA-256(0x00 ‖ bytes without "hash")`, which serves the chain and
//! the Merkle tree alike.

use countersign_canon::document::{Children, Document, Item, Kind as JsonKind};
use countersign_canon::{Digest, Limits, Refusal};
use sha2::{Digest as _, Sha256};

use crate::member::Member;
use crate::{Draft, Link, LogId};

/// How much of a text is read as one entry. Whoever writes one holds it to that.
const LIMITS: Limits = Limits {
    message_bytes: Entry::MAX_BYTES,
    depth: 8,
    number_bytes: 20,
    nodes: 4_096,
};

/// One record of an append-only log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    bytes: Vec<u8>,
    hash: Digest,
    log_id: LogId,
    sequence: u64,
    previous: Option<Digest>,
    link: Option<Link>,
    draft: Draft,
    unknown: Vec<String>,
}

/// A text that is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedEntry {
    /// It is not one JSON text.
    #[error("the entry is not JSON: {0}")]
    NotJson(Refusal),
    /// It is not in the canonical form, so that its bytes are not what was hashed.
    #[error("the entry is not in canonical form")]
    NotCanonical,
    /// A member is missing.
    #[error("the entry has no member `{0}`")]
    Missing(&'static str),
    /// A member holds what is never written there.
    #[error("the entry's member `{0}` is malformed")]
    Member(&'static str),
    /// Its place on an execution's chain is given by half.
    #[error("the entry's `execution_seq` and `execution_previous` do not fit together")]
    Link,
    /// Its hash is not that of its bytes.
    #[error("the entry's bytes do not hash to what its `hash` says")]
    Hash,
}

/// The members of an entry in canonical order: those that the log assigns, and
/// the draft's. `hash` stands apart, since it is over the others.
macro_rules! entry_members {
    ($use:ident, $log:ident, $link:ident, $draft:ident) => {
        $use! {
            "agent": $draft.agent,
            "agent_before": $draft.agent_before,
            "answer_bytes": $draft.answer_bytes,
            "answer_digest": $draft.answer_digest,
            "authority": $draft.authority,
            "binding": $draft.binding,
            "blind": $draft.blind,
            "call_id": $draft.call_id,
            "catalog": $draft.catalog,
            "classification": $draft.classification,
            "client": $draft.client,
            "client_digest": $draft.client_digest,
            "component": $draft.component,
            "continuation": $draft.continuation,
            "decision": $draft.decision,
            "effect_boundary": $draft.effect_boundary,
            "evaluator": $draft.evaluator,
            "execution_id": $draft.execution_id,
            "execution_id_status": $draft.execution_id_status,
            "execution_previous": $link.execution_previous,
            "execution_seq": $link.execution_seq,
            "fence": $draft.fence,
            "hash": $log.hash,
            "incarnation": $draft.incarnation,
            "key": $draft.key,
            "kind": $draft.kind,
            "log_id": $log.log_id,
            "outcome": $draft.outcome,
            "policy_digest": $draft.policy_digest,
            "policy_inputs": $draft.policy_inputs,
            "previous": $log.previous,
            "profile": $draft.profile,
            "refusal": $draft.refusal,
            "represented_user": $draft.represented_user,
            "request_state_issued": $draft.request_state_issued,
            "request_state_presented": $draft.request_state_presented,
            "resolution": $draft.resolution,
            "revision": $draft.revision,
            "round": $draft.round,
            "sequence": $log.sequence,
            "server": $draft.server,
            "server_digest": $draft.server_digest,
            "session_id": $draft.session_id,
            "suppressed": $draft.suppressed,
            "task": $draft.task,
            "time": $draft.time,
            "tool": $draft.tool,
            "workflow_id": $draft.workflow_id,
            "world": $draft.world,
        }
    };
}

/// What the log assigns.
#[derive(Default)]
struct Place {
    log_id: Option<LogId>,
    sequence: u64,
    previous: Option<Digest>,
    hash: Hashed,
}

/// The place on an execution's chain, as its two members.
#[derive(Default)]
struct Chain {
    execution_seq: Option<u64>,
    execution_previous: Option<Digest>,
}

/// The hash and where it stands, once read; written as 64 zeros, in whose place
/// it is put when it is known.
#[derive(Default)]
struct Hashed(Option<(Digest, usize)>);

const HASH_MEMBER: &[u8] = b",\"hash\":";
/// `"sha256:` and 64 digits and `"`
const HASH_VALUE: usize = 73;

impl Member for Hashed {
    fn write(&self, out: &mut Vec<u8>) {
        Digest::from_bytes([0; 32]).write(out);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        Digest::read(item).map(|digest| Self(Some((digest, item.offset()))))
    }
}

impl Entry {
    /// The longest entry, in bytes.
    pub const MAX_BYTES: u32 = 262_144;

    /// Writes and hashes a draft at its place.
    pub(crate) fn place(
        draft: Draft,
        log_id: LogId,
        sequence: u64,
        previous: Option<Digest>,
        link: Option<Link>,
    ) -> Self {
        if cfg!(countersign_bench = "without-log") {
            return Self {
                bytes: Vec::new(),
                hash: Digest::from_bytes([0; 32]),
                log_id,
                sequence,
                previous,
                link,
                draft,
                unknown: Vec::new(),
            };
        }
        let log = Place {
            log_id: Some(log_id.clone()),
            sequence,
            previous,
            hash: Hashed::default(),
        };
        let chain = Chain {
            execution_seq: link.map(|link| link.execution_seq),
            execution_previous: link.and_then(|link| link.execution_previous),
        };
        let (mut bytes, at) = written(&draft, &log, &chain);
        let hash = hash_without(&bytes, at);
        if let Some(place) =
            bytes.get_mut(at + HASH_MEMBER.len() + 1..at + HASH_MEMBER.len() + HASH_VALUE - 1)
        {
            place.copy_from_slice(hash.as_str().as_bytes());
        }
        Self {
            bytes,
            hash,
            log_id,
            sequence,
            previous,
            link,
            draft,
            unknown: Vec::new(),
        }
    }

    /// The bytes: RFC 8785, without a line feed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `SHA-256(0x00 ‖ bytes without "hash")`
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The log that it belongs to.
    #[must_use]
    pub fn log_id(&self) -> &LogId {
        &self.log_id
    }

    /// Its place in the log, which is its leaf's index in the tree; from 0.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The hash of the entry before it in the log; none for the first.
    #[must_use]
    pub fn previous(&self) -> Option<Digest> {
        self.previous
    }

    /// Its place on its execution's chain; none where there is no row.
    #[must_use]
    pub fn link(&self) -> Option<Link> {
        self.link
    }

    /// The place that the next entry of the same execution has.
    #[must_use]
    pub fn next_link(&self) -> Option<Link> {
        self.link.map(|link| Link {
            execution_seq: link.execution_seq.saturating_add(1),
            execution_previous: Some(self.hash),
        })
    }

    /// What it says.
    #[must_use]
    pub fn said(&self) -> &Draft {
        &self.draft
    }

    /// The word for the outcome that it states.
    #[must_use]
    pub fn outcome(&self) -> Option<&'static str> {
        self.draft.outcome.map(crate::terms::outcome_text)
    }

    /// Names of members that this version does not know. They are hashed like
    /// the others; what they mean is not checked.
    #[must_use]
    pub fn unknown_members(&self) -> &[String] {
        &self.unknown
    }

    /// Reads an entry back, strictly.
    ///
    /// # Errors
    /// Bytes that are not one canonical JSON object, that lack a member or hold
    /// in one what is never written there, or that do not hash to `hash`. An
    /// unknown kind and unknown members are no errors: they are kept, so that
    /// they can be reported.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedEntry> {
        let document = Document::read(bytes, LIMITS).map_err(MalformedEntry::NotJson)?;
        let root = document.root();
        if root.kind() != JsonKind::Object || root.canonical() != bytes {
            return Err(MalformedEntry::NotCanonical);
        }
        let (draft, log, chain, unknown) = read(root)?;
        let log_id = log.log_id.ok_or(MalformedEntry::Member("log_id"))?;
        let Hashed(stated) = log.hash;
        let (stated, value_at) = stated.ok_or(MalformedEntry::Member("hash"))?;
        let link = match (chain.execution_seq, chain.execution_previous) {
            (None, None) => None,
            (Some(0), None) => Some(Link {
                execution_seq: 0,
                execution_previous: None,
            }),
            (Some(execution_seq @ 1..), previous @ Some(_)) => Some(Link {
                execution_seq,
                execution_previous: previous,
            }),
            _ => return Err(MalformedEntry::Link),
        };
        let at = value_at.checked_sub(HASH_MEMBER.len());
        let at = at.ok_or(MalformedEntry::NotCanonical)?;
        if hash_without(bytes, at) != stated {
            return Err(MalformedEntry::Hash);
        }
        Ok(Self {
            bytes: bytes.to_vec(),
            hash: stated,
            log_id,
            sequence: log.sequence,
            previous: log.previous,
            link,
            draft,
            unknown,
        })
    }
}

/// Hashes an entry's bytes without the member `hash`, whose comma is at `at`.
fn hash_without(bytes: &[u8], at: usize) -> Digest {
    let before = bytes.get(..at).unwrap_or_default();
    let after = bytes
        .get(at + HASH_MEMBER.len() + HASH_VALUE..)
        .unwrap_or_default();
    let hash = Sha256::new_with_prefix([0])
        .chain_update(before)
        .chain_update(after);
    Digest::from_bytes(hash.finalize().into())
}

/// Whether only the brace is there.
fn at_start(out: &[u8]) -> bool {
    out.len() == 1
}

/// Writes all members, and says where the comma before `hash` stands.
fn written(draft: &Draft, log: &Place, link: &Chain) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(2_560);
    let mut at = 0;
    out.push(b'{');
    macro_rules! write_members {
        ($($name:literal: $room:ident . $field:ident),+ $(,)?) => {
            $(
                if $name == "hash" {
                    at = out.len();
                }
                // Names are plain ASCII, so they are written as they stand.
                if at_start(&out) {
                    out.extend_from_slice(concat!("\"", $name, "\":").as_bytes());
                } else {
                    out.extend_from_slice(concat!(",\"", $name, "\":").as_bytes());
                }
                $room.$field.write(&mut out);
            )+
        };
    }
    entry_members!(write_members, log, link, draft);
    out.push(b'}');
    (out, at)
}

/// The members of an entry, taken in canonical order: one pass over both lists.
struct Members<'d> {
    left: std::iter::Peekable<Children<'d>>,
    unknown: Vec<String>,
}

impl<'d> Members<'d> {
    fn take<T: Member>(&mut self, name: &'static str) -> Result<T, MalformedEntry> {
        // Known names are ASCII, so the order of bytes is the canonical one.
        while let Some(item) = self.left.next_if(|item| item.name() < Some(name)) {
            self.unknown.extend(item.name().map(str::to_owned));
        }
        match self.left.next_if(|item| item.name() == Some(name)) {
            Some(found) => T::read(found).ok_or(MalformedEntry::Member(name)),
            None => T::absent().ok_or(MalformedEntry::Missing(name)),
        }
    }

    /// Names of all members that were not taken.
    fn unknown(mut self) -> Vec<String> {
        let rest = self.left.filter_map(Item::name).map(str::to_owned);
        self.unknown.extend(rest);
        self.unknown
    }
}

/// Reads all members, and says which ones are not known.
fn read(root: Item<'_>) -> Result<(Draft, Place, Chain, Vec<String>), MalformedEntry> {
    let mut members = Members {
        left: root.children().peekable(),
        unknown: Vec::new(),
    };
    let mut draft = Draft::new(crate::Kind::Start, crate::Time::from_micros(0));
    let mut log = Place::default();
    let mut link = Chain::default();
    macro_rules! read_members {
        ($($name:literal: $room:ident . $field:ident),+ $(,)?) => {
            $($room.$field = members.take($name)?;)+
        };
    }
    entry_members!(read_members, log, link, draft);
    Ok((draft, log, link, members.unknown()))
}
