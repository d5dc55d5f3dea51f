//! action → binding, tool and view.

use countersign_canon::{Call, Digest, preimage};
use countersign_engine::{Fault, Interpreted, Profile};

use super::rooms::Rooms;

/// A call under a profile: what everything from here on works from. Made by
/// [`interpret`] alone.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) profile: Profile,
    pub(crate) action: Vec<u8>,
    pub(crate) interpreted: Interpreted,
    pub(crate) continuation: Option<Continuation>,
}

/// A continuation with its digests.
#[derive(Clone, Debug)]
pub(crate) struct Continuation {
    pub(crate) canonical: Vec<u8>,
    pub(crate) digest: Digest,
    pub(crate) request_state: Option<Digest>,
}

/// Interprets the action of a call.
///
/// # Errors
/// The profile gave no verdict, or refuses an action of its own.
pub(crate) async fn interpret(
    rooms: &Rooms,
    profile: &Profile,
    call: &Call,
) -> Result<Bound, Fault> {
    let (job, action) = (profile.clone(), call.action.clone());
    let interpreted = rooms
        .run(
            call.action.len(),
            move || job.interpret(&action),
            || profile.interpret(&call.action),
        )
        .await?
        .map_err(|_| profile.refuses_its_own())?;
    let continuation = call.continuation.as_ref().map(|continuation| Continuation {
        digest: preimage::continuation(profile.id(), &interpreted.binding, &continuation.canonical),
        request_state: continuation
            .request_state
            .as_deref()
            .map(preimage::request_state),
        canonical: continuation.canonical.clone(),
    });
    Ok(Bound {
        profile: profile.clone(),
        action: call.action.clone(),
        interpreted,
        continuation,
    })
}
