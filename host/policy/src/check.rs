//! Holding policies against the schema, strictly.
//!
//! What Cedar calls a warning is a problem here where it would allow by error:
//! a `forbid` that can never apply forbids nothing.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{EntityUid, PolicySet, ValidationMode, ValidationWarning, Validator};

use crate::policy::{Mentions, Policy};
use crate::{Class, LoadError, Problem, ProblemCode, Tool, Typed, each_tool, schema};

/// Pairs of a policy and an action that it may apply to, in one bundle: what
/// validating costs, and a verifier validates the files of strangers.
const MAX_PAIRS: usize = 1_000_000;

/// Against every tool and server that the policies themselves speak of. A
/// tool's class is not known then, so that only what is impossible under each
/// of them is called so.
pub(crate) fn mentioned(policies: &[Policy]) -> Result<(), LoadError> {
    let mut problems: Vec<Problem> = excess(policies).into_iter().collect();
    if !problems.is_empty() {
        return LoadError::of(problems).map_or(Ok(()), Err);
    }
    let mut impossible: Option<Vec<Problem>> = None;
    for class in Class::ALL {
        let tools: BTreeSet<_> = policies
            .iter()
            .flat_map(|policy| policy.mentions.tools(class))
            .map(|tool| (tool.server, tool.name))
            .collect();
        let tools = tools.into_iter().map(|(server, name)| Tool {
            server,
            name,
            class,
        });
        let tools = tools.map(Typed::from);
        let found = match validator(tools, servers(policies)) {
            Ok(validator) => against(&validator, policies),
            Err(fault) => unusable(policies, &fault),
        };
        let (hard, soft): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|problem| problem.code() != ProblemCode::Impossible);
        problems.extend(hard);
        impossible = Some(match impossible {
            None => soft,
            Some(before) => before
                .into_iter()
                .filter(|one| soft.contains(one))
                .collect(),
        });
    }
    problems.extend(impossible.unwrap_or_default());
    LoadError::of(problems).map_or(Ok(()), Err)
}

/// The policy at which a bundle becomes too large to validate.
fn excess(policies: &[Policy]) -> Option<Problem> {
    let tools: BTreeSet<_> = policies
        .iter()
        .flat_map(|policy| &policy.mentions.tools)
        .collect();
    let named = tools.len() + servers(policies).collect::<BTreeSet<_>>().len();
    let mut pairs = 0;
    for policy in policies {
        pairs += match policy.scope() {
            Some(scope) if !scope.iter().any(|uid| is_group(uid)) => scope.len(),
            _ => Class::ALL.len() * (named + 1),
        };
        if pairs > MAX_PAIRS {
            let message =
                format!("the bundle pairs policies with tools more than {MAX_PAIRS} times");
            return Some(policy.origin.problem(ProblemCode::Syntax, message));
        }
    }
    None
}

fn is_group(uid: &EntityUid) -> bool {
    !uid.id().unescaped().contains('/')
}

/// Against the tools that there are.
pub(crate) fn known(policies: &[Policy], tools: &[Typed<'_>]) -> Result<(), LoadError> {
    if let Some(policy) = policies
        .get(MAX_PAIRS / tools.len().max(1)..)
        .and_then(<[Policy]>::first)
    {
        let message = format!("policies and tools pair more than {MAX_PAIRS} times");
        let problem = policy.origin.problem(ProblemCode::Syntax, message);
        return LoadError::of(vec![problem]).map_or(Ok(()), Err);
    }
    let known: BTreeSet<&str> = tools.iter().map(|tool| tool.tool.server).collect();
    let mut problems = match validator(tools.iter().copied(), []) {
        Ok(validator) => {
            let found = against(&validator, policies);
            if found.is_empty() {
                each_tool::problems(&validator, policies, tools.len())
            } else {
                found
            }
        }
        Err(fault) => unusable(policies, &fault),
    };
    for policy in policies {
        for server in policy.mentions.servers.iter() {
            if !known.contains(server.as_ref()) {
                problems.push(policy.origin.problem(
                    ProblemCode::Invalid,
                    format!("there is no server `{server}`"),
                ));
            }
        }
    }
    LoadError::of(problems).map_or(Ok(()), Err)
}

fn servers(policies: &[Policy]) -> impl Iterator<Item = &str> {
    let mentions = policies.iter().map(|policy| &policy.mentions);
    mentions.flat_map(|Mentions { servers, .. }| servers.iter().map(AsRef::as_ref))
}

fn validator<'a>(
    tools: impl IntoIterator<Item = Typed<'a>>,
    servers: impl IntoIterator<Item = &'a str>,
) -> Result<Validator, String> {
    schema::parse(&schema::text(tools, servers)).map(Validator::new)
}

/// A fault of ours fails closed, at every policy.
fn unusable(policies: &[Policy], fault: &str) -> Vec<Problem> {
    policies
        .iter()
        .map(|policy| policy.origin.problem(ProblemCode::Invalid, fault))
        .collect()
}

fn against(validator: &Validator, policies: &[Policy]) -> Vec<Problem> {
    let set = policies.iter().map(|policy| policy.cedar.clone());
    let set = match PolicySet::from_policies(set) {
        Ok(set) => set,
        Err(fault) => return unusable(policies, &fault.to_string()),
    };
    let origins: BTreeMap<&str, _> = policies
        .iter()
        .map(|policy| (policy.id.as_str(), &policy.origin))
        .collect();
    let result = validator.validate(&set, ValidationMode::Strict);
    let origin = |id: &cedar_policy::PolicyId| origins.get(id.to_string().as_str()).copied();
    let errors = result.validation_errors().filter_map(|error| {
        Some(origin(error.policy_id())?.diagnosed(ProblemCode::Invalid, error))
    });
    let warnings = result.validation_warnings().filter_map(|warning| {
        let code = code(warning)?;
        Some(origin(warning.policy_id())?.diagnosed(code, warning))
    });
    errors.chain(warnings).collect()
}

/// Which warnings are problems: what can never apply, and text that does not
/// read as it is shown. Mixed scripts are how some people write.
const fn code(warning: &ValidationWarning) -> Option<ProblemCode> {
    match warning {
        ValidationWarning::ImpossiblePolicy(_) | ValidationWarning::InvalidActionApplication(_) => {
            Some(ProblemCode::Impossible)
        }
        ValidationWarning::BidiCharsInString(_) | ValidationWarning::BidiCharsInIdentifier(_) => {
            Some(ProblemCode::Invalid)
        }
        _ => None,
    }
}
