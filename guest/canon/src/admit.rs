//! What one message is: a call, taken apart, or something else, or a refusal.
use alloc::vec::Vec;

use crate::{Admitted, Document, Limits, Numbers, Refusal};

/// Reads one message exactly as it arrived.
///
/// # Errors
/// The refusal that `docs/spec/action-binding.md` §1 prescribes.
pub fn admit(_numbers: Numbers, message: &[u8]) -> Result<Admitted, Refusal> {
    let document = Document::read(message, Limits::STANDARD)?;
    Err(Refusal {
        code: crate::Code::Envelope,
        pointer: document.root().pointer(),
        offset: 0,
    })
}

/// The message that asks for exactly this canonical action: `jsonrpc`, `id` 0
/// and, as `params`, the action without its `method`.
///
/// # Errors
/// The refusal that [`interpret`](crate::interpret) gives for bytes that are
/// no action.
pub fn envelop(action: &[u8]) -> Result<Vec<u8>, Refusal> {
    let document = Document::read(action, Limits::STANDARD)?;
    Ok(document.root().canonical())
}
