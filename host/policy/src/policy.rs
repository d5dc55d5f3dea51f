//! One policy, as it stands in its file: parsed, named, and asked what it
//! speaks of.

use std::collections::BTreeSet;

use cedar_policy::pst::{self, Expr, Literal, Template};
use cedar_policy::{ActionConstraint, Effect, EntityUid, Policy as Cedar};
use miette::Diagnostic;

use crate::keys::Key;
use crate::names::{self, ActionName};
use crate::reads::Reads;
use crate::requirement::Requirement;
use crate::statements::Statement;
use crate::{Class, File, PolicyId, Problem, ProblemCode, RefusalCode, Tool, expression, misread};

/// Bytes in an `@id`.
const MAX_ID: usize = 128;

/// Whose policies are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Ours,
    /// By which somebody decided: what could be misread does not matter any
    /// more, and only what cannot be evaluated is refused.
    Recorded,
}

/// A policy that was read; what it says is validated elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) id: PolicyId,
    pub(crate) cedar: Cedar,
    pub(crate) origin: Origin,
    pub(crate) code: Option<RefusalCode>,
    pub(crate) mentions: Mentions,
    /// What it requires first.
    pub(crate) requires: Option<Requirement>,
    action: ActionConstraint,
}

/// Where a policy stands.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    file: Box<str>,
    line: usize,
    text: Box<str>,
}

/// What a policy speaks of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mentions {
    /// `(server, tool)`
    pub(crate) tools: BTreeSet<(Box<str>, Box<str>)>,
    /// Named as a group of actions, or as the resource.
    pub(crate) servers: BTreeSet<Box<str>>,
    pub(crate) keys: BTreeSet<Key>,
    pub(crate) client: bool,
    pub(crate) continuation: bool,
    pub(crate) args: bool,
    /// What of the arguments.
    pub(crate) arguments: Reads,
}

impl Origin {
    /// The file, the line from 1, and the policy's text.
    pub(crate) fn shown(&self) -> (&str, usize, &str) {
        (&self.file, self.line, &self.text)
    }

    pub(crate) fn problem(&self, code: ProblemCode, message: impl Into<String>) -> Problem {
        self.problem_at(0, code, message.into(), None)
    }

    pub(crate) fn helped(
        &self,
        code: ProblemCode,
        message: impl Into<String>,
        help: &str,
    ) -> Problem {
        self.problem_at(0, code, message.into(), Some(help.to_owned()))
    }

    /// What Cedar says of this policy, on the line that it means.
    pub(crate) fn diagnosed(&self, code: ProblemCode, diagnostic: &dyn Diagnostic) -> Problem {
        let label = diagnostic.labels().and_then(|mut labels| labels.next());
        let offset = label.as_ref().map_or(0, miette::LabeledSpan::offset);
        let help = diagnostic.help().map(|help| help.to_string());
        self.problem_at(offset, code, diagnostic.to_string(), help)
    }

    fn problem_at(
        &self,
        offset: usize,
        code: ProblemCode,
        message: String,
        help: Option<String>,
    ) -> Problem {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        Problem {
            code,
            file: self.file.clone(),
            line: self.line + lines,
            message,
            help,
        }
    }
}

impl Policy {
    /// Reads the `index`-th statement of a file, from 1.
    ///
    /// # Errors
    /// What keeps it from being a policy at all, or from being decided with.
    pub(crate) fn read(
        file: &File,
        index: usize,
        statement: Statement<'_>,
        reading: Reading,
    ) -> Result<Self, Vec<Problem>> {
        let origin = Origin {
            file: file.name.clone(),
            line: statement.line,
            text: statement.text.into(),
        };
        if let Some(excess) = statement.excess {
            return Err(vec![origin.helped(
                ProblemCode::Syntax,
                format!("this policy is too large: {excess}"),
                "split it into several policies, or compare with a set",
            )]);
        }
        let cedar = parse(&origin)?;
        let default = PolicyId::new(&format!("{}#{index}", file.name));
        let (mut problems, mut misread) = (Vec::new(), Vec::new());
        let id = id(&cedar, &origin, default, &mut misread);
        let code = code(&cedar, &origin, &mut misread);
        let template = match cedar.to_pst() {
            Ok(pst::Policy::Static(policy)) => policy.body().clone(),
            _ => return Err(vec![template(&origin)]),
        };
        let (mut mentions, entities) = mentioned(&cedar, &origin);
        mentions.conditions(&template, &origin, &mut problems);
        if reading == Reading::Ours {
            misread.extend(entities);
            misread.extend(misread::problems(&template, &origin));
            problems.extend(misread);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            cedar: cedar.new_id(cedar_policy::PolicyId::new(id.as_str())),
            action: cedar.action_constraint(),
            id,
            origin,
            code,
            mentions,
            requires: Requirement::of(&template),
        })
    }

    /// Bytes, by estimate, that it takes in one more set: an entry, its text,
    /// the steps of its keys, and the values that it requires.
    pub(crate) fn weight(&self) -> usize {
        let steps = self.mentions.keys.iter().map(Key::length).sum::<usize>();
        let values = self.requires.as_ref().map_or(0, |one| one.values.len());
        1024 + self.origin.text.len() + 256 * steps + 192 * values
    }

    /// The actions that the scope names; none where any will do.
    pub(crate) fn scope(&self) -> Option<Vec<&EntityUid>> {
        match &self.action {
            ActionConstraint::Any => None,
            ActionConstraint::Eq(action) => Some(vec![action]),
            ActionConstraint::In(actions) => Some(actions.iter().collect()),
        }
    }

    /// The actions that the scope names, themselves or by a group of theirs:
    /// whether one of these is among them.
    pub(crate) fn applies(&self, action: Option<&str>, groups: &[&str]) -> bool {
        let named = |id: &str| action == Some(id);
        match &self.action {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => named(uid.id().unescaped()),
            ActionConstraint::In(uids) => uids.iter().any(|uid| {
                let id = uid.id().unescaped();
                named(id) || groups.contains(&id)
            }),
        }
    }
}

