//! Looking into a policy's conditions.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Template, Var};

/// An expression of a kind that this build does not know.
pub(crate) struct UnknownKind;

/// Every expression of a policy's conditions, outer ones before inner ones.
///
/// # Errors
/// Where a kind is not known here, since what it reads would be overlooked.
pub(crate) fn all(policy: &Template) -> Result<Vec<&Arc<Expr>>, UnknownKind> {
    let mut found = Vec::new();
    for clause in policy.clauses() {
        let (Clause::When(expression) | Clause::Unless(expression)) = clause;
        within(expression, &mut found)?;
    }
    Ok(found)
}

/// Appends an expression and everything in it.
pub(crate) fn within<'a>(
    expression: &'a Arc<Expr>,
    found: &mut Vec<&'a Arc<Expr>>,
) -> Result<(), UnknownKind> {
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        found.push(expression);
        inner(expression, &mut open)?;
    }
    Ok(())
}

/// Appends what stands directly in an expression.
pub(crate) fn inner<'a>(
    expression: &'a Expr,
    found: &mut Vec<&'a Arc<Expr>>,
) -> Result<(), UnknownKind> {
    match expression {
        Expr::Literal(_) | Expr::Var(_) | Expr::Slot(_) => {}
        Expr::UnaryOp { expr, .. }
        | Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::Like { expr, .. } => found.push(expr),
        Expr::BinaryOp { left, right, .. } => found.extend([left, right]),
        Expr::Is { expr, in_expr, .. } => {
            found.push(expr);
            found.extend(in_expr);
        }
        Expr::IfThenElse {
            cond,
            then_expr,
            else_expr,
        } => found.extend([cond, then_expr, else_expr]),
        Expr::Set(items) => found.extend(items),
        Expr::Record(members) => found.extend(members.values()),
        _ => return Err(UnknownKind),
    }
    Ok(())
}

/// Whether an expression reads an attribute of that name.
pub(crate) fn reads(expression: &Expr, name: &str) -> bool {
    match expression {
        Expr::GetAttr { attr, .. } => attr == name,
        Expr::HasAttr { attrs, .. } => attrs.iter().any(|attr| attr == name),
        _ => false,
    }
}

/// The names of the attributes by which an expression descends from `context`,
/// outer ones first; none where it is anything else.
pub(crate) fn in_context(expression: &Expr) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut at = expression;
    while let Expr::GetAttr { expr, attr } = at {
        names.push(attr.as_str());
        at = expr;
    }
    names.reverse();
    matches!(at, Expr::Var(Var::Context)).then_some(names)
}

/// The view and the key of a tag that an expression reads or asks for.
pub(crate) fn tag(expression: &Expr) -> Option<(&Expr, &Expr)> {
    match expression {
        Expr::BinaryOp {
            op: BinaryOp::GetTag | BinaryOp::HasTag,
            left,
            right,
        } => Some((left, right)),
        _ => None,
    }
}
