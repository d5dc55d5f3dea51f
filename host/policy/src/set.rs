//! A policy set: files that were read, validated and made ready to decide.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cedar_policy::{
    Authorizer, Context, Decision as Verdict, Request as Question, Response,
    RestrictedExpression as Expression,
};
use countersign_canon::Digest;

use crate::budget::Budget;
use crate::index::Part;
use crate::names::{self, Types};
use crate::policy::{Policy, Reading};
use crate::slices::Slices;
use crate::values::{self, Malformed, Store};
use crate::{
    Bundle, Decision, File, LoadError, PolicyId, Reason, RefusalCode, Request, Tool, Typed, check,
    read,
};

/// Policies that may decide; immutable, shared freely between threads.
#[derive(Debug)]
pub struct PolicySet {
    bundle: Bundle,
    policies: Vec<Policy>,
    codes: BTreeMap<PolicyId, RefusalCode>,
    slices: Slices,
    types: Option<Types>,
    authorizer: Authorizer,
    client: bool,
    continuation: bool,
    args: bool,
}

impl PolicySet {
    /// Reads and validates the policies of a bundle, against every tool and
    /// server that they name themselves.
    ///
    /// # Errors
    /// Every problem that was found, with file, line and help.
    pub fn load(bundle: Bundle) -> Result<Self, LoadError> {
        let policies = read::policies(&bundle, Reading::Ours)?;
        check::mentioned(&policies)?;
        Ok(Self::of(bundle, policies, Budget::shared()))
    }

    /// The same, against exactly the tools that were approved: naming another
    /// one is a problem, and `context.args` has the types of their schemas.
    ///
    /// # Errors
    /// Every problem that was found, with file, line and help.
    pub fn load_for(bundle: Bundle, tools: &[Typed<'_>]) -> Result<Self, LoadError> {
        let policies = read::policies(&bundle, Reading::Ours)?;
        check::known(&policies, tools)?;
        Ok(Self::of(bundle, policies, Budget::shared()))
    }

    /// Reads the policies by which somebody else decided, to decide again:
    /// against which tools they were validated is not known, and what they
    /// decide does not depend on it.
    ///
    /// # Errors
    /// Every problem that keeps one from being read.
    pub fn recorded(bundle: Bundle) -> Result<Self, LoadError> {
        let policies = read::policies(&bundle, Reading::Recorded)?;
        Ok(Self::of(bundle, policies, Budget::shared()))
    }

    /// As [`PolicySet::recorded`], with a budget of its own.
    #[cfg(test)]
    pub(crate) fn within(bundle: Bundle, budget: &Arc<Budget>) -> Self {
        let policies = read::policies(&bundle, Reading::Recorded).unwrap();
        Self::of(bundle, policies, Arc::clone(budget))
    }

    fn of(bundle: Bundle, policies: Vec<Policy>, budget: Arc<Budget>) -> Self {
        let code = |policy: &Policy| Some((policy.id.clone(), policy.code?));
        Self {
            codes: policies.iter().filter_map(code).collect(),
            slices: Slices::new(&policies, budget),
            types: Types::new(),
            authorizer: Authorizer::new(),
            client: policies.iter().any(|policy| policy.mentions.client),
            continuation: policies.iter().any(|policy| policy.mentions.continuation),
            args: policies.iter().any(|policy| policy.mentions.args),
            bundle,
            policies,
        }
    }

    /// Validates these policies against the tools that there are: naming a
    /// tool or a server that there is not is a problem then. Decisions do not
    /// depend on it.
    ///
    /// # Errors
    /// Every problem that was found, with file, line and help.
    pub fn check(&self, tools: &[Tool<'_>]) -> Result<(), LoadError> {
        let tools: Vec<Typed<'_>> = tools.iter().copied().map(Typed::from).collect();
        check::known(&self.policies, &tools)
    }

    /// Where a policy stands: its file, its line from 1, and its text.
    #[must_use]
    pub fn origin(&self, id: &PolicyId) -> Option<(&str, usize, &str)> {
        let policy = self.policies.iter().find(|policy| policy.id == *id)?;
        Some(policy.origin.shown())
    }

    /// The policies whose scope can match a call of that tool, in the order of
    /// files and lines.
    #[must_use]
    pub fn applicable(&self, tool: Tool<'_>) -> Vec<&PolicyId> {
        let id = names::action_id(tool);
        let server = format!("{}{}", names::SERVER_GROUP, tool.server);
        let mut groups = vec![server.as_str()];
        groups.extend(names::groups(tool.class));
        let policies = self.policies.iter();
        let applicable = policies.filter(|policy| policy.applies(Some(&id), &groups));
        applicable.map(|policy| &policy.id).collect()
    }

    /// Decides one request; never fails, never panics, denies by default.
    #[must_use]
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        match self.slices.of(&self.policies, request.tool) {
            Some(slice) => self.decide_with(&slice.part(&self.policies, request), request),
            None => invalid(),
        }
    }

    /// Decides with every policy and all of the arguments, as if nothing had
    /// been left out.
    #[cfg(test)]
    pub(crate) fn decide_with_all(&self, request: &Request<'_>) -> Decision {
        let mut all = Part::new(self.policies.iter()).unwrap();
        all.arguments = crate::reads::Reads::WHOLE.clone();
        self.decide_with(&all, request)
    }

    /// How many policies are evaluated for a request.
    #[cfg(test)]
    pub(crate) fn evaluated(&self, request: &Request<'_>) -> usize {
        let part = self.slice(request).part(&self.policies, request);
        part.policies.num_of_policies()
    }

    /// The policies that can apply to what is called.
    #[cfg(test)]
    pub(crate) fn slice(&self, request: &Request<'_>) -> &crate::index::Index {
        self.slices.of(&self.policies, request.tool).unwrap()
    }

    /// The digest of the files, as [`Bundle::digest`].
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.bundle.digest()
    }

