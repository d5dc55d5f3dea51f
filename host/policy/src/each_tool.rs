//! Whether a `forbid` forbids something of each tool that its scope names.
//!
//! Validation says that a policy is impossible where it is so for all of them.
//! But an argument of one may lose its type with a new schema, and a limit for
//! several tools would be none for that one, and nobody told.

use cedar_policy::pst::{self, ActionConstraint, StaticPolicy};
use cedar_policy::{
    Effect, EntityUid, Policy as Cedar, PolicyId, PolicySet, ValidationMode, ValidationWarning,
    Validator,
};

use crate::names::ActionName;
use crate::policy::Policy;
use crate::{Problem, ProblemCode};

/// Tools that are named, times the tools that there are: each is a look at a
/// scope, of some microseconds.
const MAX_LOOKS: usize = 4_000_000;
/// Bytes of text of policies that are looked at together.
const MAX_BATCH: usize = 1 << 20;

/// What a policy would be if it were for one of its tools.
struct Copy<'p> {
    policy: &'p Policy,
    tool: String,
    cedar: Cedar,
}

/// Every tool of which a `forbid` that names it forbids nothing; there are so
/// many tools in the schema.
pub(crate) fn problems(validator: &Validator, policies: &[Policy], tools: usize) -> Vec<Problem> {
    if let Some(excess) = excess(policies, tools) {
        return vec![excess];
    }
    let mut problems = Vec::new();
    let (mut batch, mut size) = (Vec::new(), 0_usize);
    for policy in policies {
        let named = named(policy);
        if named.is_empty() {
            continue;
        }
        let Ok(pst::Policy::Static(body)) = policy.cedar.to_pst() else {
            continue;
        };
        for tool in named {
            size = size.saturating_add(policy.weight());
            batch.extend(copy(policy, body.body(), tool));
            if size > MAX_BATCH {
                problems.extend(look(validator, &std::mem::take(&mut batch)));
                size = 0;
            }
        }
    }
    problems.extend(look(validator, &batch));
    problems
}

/// The policy at which there is too much to look at.
fn excess(policies: &[Policy], tools: usize) -> Option<Problem> {
    let mut looks = 0_usize;
    for policy in policies {
        looks = looks.saturating_add(named(policy).len().saturating_mul(tools));
        if looks > MAX_LOOKS {
            return Some(policy.origin.helped(
                ProblemCode::Syntax,
                "the scopes of `forbid`s name too many tools for each to be looked at",
                "write `action in` with a group in the scope",
            ));
        }
    }
    None
}

/// The tools that the scope of a `forbid` names beside other actions.
fn named(policy: &Policy) -> Vec<&EntityUid> {
    let mut scope = policy.scope().unwrap_or_default();
    scope.sort_unstable();
    scope.dedup();
    if policy.cedar.effect() != Effect::Forbid || scope.len() < 2 {
        return Vec::new();
    }
    let tool = |uid: &&EntityUid| {
        let name = ActionName::read(uid.id().unescaped());
        matches!(name, Some(ActionName::Tool { .. }))
    };
    scope.into_iter().filter(tool).collect()
}

/// None where Cedar makes no policy of it, which is one with another scope.
fn copy<'p>(policy: &'p Policy, body: &pst::Template, tool: &EntityUid) -> Option<Copy<'p>> {
    let mut body = body.clone();
    body.action = ActionConstraint::Eq(tool.clone().into());
    let body = StaticPolicy::try_from(body).ok()?;
    Some(Copy {
        policy,
        tool: tool.id().unescaped().to_owned(),
        cedar: Cedar::from_pst(pst::Policy::Static(body)).ok()?,
    })
}

fn look(validator: &Validator, copies: &[Copy<'_>]) -> Vec<Problem> {
    let named = |place: usize| PolicyId::new(place.to_string());
    let set = copies.iter().enumerate();
    let set = set.map(|(place, copy)| copy.cedar.new_id(named(place)));
    let set = match PolicySet::from_policies(set) {
        Ok(set) => set,
        // A fault of ours fails closed.
        Err(fault) => {
            let told = |copy: &Copy<'_>| {
                copy.policy
                    .origin
                    .problem(ProblemCode::Invalid, fault.to_string())
            };
            return copies.iter().map(told).collect();
        }
    };
    let result = validator.validate(&set, ValidationMode::Strict);
    let impossible = result.validation_warnings().filter_map(|warning| {
        let ValidationWarning::ImpossiblePolicy(_) = warning else {
            return None;
        };
        let place: &str = warning.policy_id().as_ref();
        let copy = copies.get(place.parse::<usize>().ok()?)?;
        Some(copy.policy.origin.helped(
            ProblemCode::Impossible,
            format!("of `{}`, which it names, this forbids nothing", copy.tool),
            "leave that tool out, or write a policy for it alone: what has no one type in its schema is in `context.at`",
        ))
    });
    impossible.collect()
}
