//! Groups of actions, compared as if they were one.
//!
//! What is called is a tool: it is in a group, and never equal to one. So
//! `action == Action::"destructive"` is always false, and an `unless` with it
//! takes nothing out.

use cedar_policy::pst::{BinaryOp, Expr, Literal, Template, Var};

use crate::expression;
use crate::names::ActionName;

/// The ids of the groups that a policy's conditions compare `action` with,
/// each once.
pub(crate) fn compared(policy: &Template) -> Vec<String> {
    let mut groups = Vec::new();
    for expression in expression::all(policy).unwrap_or_default() {
        let Expr::BinaryOp { op, left, right } = expression.as_ref() else {
            continue;
        };
        let sides: &[_] = match op {
            BinaryOp::Eq
            | BinaryOp::NotEq
            | BinaryOp::Contains
            | BinaryOp::ContainsAll
            | BinaryOp::ContainsAny => &[(left, right), (right, left)],
            // No group is in a tool.
            BinaryOp::In => &[(right, left)],
            _ => continue,
        };
        for (one, other) in sides {
            if values(one).any(|value| matches!(value, Expr::Var(Var::Action))) {
                groups.extend(values(other).filter_map(group).map(str::to_owned));
            }
        }
    }
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// What an expression may be, or hold as an item or a member.
fn values(expression: &Expr) -> impl Iterator<Item = &Expr> {
    let mut open = vec![expression];
    std::iter::from_fn(move || {
        let next = open.pop()?;
        match next {
            Expr::Set(items) => open.extend(items.iter().map(AsRef::as_ref)),
            Expr::Record(members) => open.extend(members.values().map(AsRef::as_ref)),
            Expr::IfThenElse {
                then_expr,
                else_expr,
                ..
            } => open.extend([then_expr.as_ref(), else_expr.as_ref()]),
            _ => {}
        }
        Some(next)
    })
}

fn group(value: &Expr) -> Option<&str> {
    let Expr::Literal(Literal::EntityUID(uid)) = value else {
        return None;
    };
    let id: &str = uid.eid.as_ref();
    let action = uid.ty.to_string() == "Action";
    match ActionName::read(id) {
        Some(ActionName::Class(_) | ActionName::Server(_)) if action => Some(id),
        _ => None,
    }
}