    /// The exact files, sorted by name: what an export carries.
    #[must_use]
    pub fn files(&self) -> &[File] {
        self.bundle.files()
    }

    /// The names of all policies, in the order of files and lines.
    pub fn ids(&self) -> impl Iterator<Item = &PolicyId> {
        self.policies.iter().map(|policy| &policy.id)
    }

    /// The evaluator of every decision of this build, as
    /// `cedar-policy 4.14.1`.
    #[must_use]
    pub fn evaluator() -> &'static str {
        evaluator()
    }

    fn decide_with(&self, part: &Part, request: &Request<'_>) -> Decision {
        let Request { tool, .. } = request;
        if !names::is_server(tool.server) || !names::is_tool(tool.name) {
            return invalid();
        }
        match self.ask(part, request) {
            Ok(response) => self.answer(&response),
            Err(Malformed) => invalid(),
        }
    }

    fn ask(&self, part: &Part, request: &Request<'_>) -> Result<Response, Malformed> {
        let types = self.types.as_ref().ok_or(Malformed)?;
        let mut store = Store::new(types, &part.keys);
        let principal = store.agent(request.agent)?;
        let action = store.tool(request.tool)?;
        let resource = types.server(request.tool.server);
        let mut context = Vec::with_capacity(10);
        let mut put = |name: &str, uid| {
            context.push((name.to_owned(), Expression::new_entity_uid(uid)));
        };
        put("at", store.view(request.view)?);
        put(
            "client",
            store.object("client", request.client, self.client)?,
        );
        if let Some(canonical) = request.continuation {
            let uid = store.object("continuation", canonical, self.continuation)?;
            put("continuation", uid);
        }
        if let (true, Some(shape)) = (self.args, request.shape) {
            let args = request.view.root().get("arguments");
            let args = values::args(shape, args, &part.arguments)?;
            context.push(("args".to_owned(), args));
        }
        context.push(values::text("revision", request.revision));
        for (name, value) in [
            ("execution_id", request.execution_id),
            ("workflow_id", request.workflow_id),
            ("represented_user", request.identity.represented_user),
            ("audience", request.identity.audience),
            ("proof_key", request.identity.proof_key),
            ("authority", request.identity.authority),
        ] {
            context.extend(value.map(|value| values::text(name, value)));
        }
        let context = Context::from_pairs(context).map_err(|_| Malformed)?;
        let question =
            Question::new(principal, action, resource, context, None).map_err(|_| Malformed)?;
        let entities = store.finish()?;
        Ok(self
            .authorizer
            .is_authorized(&question, &part.policies, &entities))
    }

    fn answer(&self, response: &Response) -> Decision {
        let diagnostics = response.diagnostics();
        // Cedar skips a policy that fails, and a skipped `forbid` would allow.
        let failed: Vec<PolicyId> = diagnostics
            .errors()
            .map(|error| {
                let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
                PolicyId::of(error.policy_id())
            })
            .collect();
        if !failed.is_empty() {
            return Decision::denied(Reason::EvaluationError, failed, RefusalCode::PolicyDenied);
        }
        let determining: Vec<PolicyId> = diagnostics.reason().map(PolicyId::of).collect();
        if response.decision() == Verdict::Allow {
            return Decision::permitted(determining);
        }
        if determining.is_empty() {
            return Decision::denied(Reason::NoPermit, determining, RefusalCode::PolicyDenied);
        }
        let code = self.code(&determining);
        Decision::denied(Reason::Forbidden, determining, code)
    }

    /// An identifier is asked for only where it would lift every `forbid`.
    fn code(&self, determining: &[PolicyId]) -> RefusalCode {
        let asks = |id| self.codes.get(id) == Some(&RefusalCode::ExecutionIdRequired);
        if determining.iter().all(asks) {
            RefusalCode::ExecutionIdRequired
        } else {
            RefusalCode::PolicyDenied
        }
    }
}

