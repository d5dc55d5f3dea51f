//! What a policy requires of a request before anything else.
//!
//! A policy that begins by comparing a text with literals says nothing of a
//! request in which that text is another: it is false before anything in it
//! could fail. What it begins with is read here, once, at load; which policies
//! are evaluated for a request is decided in `index`.

use std::collections::BTreeSet;

use cedar_policy::pst::{
    BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal, PrincipalConstraint,
    ResourceConstraint, Template, UnaryOp,
};

use crate::facts::Fact;

/// What must be so of a request for a policy to apply to it; evaluated first,
/// and without fail wherever the request has the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) fact: Fact,
    /// It must be one of these.
    pub(crate) values: BTreeSet<Box<str>>,
}

impl Requirement {
    /// What a policy requires first; none where it begins otherwise.
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

    fn equal(fact: Fact, uid: &EntityUID) -> Option<Self> {
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
        let required = Self::compared(expression, positive)
            .filter(|one| before.iter().all(|earlier| one.fact.makes_safe(earlier)));
        before.push(expression);
        required
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Part, Text};
    use crate::keys::Key;
    use crate::policy::{Policy, Reading};
    use crate::{File, statements};

    fn required_by(text: &str) -> Option<(Fact, Vec<String>)> {
        let file = File {
            name: "a.cedar".into(),
            text: text.into(),
        };
        let statement = statements::split(text).into_iter().next().unwrap();
        let required = Policy::read(&file, 1, statement, Reading::Recorded)
            .unwrap()
            .requires?;
        let values = required.values.into_iter().map(String::from);
        Some((required.fact, values.collect()))
    }

    fn args(path: &[&str]) -> Fact {
        Fact::Args(path.iter().map(|name| Box::from(*name)).collect())
    }

    #[test]
    fn a_policy_requires_the_text_that_it_compares_before_anything_can_fail() {
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
            assert_eq!(required_by(&text), expected, "{condition}");
            let text = format!("forbid (principal, action, resource) unless {{ !({condition}) }};");
            assert_eq!(required_by(&text), expected, "{condition}");
        }
        let scope = "permit (principal == Agent::\"token//a\", action, resource == Server::\"s\");";
        assert_eq!(
            required_by(scope),
            Some((Fact::Agent, vec!["token//a".to_owned()]))
        );
        let resource = "permit (principal, action, resource == Server::\"s\");";
        assert_eq!(
            required_by(resource),
            Some((Fact::Server, vec!["s".to_owned()]))
        );
    }

    #[test]
    fn a_policy_that_may_apply_to_another_text_or_fail_before_requires_none() {
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
            assert_eq!(required_by(&text), None, "{condition}");
        }
    }
}
