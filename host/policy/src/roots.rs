//! What the views begin with: other keys never lead to a value
//! (`docs/spec/action-binding.md` §2, §3).

use std::fmt;

use crate::keys::Key;

/// A view of a call, by its name in `context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    At,
    Client,
    Continuation,
}

impl View {
    /// By the names of the attributes that lead to it from `context`.
    pub(crate) fn read(names: &[&str]) -> Option<Self> {
        match names {
            ["at"] => Some(Self::At),
            ["client"] => Some(Self::Client),
            ["continuation"] => Some(Self::Continuation),
            _ => None,
        }
    }

    /// Whether some call has a value there.
    pub(crate) fn holds(self, key: &Key) -> bool {
        let root = key.as_str().split('/').nth(1);
        root.is_none_or(|root| self.roots().contains(&root))
    }

    /// The members of its root, as a key writes them.
    const fn roots(self) -> &'static [&'static str] {
        match self {
            Self::At => &["method", "name", "arguments", "task", "_meta"],
            Self::Client => &[
                "io.modelcontextprotocol~1protocolVersion",
                "io.modelcontextprotocol~1clientInfo",
                "io.modelcontextprotocol~1clientCapabilities",
                "io.modelcontextprotocol~1logLevel",
            ],
            Self::Continuation => &["inputResponses", "requestState"],
        }
    }

    /// What to write instead.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::At => {
                "begin it with `/arguments`, `/name`, `/task`, `/_meta` or `/method`: an argument is at `/arguments/NAME`"
            }
            Self::Client => {
                "begin it with `/io.modelcontextprotocol~1` and `clientInfo`, `clientCapabilities`, `protocolVersion` or `logLevel`"
            }
            Self::Continuation => "begin it with `/inputResponses` or `/requestState`",
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::At => "context.at",
            Self::Client => "context.client",
            Self::Continuation => "context.continuation",
        })
    }
}
