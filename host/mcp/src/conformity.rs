//! Whether the headers fit the message and the session.
//!
//! No downgrade by confusion: what only a modern revision knows is refused
//! under a legacy or absent version header, and so is a version that differs
//! from the session's (`docs/spec/protocol.md` §1).

use thiserror::Error;

use crate::mirror::Argument;
use crate::{ErrorCode, Headers, Revision};

/// What the message itself says, as far as headers mirror it.
#[derive(Clone, Copy, Debug)]
pub struct MessageFacts<'a> {
    /// Its method; none for a reply.
    pub method: Option<&'a str>,
    /// Whether it expects an answer.
    pub is_request: bool,
    /// What `Mcp-Name` must say, where the method has such a name.
    pub name: Option<&'a str>,
    /// `_meta["io.modelcontextprotocol/protocolVersion"]`, where it is a text.
    pub meta_version: Option<&'a str>,
    /// Whether `_meta` holds that member and the client's capabilities.
    pub meta_complete: bool,
    /// Whether `_meta` holds any member that only 2026-07-28 knows.
    pub meta_modern: bool,
}

/// Headers that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct Misfit {
    code: ErrorCode,
    problem: &'static str,
}

impl Misfit {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        self.code
    }

    /// What does not fit, for the caller.
    #[must_use]
    pub const fn problem(self) -> &'static str {
        self.problem
    }
}

const fn mismatch(problem: &'static str) -> Misfit {
    Misfit {
        code: ErrorCode::HeaderMismatch,
        problem,
    }
}

/// Says under which revision a message is to be understood.
///
/// `session` is the revision that the session negotiated, where the request
/// names a session that exists. `initialize` is exempt from the version
/// header, since it is what negotiates it.
///
/// # Errors
/// [`Misfit`] where headers, message and session contradict each other.
pub fn revision(
    headers: &Headers,
    facts: &MessageFacts<'_>,
    session: Option<Revision>,
) -> Result<Revision, Misfit> {
    let stated = headers.version.unwrap_or(Revision::R2025_03_26);
    if stated.has_sessions() {
        legacy(headers, facts, stated, session)?;
    } else {
        modern(headers, facts)?;
    }
    Ok(stated)
}

fn legacy(
    headers: &Headers,
    facts: &MessageFacts<'_>,
    stated: Revision,
    session: Option<Revision>,
) -> Result<(), Misfit> {
    if headers.has_routing() && !greets(headers, facts) {
        return Err(mismatch(
            "a routing header under a legacy or absent `MCP-Protocol-Version`",
        ));
    }
    if facts.meta_modern {
        return Err(mismatch(
            "modern `_meta` under a legacy or absent `MCP-Protocol-Version`",
        ));
    }
    if facts.method != Some("initialize") && session.is_some_and(|agreed| agreed != stated) {
        return Err(mismatch(
            "`MCP-Protocol-Version` differs from the session's",
        ));
    }
    Ok(())
}

/// Whether it is a message of the handshake with an `Mcp-Method` that says so.
/// Clients that speak both kinds of revisions mirror it before they know which
/// one is spoken; no revision without sessions has these methods, so there is
/// nothing to be confused with.
fn greets(headers: &Headers, facts: &MessageFacts<'_>) -> bool {
    matches!(
        facts.method,
        Some("initialize" | "notifications/initialized")
    ) && headers.method.as_deref() == facts.method
        && headers.name.is_none()
        && headers.params.is_empty()
}

fn modern(headers: &Headers, facts: &MessageFacts<'_>) -> Result<(), Misfit> {
    let stated = headers.version.map(Revision::as_str);
    if facts.is_request && !facts.meta_complete {
        return Err(Misfit {
            code: ErrorCode::MissingMeta,
            problem: "`_meta` lacks the protocol version or the client's capabilities",
        });
    }
    if facts.meta_version.is_some() && facts.meta_version != stated {
        return Err(mismatch(
            "`MCP-Protocol-Version` differs from the one in `_meta`",
        ));
    }
    if facts.method.is_none() {
        return Ok(());
    }
    if headers.method.as_deref() != facts.method {
        return Err(mismatch(
            "`Mcp-Method` is missing or differs from the message's method",
        ));
    }
    if headers.name.as_deref() != facts.name {
        return Err(mismatch(
            "`Mcp-Name` is missing or differs from what the message names",
        ));
    }
    Ok(())
}

