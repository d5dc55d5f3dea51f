//! A condition as guards see it: what joins its parts, and of what each
//! speaks. A part is looked into once, however many guards there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp};

use super::{Guard, by_attribute, by_kind};
use crate::expression;

/// A condition, taken apart.
pub(super) struct Said<'e> {
    pub(super) form: Form<'e>,
    /// The places of the guards of whose values it speaks.
    pub(super) of: BTreeSet<usize>,
    /// The places of the guards that stand in it.
    pub(super) by: BTreeSet<usize>,
}

pub(super) enum Form<'e> {
    All(Vec<Said<'e>>),
    Any(Vec<Said<'e>>),
    Not(Box<Said<'e>>),
    /// A condition, and what is said where it holds and where it does not.
    If(Box<[Said<'e>; 3]>),
    Word(&'e Arc<Expr>),
}

/// A condition, and whether it denies by being true.
pub(super) type Branch<'s, 'e> = (&'s Said<'e>, bool);

impl<'e> Said<'e> {
    pub(super) fn of(expression: &'e Arc<Expr>, guards: &[Guard]) -> Self {
        if let Some((said, same)) = compared(expression) {
            let said = Self::of(said, guards);
            return if same {
                said
            } else {
                Self::joined(Form::Not(Box::new(said)))
            };
        }
        match expression.as_ref() {
            Expr::UnaryOp {
                op: UnaryOp::Not,
                expr,
            } => Self::joined(Form::Not(Box::new(Self::of(expr, guards)))),
            Expr::BinaryOp {
                op: op @ (BinaryOp::And | BinaryOp::Or),
                ..
            } => {
                let operands = operands(expression, *op);
                let parts = operands.into_iter().map(|one| Self::of(one, guards));
                let parts = parts.collect();
                Self::joined(match op {
                    BinaryOp::And => Form::All(parts),
                    _ => Form::Any(parts),
                })
            }
            Expr::IfThenElse {
                cond,
                then_expr,
                else_expr,
            } => Self::joined(Form::If(Box::new(
                [cond, then_expr, else_expr].map(|part| Self::of(part, guards)),
            ))),
            _ => Self::word(expression, guards),
        }
    }

    fn joined(form: Form<'e>) -> Self {
        let parts = match &form {
            Form::All(parts) | Form::Any(parts) => parts.as_slice(),
            Form::Not(part) => std::slice::from_ref(part.as_ref()),
            Form::If(parts) => parts.as_slice(),
            Form::Word(_) => &[],
        };
        Self {
            of: parts.iter().flat_map(|part| &part.of).copied().collect(),
            by: parts.iter().flat_map(|part| &part.by).copied().collect(),
            form,
        }
    }

    fn word(expression: &'e Arc<Expr>, guards: &[Guard]) -> Self {
        let mut said = Self::joined(Form::Word(expression));
        let mut inner = Vec::new();
        // What is not known here was refused before.
        let _ = expression::within(expression, &mut inner);
        for inner in inner {
            if matches!(inner.as_ref(), Expr::Literal(_)) {
                continue;
            }
            let standing = by_attribute(inner).into_iter().chain(by_kind(inner));
            let standing: Vec<Guard> = standing.collect();
            for (place, guard) in guards.iter().enumerate() {
                if *inner == guard.of {
                    said.of.insert(place);
                }
                if standing.contains(guard) {
                    said.by.insert(place);
                }
            }
        }
        said
    }
}

/// What an expression says, and whether as it stands, where it compares that
/// with `true` or `false`.
fn compared(expression: &Expr) -> Option<(&Arc<Expr>, bool)> {
    let Expr::BinaryOp { op, left, right } = expression else {
        return None;
    };
    let equal = match op {
        BinaryOp::Eq => true,
        BinaryOp::NotEq => false,
        _ => return None,
    };
    let (said, with) = match (left.as_ref(), right.as_ref()) {
        (_, Expr::Literal(Literal::Bool(with))) => (left, with),
        (Expr::Literal(Literal::Bool(with)), _) => (right, with),
        _ => return None,
    };
    Some((said, equal == *with))
}

/// The operands of a chain of one operator, in their order.
fn operands(expression: &Arc<Expr>, operator: BinaryOp) -> Vec<&Arc<Expr>> {
    let mut operands = Vec::new();
    let mut open = vec![expression];
    while let Some(next) = open.pop() {
        match next.as_ref() {
            Expr::BinaryOp { op, left, right } if *op == operator => open.extend([right, left]),
            _ => operands.push(next),
        }
    }
    operands
}
