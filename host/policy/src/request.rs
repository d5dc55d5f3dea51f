//! What a decision is asked about: typed facts, each in a field of its own.
//!
//! None is inferred from another. The gateway fills them from authentication,
//! the catalog and the admitted message; the verifier from an entry and the
//! message at hand.

use std::fmt;
use std::str::FromStr;

use countersign_canon::View;
use countersign_catalog::Shape;

use crate::names;

/// One call, as policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The authenticated workload: Cedar's principal.
    pub agent: Agent<'a>,
    /// What authentication established beside the workload.
    pub identity: Identity<'a>,
    /// The tool (Cedar's action) and its server (Cedar's resource).
    pub tool: Tool<'a>,
    /// The action: `context.at`.
    pub view: &'a View,
    /// What of the arguments has one type, by the approved input schema:
    /// `context.args`. None where nobody approved one.
    pub shape: Option<&'a Shape>,
    /// `context.execution_id`, where the caller named one.
    pub execution_id: Option<&'a str>,
    /// `context.workflow_id`, where the caller named one.
    pub workflow_id: Option<&'a str>,
    /// Canonical object of the client context, `{}` if there is none:
    /// `context.client`.
    pub client: &'a [u8],
    /// Canonical object of the continuation, where the call is one:
    /// `context.continuation`.
    pub continuation: Option<&'a [u8]>,
    /// The protocol revision, as `2025-11-25`: `context.revision`.
    pub revision: &'a str,
}

/// The authenticated workload, exact strings; never what a caller wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent<'a> {
    /// How it was authenticated, as `token` or `open`.
    pub method: &'a str,
    /// Who vouches for the subject; may be empty.
    pub issuer: &'a str,
    /// Who it is, under that method and issuer.
    pub subject: &'a str,
}

/// The same, of its own. It is read from the agent's name in policies,
/// `METHOD/ISSUER/SUBJECT`, in which `%2F` stands for a slash of a part and
/// `%25` for a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedAgent {
    /// How it was authenticated.
    pub method: String,
    /// Who vouches for the subject; may be empty.
    pub issuer: String,
    /// Who it is.
    pub subject: String,
}

/// A text that names no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an agent is `METHOD/ISSUER/SUBJECT`, with `%2F` for a slash and `%25` for a percent sign in a part"
)]
pub struct NoAgent;

impl Agent<'_> {
    /// The agent's name in policies, as [`OwnedAgent`] reads it.
    #[must_use]
    pub fn id(self) -> String {
        names::agent_id(self)
    }
}

impl OwnedAgent {
    /// The agent, borrowed.
    #[must_use]
    pub fn agent(&self) -> Agent<'_> {
        Agent {
            method: &self.method,
            issuer: &self.issuer,
            subject: &self.subject,
        }
    }
}

impl FromStr for OwnedAgent {
    type Err = NoAgent;

    fn from_str(id: &str) -> Result<Self, NoAgent> {
        let [method, issuer, subject] = names::agent_parts(id).ok_or(NoAgent)?;
        Ok(Self {
            method,
            issuer,
            subject,
        })
    }
}

/// Identity facts beside the workload, each absent unless established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The user for whom the workload acts: `context.represented_user`.
    pub represented_user: Option<&'a str>,
    /// The audience of the token that was presented: `context.audience`.
    pub audience: Option<&'a str>,
    /// The thumbprint of the key whose possession was proved:
    /// `context.proof_key`.
    pub proof_key: Option<&'a str>,
    /// Reference to a delegated authority: `context.authority`.
    pub authority: Option<&'a str>,
}

/// A tool of a server: `Action::"server/tool"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool<'a> {
    /// The operator's name of the server, `[a-z0-9][a-z0-9-]{0,62}`.
    pub server: &'a str,
    /// The tool's name, 1 to 128 Unicode scalar values; distinct names are
    /// distinct tools.
    pub name: &'a str,
    /// What its annotations claim.
    pub class: Class,
}

/// A tool with what of its arguments has one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typed<'a> {
    /// The tool.
    pub tool: Tool<'a>,
    /// The shape of its approved input schema.
    pub shape: Option<&'a Shape>,
}

/// The same, of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedTool {
    /// The operator's name of the server.
    pub server: String,
    /// The tool's name.
    pub name: String,
    /// What its annotations claim.
    pub class: Class,
    /// The shape of its approved input schema.
    pub shape: Option<Shape>,
}

impl Typed<'_> {
    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_owned(&self) -> OwnedTool {
        OwnedTool {
            server: self.tool.server.to_owned(),
            name: self.tool.name.to_owned(),
            class: self.tool.class,
            shape: self.shape.cloned(),
        }
    }
}

impl<'a> From<Tool<'a>> for Typed<'a> {
    fn from(tool: Tool<'a>) -> Self {
        Self { tool, shape: None }
    }
}

impl OwnedTool {
    /// The tool, borrowed.
    #[must_use]
    pub fn typed(&self) -> Typed<'_> {
        Typed {
            tool: Tool {
                server: &self.server,
                name: &self.name,
                class: self.class,
            },
            shape: self.shape.as_ref(),
        }
    }
}

/// What a tool's annotations claim about its effects: its action groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// In the group `Action::"read-only"`.
    ReadOnly,
    /// In the group `Action::"side-effecting"`.
    SideEffecting,
    /// In the groups `Action::"side-effecting"` and `Action::"destructive"`.
    Destructive,
}

/// The hints of MCP's `ToolAnnotations` that decide a tool's [`Class`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
}

/// A text that names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of `read-only`, `side-effecting`, `destructive`")]
pub struct UnknownClass(Box<str>);

impl Class {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::SideEffecting, Self::Destructive];

    /// The class that a tool's annotations claim.
    ///
    /// A tool that says neither hint is unannotated and counts as
    /// side-effecting. Otherwise MCP's defaults hold: `readOnlyHint` is false
    /// unless said, and `destructiveHint`, which means something only where a
    /// tool is not read-only, is true unless said.
    #[must_use]
    pub const fn of(hints: Hints) -> Self {
        match (hints.read_only, hints.destructive) {
            (Some(true), _) => Self::ReadOnly,
            (None, None) | (_, Some(false)) => Self::SideEffecting,
            (Some(false), None) | (_, Some(true)) => Self::Destructive,
        }
    }

    /// As it is written in entries: the name of the narrowest action group.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::SideEffecting => "side-effecting",
            Self::Destructive => "destructive",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|class| class.as_str() == text)
            .ok_or_else(|| UnknownClass(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_give_the_class_that_mcp_defaults_give_and_none_is_side_effecting() {
        use Class::{Destructive, ReadOnly, SideEffecting};
        for (read_only, destructive, class) in [
            (None, None, SideEffecting),
            (None, Some(false), SideEffecting),
            (None, Some(true), Destructive),
            (Some(false), None, Destructive),
            (Some(false), Some(false), SideEffecting),
            (Some(false), Some(true), Destructive),
            (Some(true), None, ReadOnly),
            (Some(true), Some(false), ReadOnly),
            (Some(true), Some(true), ReadOnly),
        ] {
            let hints = Hints {
                read_only,
                destructive,
            };
            assert_eq!(Class::of(hints), class, "{hints:?}");
        }
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        assert!("readOnly".parse::<Class>().is_err());
    }
}
