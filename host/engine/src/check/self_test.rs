//! What a component says of itself, and whether it keeps its word: each of its
//! vectors is run as a request would be, in instances of their own.

use countersign_canon::{Admitted, Digest, Limits, ProfileId, envelop};

use crate::bindings::AdmissionPre;
use crate::convert::Described;
use crate::fault::{Fault, Function};
use crate::load_error::Problem;
use crate::profile::Profile;
use crate::runtime::Runtime;

/// How many vectors a component describes.
const VECTORS: std::ops::RangeInclusive<usize> = 2..=64;

/// The description of a component, with an identity and limits that hold.
pub(crate) struct Description {
    pub(crate) id: ProfileId,
    pub(crate) limits: Limits,
    pub(crate) vectors: Vec<Described>,
}

/// Asks the component of that digest what it is. `expected` is what it must be; where nothing
/// is expected, whatever it says must at least be a profile's name.
pub(crate) fn describe(
    runtime: &Runtime,
    pre: &AdmissionPre<()>,
    digest: Digest,
    expected: Option<&ProfileId>,
) -> Result<Description, Problem> {
    // A fault names the profile, and this one has no believed name yet.
    let nameless = || expected.cloned().or_else(|| "unnamed@0.0.0".parse().ok());
    let fault = |kind| match nameless() {
        Some(id) => Problem::Fault(Fault::new(&id, digest, Function::Describe, kind)),
        None => Problem::Unsupported,
    };
    let said = runtime
        .call(pre, 0, |guest, store| guest.call_describe(store))
        .map_err(fault)?;
    let id = said
        .id
        .parse()
        .ok()
        .filter(|id| expected.is_none_or(|expected| expected == id));
    let Some(id) = id else {
        return Err(match nameless() {
            Some(expected) => Problem::IdentityDiffers {
                expected,
                described: shown(&said.id),
            },
            None => Problem::Unsupported,
        });
    };
    let limits = Limits {
        message_bytes: said.limits.message_bytes,
        depth: said.limits.depth,
        number_bytes: said.limits.number_bytes,
        nodes: said.limits.nodes,
    };
    if !are_sane(limits) {
        return Err(Problem::Limits);
    }
    let vectors = said
        .vectors
        .into_iter()
        .map(|vector| Described::new(vector).map_err(fault))
        .collect::<Result<Vec<_>, _>>()?;
    let calls = vectors
        .iter()
        .any(|vector| matches!(vector.answer, Ok(Some(_))));
    let refusals = vectors.iter().any(|vector| vector.answer.is_err());
    if !VECTORS.contains(&vectors.len()) || !calls || !refusals {
        return Err(Problem::VectorCount(vectors.len()));
    }
    Ok(Description {
        id,
        limits,
        vectors,
    })
}

/// The host sizes its own buffers by the shipped limits, so a profile may
/// state smaller ones only, and none that would refuse everything.
fn are_sane(limits: Limits) -> bool {
    let most = Limits::STANDARD;
    (1..=most.message_bytes).contains(&limits.message_bytes)
        && (1..=most.depth).contains(&limits.depth)
        && (1..=most.number_bytes).contains(&limits.number_bytes)
        && (1..=most.nodes).contains(&limits.nodes)
}

/// What a component calls itself, as far as one would want to read it.
fn shown(text: &str) -> String {
    text.chars()
        .take(80)
        .flat_map(char::escape_default)
        .collect()
}

/// Runs each vector, and admits each vector's action as a message of its own.
pub(crate) fn self_test(profile: &Profile, vectors: &[Described]) -> Result<(), Problem> {
    for (index, vector) in vectors.iter().enumerate() {
        let admitted = profile.admit(&vector.message).map_err(Problem::Fault)?;
        let (action, binding) = match (&vector.answer, admitted) {
            (Err(expected), Err(refusal)) if *expected == refusal => continue,
            (
                Ok(None),
                Ok(Admitted::Request(_) | Admitted::Notification(_) | Admitted::Reply(_)),
            ) => {
                continue;
            }
            (Ok(Some((action, binding))), Ok(Admitted::Call(call))) if *action == call.action => {
                (action, binding)
            }
            _ => return Err(Problem::Vector(index)),
        };
        match profile.interpret(action).map_err(Problem::Fault)? {
            Ok(interpretation) if interpretation.binding == *binding => {}
            _ => return Err(Problem::Vector(index)),
        }
        let again = envelop(action).map_err(|_| Problem::RoundTrip(index))?;
        match profile.admit(&again).map_err(Problem::Fault)? {
            Ok(Admitted::Call(call)) if call.action == *action => {}
            _ => return Err(Problem::RoundTrip(index)),
        }
    }
    Ok(())
}
