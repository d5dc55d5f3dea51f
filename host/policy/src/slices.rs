//! Which policies can apply to which action.
//!
//! Cedar looks at every policy of a set, so each request is given only those
//! whose scope can match its action. What tells actions apart is whether the
//! policies name them, name their server, and their class; there are few such
//! cases, known at load, and each set is made when it is first needed. Where the
//! budget has no room for another one, all policies are looked at: Cedar
//! evaluates the scopes itself.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::budget::Budget;
use crate::index::Index;
use crate::names::{self, ActionName, SERVER_GROUP};
use crate::policy::Policy;
use crate::{Class, Tool};

/// Every slice of a policy set.
#[derive(Debug)]
pub(crate) struct Slices {
    /// By action id, where a scope names that tool.
    tools: BTreeMap<Box<str>, Case>,
    /// By server, where a scope names the server's group.
    servers: BTreeMap<Box<str>, Case>,
    others: Case,
    /// All policies, for those that have no room for their own.
    everything: OnceLock<Option<Box<Index>>>,
    budget: Arc<Budget>,
}

/// One slice for each class; none where there is no room as yet.
type Case = [OnceLock<Box<Index>>; 3];

impl Slices {
    pub(crate) fn new(policies: &[Policy], budget: Arc<Budget>) -> Self {
        let mut slices = Self {
            tools: BTreeMap::new(),
            servers: BTreeMap::new(),
            others: Case::default(),
            everything: OnceLock::new(),
            budget,
        };
        for id in policies
            .iter()
            .filter_map(Policy::scope)
            .flatten()
            .map(|uid| uid.id().unescaped())
        {
            match ActionName::read(id) {
                Some(ActionName::Tool { .. }) => {
                    slices.tools.entry(id.into()).or_default();
                }
                Some(ActionName::Server(server)) => {
                    slices.servers.entry(server.into()).or_default();
                }
                Some(ActionName::Class(_)) | None => {}
            }
        }
        slices
    }

    /// The policies that can apply to a tool; none where Cedar refuses to hold
    /// them, which it did not at load.
    pub(crate) fn of(&self, policies: &[Policy], tool: Tool<'_>) -> Option<&Index> {
        let id = names::action_id(tool);
        let (case, action) = match self.tools.get(id.as_str()) {
            Some(case) => (case, Some(id.as_str())),
            None => (self.servers.get(tool.server).unwrap_or(&self.others), None),
        };
        let [read_only, side_effecting, destructive] = case;
        let slice = match tool.class {
            Class::ReadOnly => read_only,
            Class::SideEffecting => side_effecting,
            Class::Destructive => destructive,
        };
        if let Some(own) = slice.get() {
            return Some(own);
        }
        let server = format!("{SERVER_GROUP}{}", tool.server);
        let mut groups = vec![server.as_str()];
        groups.extend(names::groups(tool.class));
        let belongs = |policy: &Policy| policy.applies(action, &groups);
        if let Some(made) = Index::with_room(policies, belongs, &self.budget) {
            // Whoever made it first: they are the same.
            return Some(slice.get_or_init(|| Box::new(made)));
        }
        let all = || Index::of_all(policies, &self.budget).map(Box::new);
        self.everything.get_or_init(all).as_deref()
    }
}
