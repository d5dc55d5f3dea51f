//! Arguments that headers mirror: `x-mcp-header` of a tool's input schema.
//!
//! What a header must say is derived from the view, never from what a caller
//! put into its headers; whether the two agree is judged in `conformity`.

use std::fmt;

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

/// An argument that a header mirrors. Its display is what the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A text, as it is.
    Text(String),
    /// A whole number within ±(2^53−1), in decimal.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(value) => f.write_str(value),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Boolean(value) => write!(f, "{value}"),
        }
    }
}

/// An argument as a header has it; none where it is absent or null.
///
/// # Errors
/// [`NoForm`] for an array, an object, and a number that is no integer within
/// ±(2^53−1).
pub fn value(view: &View, argument: &str) -> Result<Option<Argument>, NoForm> {
    let value = view
        .root()
        .get("arguments")
        .and_then(|arguments| arguments.get(argument));
    Ok(Some(match value.map(Cursor::value) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Boolean(value)) => Argument::Boolean(*value),
        Some(Value::Integer(value)) if value.unsigned_abs() <= MAX_SAFE => {
            Argument::Integer(*value)
        }
        Some(Value::Text(value)) => Argument::Text(value.clone()),
        Some(_) => return Err(NoForm),
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use countersign_canon::{Document, Limits, Numbers, interpret};

    use super::*;

    /// What a profile sees of a call whose one argument is `a`.
    pub(crate) fn view(argument: &str) -> View {
        let text =
            format!(r#"{{"arguments":{{"a":{argument}}},"method":"tools/call","name":"t"}}"#);
        let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
        let profile = "exact@1.0.0".parse().unwrap();
        let read = interpret(&profile, Numbers::AsWritten, &document.root().canonical());
        View::new(read.unwrap().view).unwrap()
    }

    #[test]
    fn a_header_takes_texts_truth_values_and_integers_that_everybody_reads_alike() {
        for (argument, header) in [
            ("\"eu\"", Ok(Some("eu"))),
            ("true", Ok(Some("true"))),
            ("null", Ok(None)),
            ("-7", Ok(Some("-7"))),
            ("9007199254740991", Ok(Some("9007199254740991"))),
            ("9007199254740992", Err(NoForm)),
            ("-9007199254740992", Err(NoForm)),
            ("1.0", Err(NoForm)),
            ("[]", Err(NoForm)),
            ("{}", Err(NoForm)),
        ] {
            let header = header.map(|text: Option<&str>| text.map(str::to_owned));
            let said = value(&view(argument), "a").map(|value| value.map(|v| v.to_string()));
            assert_eq!(said, header, "{argument}");
        }
    }
}
