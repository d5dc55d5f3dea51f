//! What every profile must say of a message, and what of it is the profile's
//! own choice: how it spells numbers, and which numbers and values it carries
//! in an action at all.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{
    Admitted, Call, Code, Document, Limits, Numbers, Refusal, Reply, Request, admit,
};

use crate::check::Check;
use crate::finding::Finding;

/// Where in a message an action's values come from.
const IN_ACTION: [&str; 4] = [
    "/params/name",
    "/params/arguments",
    "/params/task",
    "/params/_meta",
];

/// What a message is to a profile with those limits, every number kept.
pub(crate) fn expected(limits: Limits, message: &[u8]) -> Result<Admitted, Refusal> {
    // A profile's own limits are at most the standard ones, and what breaks
    // them is found while reading, before all else.
    Document::read(message, limits)?;
    admit(Numbers::AsWritten, message)
}

/// Holds what a profile said of a message against what it must say: the call
/// that it admits and the one that `exact` does, where it is one.
pub(crate) fn compare(
    expected: Result<Admitted, Refusal>,
    said: Result<Admitted, Refusal>,
    message: &[u8],
) -> Result<Option<(Call, Call)>, Finding> {
    let strict =
        |reason: String| Err(Finding::new(Check::StrictReading, reason).shown_by([message]));
    match (expected, said) {
        (Err(must), Err(is)) if must == is => Ok(None),
        (Err(must), Err(is)) => strict(format!("it is to be refused as {must}, and it is as {is}")),
        (Err(must), Ok(_)) => strict(format!("it is to be refused as {must}, and it is admitted")),
        (Ok(Admitted::Call(_)), Err(is)) if matches!(is.code, Code::Number | Code::Value) => {
            chosen(&is, message).map_or_else(strict, |()| Ok(None))
        }
        (Ok(_), Err(is)) => strict(format!("it is to be admitted, and it is refused as {is}")),
        (Ok(Admitted::Call(must)), Ok(Admitted::Call(is))) => match differing(&must, &is) {
            None => Ok(Some((must, is))),
            Some(part) => Err(parts(part, message)),
        },
        (Ok(must), Ok(is)) => match other(&must, &is) {
            None => Ok(None),
            Some(part) => Err(parts(part, message)),
        },
    }
}

fn parts(part: &str, message: &[u8]) -> Finding {
    let reason = format!("its {part} is not the message's");
    Finding::new(Check::Parts, reason).shown_by([message])
}

/// Whether a refusal by the profile's own choice stands where it may.
fn chosen(refusal: &Refusal, message: &[u8]) -> Result<(), String> {
    if usize::try_from(refusal.offset) != Ok(message.len()) {
        return Err(format!(
            "`{}` is decided by the whole message, and it is refused as {refusal}",
            refusal.code
        ));
    }
    let pointer = &refusal.pointer;
    let inside = IN_ACTION.iter().any(|part| {
        pointer
            .strip_prefix(part)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let document = Document::read(message, Limits::STANDARD).ok();
    let found = document
        .as_ref()
        .and_then(|document| document.find(pointer));
    let may = |item: Item<'_>| refusal.code == Code::Value || points_at_number(item, pointer);
    match found {
        Some(item) if inside && may(item) => Ok(()),
        _ => Err(format!(
            "only a value of the action may be refused so, and it is refused as {refusal}"
        )),
    }
}

/// Whether the pointer is that of a number; one that is too long is cut, and
/// then is the pointer of what the number is in.
fn points_at_number(item: Item<'_>, pointer: &str) -> bool {
    let mut open = vec![item];
    while let Some(item) = open.pop() {
        if item.kind() == Kind::Number && item.pointer() == pointer {
            return true;
        }
        open.extend(item.children());
    }
    false
}

/// The part of a call, its action apart, in which two readings differ.
fn differing(must: &Call, is: &Call) -> Option<&'static str> {
    [
        ("`id`", must.id == is.id),
        ("`execution_id`", must.execution_id == is.execution_id),
        ("`workflow_id`", must.workflow_id == is.workflow_id),
        ("client context", must.client == is.client),
        ("continuation", must.continuation == is.continuation),
        ("transport", must.transport == is.transport),
    ]
    .into_iter()
    .find_map(|(part, same)| (!same).then_some(part))
}

fn other(must: &Admitted, is: &Admitted) -> Option<&'static str> {
    let request = |must: &Request, is: &Request| {
        let same = (must.id == is.id, must.method == is.method);
        match same {
            (false, _) => Some("`id`"),
            (_, false) => Some("`method`"),
            _ => (must.params != is.params).then_some("`params`"),
        }
    };
    let reply = |must: &Reply, is: &Reply| {
        let id = (must.id != is.id).then_some("`id`");
        id.or_else(|| (must.answer != is.answer).then_some("answer"))
    };
    match (must, is) {
        (Admitted::Request(must), Admitted::Request(is)) => request(must, is),
        (Admitted::Reply(must), Admitted::Reply(is)) => reply(must, is),
        (Admitted::Notification(must), Admitted::Notification(is)) => {
            let method = (must.method != is.method).then_some("`method`");
            method.or_else(|| (must.params != is.params).then_some("`params`"))
        }
        _ => Some("kind"),
    }
}
