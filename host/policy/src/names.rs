//! How agents, servers and tools are named in Cedar.

use cedar_policy::{EntityId, EntityTypeName, EntityUid};

use crate::{Agent, Class, Tool};

/// Unicode scalar values in a tool's name.
const MAX_TOOL: usize = 128;
/// Bytes in a server's name.
const MAX_SERVER: usize = 63;
/// Begins the action group of a server. No tool's action begins so, since a
/// server's name has no colon.
pub(crate) const SERVER_GROUP: &str = "server:";

/// The entity types, read once.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    action: EntityTypeName,
    agent: EntityTypeName,
    server: EntityTypeName,
    view: EntityTypeName,
}

impl Types {
    /// None never: these are names of Cedar's grammar.
    pub(crate) fn new() -> Option<Self> {
        let name = |text: &str| text.parse::<EntityTypeName>().ok();
        Some(Self {
            action: name("Action")?,
            agent: name("Agent")?,
            server: name("Server")?,
            view: name("View")?,
        })
    }

    pub(crate) fn action(&self, id: impl AsRef<str>) -> EntityUid {
        uid(&self.action, id)
    }

    pub(crate) fn agent(&self, agent: Agent<'_>) -> EntityUid {
        uid(&self.agent, agent_id(agent))
    }

    pub(crate) fn server(&self, server: &str) -> EntityUid {
        uid(&self.server, server)
    }

    pub(crate) fn view(&self, id: &str) -> EntityUid {
        uid(&self.view, id)
    }
}

fn uid(kind: &EntityTypeName, id: impl AsRef<str>) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

/// `METHOD/ISSUER/SUBJECT`, so that distinct agents have distinct names: `%`,
/// `/` and control characters of a part are percent-encoded.
pub(crate) fn agent_id(agent: Agent<'_>) -> String {
    let mut id = String::new();
    for (index, part) in [agent.method, agent.issuer, agent.subject]
        .into_iter()
        .enumerate()
    {
        if index > 0 {
            id.push('/');
        }
        for letter in part.chars() {
            if letter.is_ascii_control() || matches!(letter, '%' | '/') {
                id.push_str(&format!("%{:02X}", u32::from(letter)));
            } else {
                id.push(letter);
            }
        }
    }
    id
}

/// Whether some agent is named so.
pub(crate) fn is_agent_id(id: &str) -> bool {
    let plain = |part: &str| {
        let escaped = part.split('%').skip(1).all(|rest| {
            let code = rest.get(..2).map(|hex| u8::from_str_radix(hex, 16));
            let upper = rest.bytes().take(2).all(|hex| !hex.is_ascii_lowercase());
            let needed = |byte: u8| byte.is_ascii_control() || matches!(byte, b'%' | b'/');
            upper && code.is_some_and(|code| code.is_ok_and(needed))
        });
        escaped && !part.bytes().any(|byte| byte.is_ascii_control())
    };
    id.split('/').count() == 3 && id.split('/').all(plain)
}

/// The parts of an agent's name, as they were before they were encoded.
pub(crate) fn agent_parts(id: &str) -> Option<[String; 3]> {
    if !is_agent_id(id) {
        return None;
    }
    let mut parts = id.split('/').map(decoded);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// `%XX` names one ASCII character.
fn decoded(part: &str) -> Option<String> {
    let mut pieces = part.split('%');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        out.push(char::from(u8::from_str_radix(code, 16).ok()?));
        out.push_str(rest);
    }
    Some(out)
}

/// `[a-z0-9][a-z0-9-]{0,62}`
pub(crate) fn is_server(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = name.bytes().next().is_some_and(letter);
    let rest = name.bytes().all(|byte| letter(byte) || byte == b'-');
    first && rest && name.len() <= MAX_SERVER
}

pub(crate) fn is_tool(name: &str) -> bool {
    !name.is_empty() && name.chars().take(MAX_TOOL + 1).count() <= MAX_TOOL
}

/// What an action's id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionName<'a> {
    Class(Class),
    Server(&'a str),
    Tool { server: &'a str, name: &'a str },
}

impl<'a> ActionName<'a> {
    /// None where the id names nothing that could be called.
    pub(crate) fn read(id: &'a str) -> Option<Self> {
        if let Ok(class) = id.parse() {
            return Some(Self::Class(class));
        }
        if let Some(server) = id.strip_prefix(SERVER_GROUP) {
            return is_server(server).then_some(Self::Server(server));
        }
        let (server, name) = id.split_once('/')?;
        (is_server(server) && is_tool(name)).then_some(Self::Tool { server, name })
    }
}

/// `server/tool`: distinct tools never share one, since a server's name has no
/// slash.
pub(crate) fn action_id(tool: Tool<'_>) -> String {
    format!("{}/{}", tool.server, tool.name)
}

/// The action groups that a class puts a tool in.
pub(crate) const fn groups(class: Class) -> &'static [&'static str] {
    match class {
        Class::ReadOnly => &["read-only"],
        Class::SideEffecting => &["side-effecting"],
        Class::Destructive => &["side-effecting", "destructive"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_agents_have_distinct_names() {
        let agent = |method, issuer, subject| Agent {
            method,
            issuer,
            subject,
        };
        let agents = [
            (agent("token", "", "ci"), "token//ci"),
            (agent("token", "ci", ""), "token/ci/"),
            (
                agent("jwt", "https://idp.example", "a/b"),
                "jwt/https:%2F%2Fidp.example/a%2Fb",
            ),
            (agent("a%2Fb", "", ""), "a%252Fb//"),
            (agent("a/b", "", ""), "a%2Fb//"),
            (agent("é\n", "", ""), "é%0A//"),
        ];
        for (agent, id) in agents {
            assert_eq!(agent_id(agent), id);
            assert!(is_agent_id(id), "{id}");
            let read: crate::OwnedAgent = id.parse().unwrap();
            assert_eq!((read.agent(), read.agent().id().as_str()), (agent, id));
        }
        for id in [
            "ci", "token/ci", "a/b/c/d", "%//", "%2f//", "%41//", "%2//", "\n//",
        ] {
            assert!(!is_agent_id(id), "{id}");
            assert!(id.parse::<crate::OwnedAgent>().is_err(), "{id}");
        }
    }

    #[test]
    fn an_action_id_names_a_class_a_server_or_one_tool() {
        let long = format!("a/{}", "é".repeat(128));
        for (id, name) in [
            ("read-only", Some(ActionName::Class(Class::ReadOnly))),
            ("server:read-only", Some(ActionName::Server("read-only"))),
            (
                "read-only/x",
                Some(ActionName::Tool {
                    server: "read-only",
                    name: "x",
                }),
            ),
            (
                "a/b/c",
                Some(ActionName::Tool {
                    server: "a",
                    name: "b/c",
                }),
            ),
            ("server:a/b", None),
            ("server:", None),
            ("a/", None),
            ("/a", None),
            ("A/b", None),
            ("-a/b", None),
            ("transfer", None),
        ] {
            assert_eq!(ActionName::read(id), name, "{id}");
        }
        assert!(ActionName::read(&long).is_some());
        assert!(ActionName::read(&format!("{long}é")).is_none());
    }
}
