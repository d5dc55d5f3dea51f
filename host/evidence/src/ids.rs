//! The names by which evidence joins things: logs, calls, sessions,
//! executions, workflows, servers, refusal codes.
//!
//! Each is a type of its own, so that no field can carry another's value, and
//! each is checked once, where it is made.

use std::fmt;
use std::str::FromStr;

use crate::Time;

/// A text that is not an identifier of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {what}: {rule}")]
pub struct MalformedIdentifier {
    what: &'static str,
    rule: &'static str,
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Takes a text that follows the rule of this type.
            ///
            /// # Errors
            /// Any other text.
            pub fn new(text: &str) -> Result<Self, MalformedIdentifier> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(MalformedIdentifier { what: $what, rule: $rule })
                }
            }

            /// The text, exactly as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = MalformedIdentifier;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

fn visible(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn word(text: &str, extra: &[u8]) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
}

identifier! {
    /// The name of one log, which is the origin of its checkpoints and the name
    /// of its keys too: 1 to 128 visible ASCII characters without `+`, for
    /// example `gateway.example.com/3f1c`. Unique in the world; never reused.
    LogId, "a log id", "1 to 128 visible ASCII characters without `+`",
    |text| visible(text, 128) && !text.contains('+')
}

identifier! {
    /// The gateway's own name of one arriving request: 1 to 64 visible ASCII
    /// characters.
    CallId, "a call id", "1 to 64 visible ASCII characters", |text| visible(text, 64)
}

identifier! {
    /// The gateway's own name of a session, never the `Mcp-Session-Id` that the
    /// client holds, which would let a reader of the log speak in its name:
    /// 1 to 64 visible ASCII characters.
    SessionId, "a session id", "1 to 64 visible ASCII characters", |text| visible(text, 64)
}

identifier! {
    /// The caller's name of one executable unit: 1 to 200 visible ASCII
    /// characters (`docs/spec/action-binding.md`, section 1).
    ExecutionId, "an execution id", "1 to 200 visible ASCII characters", |text| visible(text, 200)
}

identifier! {
    /// The caller's name of the work that an execution belongs to: 1 to 200
    /// visible ASCII characters. Independent of the execution id.
    WorkflowId, "a workflow id", "1 to 200 visible ASCII characters", |text| visible(text, 200)
}

identifier! {
    /// The operator's name of an upstream server: 1 to 64 of ASCII letters,
    /// digits, `.`, `_` and `-`, so that a [`crate::Target`] reads in one way.
    ServerName, "a server name", "1 to 64 of ASCII letters, digits, `.`, `_`, `-`",
    |text| word(text, b"._-")
}

identifier! {
    /// A stable text code that says why a request was refused: 1 to 64 of ASCII
    /// letters, digits and `-`.
    RefusalCode, "a refusal code", "1 to 64 of ASCII letters, digits, `-`", |text| word(text, b"-")
}

impl CallId {
    /// Names the attempt that arrived at `at`, given 16 bytes that the caller
    /// drew at random: a UUID of version 7. The names of attempts that follow
    /// each other lie side by side in an index, however large it is.
    #[must_use]
    pub fn minted(at: Time, random: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, ..] = random;
        // Before 1970 the clock is wrong, and the order of names is no matter.
        let millis = u64::try_from(at.micros().div_euclid(1_000)).unwrap_or_default();
        let name =
            uuid::Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j]);
        Self(name.into_uuid().to_string().into())
    }
}

impl SessionId {
    /// Writes 16 bytes, drawn at random by the caller, as a session id (the
    /// text form of a UUID).
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        let name = uuid::Builder::from_random_bytes(bytes);
        Self(name.into_uuid().to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_hold_only_what_their_rule_allows() {
        let long = "x".repeat(201);
        assert!(ExecutionId::new(&long[..200]).is_ok());
        for bad in ["", " ", "a b", "ä", "a\n", "\u{7f}", &long] {
            assert!(ExecutionId::new(bad).is_err(), "`{bad}` must be refused");
            assert!(LogId::new(bad).is_err(), "`{bad}` must be refused");
            assert!(ServerName::new(bad).is_err(), "`{bad}` must be refused");
        }
        assert!(LogId::new("gateway.example.com/a").is_ok());
        assert!(LogId::new("a+b").is_err());
        assert!(ServerName::new("a/b").is_err());
        assert!(ServerName::new("a@b").is_err());
    }

    #[test]
    fn minted_names_are_uuids_those_of_sessions_random_and_those_of_calls_in_order_of_time() {
        assert_eq!(
            SessionId::from_random([0xff; 16]).as_str(),
            "ffffffff-ffff-4fff-bfff-ffffffffffff"
        );
        // The example of RFC 9562: 2022-02-22T19:22:22Z.
        let at = Time::from_micros(1_645_557_742_000_999);
        assert_eq!(
            CallId::minted(at, [0xff; 16]).as_str(),
            "017f22e2-79b0-7fff-bfff-ffffffffffff"
        );
        assert_eq!(
            CallId::minted(at, [0; 16]).as_str(),
            "017f22e2-79b0-7000-8000-000000000000"
        );
        let later = Time::from_micros(at.micros() + 1_000);
        let [one, next] = [(at, 0xff), (later, 0)].map(|(at, byte)| CallId::minted(at, [byte; 16]));
        assert!(one.as_str() < next.as_str());
    }
}
