//! Comparisons of `x.kind` with literals.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal};

/// Whether an expression reads a tag.
pub(super) fn is_tag(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::BinaryOp {
            op: BinaryOp::GetTag,
            ..
        }
    )
}

/// `x.kind`, compared with literals: what it is for each kind of number, and
/// for these alone.
pub(super) struct Kinds<'e> {
    pub(super) value: &'e Arc<Expr>,
    pub(super) integer: bool,
    pub(super) number: bool,
}

impl<'e> Kinds<'e> {
    pub(super) fn of(expression: &'e Expr) -> Option<Self> {
        let Expr::BinaryOp { op, left, right } = expression else {
            return None;
        };
        let (value, others, holds) = match op {
            BinaryOp::Eq | BinaryOp::NotEq => {
                let (value, other) = match (kind_of(left), kind_of(right)) {
                    (Some(value), None) => (value, right),
                    (None, Some(value)) => (value, left),
                    _ => return None,
                };
                (value, std::slice::from_ref(other), *op == BinaryOp::Eq)
            }
            BinaryOp::Contains => match (left.as_ref(), kind_of(right)) {
                (Expr::Set(items), Some(value)) => (value, items.as_slice(), true),
                _ => return None,
            },
            _ => return None,
        };
        let (mut integer, mut number) = (!holds, !holds);
        for other in others {
            match other.as_ref() {
                Expr::Literal(Literal::String(kind)) if kind == "integer" => integer = holds,
                Expr::Literal(Literal::String(kind)) if kind == "number" => number = holds,
                Expr::Literal(_) => {}
                _ => return None,
            }
        }
        Some(Self {
            value,
            integer,
            number,
        })
    }
}

/// Of which value an expression is the kind.
fn kind_of(expression: &Expr) -> Option<&Arc<Expr>> {
    match expression {
        Expr::GetAttr { expr, attr } if attr == "kind" && is_tag(expr) => Some(expr),
        _ => None,
    }
}
