//! The strict reader.
use crate::{Code, Document, Limits, Refusal};
pub(crate) fn read(_source: &[u8], _limits: Limits) -> Result<Document<'_>, Refusal> {
    Err(Refusal {
        code: Code::Syntax,
        pointer: alloc::string::String::new(),
        offset: 0,
    })
}
