//! Arguments that headers mirror: `x-mcp-header` of a tool's input schema.
//!
//! What a header must say is derived from the view, never from what a caller
//! put into its headers; whether the two agree is judged in `conformity`.

use countersign_canon::{Value, View, view::Cursor};
use thiserror::Error;

/// The greatest magnitude that an integer has in a header, 2^53 − 1.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A value that no header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", Self::TEXT)]
pub struct NoForm;

impl NoForm {
    /// What a caller is told.
    pub const TEXT: &'static str = "an argument that a header must mirror has no form there";
}

/// An argument as a header has it; none where it is absent or null.
///
/// # Errors
/// [`NoForm`] for an array, an object, and a number that is no integer within
/// ±(2^53−1).
pub fn value(view: &View, argument: &str) -> Result<Option<String>, NoForm> {
    let value = view
        .root()
        .get("arguments")
        .and_then(|arguments| arguments.get(argument));
    Ok(Some(match value.map(Cursor::value) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Boolean(value)) => value.to_string(),
        Some(Value::Integer(value)) if value.unsigned_abs() <= MAX_SAFE => value.to_string(),
        Some(Value::Text(value)) => value.clone(),
        Some(_) => return Err(NoForm),
    }))
}
