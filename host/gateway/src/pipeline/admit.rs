//! bytes → what they ask for, or a refusal.

use bytes::Bytes;
use countersign_canon::{Admitted, Numbers, Refusal};
use countersign_engine::{Fault, Profile};

use super::rooms::{Rooms, on_a_fitting_thread};

/// Reads a message under a profile.
///
/// # Errors
/// The outer error says that the profile gave no verdict.
pub(crate) async fn admit(
    rooms: &Rooms,
    profile: &Profile,
    message: &Bytes,
) -> Result<Result<Admitted, Refusal>, Fault> {
    let (job, bytes) = (profile.clone(), message.clone());
    rooms
        .run(
            message.len(),
            move || job.admit(&bytes),
            || profile.admit(message),
        )
        .await
}

/// Reads a message by the rules of `exact`, which carries whatever can be read:
/// natively, since no verdict rests on it.
pub(super) async fn as_written(message: &Bytes) -> Option<Admitted> {
    let bytes = message.clone();
    let read = move || countersign_canon::admit(Numbers::AsWritten, &bytes).ok();
    on_a_fitting_thread(message.len(), read.clone(), read).await
}
