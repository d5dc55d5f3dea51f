//! What an admitted message is.
//!
//! Byte strings in these types are canonical JSON: names sorted by UTF-16 code
//! units, no white space, the shortest escapes, every number as written.

use alloc::string::String;
use alloc::vec::Vec;

/// A message that was read whole and broke no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// A `tools/call` request: the only kind that is bound.
    Call(Call),
    /// A request of any other method.
    Request(Request),
    /// A request without an `id`.
    Notification(Notification),
    /// An answer to a request of ours.
    Reply(Reply),
}

/// The `id` of a JSON-RPC message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// An integer of magnitude at most 2^53 - 1.
    Number(i64),
    /// At most 256 bytes of UTF-8.
    Text(String),
}

/// A `tools/call` request, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The JSON-RPC id; it correlates an answer and is never a key.
    pub id: Id,
    /// The canonical action.
    pub action: Vec<u8>,
    /// 1 to 200 visible ASCII characters.
    pub execution_id: Option<String>,
    /// 1 to 200 visible ASCII characters.
    pub workflow_id: Option<String>,
    /// Canonical object of the client-context members of `_meta`; `{}` if none.
    pub client: Vec<u8>,
    /// What answers an earlier `input_required`.
    pub continuation: Option<Continuation>,
    /// Canonical object of `progressToken` and `traceparent`; `{}` if none.
    pub transport: Vec<u8>,
}

/// The part of a call that answers an earlier `input_required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// Canonical object of `inputResponses` and `requestState`.
    pub canonical: Vec<u8>,
    /// The opaque state, unescaped.
    pub request_state: Option<String>,
}

/// A request that is no `tools/call`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The JSON-RPC id.
    pub id: Id,
    /// The method, unescaped.
    pub method: String,
    /// The canonical `params` object.
    pub params: Option<Vec<u8>>,
}

/// A message that expects no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The method, unescaped.
    pub method: String,
    /// The canonical `params` object.
    pub params: Option<Vec<u8>>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The id of the request that it answers.
    pub id: Id,
    /// A canonical result, or a canonical error object.
    pub answer: Result<Vec<u8>, Vec<u8>>,
}
