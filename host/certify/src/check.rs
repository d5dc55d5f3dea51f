//! What is checked of a component, by name.

use std::fmt;

/// One of the things that a profile must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Every gateway can load it: no imports, no floats, a bounded memory, its
    /// own vectors reproduced.
    Loading,
    /// What must be refused is refused, as the specification says, and nothing
    /// else is.
    StrictReading,
    /// What is not the action goes where the specification says, unchanged.
    Parts,
    /// An action is written canonically.
    CanonicalForm,
    /// Whatever any consumer can tell apart, the binding tells apart.
    Separation,
    /// Messages with one binding are treated alike.
    Adequacy,
    /// Admitting what an action asks for gives that action again.
    Idempotence,
    /// The binding is the digest that the specification prescribes.
    DigestRecipe,
    /// The view is that of the action, and of nothing else.
    View,
    /// What is no action of its own is not interpreted.
    ForeignBytes,
    /// The same question gets the same answer, in any instance and however it
    /// is compiled.
    Determinism,
    /// It classifies as the table does.
    Classification,
    /// No trap, and no more fuel than a host gives.
    Robustness,
    /// Enough was admitted for the rest to mean something.
    Coverage,
}

impl Check {
    /// Every check, in the order in which reports list them.
    pub const ALL: [Self; 14] = [
        Self::Loading,
        Self::StrictReading,
        Self::Parts,
        Self::CanonicalForm,
        Self::Separation,
        Self::Adequacy,
        Self::Idempotence,
        Self::DigestRecipe,
        Self::View,
        Self::ForeignBytes,
        Self::Determinism,
        Self::Classification,
        Self::Robustness,
        Self::Coverage,
    ];

    /// The name as reports write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::StrictReading => "strict-reading",
            Self::Parts => "parts",
            Self::CanonicalForm => "canonical-form",
            Self::Separation => "separation",
            Self::Adequacy => "adequacy",
            Self::Idempotence => "idempotence",
            Self::DigestRecipe => "digest-recipe",
            Self::View => "view",
            Self::ForeignBytes => "foreign-bytes",
            Self::Determinism => "determinism",
            Self::Classification => "classification",
            Self::Robustness => "robustness",
            Self::Coverage => "coverage",
        }
    }

    /// What holds where no finding says otherwise.
    #[must_use]
    pub const fn promise(self) -> &'static str {
        match self {
            Self::Loading => "a gateway loads it, and it reproduces its own vectors",
            Self::StrictReading => "it refuses what must be refused, and nothing else",
            Self::Parts => "what is not the action goes where it belongs, unchanged",
            Self::CanonicalForm => "its actions are written canonically",
            Self::Separation => "what any consumer tells apart, the binding tells apart",
            Self::Adequacy => "messages with one binding are treated alike",
            Self::Idempotence => "what an action asks for is that action again",
            Self::DigestRecipe => "the binding is the prescribed digest of the action",
            Self::View => "the view is the action's",
            Self::ForeignBytes => "bytes that are no action of its own are refused",
            Self::Determinism => "instances and compilers make no difference",
            Self::Classification => "it classifies as the table does",
            Self::Robustness => "it neither traps nor runs away",
            Self::Coverage => "enough was admitted for this to mean something",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
