//! What an action means: the view from which every consumer works.

use crate::{Document, Interpretation, Limits, Numbers, ProfileId, Refusal};

/// Reads an action that [`admit`](crate::admit) gave.
///
/// # Errors
/// A refusal for any other bytes, as `docs/spec/action-binding.md` §1 says:
/// a reading fault; `params` where they are not of an action's form; `number`;
/// `value` where they are not canonical.
pub fn interpret(
    _profile: &ProfileId,
    _numbers: Numbers,
    action: &[u8],
) -> Result<Interpretation, Refusal> {
    let document = Document::read(action, Limits::STANDARD)?;
    Err(Refusal {
        code: crate::Code::Params,
        pointer: document.root().pointer(),
        offset: 0,
    })
}
