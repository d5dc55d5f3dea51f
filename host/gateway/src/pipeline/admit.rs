//! bytes → what they ask for, or a refusal.

use bytes::Bytes;
use countersign_canon::{Admitted, Refusal};
use countersign_engine::{Fault, Profile};

/// Messages up to this size are read on the thread that received them: moving
/// them elsewhere would take longer.
const INLINE_BYTES: usize = 65_536;

/// Reads a message under a profile.
///
/// # Errors
/// The outer error says that the profile gave no verdict.
pub(crate) async fn admit(
    profile: &Profile,
    message: &Bytes,
) -> Result<Result<Admitted, Refusal>, Fault> {
    let (job, bytes) = (profile.clone(), message.clone());
    on_a_fitting_thread(
        message.len(),
        move || job.admit(&bytes),
        || profile.admit(message),
    )
    .await
}

/// Runs short work here and long work where it holds nobody up. Both closures
/// do the same; the second one is for here, and for when the pool is gone.
pub(super) async fn on_a_fitting_thread<T: Send + 'static>(
    size: usize,
    elsewhere: impl FnOnce() -> T + Send + 'static,
    here: impl FnOnce() -> T,
) -> T {
    if size <= INLINE_BYTES {
        return here();
    }
    match tokio::task::spawn_blocking(elsewhere).await {
        Ok(value) => value,
        Err(_) => here(),
    }
}