/// Whether the `Mcp-Param-*` headers are those that the tool's schema asks
/// for, with the values that the arguments have.
///
/// `declared` lists the header names that the schema annotates, in lower case
/// and without the prefix, each with the argument where it is present and not
/// null.
///
/// # Errors
/// [`Misfit`] where one is missing, not declared, or of another value.
pub fn parameters(
    headers: &Headers,
    declared: &[(String, Option<Argument>)],
) -> Result<(), Misfit> {
    let sent = |name: &str| {
        headers
            .params
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v)
    };
    for (name, value) in declared {
        match (sent(name), value) {
            (None, None) => {}
            (Some(sent), Some(value)) if same(sent, value) => {}
            _ => return Err(mismatch("an `Mcp-Param-` header is missing or differs")),
        }
    }
    if headers
        .params
        .iter()
        .any(|(name, _)| !declared.iter().any(|(known, _)| known == name))
    {
        return Err(mismatch(
            "an `Mcp-Param-` header that the tool does not declare",
        ));
    }
    Ok(())
}

/// Integers are compared as integers, everything else as text: also a text that
/// looks like a number, since it is passed on as it is.
fn same(sent: &str, argument: &Argument) -> bool {
    match argument {
        Argument::Integer(value) => sent.parse() == Ok(*value),
        Argument::Text(value) => sent == value,
        Argument::Boolean(value) => sent == if *value { "true" } else { "false" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(version: Option<Revision>, method: Option<&str>, name: Option<&str>) -> Headers {
        Headers {
            version,
            session: None,
            method: method.map(str::to_owned),
            name: name.map(str::to_owned),
            params: Vec::new(),
        }
    }

    const CALL: MessageFacts<'_> = MessageFacts {
        method: Some("tools/call"),
        is_request: true,
        name: Some("transfer"),
        meta_version: None,
        meta_complete: false,
        meta_modern: false,
    };
    const MODERN: MessageFacts<'_> = MessageFacts {
        meta_version: Some("2026-07-28"),
        meta_complete: true,
        meta_modern: true,
        ..CALL
    };
    const NEW: Option<Revision> = Some(Revision::R2026_07_28);
    const OLD: Option<Revision> = Some(Revision::R2025_11_25);
    const M: Option<&str> = Some("tools/call");
    const N: Option<&str> = Some("transfer");

    #[test]
    fn a_caller_is_told_what_does_not_fit() {
        for (headers, facts, session, problem) in [
            (
                headers(OLD, M, None),
                CALL,
                OLD,
                "a routing header under a legacy or absent `MCP-Protocol-Version`",
            ),
            (
                headers(NEW, M, N),
                CALL,
                None,
                "`_meta` lacks the protocol version or the client's capabilities",
            ),
        ] {
            let misfit = revision(&headers, &facts, session).unwrap_err();
            assert_eq!(misfit.problem(), problem);
            assert_eq!(misfit.to_string(), problem);
        }
    }

    #[test]
    fn headers_and_message_must_tell_one_story() {
        use ErrorCode::{HeaderMismatch, MissingMeta};
        let other = MessageFacts {
            meta_version: Some("2025-11-25"),
            ..MODERN
        };
        let cases = [
            (
                "legacy, in its session",
                headers(OLD, None, None),
                CALL,
                OLD,
                Ok("2025-11-25"),
            ),
            (
                "absent means 2025-03-26",
                headers(None, None, None),
                CALL,
                None,
                Ok("2025-03-26"),
            ),
            (
                "absent in a newer session",
                headers(None, None, None),
                CALL,
                OLD,
                Err(HeaderMismatch),
            ),
            (
                "a version not the session's",
                headers(OLD, None, None),
                CALL,
                Some(Revision::R2025_06_18),
                Err(HeaderMismatch),
            ),
            (
                "legacy with Mcp-Method",
                headers(OLD, M, None),
                CALL,
                OLD,
                Err(HeaderMismatch),
            ),
            (
                "absent with Mcp-Name",
                headers(None, None, N),
                CALL,
                None,
                Err(HeaderMismatch),
            ),
            (
                "legacy with modern _meta",
                headers(OLD, None, None),
                MODERN,
                OLD,
                Err(HeaderMismatch),
            ),
            (
                "absent with modern _meta",
                headers(None, None, None),
                MODERN,
                None,
                Err(HeaderMismatch),
            ),
            ("modern", headers(NEW, M, N), MODERN, None, Ok("2026-07-28")),
            (
                "modern without _meta",
                headers(NEW, M, N),
                CALL,
                None,
                Err(MissingMeta),
            ),
            (
                "modern, _meta says otherwise",
                headers(NEW, M, N),
                other,
                None,
                Err(HeaderMismatch),
            ),
            (
                "modern without Mcp-Method",
                headers(NEW, None, N),
                MODERN,
                None,
                Err(HeaderMismatch),
            ),
            (
                "modern, another method",
                headers(NEW, Some("tools/list"), N),
                MODERN,
                None,
                Err(HeaderMismatch),
            ),
            (
                "modern without Mcp-Name",
                headers(NEW, M, None),
                MODERN,
                None,
                Err(HeaderMismatch),
            ),
            (
                "modern, another tool",
                headers(NEW, M, Some("Transfer")),
                MODERN,
                None,
                Err(HeaderMismatch),
            ),
        ];
        for (case, headers, facts, session, expected) in cases {
            let got = revision(&headers, &facts, session);
            assert_eq!(
                got.map(Revision::as_str).map_err(Misfit::code),
                expected,
                "{case}"
            );
        }
    }

    #[test]
    fn only_the_handshake_may_name_its_own_method_under_a_legacy_version_and_nothing_more() {
        const GREETING: MessageFacts<'_> = MessageFacts {
            method: Some("initialize"),
            name: None,
            ..CALL
        };
        let with_param = |mut headers: Headers| {
            headers.params.push(("region".to_owned(), "eu".to_owned()));
            headers
        };
        let greets = Some("initialize");
        for (case, headers, facts, passes) in [
            ("its own", headers(None, greets, None), GREETING, true),
            ("another method", headers(None, M, None), GREETING, false),
            ("a name", headers(None, greets, N), GREETING, false),
            (
                "a parameter",
                with_param(headers(None, greets, None)),
                GREETING,
                false,
            ),
            (
                "a call that says so",
                headers(None, greets, None),
                CALL,
                false,
            ),
        ] {
            assert_eq!(revision(&headers, &facts, None).is_ok(), passes, "{case}");
        }
    }

    #[test]
    fn a_parameter_header_is_declared_and_equals_its_argument() {
        for (argument, sent, fits) in [
            (r#""eu""#, Some("eu"), true),
            (r#""eu""#, None, false),
            (r#""eu""#, Some("us"), false),
            (r#""eu""#, Some("EU"), false),
            (r#""""#, Some(""), true),
            (r#""""#, None, false),
            // A text is what it is, also where it looks like a number.
            (r#""007""#, Some("007"), true),
            (r#""007""#, Some("7"), false),
            (r#""7""#, Some("7"), true),
            (r#""7""#, Some("007"), false),
            (r#""7""#, Some("+7"), false),
            (r#""+7""#, Some("7"), false),
            (r#""-0""#, Some("0"), false),
            (r#""0""#, Some("-0"), false),
            // An integer is what it counts, in any spelling.
            ("7", Some("7"), true),
            ("7", Some("+7"), true),
            ("7", Some("007"), true),
            ("7", Some("7.0"), false),
            ("7", Some(" 7"), false),
            ("7", Some("8"), false),
            ("7", Some(""), false),
            ("7", None, false),
            ("-7", Some("-07"), true),
            ("0", Some("-0"), true),
            ("9007199254740991", Some("9007199254740991"), true),
            ("9007199254740991", Some("9007199254740992"), false),
            ("true", Some("true"), true),
            ("true", Some("1"), false),
            ("true", Some("True"), false),
            ("null", None, true),
            ("null", Some("null"), false),
            ("null", Some("eu"), false),
        ] {
            let mut headers = headers(NEW, M, N);
            headers.params = sent
                .map(|s| ("region".to_owned(), s.to_owned()))
                .into_iter()
                .collect();
            let view = crate::mirror::tests::view(argument);
            let value = crate::mirror::value(&view, "a").unwrap();
            let declared = [("region".to_owned(), value)];
            assert_eq!(
                parameters(&headers, &declared).is_ok(),
                fits,
                "{argument} and {sent:?}"
            );
        }
        let mut headers = headers(NEW, M, N);
        headers.params = vec![("zone".to_owned(), "1".to_owned())];
        assert!(
            parameters(&headers, &[]).is_err(),
            "one that nobody declared"
        );
    }
}
