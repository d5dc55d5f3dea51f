//! The methods of a server that the gateway does not answer itself, and which
//! it passes on where an operator lets it.
//!
//! | method | revisions | of the capability |
//! |---|---|---|
//! | `resources/list`, `resources/templates/list`, `resources/read` | all | `resources` |
//! | `resources/subscribe`, `resources/unsubscribe` | with sessions | `resources.subscribe` |
//! | `prompts/list`, `prompts/get` | all | `prompts` |
//! | `completion/complete` | all | `completions` |
//! | `logging/setLevel` | with sessions | `logging` |
//! | `subscriptions/listen` | 2026-07-28 | – |
//!
//! A method passes only where the client's revision and the upstream's both
//! have it: nothing is translated (`docs/spec/protocol.md` §6).

use thiserror::Error;

use crate::Revision;
use crate::capability::Capability;

/// A method that may be passed on.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The capability that a server with it announces.
    pub capability: Option<Capability>,
    /// The member of `params` that `Mcp-Name` mirrors.
    pub named_by: Option<&'static str>,
    /// Whether 2026-07-28 requires its result to say how long it holds.
    pub cacheable: bool,
    era: Era,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    Both,
    Sessions,
    Stateless,
}

const fn method(
    name: &'static str,
    capability: Option<Capability>,
    named_by: Option<&'static str>,
    cacheable: bool,
    era: Era,
) -> Method {
    Method {
        name,
        capability,
        named_by,
        cacheable,
        era,
    }
}

const RESOURCES: Option<Capability> = Some(Capability::Resources);
const PROMPTS: Option<Capability> = Some(Capability::Prompts);

/// All of them.
pub const METHODS: [Method; 10] = [
    method("resources/list", RESOURCES, None, true, Era::Both),
    method("resources/templates/list", RESOURCES, None, true, Era::Both),
    method("resources/read", RESOURCES, Some("uri"), true, Era::Both),
    method(
        "resources/subscribe",
        RESOURCES,
        Some("uri"),
        false,
        Era::Sessions,
    ),
    method(
        "resources/unsubscribe",
        RESOURCES,
        Some("uri"),
        false,
        Era::Sessions,
    ),
    method("prompts/list", PROMPTS, None, true, Era::Both),
    method("prompts/get", PROMPTS, Some("name"), false, Era::Both),
    method(
        "completion/complete",
        Some(Capability::Completions),
        None,
        false,
        Era::Both,
    ),
    method(
        "logging/setLevel",
        Some(Capability::Logging),
        None,
        false,
        Era::Sessions,
    ),
    method("subscriptions/listen", None, None, false, Era::Stateless),
];

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Whether a revision has it.
    #[must_use]
    pub const fn is_in(&self, revision: Revision) -> bool {
        match self.era {
            Era::Both => true,
            Era::Sessions => revision.has_sessions(),
            Era::Stateless => !revision.has_sessions(),
        }
    }

    /// Whether its stream stays open until the client goes away.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.name == "subscriptions/listen"
    }
}

/// The methods that pass to one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed(Vec<&'static str>);

/// A text that names neither a method nor a group of methods.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no method that can be passed on")]
pub struct UnknownMethod(String);

impl Passed {
    /// The methods that these texts name: each a method, or `group/*` for those
    /// that begin with `group/`.
    ///
    /// # Errors
    /// [`UnknownMethod`] for a text that names none.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, UnknownMethod> {
        let mut passed = Vec::new();
        for text in texts {
            let before = passed.len();
            let group = text.strip_suffix('*').filter(|group| group.ends_with('/'));
            passed.extend(METHODS.iter().map(|method| method.name).filter(|name| {
                *name == text || group.is_some_and(|group| name.starts_with(group))
            }));
            if passed.len() == before {
                return Err(UnknownMethod(text.to_owned()));
            }
        }
        passed.sort_unstable();
        passed.dedup();
        Ok(Self(passed))
    }

    /// Whether a method passes.
    #[must_use]
    pub fn has(&self, method: &str) -> bool {
        self.0.contains(&method)
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any method of a capability passes.
    #[must_use]
    pub fn touches(&self, capability: Capability) -> bool {
        METHODS
            .iter()
            .any(|method| method.capability == Some(capability) && self.has(method.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_names_its_methods_and_a_misspelled_one_none() {
        let passed = Passed::of(["prompts/*", "resources/read"]).unwrap();
        for (method, passes) in [
            ("prompts/list", true),
            ("prompts/get", true),
            ("resources/read", true),
            ("resources/list", false),
            ("tools/call", false),
        ] {
            assert_eq!(passed.has(method), passes, "{method}");
        }
        for text in ["*", "prompt/*", "tools/call", "tools/*", "resources", ""] {
            assert!(Passed::of([text]).is_err(), "{text}");
        }
        assert!(Passed::of([]).unwrap().is_empty() && !passed.is_empty());
    }

    #[test]
    fn only_a_subscription_has_no_end() {
        let endless = METHODS.iter().filter(|method| method.is_endless());
        let names: Vec<&str> = endless.map(|method| method.name).collect();
        assert_eq!(names, ["subscriptions/listen"]);
    }

    #[test]
    fn a_method_is_in_the_revisions_that_define_it() {
        for (name, old, new) in [
            ("resources/read", true, true),
            ("resources/subscribe", true, false),
            ("logging/setLevel", true, false),
            ("subscriptions/listen", false, true),
        ] {
            let method = Method::find(name).unwrap();
            for revision in Revision::ALL {
                let expected = if revision.has_sessions() { old } else { new };
                assert_eq!(method.is_in(revision), expected, "{name} {revision}");
            }
        }
    }
}
