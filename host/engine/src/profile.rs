//! A loaded profile: what the rest of the house calls.
//!
//! Bindings and verdicts are computed again natively, and a disagreement is a
//! fault (`docs/spec/action-binding.md` §5). Of a view the shape is checked: one
//! tree of no more nodes than stated, `method`, and a `name` that is the tool.
//! Its other values, and what `admit` puts beside the action, are believed: a
//! pinned component is trusted for what its actions mean. That they are the
//! action's is for certification to find out.

use std::fmt;
use std::sync::Arc;

use countersign_canon::{
    Admitted, Classification, Digest, Limits, Presented, ProfileId, Recorded, Refusal, View,
    classify, preimage,
};

use crate::bindings::{AdmissionPre, profile as wit};
use crate::cache::Warning;
use crate::convert;
use crate::fault::{Fault, FaultKind, Function};
use crate::runtime::{Instance, Runtime};

/// A component that passed every check at load. Cheap to clone and to share
/// between threads; each call runs in an instance of its own.
#[derive(Clone)]
pub struct Profile(Arc<Loaded>);

#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) pre: AdmissionPre<()>,
    pub(crate) id: ProfileId,
    pub(crate) digest: Digest,
    pub(crate) limits: Limits,
    pub(crate) vectors: usize,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) warnings: Vec<Warning>,
}

/// What an action means: an answer of `interpret` whose binding was computed
/// again and whose view has an action's shape.
#[derive(Clone, Debug)]
pub struct Interpreted {
    /// The digest of the action under this profile.
    pub binding: Digest,
    /// The tool's name: `name` of the action.
    pub tool: String,
    /// Every value of the action.
    pub view: View,
}

/// The name of the world that profiles export.
pub const WORLD: &str = "countersign:admission@1.0.0";

impl Profile {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self(Arc::new(loaded))
    }

    /// The profile's name and version.
    #[must_use]
    pub fn id(&self) -> &ProfileId {
        &self.0.id
    }

    /// SHA-256 of the component file.
    #[must_use]
    pub fn component_digest(&self) -> Digest {
        self.0.digest
    }

    /// The name and version of the world that the component exports.
    #[must_use]
    pub fn world(&self) -> &'static str {
        WORLD
    }

    /// What the profile reads at most.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// How many vectors of its own it reproduced when it was loaded.
    #[must_use]
    pub fn self_tests(&self) -> usize {
        self.0.vectors
    }

    /// The component file, as it goes into bundles.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Why the cache of compiled code was not used, if it should have been.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.0.warnings
    }

    /// Reads one message exactly as it arrived, in an instance of its own.
    ///
    /// # Errors
    ///
    /// The inner error is the profile's verdict; the outer one says that there
    /// is none.
    pub fn admit(&self, message: &[u8]) -> Result<Result<Admitted, Refusal>, Fault> {
        let message = self.readable(message);
        let loaded = &*self.0;
        loaded
            .runtime
            .call(&loaded.pre, message.len(), |guest, store| {
                guest.call_admit(store, message)
            })
            .and_then(|said| admitted(said, message.len()))
            .map_err(|kind| self.fault(Function::Admit, kind))
    }

    /// Turns an action into its binding, its tool and its view, in an instance
    /// that never saw the message.
    ///
    /// # Errors
    ///
    /// The inner error is the profile's verdict on bytes that are no action of
    /// its own; the outer one says that there is none.
    pub fn interpret(&self, action: &[u8]) -> Result<Result<Interpreted, Refusal>, Fault> {
        let loaded = &*self.0;
        loaded
            .runtime
            .call(&loaded.pre, action.len(), |guest, store| {
                guest.call_interpret(store, action)
            })
            .and_then(|said| self.interpreted(said, action))
            .map_err(|kind| self.fault(Function::Interpret, kind))
    }

    /// The fault of a profile whose `interpret` refuses what its `admit` gave.
    #[must_use]
    pub fn refuses_its_own(&self) -> Fault {
        self.fault(Function::Interpret, FaultKind::RefusesItsOwn)
    }

    /// Says what an attempt is, given the record of its execution. The verdict
    /// is the table's, with which the component must agree.
    ///
    /// # Errors
    ///
    /// A [`Fault`] where the component does not answer, or disagrees.
    pub fn classify(
        &self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, Fault> {
        let loaded = &*self.0;
        let bytes = question_bytes(presented, recorded);
        let (asked, known) = (
            convert::presented(presented),
            recorded.map(convert::recorded),
        );
        let said = loaded
            .runtime
            .call(&loaded.pre, bytes, |guest, store| {
                guest.call_classify(store, &asked, known.as_ref())
            })
            .map(convert::classification);
        self.agreed(said, presented, recorded)
    }

    /// A verdict with which the table agrees.
    fn agreed(
        &self,
        said: Result<Classification, FaultKind>,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, Fault> {
        let table = classify(presented, recorded);
        said.and_then(|verdict| {
            if verdict == table {
                Ok(table)
            } else {
                Err(FaultKind::ClassificationDisagrees)
            }
        })
        .map_err(|kind| self.fault(Function::Classify, kind))
    }

    /// An instance that stays: for a verifier that asks `classify` a million
    /// times, and for measuring what a fresh one costs. Requests never share
    /// one.
    ///
    /// # Errors
    ///
    /// A [`Fault`] where it cannot be made.
    pub fn warm(&self) -> Result<Warm<'_>, Fault> {
        Instance::new(self.0.runtime.engine(), &self.0.pre, 0)
            .map(|instance| Warm {
                profile: self,
                instance,
            })
            .map_err(|kind| self.fault(Function::Admit, kind))
    }

    /// A message beyond the limit is refused for its size alone, so one byte
    /// beyond it is all that the component is given to see that.
    fn readable<'m>(&self, message: &'m [u8]) -> &'m [u8] {
        let most = usize::try_from(self.0.limits.message_bytes).unwrap_or(usize::MAX);
        message.get(..most.saturating_add(1)).unwrap_or(message)
    }

    fn interpreted(
        &self,
        said: Result<wit::Interpretation, wit::Refusal>,
        action: &[u8],
    ) -> Result<Result<Interpreted, Refusal>, FaultKind> {
        let said = self.believed(said, action)?;
        match &said {
            Ok(meaning) if meaning.binding != preimage::binding(&self.0.id, action) => {
                Err(FaultKind::BindingDisagrees)
            }
            _ => Ok(said),
        }
    }

    /// An answer whose form is that of the contract.
    fn believed(
        &self,
        said: Result<wit::Interpretation, wit::Refusal>,
        action: &[u8],
    ) -> Result<Result<Interpreted, Refusal>, FaultKind> {
        match said {
            Ok(said) => convert::interpretation(said, self.0.limits.nodes).map(Ok),
            Err(said) => convert::refusal(said, action.len()).map(Err),
        }
    }

    fn fault(&self, function: Function, kind: FaultKind) -> Fault {
        Fault::new(&self.0.id, self.0.digest, function, kind)
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("id", self.id())
            .field("component_digest", &self.component_digest())
            .finish_non_exhaustive()
    }
}

