//! What would be read as a rule that it is not: limits that other spellings
//! pass, keys under which nothing stands, groups taken for actions.
//!
//! They are looked for in the policies that are to decide; what somebody
//! decided by is evaluated as it stands.

use cedar_policy::pst::{Expr, Literal, Template};

use crate::keys::Key;
use crate::policy::Origin;
use crate::roots::View;
use crate::{Problem, ProblemCode, expression, groups, guard};

/// Everything of a policy that does not mean what it seems to.
pub(crate) fn problems(template: &Template, origin: &Origin) -> Vec<Problem> {
    let mut problems = Vec::new();
    guarded(template, origin, &mut problems);
    keyed(template, origin, &mut problems);
    grouped(template, origin, &mut problems);
    problems
}

fn guarded(template: &Template, origin: &Origin, problems: &mut Vec<Problem>) {
    for finding in guard::findings(template) {
        let effect = template.effect;
        let (message, help) = match finding.attribute {
            "long" => (
                format!(
                    "`has long`, like a `kind` that must be `integer`, lets every value that is not spelled as an integer past this `{effect}`: `5000.0` has no `long`"
                ),
                "compare `number`: `x.number.ceil > N`, `x.number.floor < N`; every number has both",
            ),
            _ => (
                format!(
                    "`has decimal` lets every number that is no decimal past this `{effect}`: `1e30` has none"
                ),
                "write `forbid … unless { x has decimal && x.decimal.lessThanOrEqual(…) }`, or compare `x.ceil` and `x.floor`, which every number has",
            ),
        };
        problems.push(origin.helped(ProblemCode::Guard, message, help));
    }
}

/// Keys under which a view never holds anything.
fn keyed(template: &Template, origin: &Origin, problems: &mut Vec<Problem>) {
    for (view, text) in expression::all(template)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|expression| expression::tag(expression))
    {
        let Expr::Literal(Literal::String(text)) = text else {
            // Refused whoever reads it.
            continue;
        };
        let Some(key) = Key::new(text) else {
            problems.push(not_a_pointer(origin, &format!("\"{text}\"")));
            continue;
        };
        let view = expression::in_context(view);
        let view = view.as_deref().and_then(View::read);
        if let Some(view) = view.filter(|view| !view.holds(&key)) {
            problems.push(origin.helped(
                ProblemCode::TagKey,
                format!("nothing ever stands at `{text}` in `{view}`"),
                view.help(),
            ));
        }
    }
}

/// Of a key that leads nowhere, or that is not known before it is asked for.
pub(crate) fn not_a_pointer(origin: &Origin, key: &str) -> Problem {
    origin.helped(
        ProblemCode::TagKey,
        format!("the tag key `{key}` is no literal JSON Pointer"),
        "write it out: `\"/arguments/amount\"`, with `~1` for a slash and `~0` for a tilde in a name, at most 64 steps",
    )
}

/// Comparisons of what is called with a group of actions.
fn grouped(template: &Template, origin: &Origin, problems: &mut Vec<Problem>) {
    for group in groups::compared(template) {
        let name = format!("Action::\"{group}\"");
        problems.push(origin.helped(
            ProblemCode::Impossible,
            format!("`{name}` is a group of actions: what is called is never equal to it"),
            &format!("write `action in {name}`"),
        ));
    }
}
