//! Reading the files of a bundle: every policy of every file, within what a
//! bundle may hold.

use std::collections::BTreeSet;

use crate::policy::{Policy, Reading};
use crate::{Bundle, LoadError, Problem, ProblemCode, shown, statements};

/// Policies in one bundle.
const MAX_POLICIES: usize = 100_000;
/// List items, annotations and operator characters in one bundle, each of which
/// takes up to some 200 bytes of memory.
const MAX_PARTS: usize = 1_000_000;

/// Every policy, in the order of files and lines.
///
/// # Errors
/// That the bundle holds too much, before any of it is parsed; else every
/// problem that was found.
pub(crate) fn policies(bundle: &Bundle, reading: Reading) -> Result<Vec<Policy>, LoadError> {
    if let Some(excess) = excess(bundle) {
        return LoadError::of(vec![excess]).map_or(Ok(Vec::new()), Err);
    }
    let mut policies: Vec<Policy> = Vec::new();
    let mut problems = Vec::new();
    for file in bundle.files() {
        if reading == Reading::Ours {
            problems.extend(shown::problems(file));
        }
        for (index, statement) in (1..).zip(statements::split(&file.text)) {
            match Policy::read(file, index, statement, reading) {
                Ok(policy) => policies.push(policy),
                Err(found) => problems.extend(found),
            }
        }
    }
    let mut seen = BTreeSet::new();
    for policy in &policies {
        if !seen.insert(&policy.id) {
            let message = format!("another policy is named `{}`", policy.id);
            problems.push(policy.origin.problem(ProblemCode::DuplicateId, message));
        }
    }
    LoadError::of(problems).map_or(Ok(policies), Err)
}

/// The statement at which a bundle holds too much.
fn excess(bundle: &Bundle) -> Option<Problem> {
    let (mut policies, mut parts) = (0_usize, 0_usize);
    for file in bundle.files() {
        for statement in statements::split(&file.text) {
            policies += 1;
            parts = parts.saturating_add(statement.parts);
            let (most, what) = if policies > MAX_POLICIES {
                (MAX_POLICIES, "policies")
            } else if parts > MAX_PARTS {
                (MAX_PARTS, "list items, annotations and operator characters")
            } else {
                continue;
            };
            return Some(Problem {
                code: ProblemCode::Syntax,
                file: file.name.clone(),
                line: statement.line,
                message: format!("the bundle has more than {most} {what}"),
                help: None,
            });
        }
    }
    None
}