/// An instance that is used again; see [`Profile::warm`].
pub struct Warm<'p> {
    profile: &'p Profile,
    instance: Instance,
}

impl Warm<'_> {
    /// As [`Profile::admit`], with the fuel that it used.
    ///
    /// # Errors
    ///
    /// As [`Profile::admit`]; after a [`Fault`] the instance is of no more use.
    pub fn admit(&mut self, message: &[u8]) -> Result<(Result<Admitted, Refusal>, u64), Fault> {
        let message = self.profile.readable(message);
        let said = self
            .instance
            .call(message.len(), |guest, store| {
                guest.call_admit(store, message)
            })
            .and_then(|said| admitted(said, message.len()))
            .map_err(|kind| self.profile.fault(Function::Admit, kind))?;
        Ok((said, self.instance.fuel_used(message.len())))
    }

    /// As [`Profile::interpret`], with the fuel that it used; the binding is
    /// the component's word alone.
    ///
    /// # Errors
    ///
    /// As [`Profile::interpret`]; after a [`Fault`] the instance is of no more
    /// use.
    pub fn interpret(
        &mut self,
        action: &[u8],
    ) -> Result<(Result<Interpreted, Refusal>, u64), Fault> {
        let said = self
            .instance
            .call(action.len(), |guest, store| {
                guest.call_interpret(store, action)
            })
            .and_then(|said| self.profile.believed(said, action))
            .map_err(|kind| self.profile.fault(Function::Interpret, kind))?;
        Ok((said, self.instance.fuel_used(action.len())))
    }

    /// As [`Profile::classify`].
    ///
    /// # Errors
    ///
    /// As [`Profile::classify`]; after a [`Fault`] the instance is of no more
    /// use.
    pub fn classify(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, Fault> {
        let said = self.said(presented, recorded);
        self.profile.agreed(said, presented, recorded)
    }

    /// What the component itself says an attempt is; its word alone.
    ///
    /// # Errors
    ///
    /// A [`Fault`] where it does not answer; the instance is of no more use.
    pub fn verdict(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, Fault> {
        self.said(presented, recorded)
            .map_err(|kind| self.profile.fault(Function::Classify, kind))
    }

    fn said(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, FaultKind> {
        let bytes = question_bytes(presented, recorded);
        let (asked, known) = (
            convert::presented(presented),
            recorded.map(convert::recorded),
        );
        self.instance
            .call(bytes, |guest, store| {
                guest.call_classify(store, &asked, known.as_ref())
            })
            .map(convert::classification)
    }
}

fn admitted(
    said: Result<wit::Admitted, wit::Refusal>,
    length: usize,
) -> Result<Result<Admitted, Refusal>, FaultKind> {
    match said {
        Ok(said) => convert::admitted(said).map(Ok),
        Err(said) => convert::refusal(said, length).map(Err),
    }
}

/// What a question to `classify` weighs, for its fuel.
fn question_bytes(presented: &Presented<'_>, recorded: Option<&Recorded<'_>>) -> usize {
    let asked = presented.binding.len() + presented.target.len();
    let known = recorded.map_or(0, |recorded| {
        recorded.target.len()
            + recorded
                .claimed
                .iter()
                .map(|digest| digest.len())
                .sum::<usize>()
    });
    asked + known
}
