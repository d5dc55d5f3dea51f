//! The parameters of a `tools/call`: what is in them, and where each part goes.
//!
//! Everything that a caller sends is in exactly one of action, correlation,
//! client context, continuation and transport, or is dropped
//! (`docs/spec/action-binding.md` §2).

use alloc::string::String;
use alloc::vec::Vec;

use crate::admit::TOOLS_CALL;
use crate::document::{Item, Kind};
use crate::verdict::Verdict;
use crate::{Call, Code, Continuation, Document, Id, Numbers, Refusal, write};

/// A tool's name is at most this many Unicode scalar values.
const MAX_NAME_CHARS: usize = 128;
/// An `execution_id` or `workflow_id` is at most this many characters.
const MAX_KEY_CHARS: usize = 200;

/// Where a member of `_meta` goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    Action,
    Execution,
    Workflow,
    Client,
    Transport,
    Nowhere,
    /// It is reserved and names nothing.
    Refused,
}

fn meta_goes(name: &str) -> Goes {
    match name {
        "progressToken" | "traceparent" => return Goes::Transport,
        "tracestate" | "baggage" => return Goes::Nowhere,
        _ => {}
    }
    if let Some(ours) = name.strip_prefix("countersign.dev/") {
        return match ours {
            "execution_id" => Goes::Execution,
            "workflow_id" => Goes::Workflow,
            _ => Goes::Refused,
        };
    }
    match name.strip_prefix("io.modelcontextprotocol/") {
        Some("protocolVersion" | "clientInfo" | "clientCapabilities" | "logLevel") => Goes::Client,
        _ => Goes::Action,
    }
}

/// The members of `params`, each of the kind it must be.
#[derive(Default)]
struct Params<'d> {
    name: Option<Item<'d>>,
    arguments: Option<Item<'d>>,
    task: Option<Item<'d>>,
    meta: Option<Item<'d>>,
    cmcp: Option<Item<'d>>,
    responses: Option<Item<'d>>,
    state: Option<Item<'d>>,
}

/// Takes a `tools/call` apart.
pub(crate) fn call(
    numbers: Numbers,
    document: &Document<'_>,
    id: Id,
    params: Option<Item<'_>>,
) -> Result<Call, Refusal> {
    let params = Params::of(document, params)?;
    let (execution_id, workflow_id) = params.correlation()?;
    let sent = params.meta.into_iter();
    let action = |member: &Item<'_>| goes(*member) == Goes::Action;
    let values = [params.arguments, params.task];
    let carried = values.into_iter().flatten();
    let meta = sent.clone().flat_map(Item::children).filter(action);
    check_numbers(numbers, carried.chain(meta))?;
    let part = |part: Goes| {
        let mut out = Vec::new();
        write::object(
            &mut out,
            params
                .meta_in_order()
                .filter(|member| goes(*member) == part),
        );
        out
    };
    Ok(Call {
        id,
        action: params.action(),
        execution_id,
        workflow_id,
        client: part(Goes::Client),
        continuation: params.continuation(),
        transport: part(Goes::Transport),
    })
}

fn goes(member: Item<'_>) -> Goes {
    meta_goes(member.name().unwrap_or_default())
}

impl<'d> Params<'d> {
    fn of(document: &'d Document<'_>, params: Option<Item<'d>>) -> Result<Self, Refusal> {
        let mut verdict = Verdict::new(Code::Params);
        let mut parts = Self::default();
        for member in params.into_iter().flat_map(Item::children) {
            let (part, kind) = match member.name() {
                Some("name") => (&mut parts.name, Kind::String),
                Some("arguments") => (&mut parts.arguments, Kind::Object),
                Some("task") => (&mut parts.task, Kind::Object),
                Some("_meta") => (&mut parts.meta, Kind::Object),
                Some("_cmcp") => (&mut parts.cmcp, Kind::Object),
                Some("inputResponses") => (&mut parts.responses, Kind::Object),
                Some("requestState") => (&mut parts.state, Kind::String),
                _ => {
                    verdict.fault(member);
                    continue;
                }
            };
            *part = Some(member);
            verdict.expect(member, kind);
        }
        check_name(&mut verdict, parts.name, params.unwrap_or(document.root()));
        for member in parts.cmcp.into_iter().flat_map(Item::children) {
            if !matches!(member.name(), Some("execution_id" | "workflow_id")) {
                verdict.fault(member);
            }
        }
        for member in parts.meta.into_iter().flat_map(Item::children) {
            if parts.meta.is_some_and(|meta| meta.kind() == Kind::Object)
                && goes(member) == Goes::Refused
            {
                verdict.fault(member);
            }
        }
        verdict.close()?;
        Ok(parts)
    }

