//! The texts of a request that policies compare first.
//!
//! A policy that begins by comparing a text with literals says nothing of a
//! request in which that text is another: it is false before anything in it
//! could fail. What it begins with is read here, once, at load; which policies
//! are evaluated for a request is decided in `index`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{
    BinaryOp, Clause, EntityOrSlot, Expr, Literal, PrincipalConstraint, ResourceConstraint,
    Template, UnaryOp, Var,
};
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

/// What must be so of a request for a policy to apply to it; evaluated first,
/// and without fail wherever the request has the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) fact: Fact,
    /// It must be one of these.
    pub(crate) values: BTreeSet<Box<str>>,
}

impl Fact {
    /// The fact that an expression reads.
    fn of(expression: &Expr) -> Option<Self> {
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
    fn literal(&self, expression: &Expr) -> Option<Box<str>> {
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
    fn makes_safe(&self, expression: &Expr) -> bool {
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

impl Test {
    /// What a policy tests first; none where it begins otherwise.
    pub(crate) fn of(policy: &Template) -> Option<Self> {
        if let PrincipalConstraint::Eq(EntityOrSlot::Entity(uid)) = &policy.principal {
            return Self::equal(Fact::Agent, uid);
        }
        let mut before = Vec::new();
        let conditions = policy.clauses().iter().find_map(|clause| match clause {
            Clause::When(expression) => Self::within(expression, true, &mut before),
            Clause::Unless(expression) => Self::within(expression, false, &mut before),
        });
        conditions.or_else(|| match &policy.resource {
            ResourceConstraint::Eq(EntityOrSlot::Entity(uid)) => Self::equal(Fact::Server, uid),
            _ => None,
        })
    }

    fn equal(fact: Fact, uid: &cedar_policy::pst::EntityUID) -> Option<Self> {
        let literal = fact.literal(&Expr::Literal(Literal::EntityUID(uid.clone())))?;
        Some(Self {
            fact,
            values: BTreeSet::from([literal]),
        })
    }

    /// What must be so for an expression to be true (or false, where it is not
    /// `positive`); `before` holds what is evaluated earlier.
    fn within<'e>(
        expression: &'e Expr,
        positive: bool,
        before: &mut Vec<&'e Expr>,
    ) -> Option<Self> {
        match (expression, positive) {
            (
                Expr::UnaryOp {
                    op: UnaryOp::Not,
                    expr,
                },
                _,
            ) => return Self::within(expr, !positive, before),
            (
                Expr::BinaryOp {
                    op: BinaryOp::And,
                    left,
                    right,
                },
                true,
            )
            | (
                Expr::BinaryOp {
                    op: BinaryOp::Or,
                    left,
                    right,
                },
                false,
            ) => {
                return Self::within(left, positive, before)
                    .or_else(|| Self::within(right, positive, before));
            }
            _ => {}
        }
        let test = Self::compared(expression, positive)
            .filter(|test| before.iter().all(|earlier| test.fact.makes_safe(earlier)));
        before.push(expression);
        test
    }

    fn compared(expression: &Expr, positive: bool) -> Option<Self> {
        let Expr::BinaryOp { op, left, right } = expression else {
            return None;
        };
        match (op, positive) {
            (BinaryOp::Eq, true) | (BinaryOp::NotEq, false) => {
                let sides = [(left, right), (right, left)];
                sides.into_iter().find_map(|(fact, literal)| {
                    let fact = Fact::of(fact)?;
                    let literal = fact.literal(literal)?;
                    Some(Self {
                        fact,
                        values: BTreeSet::from([literal]),
                    })
                })
            }
            (BinaryOp::Contains, true) => {
                let (Expr::Set(items), Some(fact)) = (left.as_ref(), Fact::of(right)) else {
                    return None;
                };
                let values = items.iter().map(|item| fact.literal(item));
                let values = values.collect::<Option<BTreeSet<_>>>()?;
                Some(Self { fact, values })
            }
            _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::{File, statements};

    fn test_of(text: &str) -> Option<(Fact, Vec<String>)> {
        let file = File {
            name: "a.cedar".into(),
            text: text.into(),
        };
        let statement = statements::split(text).into_iter().next().unwrap();
        let test = Policy::read(&file, 1, statement).unwrap().test?;
        let values = test.values.into_iter().map(String::from);
        Some((test.fact, values.collect()))
    }

    fn args(path: &[&str]) -> Fact {
        Fact::Args(path.iter().map(|name| Box::from(*name)).collect())
    }

    #[test]
    fn a_policy_tests_the_text_that_it_compares_before_anything_can_fail() {
        let subject = Fact::Principal(Part::Subject);
        let id = Fact::Context(Text::ExecutionId);
        let to = Fact::At(Key::new("/arguments/to").unwrap());
        for (condition, fact, values) in [
            ("principal.subject == \"a\"", &subject, &["a"] as &[&str]),
            ("\"a\" == principal.subject", &subject, &["a"]),
            ("!(principal.subject != \"a\")", &subject, &["a"]),
            (
                "[\"b\", \"a\"].contains(principal.subject)",
                &subject,
                &["a", "b"],
            ),
            (
                "principal == Agent::\"token//a\"",
                &Fact::Agent,
                &["token//a"],
            ),
            ("resource == Server::\"a\"", &Fact::Server, &["a"]),
            (
                "principal.subject == \"a\" && context.args.n > 1",
                &subject,
                &["a"],
            ),
            (
                "!(principal.subject != \"a\" || context.args.n > 1)",
                &subject,
                &["a"],
            ),
            (
                "context has execution_id && context.execution_id == \"a\"",
                &id,
                &["a"],
            ),
            ("context.execution_id == \"a\"", &id, &["a"]),
            (
                "principal.method != \"a\" && context.execution_id == \"a\"",
                &id,
                &["a"],
            ),
            ("context.args.a.b == \"x\"", &args(&["a", "b"]), &["x"]),
            (
                "context has args && context.args has a && context.args.a has b && context.args.a.b == \"x\"",
                &args(&["a", "b"]),
                &["x"],
            ),
            (
                "context.at.hasTag(\"/arguments/to\") && context.at.getTag(\"/arguments/to\") has text \
                 && context.at.getTag(\"/arguments/to\").text == \"x\"",
                &to,
                &["x"],
            ),
        ] {
            let expected = Some((
                fact.clone(),
                values.iter().map(ToString::to_string).collect(),
            ));
            let text = format!("permit (principal, action, resource) when {{ {condition} }};");
            assert_eq!(test_of(&text), expected, "{condition}");
            let text = format!("forbid (principal, action, resource) unless {{ !({condition}) }};");
            assert_eq!(test_of(&text), expected, "{condition}");
        }
        let scope = "permit (principal == Agent::\"token//a\", action, resource == Server::\"s\");";
        assert_eq!(
            test_of(scope),
            Some((Fact::Agent, vec!["token//a".to_owned()]))
        );
        let resource = "permit (principal, action, resource == Server::\"s\");";
        assert_eq!(
            test_of(resource),
            Some((Fact::Server, vec!["s".to_owned()]))
        );
    }

    #[test]
    fn a_policy_that_may_apply_to_another_text_or_fail_before_tests_none() {
        for condition in [
            "true",
            "principal.subject != \"a\"",
            "principal.subject == \"a\" || principal.subject == \"b\"",
            "!(principal.subject == \"a\")",
            "!(principal.subject == \"a\" && context.args.n > 1)",
            "if principal.subject == \"a\" then true else false",
            "principal.subject like \"a*\"",
            "principal.subject == principal.issuer",
            "context.args.n > 1 && principal.subject == \"a\"",
            "context.execution_id == context.workflow_id && principal.subject == \"a\"",
            "context.args has a && principal.subject == \"a\"",
            "context.args.a has b && context.args.x == \"a\"",
            "context.args.a has b && context.args.a == \"a\"",
            "context.at.getTag(\"/arguments/a\") has text && context.at.getTag(\"/arguments/b\").text == \"a\"",
            "context.client.getTag(\"/a\").text == \"a\"",
            "context.at.getTag(\"/a\").kind == \"a\"",
            "context.args == { a: \"a\" }",
            "context.args.a == 1",
            "[context.args.a, \"b\"].contains(principal.subject)",
        ] {
            let text = format!("permit (principal, action, resource) when {{ {condition} }};");
            assert_eq!(test_of(&text), None, "{condition}");
        }
    }
}