impl Mentions {
    /// The tools that are spoken of, as if each had this class.
    pub(crate) fn tools(&self, class: Class) -> impl Iterator<Item = Tool<'_>> {
        self.tools.iter().map(move |(server, name)| Tool {
            server,
            name,
            class,
        })
    }
}

fn parse(origin: &Origin) -> Result<Cedar, Vec<Problem>> {
    Cedar::parse(None, &origin.text).map_err(|errors| {
        if cedar_policy::Template::parse(None, &origin.text).is_ok() {
            return vec![template(origin)];
        }
        let problem = |error| origin.diagnosed(ProblemCode::Syntax, error);
        errors.iter().map(|error| problem(error)).collect()
    })
}

fn template(origin: &Origin) -> Problem {
    origin.helped(
        ProblemCode::Template,
        "this is a template, and nothing links it",
        "write the principal or the resource instead of `?principal` or `?resource`",
    )
}

/// Its `@id`, of whatever form, or the default.
fn id(cedar: &Cedar, origin: &Origin, default: PolicyId, problems: &mut Vec<Problem>) -> PolicyId {
    let Some(id) = cedar.annotation("id") else {
        return default;
    };
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(letter) {
        problems.push(origin.helped(
            ProblemCode::Annotation,
            format!("`{id}` cannot name a policy"),
            "write 1 to 128 letters, digits, `.`, `_` or `-`",
        ));
    }
    PolicyId::new(id)
}

/// Its `@code`; none where it is not one that may stand there.
fn code(cedar: &Cedar, origin: &Origin, problems: &mut Vec<Problem>) -> Option<RefusalCode> {
    let text = cedar.annotation("code")?;
    let code = RefusalCode::ALL
        .into_iter()
        .find(|code| code.as_str() == text && cedar.effect() == Effect::Forbid);
    if code.is_none() {
        problems.push(origin.helped(
            ProblemCode::Annotation,
            format!("`@code(\"{text}\")` cannot stand here"),
            "a `forbid` may carry `policy-denied` or `execution-id-required`",
        ));
    }
    code
}

/// What a policy names, and what is wrong with the names.
fn mentioned(cedar: &Cedar, origin: &Origin) -> (Mentions, Vec<Problem>) {
    let (mut mentions, mut problems) = (Mentions::default(), Vec::new());
    for uid in cedar.entity_literals() {
        let (kind, id) = (uid.type_name().to_string(), uid.id().unescaped());
        if let Some(help) = mentions.entity(&kind, id) {
            problems.push(origin.helped(
                ProblemCode::Invalid,
                format!("`{uid}` names nothing"),
                help,
            ));
        }
    }
    (mentions, problems)
}

impl Mentions {
    /// Notes what the conditions read, and what keeps that from being known.
    fn conditions(&mut self, template: &Template, origin: &Origin, problems: &mut Vec<Problem>) {
        let (Ok(expressions), Ok(arguments)) = (expression::all(template), Reads::of(template))
        else {
            problems.push(origin.problem(
                ProblemCode::Syntax,
                "this policy holds an expression that this version does not know",
            ));
            return;
        };
        self.arguments = arguments;
        for expression in expressions {
            self.client |= expression::reads(expression, "client");
            self.continuation |= expression::reads(expression, "continuation");
            self.args |= expression::reads(expression, "args");
            match expression::tag(expression) {
                // What is no pointer leads nowhere.
                Some((_, Expr::Literal(Literal::String(text)))) => {
                    self.keys.extend(Key::new(text));
                }
                Some((_, computed)) => {
                    problems.push(misread::not_a_pointer(origin, &computed.to_string()));
                }
                None => {}
            }
        }
    }
}

impl Mentions {
    /// Notes an entity; help, where there can be none of that name.
    fn entity(&mut self, kind: &str, id: &str) -> Option<&'static str> {
        match kind {
            "Action" => match ActionName::read(id) {
                Some(ActionName::Class(_)) => None,
                Some(ActionName::Server(server)) => {
                    self.servers.insert(server.into());
                    None
                }
                Some(ActionName::Tool { server, name }) => {
                    self.tools.insert((server.into(), name.into()));
                    None
                }
                None => Some(
                    "write `Action::\"SERVER/TOOL\"`, `Action::\"server:SERVER\"`, or one of `Action::\"read-only\"`, `\"side-effecting\"`, `\"destructive\"`",
                ),
            },
            "Server" if names::is_server(id) => {
                self.servers.insert(id.into());
                None
            }
            "Server" => Some("a server's name is `[a-z0-9][a-z0-9-]{0,62}`"),
            "Agent" if names::is_agent_id(id) => None,
            "Agent" => Some(
                "write `Agent::\"METHOD/ISSUER/SUBJECT\"`, with `%2F` for a slash and `%25` for a percent sign in a part, or compare `principal.subject`",
            ),
            "View" => Some("write `context.at`, `context.client` or `context.continuation`"),
            // Strict validation knows every other type.
            _ => None,
        }
    }
}
