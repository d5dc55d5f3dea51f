//! Looking into a policy's conditions.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, Template};

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
        match expression.as_ref() {
            Expr::Literal(_) | Expr::Var(_) | Expr::Slot(_) => {}
            Expr::UnaryOp { expr, .. }
            | Expr::GetAttr { expr, .. }
            | Expr::HasAttr { expr, .. }
            | Expr::Like { expr, .. } => open.push(expr),
            Expr::BinaryOp { left, right, .. } => open.extend([left, right]),
            Expr::Is { expr, in_expr, .. } => {
                open.push(expr);
                open.extend(in_expr);
            }
            Expr::IfThenElse {
                cond,
                then_expr,
                else_expr,
            } => open.extend([cond, then_expr, else_expr]),
            Expr::Set(items) => open.extend(items),
            Expr::Record(members) => open.extend(members.values()),
            _ => return Err(UnknownKind),
        }
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

/// The key of a tag that an expression reads: a literal, or something else.
pub(crate) fn tag_key(expression: &Expr) -> Option<Result<&str, &Expr>> {
    let Expr::BinaryOp {
        op: BinaryOp::GetTag | BinaryOp::HasTag,
        right,
        ..
    } = expression
    else {
        return None;
    };
    Some(match right.as_ref() {
        Expr::Literal(Literal::String(text)) => Ok(text.as_str()),
        other => Err(other),
    })
}
