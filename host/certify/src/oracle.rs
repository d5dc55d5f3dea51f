//! What every profile must say of a message, and what of it is the profile's
//! own choice: how it spells numbers, and which numbers and values it carries
//! in an action at all.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{
    Admitted, Call, Code, Document, Limits, Numbers, Refusal, Reply, Request, admit,
};

use crate::check::Check;
use crate::finding::Finding;

/// Where in a message the member of `params` is of which only a part goes into
/// the action.
const META: &str = "/params/_meta";

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
        (Ok(Admitted::Call(must)), Err(is)) if matches!(is.code, Code::Number | Code::Value) => {
            chosen(&is, message, &must.action).map_or_else(strict, |()| Ok(None))
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
fn chosen(refusal: &Refusal, message: &[u8], action: &[u8]) -> Result<(), String> {
    if usize::try_from(refusal.offset) != Ok(message.len()) {
        return Err(format!(
            "`{}` is decided by the whole message, and it is refused as {refusal}",
            refusal.code
        ));
    }
    let pointer = refusal.pointer.as_str();
    let (document, bound) = (
        Document::read(message, Limits::STANDARD).ok(),
        Document::read(action, Limits::STANDARD).ok(),
    );
    let may = document
        .as_ref()
        .zip(bound.as_ref())
        .is_some_and(|(document, bound)| {
            let values = values(document, bound);
            match refusal.code {
                Code::Number => values.iter().any(|item| holds_number(*item, pointer)),
                _ => {
                    let meta = pointer == META && bound.root().get("_meta").is_some();
                    document.find(pointer).is_some()
                        && (meta || values.iter().any(|item| is_within(*item, pointer)))
                }
            }
        });
    if may {
        return Ok(());
    }
    Err(format!(
        "only a value of the action may be refused so, and it is refused as {refusal}"
    ))
}

/// The values of a message that went into its action.
fn values<'d>(message: &'d Document<'_>, action: &Document<'_>) -> Vec<Item<'d>> {
    let bound = action.root().get("_meta");
    let is_bound = |name: &str| bound.is_some_and(|bound| bound.get(name).is_some());
    let params = message.root().get("params");
    params
        .into_iter()
        .flat_map(Item::children)
        .flat_map(|part| match part.name() {
            Some("_meta") => part
                .children()
                .filter(|member| member.name().is_some_and(is_bound))
                .collect(),
            Some("name" | "arguments" | "task") => vec![part],
            _ => Vec::new(),
        })
        .collect()
}

fn is_within(item: Item<'_>, pointer: &str) -> bool {
    let rest = pointer.strip_prefix(item.pointer().as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the pointer is that of a number in a value; one that is too long is
/// cut, and then is the pointer of what the number is in.
fn holds_number(item: Item<'_>, pointer: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1.5,"x"]},"task":{"ttl":1.5},"inputResponses":{"q":1.5},"_meta":{"progressToken":1.5,"traceparent":1.5,"tracestate":1.5,"baggage":1.5,"own":{"n":1.5},"io.modelcontextprotocol/clientInfo":{"n":1.5},"io.modelcontextprotocol/other":1.5}}}"#;

    #[test]
    fn only_what_goes_into_the_action_may_be_refused_by_choice() {
        for (pointer, number, value) in [
            ("/params/arguments/a/0", true, true),
            ("/params/arguments/a/1", false, true),
            ("/params/arguments/a", false, true),
            ("/params/arguments/b", false, false),
            ("/params/arguments", false, true),
            ("/params/task/ttl", true, true),
            ("/params/name", false, true),
            ("/params/_meta/own/n", true, true),
            ("/params/_meta/own", false, true),
            ("/params/_meta/io.modelcontextprotocol~1other", true, true),
            ("/params/_meta", false, true),
            ("/params/_meta/progressToken", false, false),
            ("/params/_meta/traceparent", false, false),
            ("/params/_meta/tracestate", false, false),
            ("/params/_meta/baggage", false, false),
            (
                "/params/_meta/io.modelcontextprotocol~1clientInfo/n",
                false,
                false,
            ),
            ("/params/inputResponses/q", false, false),
            ("/params", false, false),
            ("/id", false, false),
            ("", false, false),
        ] {
            for (code, may) in [(Code::Number, number), (Code::Value, value)] {
                let refusal = Refusal {
                    code,
                    pointer: pointer.to_owned(),
                    offset: u32::try_from(MESSAGE.len()).unwrap(),
                };
                let expected = expected(Limits::STANDARD, MESSAGE);
                let found = compare(expected, Err(refusal), MESSAGE);
                assert_eq!(found.is_ok(), may, "{code} at {pointer:?}");
            }
        }
    }
}
