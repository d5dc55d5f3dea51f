//! Named points of the writer's way, where a test stops the process or makes
//! the store fail.
//!
//! What a crash leaves behind can only be shown by crashing where it matters.
//! Outside of tests nothing is called here.

use crate::store::StoreError;

/// A point on the way of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// A group was taken from the queue; no transaction has begun.
    Taken,
    /// The transaction has begun and everything is decided.
    Decided,
    /// Everything is written, nothing committed.
    Written,
    /// The commit is about to begin; a fault here is a commit that failed.
    Committing,
    /// The commit has returned; nobody was answered.
    Committed,
    /// Everybody was answered.
    Answered,
    /// The connection was opened again, and is about to be read back.
    Reopened,
}

impl Point {
    /// Every point, in the order of the way.
    pub const ALL: [Self; 7] = [
        Self::Taken,
        Self::Decided,
        Self::Written,
        Self::Committing,
        Self::Committed,
        Self::Answered,
        Self::Reopened,
    ];

    /// The point's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Decided => "decided",
            Self::Written => "written",
            Self::Committing => "committing",
            Self::Committed => "committed",
            Self::Answered => "answered",
            Self::Reopened => "reopened",
        }
    }
}

/// A failure of the store, as a probe makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error after which the connection is opened again. At
    /// [`Point::Committed`] it is an acknowledgement that was lost.
    Error,
    /// A sync that failed.
    Sync,
}

/// Something that is called at each [`Point`].
pub trait Probe: Send + Sync + 'static {
    /// May block, end the process, or make the store fail here.
    ///
    /// # Errors
    ///
    /// The fault that the writer shall meet; at [`Point::Taken`] and
    /// [`Point::Answered`] it is ignored.
    fn at(&self, point: Point) -> Result<(), Fault>;
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Error => Self::Failed("made by a probe".into()),
            Fault::Sync => Self::Sync("made by a probe".into()),
        }
    }
}
