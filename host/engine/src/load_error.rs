//! Why a component is not loaded: one stable code for each check.
//!
//! A gateway that meets one of these does not start. Each says which profile,
//! what is wrong, and what to do about it.

use std::fmt;

use countersign_canon::{Digest, ProfileId};

use crate::fault::Fault;

/// A component that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile `{subject}` is not loaded: {problem}")]
pub struct LoadError {
    subject: String,
    problem: Problem,
}

impl LoadError {
    pub(crate) fn new(subject: impl Into<String>, problem: Problem) -> Self {
        Self {
            subject: subject.into(),
            problem,
        }
    }

    /// What was to be loaded: a profile's name and version where known, a
    /// file's path or a component's digest otherwise.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What is wrong with it.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The stable code, as in `docs/errors`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.problem.help()
    }
}

/// What is wrong with a component.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// No profile of this name and version is built in.
    Unknown,
    /// The file could not be read.
    Unreadable(String),
    /// The file is larger than any component may be, in bytes.
    TooLarge(u64),
    /// The file's name is not `NAME@VERSION.wasm`.
    FileName,
    /// The bytes are not those that the pin names.
    DigestDiffers {
        /// What the pin says.
        pinned: Box<Digest>,
        /// What the bytes hash to.
        found: Box<Digest>,
    },
    /// The bytes are no valid component of the instructions that are allowed;
    /// floats, vectors, threads and the like are not.
    Instructions(String),
    /// The component wants something of its host.
    Imports(String),
    /// A memory without a declared maximum, a larger one than is allowed, or
    /// more than one.
    Memory(String),
    /// The component does not export exactly the world.
    Exports(String),
    /// This engine cannot hold the component.
    Unsupported,
    /// It describes itself as something else than was asked for.
    IdentityDiffers {
        /// What the pin or the file's name says.
        expected: ProfileId,
        /// What the component says, if that is a profile's name at all.
        described: String,
    },
    /// Its limits are zero or beyond what a host holds.
    Limits,
    /// Its vectors are fewer than 2, more than 64, without a call, or without
    /// a refusal.
    VectorCount(usize),
    /// It does not reproduce its own vector; counted from 0.
    Vector(usize),
    /// Admitting a vector's action again gives another; counted from 0.
    RoundTrip(usize),
    /// It faulted while it was checked.
    Fault(Fault),
}

impl Problem {
    /// Every code, for the pages that explain them.
    pub const CODES: [&'static str; 15] = [
        "profile-unknown",
        "profile-unreadable",
        "profile-too-large",
        "profile-file-name",
        "profile-digest",
        "profile-instructions",
        "profile-imports",
        "profile-memory",
        "profile-exports",
        "profile-unsupported",
        "profile-identity",
        "profile-limits",
        "profile-vectors",
        "profile-round-trip",
        "profile-self-test",
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "profile-unknown",
            Self::Unreadable(_) => "profile-unreadable",
            Self::TooLarge(_) => "profile-too-large",
            Self::FileName => "profile-file-name",
            Self::DigestDiffers { .. } => "profile-digest",
            Self::Instructions(_) => "profile-instructions",
            Self::Imports(_) => "profile-imports",
            Self::Memory(_) => "profile-memory",
            Self::Exports(_) => "profile-exports",
            Self::Unsupported => "profile-unsupported",
            Self::IdentityDiffers { .. } => "profile-identity",
            Self::Limits => "profile-limits",
            Self::VectorCount(_) | Self::Vector(_) => "profile-vectors",
            Self::RoundTrip(_) => "profile-round-trip",
            Self::Fault(_) => "profile-self-test",
        }
    }

    const fn help(&self) -> &'static str {
        match self {
            Self::Unknown => {
                "`countersign profile list` shows what is built in; another is given as a file"
            }
            Self::Unreadable(_) => "check the path and who may read it",
            Self::TooLarge(_) => "a component is at most 16 MiB; strip its debug information",
            Self::FileName => "name the file after what it is, as in `exact@1.0.0.wasm`",
            Self::DigestDiffers { .. } => {
                "the file is not the one that was pinned: fetch the released file again, or pin this one if it is meant"
            }
            Self::Instructions(_) => {
                "build for wasm32 without floats, SIMD, threads, tail calls or exceptions, as a component"
            }
            Self::Imports(_) => {
                "build without WASI: a profile's results depend on its arguments alone"
            }
            Self::Memory(_) => "link with `--max-memory` of at most 256 MiB, and one memory only",
            Self::Exports(_) => {
                "build against the world `countersign:admission@1.0.0`, and export nothing else"
            }
            Self::Unsupported => {
                "the component needs more instances, tables or globals than an engine keeps ready"
            }
            Self::IdentityDiffers { .. } => {
                "ask for the profile that this file is, or fetch the one that was meant"
            }
            Self::Limits => "state limits between 1 and those of the shipped profiles",
            Self::VectorCount(_) => {
                "describe 2 to 64 vectors, with at least one call and one refusal"
            }
            Self::Vector(_) | Self::RoundTrip(_) | Self::Fault(_) => {
                "the file is damaged or its profile is wrong: do not use it, and tell its vendor"
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("it is not built in"),
            Self::Unreadable(why) => write!(f, "the file cannot be read: {why}"),
            Self::TooLarge(bytes) => write!(f, "the file has {bytes} bytes"),
            Self::FileName => f.write_str("the file's name is not `NAME@VERSION.wasm`"),
            Self::DigestDiffers { pinned, found } => {
                write!(f, "it is pinned as `{pinned}` and hashes to `{found}`")
            }
            Self::Instructions(why) => {
                write!(f, "it is no component of the allowed instructions: {why}")
            }
            Self::Imports(name) => write!(f, "it imports `{name}`"),
            Self::Memory(why) => write!(f, "its memory is not bounded: {why}"),
            Self::Exports(why) => write!(f, "it does not export exactly the world: {why}"),
            Self::Unsupported => f.write_str("this engine cannot hold it"),
            Self::IdentityDiffers {
                expected,
                described,
            } => {
                write!(
                    f,
                    "`{expected}` is expected and it describes itself as `{described}`"
                )
            }
            Self::Limits => {
                f.write_str("its limits are not between 1 and those of the shipped profiles")
            }
            Self::VectorCount(count) => write!(
                f,
                "its {count} vectors are not 2 to 64 with a call and a refusal"
            ),
            Self::Vector(index) => write!(f, "it does not reproduce its vector {index}"),
            Self::RoundTrip(index) => {
                write!(
                    f,
                    "the action of its vector {index} is not admitted as itself"
                )
            }
            Self::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

/// An engine that cannot be set up on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Slots are 1 to [`MAX_SLOTS`](crate::MAX_SLOTS).
    #[error("`{0}` slots are asked for, and an engine has 1 to 512")]
    Slots(u32),
    /// The address space for the slots could not be reserved.
    #[error(
        "address space for `{0}` slots cannot be reserved; ask for fewer, or raise the limit on virtual memory"
    )]
    Reservation(u32),
}
