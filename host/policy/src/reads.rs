//! Which of the arguments policies read.
//!
//! Only what a policy can see is built for Cedar. Tags are named by literal
//! keys (`keys`); `context.args` is a record, so what is read of it is what the
//! chains of attributes that begin there end at.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr, Template, Var};

use crate::expression::{self, UnknownKind};

/// Members of a record, and what of each is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// All of it: whatever is in it may be compared.
    whole: bool,
    members: BTreeMap<Box<str>, Reads>,
}

impl Reads {
    /// Everything.
    pub(crate) const WHOLE: &'static Self = &Self {
        whole: true,
        members: BTreeMap::new(),
    };

    /// Whether what is in it is read as well.
    pub(crate) const fn whole(&self) -> bool {
        self.whole
    }

    /// What is read of a member; none where it is not read at all.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        if self.whole {
            return Some(Self::WHOLE);
        }
        self.members.get(name)
    }

    /// Reads this as well.
    pub(crate) fn join(&mut self, other: &Self) {
        self.whole |= other.whole;
        for (name, reads) in &other.members {
            self.members.entry(name.clone()).or_default().join(reads);
        }
    }

    /// What the conditions of a policy read of `context.args`.
    ///
    /// # Errors
    /// Where an expression is of a kind that is not known here.
    pub(crate) fn of(policy: &Template) -> Result<Self, UnknownKind> {
        let mut reads = Self::default();
        for clause in policy.clauses() {
            let (Clause::When(expression) | Clause::Unless(expression)) = clause;
            reads.note(expression)?;
        }
        Ok(reads)
    }

    fn note(&mut self, expression: &Arc<Expr>) -> Result<(), UnknownKind> {
        let mut open = vec![expression];
        while let Some(expression) = open.pop() {
            match expression.as_ref() {
                Expr::Var(Var::Context) => self.whole = true,
                Expr::GetAttr { .. } => match expression::in_context(expression) {
                    Some(names) => {
                        if let Some(end) = self.chain(&names) {
                            end.whole = true;
                        }
                    }
                    None => expression::inner(expression, &mut open)?,
                },
                // Whether there is one, and not what is in it.
                Expr::HasAttr { expr, attrs } => match expression::in_context(expr) {
                    Some(mut names) => {
                        names.extend(attrs.iter().map(AsRef::<str>::as_ref));
                        self.chain(&names);
                    }
                    None => open.push(expr),
                },
                _ => expression::inner(expression, &mut open)?,
            }
        }
        Ok(())
    }

    /// Where a chain of attributes that begins at `context` ends, if it leads
    /// through the arguments.
    fn chain(&mut self, names: &[&str]) -> Option<&mut Self> {
        let Some((&"args", path)) = names.split_first() else {
            return None;
        };
        let mut at = self;
        for name in path {
            at = at.members.entry((*name).into()).or_default();
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, Reading};
    use crate::{File, statements};

    fn read(condition: &str) -> Reads {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let file = File {
            name: "a.cedar".into(),
            text: text.as_str().into(),
        };
        let statement = statements::split(&text).into_iter().next().unwrap();
        Policy::read(&file, 1, statement, Reading::Recorded)
            .unwrap()
            .mentions
            .arguments
    }

    #[test]
    fn what_is_read_is_where_the_chains_end() {
        // The names that lead to it, and whether all of it is read.
        type Read<'a> = (&'a [&'a str], bool);
        for (condition, paths) in [
            ("context has execution_id", &[] as &[Read<'_>]),
            ("context.at.hasTag(\"/arguments/a\")", &[]),
            ("context has args", &[]),
            ("context.args.a == 1", &[(&["a"], true)]),
            (
                "context.args.a.b == 1 || context.args.a.c == 2",
                &[(&["a", "b"], true), (&["a", "c"], true)],
            ),
            ("context.args has a", &[(&["a"], false)]),
            ("context has args.a.b", &[(&["a", "b"], false)]),
            (
                "context.args has a && context.args.a == 1",
                &[(&["a"], true)],
            ),
            (
                "context.args.a has b && context.args.x.contains(1)",
                &[(&["a", "b"], false), (&["x"], true)],
            ),
            (
                "context.args.a == context.args.b",
                &[(&["a"], true), (&["b"], true)],
            ),
            ("{ x: context.args.a } == { x: 1 }", &[(&["a"], true)]),
            ("[context.args.a].contains(2)", &[(&["a"], true)]),
            ("context.args == {}", &[(&[], true)]),
            ("context == context", &[(&[], true)]),
            (
                "(if true then context.args else context.args).a == 1",
                &[(&[], true)],
            ),
            ("context.args.a like \"x*\"", &[(&["a"], true)]),
        ] {
            let mut expected = Reads::default();
            for (path, whole) in paths {
                let chain: Vec<&str> = [&["args"], *path].concat();
                expected.chain(&chain).unwrap().whole = *whole;
            }
            assert_eq!(read(condition), expected, "{condition}");
        }
    }

    #[test]
    fn what_is_read_whole_is_read_with_all_its_members() {
        let reads = read("context.args.a == {} || context.args.b.c == 1");
        let at = |path: &[&str]| {
            let mut reads = Some(&reads);
            for name in path {
                reads = reads.and_then(|reads| reads.member(name));
            }
            reads.is_some()
        };
        assert!(at(&["a", "x", "y"]) && at(&["b", "c", "z"]));
        assert!(!at(&["b", "d"]) && !at(&["c"]));
    }
}
