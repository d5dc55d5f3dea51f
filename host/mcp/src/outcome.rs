//! What an HTTP status and a body together say of a call that was sent.
//!
//! | status | a result with our id | an error with our id | anything else |
//! |---|---|---|---|
//! | 200 | by its content | `upstream-error` | `outcome-unknown` |
//! | other 2xx (202 too), 3xx | `outcome-unknown` | `outcome-unknown` | `outcome-unknown` |
//! | 4xx, 5xx | `outcome-unknown` | `upstream-error` | `outcome-unknown` |
//!
//! A status that carries no JSON-RPC answer says nothing of whether the call
//! ran: an upstream may run it and then answer 404 (`docs/spec/protocol.md` §1).

use http::StatusCode;

/// What the body of a response holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// A result under the id of our request.
    Result,
    /// A JSON-RPC error under the id of our request.
    Error,
    /// Nothing, or nothing that answers our request.
    Other,
}

/// Whether the upstream has said what became of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Its answer counts.
    Authoritative,
    /// It said nothing that can be relied on.
    Unknown,
}

/// Reads one cell of the table.
#[must_use]
pub fn reading(status: StatusCode, body: Body) -> Reading {
    let counts = match body {
        Body::Result => status == StatusCode::OK,
        Body::Error => {
            status == StatusCode::OK || status.is_client_error() || status.is_server_error()
        }
        Body::Other => false,
    };
    if counts {
        Reading::Authoritative
    } else {
        Reading::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_of_the_table_reads_as_it_is_written() {
        use Reading::{Authoritative, Unknown};
        let rows = [
            (200, [Authoritative, Authoritative, Unknown]),
            (201, [Unknown; 3]),
            (202, [Unknown; 3]),
            (204, [Unknown; 3]),
            (301, [Unknown; 3]),
            (307, [Unknown; 3]),
            (400, [Unknown, Authoritative, Unknown]),
            (404, [Unknown, Authoritative, Unknown]),
            (429, [Unknown, Authoritative, Unknown]),
            (500, [Unknown, Authoritative, Unknown]),
            (503, [Unknown, Authoritative, Unknown]),
            (100, [Unknown; 3]),
        ];
        for (status, row) in rows {
            let status = StatusCode::from_u16(status).unwrap();
            let got = [Body::Result, Body::Error, Body::Other].map(|body| reading(status, body));
            assert_eq!(got, row, "{status}");
        }
    }
}
