//! What a server says that it offers, and what of it the gateway announces.
//!
//! Announced is what the upstream offers and the gateway lets pass, so that no
//! client is promised what is then refused (`docs/spec/protocol.md` §6).

use countersign_canon::document::{Item, Kind};

use crate::Revision;
use crate::json::Object;
use crate::methods::Passed;

/// A capability beside tools that an upstream may offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the protocol's own words")]
pub enum Capability {
    Resources,
    Prompts,
    Completions,
    Logging,
}

/// What an upstream offers, as far as the gateway can let it pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    tools_changed: bool,
    resources: bool,
    resources_subscribe: bool,
    resources_changed: bool,
    prompts: bool,
    prompts_changed: bool,
    completions: bool,
    logging: bool,
}

impl Offer {
    /// Reads the result of `initialize` or of `server/discover`.
    #[must_use]
    pub fn of(result: Item<'_>) -> Self {
        let capabilities = result.get("capabilities");
        let named = |name: &str| {
            capabilities
                .and_then(|all| all.get(name))
                .filter(|item| item.kind() == Kind::Object)
        };
        let flag = |name: &str, flag: &str| {
            named(name)
                .and_then(|item| item.get(flag)?.boolean())
                .unwrap_or_default()
        };
        Self {
            tools_changed: flag("tools", "listChanged"),
            resources: named("resources").is_some(),
            resources_subscribe: flag("resources", "subscribe"),
            resources_changed: flag("resources", "listChanged"),
            prompts: named("prompts").is_some(),
            prompts_changed: flag("prompts", "listChanged"),
            completions: named("completions").is_some(),
            logging: named("logging").is_some(),
        }
    }

    /// Whether the upstream offers a capability at all.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        match capability {
            Capability::Resources => self.resources,
            Capability::Prompts => self.prompts,
            Capability::Completions => self.completions,
            Capability::Logging => self.logging,
        }
    }

    /// The `capabilities` that a client of `revision` is told. Tools are always
    /// among them, since they are what the gateway is there for; with sessions
    /// it is the gateway that tells of their changes, whatever the upstream says.
    #[must_use]
    pub fn announced(self, passed: &Passed, revision: Revision) -> Vec<u8> {
        let stream = revision.has_sessions() || passed.has("subscriptions/listen");
        let changes = |object: Object, changed: bool| {
            if changed && stream {
                object.boolean("listChanged", true)
            } else {
                object
            }
        };
        let tools_changed = revision.has_sessions() || self.tools_changed;
        let tools = changes(Object::new(), tools_changed).finish();
        let mut all = Object::new().raw("tools", &tools);
        if self.resources && passed.touches(Capability::Resources) {
            let mut resources = Object::new();
            let subscribing = if revision.has_sessions() {
                "resources/subscribe"
            } else {
                "subscriptions/listen"
            };
            if self.resources_subscribe && passed.has(subscribing) {
                resources = resources.boolean("subscribe", true);
            }
            all = all.raw(
                "resources",
                &changes(resources, self.resources_changed).finish(),
            );
        }
        if self.prompts && passed.touches(Capability::Prompts) {
            all = all.raw(
                "prompts",
                &changes(Object::new(), self.prompts_changed).finish(),
            );
        }
        if self.completions && passed.touches(Capability::Completions) {
            all = all.raw("completions", b"{}");
        }
        if self.logging && passed.touches(Capability::Logging) {
            all = all.raw("logging", b"{}");
        }
        if revision.has_tasks() {
            all = all.raw(
                "tasks",
                br#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            );
        }
        all.finish()
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    fn announced(offer: &str, passed: &[&str], revision: Revision) -> String {
        let document = Document::read(offer.as_bytes(), Limits::STANDARD).unwrap();
        let passed = Passed::of(passed.iter().copied()).unwrap();
        let bytes = Offer::of(document.root()).announced(&passed, revision);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_is_offered_is_known_by_its_capability() {
        use Capability::{Completions, Logging, Prompts, Resources};
        for (named, capability) in [
            ("resources", Resources),
            ("prompts", Prompts),
            ("completions", Completions),
            ("logging", Logging),
        ] {
            let text = format!(r#"{{"capabilities":{{"{named}":{{}}}}}}"#);
            let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
            let offer = Offer::of(document.root());
            for other in [Resources, Prompts, Completions, Logging] {
                assert_eq!(offer.has(other), other == capability, "{named}");
            }
        }
    }

    #[test]
    fn only_what_is_offered_and_passes_is_announced() {
        let all = r#"{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},
            "prompts":{},"completions":{},"logging":{},"experimental":{"x":{}}}}"#;
        let old = Revision::R2025_06_18;
        for (offer, passed, revision, expected) in [
            ("{}", &[][..], old, r#"{"tools":{"listChanged":true}}"#),
            ("{}", &[][..], Revision::R2026_07_28, r#"{"tools":{}}"#),
            (
                "{}",
                &["subscriptions/listen"][..],
                Revision::R2026_07_28,
                r#"{"tools":{}}"#,
            ),
            (all, &[][..], old, r#"{"tools":{"listChanged":true}}"#),
            (
                all,
                &["resources/*", "logging/*"][..],
                old,
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}"#,
            ),
            (
                all,
                &["resources/read", "prompts/get", "completion/complete"][..],
                old,
                r#"{"tools":{"listChanged":true},"resources":{"listChanged":true},"prompts":{},"completions":{}}"#,
            ),
            (
                all,
                &["resources/read"][..],
                Revision::R2026_07_28,
                r#"{"tools":{},"resources":{}}"#,
            ),
            (
                all,
                &["resources/read", "subscriptions/listen"][..],
                Revision::R2026_07_28,
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}"#,
            ),
            (
                r#"{"capabilities":{"resources":true,"prompts":[]}}"#,
                &["resources/*", "prompts/*"][..],
                old,
                r#"{"tools":{"listChanged":true}}"#,
            ),
        ] {
            assert_eq!(announced(offer, passed, revision), expected, "{passed:?}");
        }
    }
}
