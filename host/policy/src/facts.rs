//! The texts of a request that a policy can compare with a literal.
//!
//! How each is written in Cedar, what it is in a request, and what surely has a
//! value where it is there. What policies require of them is in `requirement`.

use std::borrow::Cow;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp, Var};
use countersign_canon::Value;
use countersign_catalog::Shape;

use crate::keys::Key;
use crate::{Request, expression, names};

/// A text that a request has, or has not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    /// The id of `principal`.
    Agent,
    /// The id of `resource`.
    Server,
    /// An attribute of `principal`.
    Principal(Part),
    /// A text of `context`.
    Context(Text),
    /// A text in `context.args`, by the names that lead to it.
    Args(Vec<Box<str>>),
    /// `context.at.getTag(KEY).text`
    At(Key),
}

/// A part of who the agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Method,
    Issuer,
    Subject,
}

/// A text that stands in `context` under its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Text {
    Revision,
    ExecutionId,
    WorkflowId,
    RepresentedUser,
    Audience,
    ProofKey,
    Authority,
}

impl Fact {
    /// The fact that an expression reads.
    pub(crate) fn of(expression: &Expr) -> Option<Self> {
        let Expr::GetAttr { expr, attr } = expression else {
            return match expression {
                Expr::Var(Var::Principal) => Some(Self::Agent),
                Expr::Var(Var::Resource) => Some(Self::Server),
                _ => None,
            };
        };
        if let Expr::Var(Var::Principal) = expr.as_ref() {
            return Some(Self::Principal(match attr.as_str() {
                "method" => Part::Method,
                "issuer" => Part::Issuer,
                "subject" => Part::Subject,
                _ => return None,
            }));
        }
        if let Some(key) = tag_at(expr) {
            return (attr == "text").then_some(Self::At(key));
        }
        let names = expression::in_context(expression)?;
        match names.as_slice() {
            [name] => Text::read(name).map(Self::Context),
            ["args", path @ ..] if !path.is_empty() => Some(Self::Args(
                path.iter().map(|name| Box::from(*name)).collect(),
            )),
            _ => None,
        }
    }

    /// What it is in a request; none where it is missing, or no text.
    pub(crate) fn text<'r>(&self, request: &'r Request<'_>) -> Option<Cow<'r, str>> {
        let agent = request.agent;
        Some(Cow::Borrowed(match self {
            Self::Agent => return Some(Cow::Owned(names::agent_id(agent))),
            Self::Server => request.tool.server,
            Self::Principal(Part::Method) => agent.method,
            Self::Principal(Part::Issuer) => agent.issuer,
            Self::Principal(Part::Subject) => agent.subject,
            Self::Context(text) => text.of(request)?,
            Self::Args(path) => argument(request, path)?,
            Self::At(key) => match request.view.get(key.as_str())?.value() {
                Value::Text(text) => text,
                _ => return None,
            },
        }))
    }

    /// The text of a literal that it is compared with. An entity of another type
    /// is never equal, whatever its id.
    pub(crate) fn literal(&self, expression: &Expr) -> Option<Box<str>> {
        let Expr::Literal(literal) = expression else {
            return None;
        };
        match (self, literal) {
            (Self::Agent | Self::Server, Literal::EntityUID(uid)) => Some(uid.eid.as_str().into()),
            (Self::Agent | Self::Server, _) => None,
            (_, Literal::String(text)) => Some(text.as_str().into()),
            _ => None,
        }
    }

    /// Whether every request has it.
    const fn always(&self) -> bool {
        matches!(
            self,
            Self::Agent | Self::Server | Self::Principal(_) | Self::Context(Text::Revision)
        )
    }

    /// Whether an expression has a boolean value in every request that has this
    /// fact, so that whatever is evaluated after it is reached or does not
    /// matter.
    pub(crate) fn makes_safe(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Literal(Literal::Bool(_)) => true,
            Expr::UnaryOp {
                op: UnaryOp::Not,
                expr,
            } => self.makes_safe(expr),
            Expr::BinaryOp { op, left, right } => match op {
                BinaryOp::And | BinaryOp::Or => self.makes_safe(left) && self.makes_safe(right),
                BinaryOp::Eq | BinaryOp::NotEq => self.makes_known(left) && self.makes_known(right),
                BinaryOp::HasTag => {
                    is_at(left) && matches!(right.as_ref(), Expr::Literal(Literal::String(_)))
                }
                _ => false,
            },
            Expr::HasAttr { expr, attrs } => attrs.tail.is_empty() && self.makes_holder(expr),
            _ => false,
        }
    }

    /// Whether an expression has some value then.
    fn makes_known(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Literal(_))
            || Self::of(expression).is_some_and(|fact| fact == *self || fact.always())
    }

    /// Whether an expression is a record or an entity then.
    fn makes_holder(&self, expression: &Expr) -> bool {
        if let Expr::Var(_) = expression {
            return true;
        }
        match self {
            Self::At(key) => tag_at(expression).is_some_and(|tag| tag == *key),
            Self::Args(path) => match expression::in_context(expression).as_deref() {
                Some(["args", outer @ ..]) => {
                    outer.len() < path.len() && outer.iter().zip(path).all(|(a, b)| **a == **b)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

impl Text {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "revision" => Self::Revision,
            "execution_id" => Self::ExecutionId,
            "workflow_id" => Self::WorkflowId,
            "represented_user" => Self::RepresentedUser,
            "audience" => Self::Audience,
            "proof_key" => Self::ProofKey,
            "authority" => Self::Authority,
            _ => return None,
        })
    }

    const fn of<'r>(self, request: &Request<'r>) -> Option<&'r str> {
        match self {
            Self::Revision => Some(request.revision),
            Self::ExecutionId => request.execution_id,
            Self::WorkflowId => request.workflow_id,
            Self::RepresentedUser => request.identity.represented_user,
            Self::Audience => request.identity.audience,
            Self::ProofKey => request.identity.proof_key,
            Self::Authority => request.identity.authority,
        }
    }
}

/// The key of `context.at.getTag(KEY)`.
fn tag_at(expression: &Expr) -> Option<Key> {
    let Expr::BinaryOp {
        op: BinaryOp::GetTag,
        left,
        right,
    } = expression
    else {
        return None;
    };
    match right.as_ref() {
        Expr::Literal(Literal::String(text)) if is_at(left) => Key::new(text),
        _ => None,
    }
}

fn is_at(expression: &Arc<Expr>) -> bool {
    expression::in_context(expression).as_deref() == Some(&["at"])
}

/// A text among the arguments as `context.args` has it.
fn argument<'r>(request: &'r Request<'_>, path: &[Box<str>]) -> Option<&'r str> {
    let mut shape = request.shape?;
    let mut value = request.view.root().get("arguments")?;
    for name in path {
        let Shape::Object(fields) = shape else {
            return None;
        };
        shape = &fields.get(&**name)?.shape;
        value = value.get(name)?;
    }
    // Of its type it is, or the request is not decided at all.
    match value.value() {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
