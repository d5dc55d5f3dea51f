//! Guards that let the rest pass.
//!
//! Not every number has a `decimal`, and a value has a `long` only where its
//! caller spelled it as an integer. So `forbid … when { x has decimal &&
//! x.decimal.greaterThan(…) }` forbids `5000.0` and lets `1e30` pass. Such a
//! policy is refused, and the safe form is named
//! (`docs/spec/action-binding.md` §7).
//!
//! The rule, on the condition under which a policy denies: assume that the
//! value is a number, and that the guarded attribute is absent. A branch that
//! then surely does not deny must stand beside another that speaks of the same
//! value and still may. One about texts, or about what is no number, surely
//! does not.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Effect, Expr, Literal, Template};

use crate::expression;
use kinds::{Kinds, is_tag};
use said::{Branch, Form, Said};

mod kinds;
mod said;

/// A guard that lets the rest pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The guarded attribute: `decimal` or `long`.
    pub(crate) attribute: &'static str,
}

/// What `x has attribute` guards; `x.kind == "integer"` guards its `long`.
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
    let guards = guards(&expressions);
    if guards.is_empty() {
        return Vec::new();
    }
    // A permit denies where its condition is false.
    let forbids = policy.effect == Effect::Forbid;
    let clauses: Vec<(Said<'_>, bool)> = policy
        .clauses()
        .iter()
        .map(|clause| match clause {
            Clause::When(expression) => (Said::of(expression, &guards), forbids),
            Clause::Unless(expression) => (Said::of(expression, &guards), !forbids),
        })
        .collect();
    let branches: Vec<Branch<'_, '_>> = clauses
        .iter()
        .map(|(said, positive)| (said, *positive))
        .collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (place, guard) in guards.iter().enumerate() {
        let absent = Absent { guard, place };
        let lets_pass = if forbids {
            absent.conjunction(&branches, false)
        } else {
            absent.disjunction(&branches, false)
        };
        let finding = Finding {
            attribute: guard.attribute,
        };
        if lets_pass && !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

/// Every guard in these expressions, once. A kind alone is none: it guards the
/// number of which the policy says something.
fn guards(expressions: &[&Arc<Expr>]) -> Vec<Guard> {
    let numbers: Vec<&Arc<Expr>> = expressions
        .iter()
        .filter_map(|expression| match expression.as_ref() {
            Expr::GetAttr { expr, attr } if attr == "long" || attr == "number" => Some(expr),
            _ => None,
        })
        .collect();
    let mut guards: Vec<Guard> = Vec::new();
    for expression in expressions {
        let by_kind = by_kind(expression).filter(|guard| numbers.contains(&&guard.of));
        for guard in by_attribute(expression).into_iter().chain(by_kind) {
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
    }
    guards
}

fn by_attribute(expression: &Expr) -> Vec<Guard> {
    let Expr::HasAttr { expr, attrs } = expression else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut of = Arc::clone(expr);
    for attr in attrs {
        let attribute = match attr.as_str() {
            // The arguments are no number: this one is an argument of that name.
            "decimal" if expression::in_context(&of).as_deref() == Some(&["args"]) => None,
            "decimal" => Some("decimal"),
            "long" if is_tag(&of) => Some("long"),
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

/// What tells an integer from another number tells whether there is a `long`.
fn by_kind(expression: &Expr) -> Option<Guard> {
    let kinds = Kinds::of(expression)?;
    (kinds.integer != kinds.number).then(|| Guard {
        of: Arc::clone(kinds.value),
        attribute: "long",
    })
}

/// A number without the guarded attribute.
struct Absent<'g> {
    guard: &'g Guard,
    place: usize,
}

impl Absent<'_> {
    /// All of these together deny; `covered` says that a branch beside them
    /// still speaks of the value.
    fn conjunction(&self, branches: &[Branch<'_, '_>], covered: bool) -> bool {
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
    fn disjunction(&self, branches: &[Branch<'_, '_>], covered: bool) -> bool {
        let covers: Vec<bool> = branches
            .iter()
            .map(|branch| match self.denial(*branch) {
                Surely::True => true,
                Surely::False => false,
                Surely::Unknown => self.speaks(branch.0),
            })
            .collect();
        let covering = covers.iter().filter(|covers| **covers).count();
        branches.iter().zip(covers).any(|(branch, own)| {
            let beside = covering > usize::from(own);
            self.lets_pass(*branch, covered || beside)
        })
    }

    fn lets_pass(&self, (said, positive): Branch<'_, '_>, covered: bool) -> bool {
        let branches = |parts| -> Vec<_> { each(parts, positive).collect() };
        match (&said.form, positive) {
            (Form::Not(part), _) => self.lets_pass((part, !positive), covered),
            (Form::All(parts), true) | (Form::Any(parts), false) => {
                self.conjunction(&branches(parts), covered)
            }
            (Form::All(parts), false) | (Form::Any(parts), true) => {
                self.disjunction(&branches(parts), covered)
            }
            (Form::If(parts), _) => {
                let [condition, then, other] = parts.as_ref();
                match self.surely(condition) {
                    Surely::True => self.lets_pass((then, positive), covered),
                    Surely::False => {
                        let passes = self.denial((other, positive)) == Surely::False;
                        (passes && !covered) || self.lets_pass((other, positive), covered)
                    }
                    Surely::Unknown => {
                        self.disjunction(&[(then, positive), (other, positive)], covered)
                    }
                }
            }
            (Form::Word(_), _) => !covered && self.vanishes_here((said, positive)),
        }
    }

    /// Whether the guard is why a branch does not deny.
    fn vanishes_here(&self, branch: Branch<'_, '_>) -> bool {
        branch.0.by.contains(&self.place) && self.denial(branch) == Surely::False
    }

    fn denial(&self, (said, positive): Branch<'_, '_>) -> Surely {
        let surely = self.surely(said);
        if positive { surely } else { surely.not() }
    }

    fn surely(&self, said: &Said<'_>) -> Surely {
        match &said.form {
            Form::All(parts) => parts
                .iter()
                .fold(Surely::True, |all, part| all.and(self.surely(part))),
            Form::Any(parts) => parts
                .iter()
                .fold(Surely::True, |none, part| none.and(self.surely(part).not()))
                .not(),
            Form::Not(part) => self.surely(part).not(),
            Form::If(parts) => {
                let [condition, then, other] = parts.as_ref();
                let (then, other) = (self.surely(then), self.surely(other));
                match self.surely(condition) {
                    Surely::True => then,
                    Surely::False => other,
                    Surely::Unknown if then == other => then,
                    Surely::Unknown => Surely::Unknown,
                }
            }
            Form::Word(expression) => self.word(expression),
        }
    }

    fn word(&self, expression: &Expr) -> Surely {
        match expression {
            Expr::Literal(Literal::Bool(said)) => Surely::of(*said),
            Expr::HasAttr { expr, attrs } => {
                let mut of = Arc::clone(expr);
                let mut all = Surely::True;
                for attr in attrs {
                    all = all.and(self.has(&of, attr));
                    of = Arc::new(Expr::GetAttr {
                        expr: of,
                        attr: attr.clone(),
                    });
                }
                all
            }
            Expr::BinaryOp {
                op: BinaryOp::HasTag,
                left,
                right,
            } => match self.value().as_ref() {
                Expr::BinaryOp {
                    op: BinaryOp::GetTag,
                    left: view,
                    right: key,
                } if (view, key) == (left, right) => Surely::True,
                _ => Surely::Unknown,
            },
            _ => match Kinds::of(expression) {
                Some(kinds) if kinds.value == self.value() => self.kind(&kinds),
                _ => Surely::Unknown,
            },
        }
    }

    /// The value that is a number: of a guarded part, what it is a part of.
    fn value(&self) -> &Arc<Expr> {
        match self.guard.of.as_ref() {
            Expr::GetAttr { expr, attr } if attr == "number" && is_tag(expr) => expr,
            _ => &self.guard.of,
        }
    }

    fn has(&self, of: &Arc<Expr>, attr: &str) -> Surely {
        let guards_long = self.guard.attribute == "long";
        if *of == self.guard.of && attr == self.guard.attribute {
            return Surely::False;
        }
        if of == self.value() && is_tag(of) {
            return match attr {
                "kind" | "number" => Surely::True,
                // An integer may be too large for a decimal.
                "long" if !guards_long => Surely::Unknown,
                _ => Surely::False,
            };
        }
        match attr {
            "lexeme" | "floor" | "ceil" if !guards_long && *of == self.guard.of => Surely::True,
            _ => Surely::Unknown,
        }
    }

    /// What has no `long` is a `number`; what has no `decimal` may be either.
    fn kind(&self, kinds: &Kinds<'_>) -> Surely {
        if self.guard.attribute == "long" || kinds.integer == kinds.number {
            Surely::of(kinds.number)
        } else {
            Surely::Unknown
        }
    }

    /// Whether a condition speaks of the guarded value.
    fn speaks(&self, said: &Said<'_>) -> bool {
        said.of.contains(&self.place)
    }
}

fn each<'s, 'e>(
    parts: &'s [Said<'e>],
    positive: bool,
) -> impl Iterator<Item = Branch<'s, 'e>> + use<'s, 'e> {
    parts.iter().map(move |part| (part, positive))
}

impl Surely {
    const fn of(said: bool) -> Self {
        if said { Self::True } else { Self::False }
    }

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