    fn meta_in_order(&self) -> impl Iterator<Item = Item<'d>> + Clone {
        self.meta.into_iter().flat_map(Item::in_order)
    }

    /// The execution's and the workflow's identifiers.
    fn correlation(&self) -> Result<(Option<String>, Option<String>), Refusal> {
        let mut verdict = Verdict::new(Code::Correlation);
        let mut key = |ours: &str, theirs: Goes| {
            let here = self.cmcp.and_then(|cmcp| cmcp.get(ours));
            let mut meta = self.meta.into_iter().flat_map(Item::children);
            let there = meta.find(|member| goes(*member) == theirs);
            for given in [here, there].into_iter().flatten() {
                if key_of(given).is_none() {
                    verdict.fault(given);
                }
            }
            match (here, there, here.and_then(key_of), there.and_then(key_of)) {
                (Some(here), Some(there), Some(a), Some(b)) if a != b => {
                    verdict.fault(here.later(there));
                    None
                }
                (_, _, here, there) => here.or(there),
            }
        };
        let execution = key("execution_id", Goes::Execution);
        let workflow = key("workflow_id", Goes::Workflow);
        verdict.close()?;
        Ok((execution, workflow))
    }

    /// The canonical action, its members in the order of their names.
    fn action(&self) -> Vec<u8> {
        let most = [self.arguments, self.task, self.meta, self.name]
            .into_iter()
            .flatten();
        let mut out = Vec::with_capacity(most.map(|part| part.raw().len() + 16).sum());
        let mut meta = self
            .meta_in_order()
            .filter(|member| goes(*member) == Goes::Action);
        out.push(b'{');
        if meta.clone().next().is_some() {
            out.extend_from_slice(br#""_meta":"#);
            write::object(&mut out, &mut meta);
            out.push(b',');
        }
        let member = |out: &mut Vec<u8>, lead: &[u8], part: Option<Item<'_>>| {
            if let Some(part) = part {
                out.extend_from_slice(lead);
                write::value(out, part);
            }
        };
        if self.arguments.is_some() {
            member(&mut out, br#""arguments":"#, self.arguments);
            out.push(b',');
        }
        member(&mut out, br#""method":"tools/call","name":"#, self.name);
        member(&mut out, br#","task":"#, self.task);
        out.push(b'}');
        out
    }

    fn continuation(&self) -> Option<Continuation> {
        let parts = || [self.responses, self.state].into_iter().flatten();
        parts().next()?;
        let mut canonical = Vec::new();
        write::object(&mut canonical, parts());
        let request_state = self
            .state
            .and_then(Item::text)
            .map(|text| text.into_owned());
        Some(Continuation {
            canonical,
            request_state,
        })
    }
}

fn check_name<'d>(verdict: &mut Verdict<'d>, name: Option<Item<'d>>, object: Item<'d>) {
    match name {
        None => verdict.fault(object),
        Some(name) => {
            // Four bytes a character at most: longer ones need no counting.
            let length = name
                .text()
                .map_or(0, |text| text.chars().take(MAX_NAME_CHARS + 1).count());
            if !(1..=MAX_NAME_CHARS).contains(&length) {
                verdict.fault(name);
            }
        }
    }
}

/// 1 to 200 visible ASCII characters.
fn key_of(item: Item<'_>) -> Option<String> {
    let text = item.text()?;
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    (visible && (1..=MAX_KEY_CHARS).contains(&text.len())).then(|| text.into_owned())
}

/// Refuses the first number, in message order, that the profile cannot carry.
pub(crate) fn check_numbers<'d>(
    numbers: Numbers,
    parts: impl Iterator<Item = Item<'d>>,
) -> Result<(), Refusal> {
    let mut verdict = Verdict::new(Code::Number);
    if numbers != Numbers::AsWritten {
        for part in parts {
            let foreign =
                |item: &Item<'_>| item.kind() == Kind::Number && !numbers.carries(item.raw());
            if let Some(item) = part.descend().find(foreign) {
                verdict.fault(item);
            }
        }
    }
    verdict.close()
}

/// Refuses a text that is not of an action's form.
pub(crate) fn check_form(action: &Document<'_>) -> Result<(), Refusal> {
    let root = action.root();
    let mut verdict = Verdict::new(Code::Params);
    verdict.expect(root, Kind::Object);
    let (mut method, mut name) = (None, None);
    for member in root.children() {
        match member.name() {
            _ if root.kind() != Kind::Object => break,
            Some("method") => method = Some(member),
            Some("name") => name = Some(member),
            Some("arguments" | "task") => verdict.expect(member, Kind::Object),
            Some("_meta") => {
                if member.kind() != Kind::Object || member.count() == 0 {
                    verdict.fault(member);
                }
                let members = member
                    .children()
                    .take_while(|_| member.kind() == Kind::Object);
                members
                    .filter(|inner| goes(*inner) != Goes::Action)
                    .for_each(|inner| verdict.fault(inner));
            }
            _ => verdict.fault(member),
        }
    }
    match method {
        Some(method) if method.is_text(TOOLS_CALL) => {}
        method => verdict.fault(method.unwrap_or(root)),
    }
    check_name(&mut verdict, name, root);
    verdict.close()
}