fn invalid() -> Decision {
    Decision::denied(
        Reason::InvalidRequest,
        Vec::new(),
        RefusalCode::PolicyDenied,
    )
}

pub(crate) fn evaluator() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("cedar-policy {}", cedar_policy::get_sdk_version()));
    &TEXT
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Node, Value, View};

    use super::*;
    use crate::{Agent, Class, Identity};

    const SCOPES: [&str; 12] = [
        "action",
        "action in Action::\"read-only\"",
        "action in Action::\"side-effecting\"",
        "action in [Action::\"destructive\", Action::\"read-only\"]",
        "action in Action::\"server:a\"",
        "action in [Action::\"server:b\", Action::\"a/x\"]",
        "action == Action::\"a/x\"",
        "action in Action::\"b/x\"",
        "action in [Action::\"a/y\", Action::\"b/y\"]",
        "action == Action::\"b/y/z\"",
        "action in []",
        "action in [Action::\"server:a\", Action::\"server:b\"]",
    ];

    /// Conditions that hold, do not hold, and fail.
    const CONDITIONS: [&str; 4] = [
        "true",
        "context has execution_id",
        "context.at.hasTag(\"/name\")",
        "context.at.hasTag(\"/n\") && context.at.getTag(\"/n\") has number && context.at.getTag(\"/n\").number.ceil + 1 == 0",
    ];

    fn view() -> View {
        let node = |name: Option<&str>, value| Node {
            name: name.map(Into::into),
            value,
        };
        View::new(vec![
            node(None, Value::Object(2)),
            node(Some("n"), Value::Integer(i64::MAX)),
            node(Some("name"), Value::Text("x".into())),
        ])
        .unwrap()
    }

    #[test]
    fn slicing_changes_no_decision() {
        let view = view();
        let mut compared = 0;
        for (first, rest) in SCOPES.iter().enumerate() {
            let mut text = String::new();
            for (offset, condition) in CONDITIONS.iter().enumerate() {
                let other = SCOPES[(first + offset + 1) % SCOPES.len()];
                let permit =
                    format!("permit (principal, {rest}, resource) when {{ {condition} }};\n");
                let forbid =
                    format!("forbid (principal, {other}, resource) when {{ {condition} }};\n");
                // Not every failure and every forbid in every set.
                let skip_forbid = offset == first % CONDITIONS.len();
                text.push_str(&permit);
                text.push_str(if skip_forbid { "" } else { &forbid });
            }
            // An empty list of actions is impossible, and said to be.
            let bundle = Bundle::of([(
                "a.cedar".to_owned(),
                text.replace("action in []", "action in [Action::\"c/c\"]"),
            )])
            .unwrap();
            // Its keys are those of no action.
            let set = PolicySet::recorded(bundle).unwrap();
            for server in ["a", "b", "c"] {
                for name in ["x", "y", "y/z", "other"] {
                    for class in Class::ALL {
                        for execution_id in [None, Some("e")] {
                            let request = Request {
                                agent: Agent {
                                    method: "token",
                                    issuer: "",
                                    subject: "ci",
                                },
                                identity: Identity::default(),
                                tool: Tool {
                                    server,
                                    name,
                                    class,
                                },
                                view: &view,
                                shape: None,
                                execution_id,
                                workflow_id: None,
                                client: b"{}",
                                continuation: None,
                                revision: "2025-11-25",
                            };
                            let (sliced, whole) =
                                (set.decide(&request), set.decide_with_all(&request));
                            assert_eq!(sliced, whole, "{text}\n{server}/{name} {class}");
                            compared += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(compared, 12 * 3 * 4 * 3 * 2);
    }

    #[test]
    fn a_slice_holds_what_can_apply_and_nothing_else() {
        let text = SCOPES[..10]
            .iter()
            .map(|scope| format!("permit (principal, {scope}, resource);"))
            .collect::<String>();
        let bundle = Bundle::of([("a.cedar".to_owned(), text)]).unwrap();
        let set = PolicySet::load(bundle).unwrap();
        let count = |server, name, class| {
            let slice = set.slices.of(
                &set.policies,
                Tool {
                    server,
                    name,
                    class,
                },
            );
            slice.unwrap().whole().policies.num_of_policies()
        };
        assert_eq!(count("c", "x", Class::SideEffecting), 2);
        assert_eq!(count("c", "x", Class::ReadOnly), 3);
        assert_eq!(count("a", "x", Class::SideEffecting), 5);
        assert_eq!(count("b", "y/z", Class::Destructive), 5);
    }
}
