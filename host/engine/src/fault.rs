//! When a component does not do what its contract says.
//!
//! A fault is no verdict: it refuses the one request (`profile-fault`), is
//! recorded, and harms no other. Nothing of the engine's own messages is in
//! it, because it travels to people who are not to see them.

use std::fmt;

use countersign_canon::{Digest, ProfileId};

/// A component that did not answer, or whose answer the host does not believe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile `{profile}` is at fault in `{function}`: {kind}")]
pub struct Fault {
    profile: ProfileId,
    // Aside, since errors that hold a fault travel in results.
    component: Box<Digest>,
    function: Function,
    kind: FaultKind,
}

impl Fault {
    /// The stable code of every fault.
    pub const CODE: &'static str = "profile-fault";

    pub(crate) fn new(
        profile: &ProfileId,
        component: Digest,
        function: Function,
        kind: FaultKind,
    ) -> Self {
        Self {
            profile: profile.clone(),
            component: Box::new(component),
            function,
            kind,
        }
    }

    /// The profile that is at fault.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        &self.profile
    }

    /// The digest of its component, which names it where two go by one version.
    #[must_use]
    pub fn component(&self) -> Digest {
        *self.component
    }

    /// The function that was called.
    #[must_use]
    pub fn function(&self) -> Function {
        self.function
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

/// A function of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `describe`
    Describe,
    /// `admit`
    Admit,
    /// `interpret`
    Interpret,
    /// `classify`
    Classify,
}

impl Function {
    /// The name as the contract writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Admit => "admit",
            Self::Interpret => "interpret",
            Self::Classify => "classify",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// It trapped: an unreachable instruction, an access out of bounds, or a
    /// memory that it could not grow.
    Trap,
    /// It used more fuel than anything that is counted could need.
    OutOfFuel,
    /// It used up its stack.
    StackOverflow,
    /// Its answer is larger than any answer may be, or not of its type.
    UnreadableAnswer,
    /// The host had no room to run it.
    NoRoom,
    /// It answered what the contract does not allow.
    Malformed(Rule),
    /// Its `interpret` refuses an action that its own `admit` gave.
    RefusesItsOwn,
    /// Its binding is not the digest of what it was given.
    BindingDisagrees,
    /// Its classification is not the one of the table.
    ClassificationDisagrees,
}

impl FaultKind {
    /// The kind as one word; an entry names the component, not the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::OutOfFuel => "out-of-fuel",
            Self::StackOverflow => "stack-overflow",
            Self::UnreadableAnswer => "unreadable-answer",
            Self::NoRoom => "no-room",
            Self::Malformed(_) => "malformed-answer",
            Self::RefusesItsOwn => "refuses-its-own",
            Self::BindingDisagrees => "binding-disagrees",
            Self::ClassificationDisagrees => "classification-disagrees",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trap => "it trapped",
            Self::OutOfFuel => "it ran out of fuel",
            Self::StackOverflow => "it used up its stack",
            Self::UnreadableAnswer => "its answer is too large or not of its type",
            Self::NoRoom => "the host had no room to run it",
            Self::Malformed(rule) => return write!(f, "it answered {rule}"),
            Self::RefusesItsOwn => "it refuses an action of its own",
            Self::BindingDisagrees => "its binding is not the digest of the action",
            Self::ClassificationDisagrees => "its classification is not the table's",
        })
    }
}

/// The rule of the contract that an answer breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A binding that is not written as one.
    Digest,
    /// A view that is no tree, or has another tool, or too many nodes.
    View,
    /// An execution or workflow identifier that is not 1 to 200 visible ASCII
    /// characters.
    Correlation,
    /// An `id` beyond 2^53 - 1 or 256 bytes.
    Id,
    /// A refusal whose pointer or offset cannot be one of the message.
    Refusal,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digest => "a binding that is no digest",
            Self::View => "a view that is no action's",
            Self::Correlation => "a malformed execution or workflow identifier",
            Self::Id => "an id that no message may carry",
            Self::Refusal => "a refusal at a place that the message does not have",
        })
    }
}
