//! What the gateway says as a server: `initialize`, `server/discover`, `ping`,
//! `tools/list`. Only what it really offers is named as a capability.

use crate::Revision;
use crate::json::Object;

/// Who the gateway is, to clients and to upstreams alike.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Identity {
    fn object(self) -> Vec<u8> {
        Object::new()
            .text("name", self.name)
            .text("version", self.version)
            .finish()
    }

    /// The `params` of the `initialize` with which the gateway greets an
    /// upstream.
    #[must_use]
    pub fn greeting(self, revision: Revision, capabilities: &[u8]) -> Vec<u8> {
        Object::new()
            .text("protocolVersion", revision.as_str())
            .raw("capabilities", capabilities)
            .raw("clientInfo", &self.object())
            .finish()
    }

    /// The members of `_meta` with which the gateway speaks to an upstream
    /// that has no sessions; `capabilities` are those of its client.
    #[must_use]
    pub fn meta(self, revision: Revision, capabilities: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let version = format!("\"{revision}\"").into_bytes();
        vec![
            ("io.modelcontextprotocol/protocolVersion", version),
            ("io.modelcontextprotocol/clientInfo", self.object()),
            (
                "io.modelcontextprotocol/clientCapabilities",
                capabilities.to_vec(),
            ),
        ]
    }
}

/// The result of `initialize`.
#[must_use]
pub fn initialized(revision: Revision, identity: Identity, capabilities: &[u8]) -> Vec<u8> {
    Object::new()
        .text("protocolVersion", revision.as_str())
        .raw("capabilities", capabilities)
        .raw("serverInfo", &identity.object())
        .finish()
}

/// The result of `server/discover`.
#[must_use]
pub fn discovered(identity: Identity, capabilities: &[u8]) -> Vec<u8> {
    let meta = Object::new()
        .raw("io.modelcontextprotocol/serverInfo", &identity.object())
        .finish();
    Object::new()
        .text("resultType", "complete")
        .texts("supportedVersions", Revision::ALL.map(Revision::as_str))
        .raw("capabilities", capabilities)
        .integer("ttlMs", 0)
        .text("cacheScope", "private")
        .raw("_meta", &meta)
        .finish()
}

/// The result of `tools/list`: `tools` are the descriptions as the upstream
/// wrote them, on one page.
#[must_use]
pub fn tools<'t>(revision: Revision, tools: impl IntoIterator<Item = &'t [u8]>) -> Vec<u8> {
    let mut array = vec![b'['];
    for tool in tools {
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(tool);
    }
    array.push(b']');
    let result = Object::new().raw("tools", &array);
    if revision.has_sessions() {
        return result.finish();
    }
    result
        .text("resultType", "complete")
        .integer("ttlMs", 0)
        .text("cacheScope", "private")
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity {
        name: "countersign",
        version: "0",
    };

    #[test]
    fn the_gateway_says_who_it_is_in_the_words_of_each_revision() {
        let old = Revision::R2025_11_25;
        for (said, form) in [
            (
                IDENTITY.greeting(old, br#"{"roots":{}}"#),
                r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"countersign","version":"0"}}"#,
            ),
            (
                initialized(old, IDENTITY, br#"{"tools":{}}"#),
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"countersign","version":"0"}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(said).unwrap(), form);
        }
        let meta = IDENTITY.meta(Revision::R2026_07_28, b"{}");
        let meta: Vec<_> = meta
            .iter()
            .map(|(name, value)| (*name, std::str::from_utf8(value).unwrap()))
            .collect();
        assert_eq!(
            meta,
            [
                ("io.modelcontextprotocol/protocolVersion", r#""2026-07-28""#),
                (
                    "io.modelcontextprotocol/clientInfo",
                    r#"{"name":"countersign","version":"0"}"#
                ),
                ("io.modelcontextprotocol/clientCapabilities", "{}"),
            ]
        );
    }

    #[test]
    fn only_revisions_without_sessions_are_told_how_long_a_list_holds() {
        let list = |revision| {
            let tools = tools(revision, [&br#"{"name":"a"}"#[..], br#"{"name":"b"}"#]);
            String::from_utf8(tools).unwrap()
        };
        assert_eq!(
            list(Revision::R2025_11_25),
            r#"{"tools":[{"name":"a"},{"name":"b"}]}"#
        );
        assert_eq!(
            list(Revision::R2026_07_28),
            r#"{"tools":[{"name":"a"},{"name":"b"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#
        );
    }

    #[test]
    fn the_gateway_names_itself_and_what_it_offers() {
        let capabilities = br#"{"tools":{}}"#;
        let initialized = initialized(Revision::R2025_06_18, IDENTITY, capabilities);
        assert_eq!(
            String::from_utf8(initialized).unwrap(),
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"countersign","version":"0"}}"#
        );
        let text = String::from_utf8(discovered(IDENTITY, capabilities)).unwrap();
        assert!(text.contains(
            r#""supportedVersions":["2025-03-26","2025-06-18","2025-11-25","2026-07-28"]"#
        ));
    }
}
