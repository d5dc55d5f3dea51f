//! Guards that let the rest pass.
//!
//! Not every number has a `decimal`, and a value has a `long` only where its
//! caller spelled it as an integer. So `forbid … when { x has decimal &&
//! x.decimal.greaterThan(…) }` forbids `5000.0` and lets `1e30` pass. Such a
//! policy is refused, and the safe form is named
//! (`docs/spec/action-binding.md` §7).
//!
//! The rule, on the condition under which a policy denies: assume that the
//! guarded attribute is absent. A branch that then surely does not deny must
//! stand beside another that speaks of the same value and still may.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Effect, Expr, Literal, Template, UnaryOp};

use crate::expression;

/// A guard that lets the rest pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The guarded attribute: `decimal` or `long`.
    pub(crate) attribute: &'static str,
}

/// What `x has attribute` guards.
#[derive(Clone, PartialEq, Eq)]
struct Guard {
    of: Arc<Expr>,
    attribute: &'static str,
}

/// Three-valued: what an expression surely is while the guard is false.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surely {
    True,
    False,
    Unknown,
}

/// Every guard of a policy that lets the rest pass.
pub(crate) fn findings(policy: &Template) -> Vec<Finding> {
    let Ok(expressions) = expression::all(policy) else {
        return Vec::new();
    };
    let mut guards: Vec<Guard> = Vec::new();
    for guard in expressions
        .iter()
        .flat_map(|expression| guards_of(expression))
    {
        if !guards.contains(&guard) {
            guards.push(guard);
        }
    }
    // A permit denies where its condition is false.
    let forbids = policy.effect == Effect::Forbid;
    let branches: Vec<Branch<'_>> = policy
        .clauses()
        .iter()
        .map(|clause| match clause {
            Clause::When(expression) => (expression, forbids),
            Clause::Unless(expression) => (expression, !forbids),
        })
        .collect();
    let lets_pass = |guard: &Guard| {
        if forbids {
            guard.conjunction(&branches, false)
        } else {
            guard.disjunction(&branches, false)
        }
    };
    let mut findings: Vec<Finding> = Vec::new();
    for guard in guards {
        let finding = Finding {
            attribute: guard.attribute,
        };
        if lets_pass(&guard) && !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

/// An expression, and whether it denies by being true.
type Branch<'a> = (&'a Arc<Expr>, bool);

fn guards_of(expression: &Expr) -> Vec<Guard> {
    let Expr::HasAttr { expr, attrs } = expression else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut of = Arc::clone(expr);
    for attr in attrs {
        let tag = matches!(
            of.as_ref(),
            Expr::BinaryOp {
                op: BinaryOp::GetTag,
                ..
            }
        );
        let attribute = match attr.as_str() {
            // The arguments are no number: this one is an argument of that name.
            "decimal" if expression::in_context(&of).as_deref() == Some(&["args"]) => None,
            "decimal" => Some("decimal"),
            "long" if tag => Some("long"),
            _ => None,
        };
        found.extend(attribute.map(|attribute| Guard {
            of: Arc::clone(&of),
            attribute,
        }));
        of = Arc::new(Expr::GetAttr {
            expr: of,
            attr: attr.clone(),
        });
    }
    found
}

impl Guard {
    /// All of these together deny; `covered` says that a branch beside them
    /// still speaks of the value.
    fn conjunction(&self, branches: &[Branch<'_>], covered: bool) -> bool {
        let vanishes = branches
            .iter()
            .any(|branch| self.denial(*branch) == Surely::False);
        if vanishes {
            return !covered && branches.iter().any(|branch| self.vanishes_here(*branch));
        }
        branches
            .iter()
            .any(|branch| self.lets_pass(*branch, covered))
    }

    /// Any one of these denies.
    fn disjunction(&self, branches: &[Branch<'_>], covered: bool) -> bool {
        branches.iter().enumerate().any(|(index, branch)| {
            let beside = branches.iter().enumerate().any(|(other, branch)| {
                other != index && self.speaks(branch.0) && self.denial(*branch) != Surely::False
            });
            self.lets_pass(*branch, covered || beside)
        })
    }

    fn lets_pass(&self, (expression, positive): Branch<'_>, covered: bool) -> bool {
        if let Some((said, same)) = compared(expression) {
            return self.lets_pass((said, positive == same), covered);
        }
        match expression.as_ref() {
            Expr::UnaryOp {
                op: UnaryOp::Not,
                expr,
            } => self.lets_pass((expr, !positive), covered),
            Expr::BinaryOp {
                op: BinaryOp::And | BinaryOp::Or,
                ..
            } => {
                let mut branches = Vec::new();
                let joined = flatten(expression, &mut branches);
                let branches: Vec<Branch<'_>> = branches
                    .into_iter()
                    .map(|branch| (branch, positive))
                    .collect();
                if joined == positive {
                    self.conjunction(&branches, covered)
                } else {
                    self.disjunction(&branches, covered)
                }
            }
            Expr::IfThenElse {
                cond,
                then_expr,
                else_expr,
            } => match self.surely(cond) {
                Surely::True => self.lets_pass((then_expr, positive), covered),
                Surely::False => {
                    let passes = self.denial((else_expr, positive)) == Surely::False;
                    (passes && !covered) || self.lets_pass((else_expr, positive), covered)
                }
                Surely::Unknown => {
                    self.disjunction(&[(then_expr, positive), (else_expr, positive)], covered)
                }
            },
            _ => !covered && self.vanishes_here((expression, positive)),
        }
    }

    /// Whether the guard is why a branch does not deny.
    fn vanishes_here(&self, branch: Branch<'_>) -> bool {
        self.denial(branch) == Surely::False && self.is_in(branch.0)
    }

    fn denial(&self, (expression, positive): Branch<'_>) -> Surely {
        let surely = self.surely(expression);
        if positive { surely } else { surely.not() }
    }

    fn surely(&self, expression: &Arc<Expr>) -> Surely {
        if let Some((said, same)) = compared(expression) {
            let surely = self.surely(said);
            return if same { surely } else { surely.not() };
        }
        match expression.as_ref() {
            Expr::Literal(Literal::Bool(true)) => Surely::True,
            Expr::Literal(Literal::Bool(false)) => Surely::False,
            Expr::HasAttr { .. } if guards_of(expression).contains(self) => Surely::False,
            Expr::UnaryOp {
                op: UnaryOp::Not,
                expr,
            } => self.surely(expr).not(),
            Expr::BinaryOp {
                op: BinaryOp::And,
                left,
                right,
            } => self.surely(left).and(self.surely(right)),
            Expr::BinaryOp {
                op: BinaryOp::Or,
                left,
                right,
            } => self.surely(left).not().and(self.surely(right).not()).not(),
            Expr::IfThenElse {
                cond,
                then_expr,
                else_expr,
            } => {
                let (then_surely, else_surely) = (self.surely(then_expr), self.surely(else_expr));
                match self.surely(cond) {
                    Surely::True => then_surely,
                    Surely::False => else_surely,
                    Surely::Unknown if then_surely == else_surely => then_surely,
                    Surely::Unknown => Surely::Unknown,
                }
            }
            _ => Surely::Unknown,
        }
    }

    /// Whether the guard itself stands in an expression.
    fn is_in(&self, expression: &Arc<Expr>) -> bool {
        any(expression, |inner| guards_of(inner).contains(self))
    }

    /// Whether an expression speaks of the guarded value.
    fn speaks(&self, expression: &Arc<Expr>) -> bool {
        any(expression, |inner| *inner == self.of)
    }
}

impl Surely {
    const fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }
}

fn any(expression: &Arc<Expr>, test: impl Fn(&Arc<Expr>) -> bool) -> bool {
    let mut found = Vec::new();
    expression::within(expression, &mut found).is_ok() && found.into_iter().any(test)
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

/// The operands of a chain of `&&` (true) or of `||` (false).
fn flatten<'a>(expression: &'a Arc<Expr>, operands: &mut Vec<&'a Arc<Expr>>) -> bool {
    let chain = matches!(
        expression.as_ref(),
        Expr::BinaryOp {
            op: BinaryOp::And,
            ..
        }
    );
    let mut open = vec![expression];
    while let Some(next) = open.pop() {
        match next.as_ref() {
            Expr::BinaryOp {
                op: BinaryOp::And,
                left,
                right,
            } if chain => open.extend([right, left]),
            Expr::BinaryOp {
                op: BinaryOp::Or,
                left,
                right,
            } if !chain => open.extend([right, left]),
            _ => operands.push(next),
        }
    }
    chain
}
