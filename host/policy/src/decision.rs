//! What was decided, by which policies, and why.

use std::fmt;

/// The answer to a [`Request`](crate::Request); the same files and the same
/// request give the same answer under the same evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    reason: Reason,
    determining: Vec<PolicyId>,
    code: Option<RefusalCode>,
}

/// The name of one policy of a bundle: its `@id`, else `FILE#N`, N being its
/// place in the file from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(Box<str>);

/// Why a request is allowed or denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A `permit` applies and no `forbid` does; nothing failed.
    Permitted,
    /// A `forbid` applies.
    Forbidden,
    /// No `permit` applies.
    NoPermit,
    /// A policy could not be evaluated on this request: it is denied, whatever
    /// the other policies say.
    EvaluationError,
    /// The request's own facts are not of their form.
    InvalidRequest,
}

/// What a denied caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCode {
    /// The call is not allowed.
    PolicyDenied,
    /// Every `forbid` that applies asks for an `execution_id` only: it carries
    /// `@code("execution-id-required")`.
    ExecutionIdRequired,
}

impl Decision {
    pub(crate) fn permitted(determining: Vec<PolicyId>) -> Self {
        Self::new(Reason::Permitted, determining, None)
    }

    pub(crate) fn denied(reason: Reason, determining: Vec<PolicyId>, code: RefusalCode) -> Self {
        Self::new(reason, determining, Some(code))
    }

    fn new(reason: Reason, mut determining: Vec<PolicyId>, code: Option<RefusalCode>) -> Self {
        determining.sort_unstable();
        Self {
            reason,
            determining,
            code,
        }
    }

    /// Whether the call is allowed.
    #[must_use]
    pub const fn allow(&self) -> bool {
        matches!(self.reason, Reason::Permitted)
    }

    /// `allow` or `deny`, as it is written in entries.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        if self.allow() { "allow" } else { "deny" }
    }

    /// Why.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// The policies that determined it, sorted: the permits of an allowed
    /// request, the forbids of a forbidden one, those that failed where one
    /// failed; none where no permit applies.
    #[must_use]
    pub fn determining(&self) -> &[PolicyId] {
        &self.determining
    }

    /// What the caller of a denied request is told; none for an allowed one.
    #[must_use]
    pub const fn code(&self) -> Option<RefusalCode> {
        self.code
    }

    /// The evaluator that decided, as `cedar-policy 4.14.1`.
    #[must_use]
    pub fn evaluator(&self) -> &'static str {
        crate::set::evaluator()
    }
}

impl PolicyId {
    pub(crate) fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub(crate) fn of(id: &cedar_policy::PolicyId) -> Self {
        Self::new(AsRef::<str>::as_ref(id))
    }

    /// As it is written in entries.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Reason {
    /// As it is written in entries.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permitted => "permitted",
            Self::Forbidden => "forbidden",
            Self::NoPermit => "no-permit",
            Self::EvaluationError => "evaluation-error",
            Self::InvalidRequest => "invalid-request",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl RefusalCode {
    /// Every code.
    pub const ALL: [Self; 2] = [Self::PolicyDenied, Self::ExecutionIdRequired];

    /// The stable code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PolicyDenied => "policy-denied",
            Self::ExecutionIdRequired => "execution-id-required",
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
