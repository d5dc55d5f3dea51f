//! How a profile reads: as `countersign-canon` does, and then, where it has a
//! spelling of its own for numbers, with each number of the action so spelled.
//!
//! Used by the component and by native tests, so that both say the same.

use alloc::string::String;
use alloc::vec::Vec;

use countersign_canon::document::{Children, Item, Kind};
use countersign_canon::{Admitted, Code, Document, Interpretation, Limits, Refusal};

use crate::Profile;

/// A number that a profile does not carry; it is refused as `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCarried;

/// Appends a number as the profile writes it, given as it was written.
///
/// What is appended must be a number of RFC 8259 of the same value and sign, of
/// at most as many bytes, that is written as itself when it is given. An
/// integer to policy (`0` or `-?[1-9][0-9]*`, within 64 bits) must stay as it
/// is, and nothing else may become one.
pub type Spelling = fn(lexeme: &str, out: &mut Vec<u8>) -> Result<(), NotCarried>;

/// Reads one message exactly as it arrived.
///
/// # Errors
/// The one refusal that `docs/spec/action-binding.md` §1 prescribes.
pub fn admit<P: Profile>(message: &[u8]) -> Result<Admitted, Refusal> {
    let admitted = countersign_canon::admit(P::NUMBERS, message)?;
    match (P::SPELLING, admitted) {
        (Some(spelling), Admitted::Call(mut call)) => {
            call.action = spelled(spelling, &call.action)
                .map_err(|NotCarried| not_carried(spelling, message, &call.action))?;
            Ok(Admitted::Call(call))
        }
        (_, admitted) => Ok(admitted),
    }
}

/// Reads an action that [`admit`] gave.
///
/// # Errors
/// A refusal for any other bytes.
pub fn interpret<P: Profile>(action: &[u8]) -> Result<Interpretation, Refusal> {
    // INVARIANT: each profile's test parses its identifier.
    let id = P::ID.parse().map_err(|_| foreign(&[]))?;
    let said = countersign_canon::interpret(&id, P::NUMBERS, action);
    let Some(spelling) = P::SPELLING else {
        return said;
    };
    // A number that is not carried comes before bytes that are not canonical.
    if let Ok(_)
    | Err(Refusal {
        code: Code::Value, ..
    }) = said
        && let Ok(document) = Document::read(action, Limits::STANDARD)
        && let Some(number) = Within::new(document.root()).find(|item| !carried(spelling, *item))
    {
        return Err(Refusal {
            code: Code::Number,
            pointer: number.pointer(),
            ..foreign(action)
        });
    }
    let said = said?;
    match spelled(spelling, action) {
        Ok(again) if again == action => Ok(said),
        _ => Err(foreign(action)),
    }
}

fn carried(spelling: Spelling, item: Item<'_>) -> bool {
    item.lexeme()
        .is_none_or(|lexeme| spelling(lexeme, &mut Vec::new()).is_ok())
}

/// These bytes are no action of this profile.
fn foreign(action: &[u8]) -> Refusal {
    Refusal {
        code: Code::Value,
        pointer: String::new(),
        offset: u32::try_from(action.len()).unwrap_or(u32::MAX),
    }
}

/// Canonical bytes with each number spelled anew.
fn spelled(spelling: Spelling, canonical: &[u8]) -> Result<Vec<u8>, NotCarried> {
    let mut out = Vec::with_capacity(canonical.len());
    let mut rest = canonical;
    while let Some(first) = rest.first() {
        let (token, after) = match first {
            b'"' => rest.split_at(text(rest)),
            b'-' | b'0'..=b'9' => {
                let (number, after) = rest.split_at(number(rest));
                // INVARIANT: the bytes of a number are ASCII.
                let lexeme = core::str::from_utf8(number).map_err(|_| NotCarried)?;
                spelling(lexeme, &mut out)?;
                rest = after;
                continue;
            }
            _ => rest.split_at(1),
        };
        out.extend_from_slice(token);
        rest = after;
    }
    Ok(out)
}

/// The length of the string at the beginning, its quotes included.
fn text(bytes: &[u8]) -> usize {
    let mut escaped = false;
    let inside = bytes.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    inside.map_or(bytes.len(), |length| length + 2)
}

/// The length of the number at the beginning.
fn number(bytes: &[u8]) -> usize {
    let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    bytes
        .iter()
        .position(|byte| !part(byte))
        .unwrap_or(bytes.len())
}

/// The refusal of the first number of the action, in the order of the message,
/// that is not carried.
fn not_carried(spelling: Spelling, message: &[u8], action: &[u8]) -> Refusal {
    let refusal = |pointer| Refusal {
        code: Code::Number,
        pointer,
        offset: u32::try_from(message.len()).unwrap_or(u32::MAX),
    };
    // INVARIANT: both were read a moment ago.
    let (Ok(message), Ok(action)) = (
        Document::read(message, Limits::STANDARD),
        Document::read(action, Limits::STANDARD),
    ) else {
        return refusal(String::new());
    };
    let params = message.root().get("params");
    let parts = params.into_iter().flat_map(Item::children);
    let found = parts
        .filter(|part| matches!(part.name(), Some("arguments" | "task" | "_meta")))
        .flat_map(|part| {
            // Of `_meta` the members that went into the action.
            let meta = (part.name() == Some("_meta")).then(|| action.root().get("_meta"));
            part.children().filter(move |member| match &meta {
                None => true,
                Some(bound) => bound
                    .is_some_and(|bound| bound.get(member.name().unwrap_or_default()).is_some()),
            })
        })
        .find_map(|member| Within::new(member).find(|item| !carried(spelling, *item)));
    refusal(found.map(Item::pointer).unwrap_or_default())
}

/// A value and everything in it, in the order of their bytes.
struct Within<'d> {
    next: Option<Item<'d>>,
    open: Vec<Children<'d>>,
}

impl<'d> Within<'d> {
    fn new(item: Item<'d>) -> Self {
        Self {
            next: Some(item),
            open: Vec::new(),
        }
    }
}

impl<'d> Iterator for Within<'d> {
    type Item = Item<'d>;

    fn next(&mut self) -> Option<Item<'d>> {
        loop {
            if let Some(item) = self.next.take() {
                if matches!(item.kind(), Kind::Array | Kind::Object) {
                    self.open.push(item.children());
                }
                return Some(item);
            }
            self.next = self.open.last_mut()?.next();
            if self.next.is_none() {
                self.open.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use countersign_canon::Numbers;

    use super::*;
    use crate::Vector;

    /// Writes every number without what follows its point; carries no exponent.
    struct Cut;

    fn cut(lexeme: &str, out: &mut Vec<u8>) -> Result<(), NotCarried> {
        if lexeme.contains('e') {
            return Err(NotCarried);
        }
        let written = lexeme.split_once('.').map_or(lexeme, |(whole, _)| whole);
        out.extend_from_slice(written.as_bytes());
        Ok(())
    }

    impl Profile for Cut {
        const ID: &'static str = "cut@1.0.0";
        const NUMBERS: Numbers = Numbers::AsWritten;
        const SPELLING: Option<Spelling> = Some(cut);
        const VECTORS: &'static [Vector] = &[];
    }

    fn message(params: &str) -> Vec<u8> {
        let before = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#;
        [before, params, "}"].concat().into_bytes()
    }

    #[test]
    fn the_numbers_of_the_action_are_spelled_and_nothing_else_is() {
        let params = r#"{"name":"1.5","_meta":{"a":2.5,"progressToken":3.5},"arguments":{"b1.5":[-1.5,"\"4.5",true,{"c":[]}]},"inputResponses":{"d":5.5}}"#;
        let Ok(Admitted::Call(call)) = admit::<Cut>(&message(params)) else {
            panic!("it is a call");
        };
        let action = r#"{"_meta":{"a":2},"arguments":{"b1.5":[-1,"\"4.5",true,{"c":[]}]},"method":"tools/call","name":"1.5"}"#;
        assert_eq!(core::str::from_utf8(&call.action), Ok(action));
        assert_eq!(call.transport, br#"{"progressToken":3.5}"#);
        let continuation = call.continuation.unwrap();
        assert_eq!(continuation.canonical, br#"{"inputResponses":{"d":5.5}}"#);
        assert_eq!(interpret::<Cut>(action.as_bytes()).unwrap().tool, "1.5");
    }

    #[test]
    fn the_first_number_that_is_not_carried_is_pointed_at_in_the_order_of_the_message() {
        for (params, pointer) in [
            (
                r#"{"name":"n","arguments":{"z":1e1,"a":2e1}}"#,
                "/params/arguments/z",
            ),
            (
                r#"{"task":{"t":[0,1e1]},"name":"n","arguments":{"a":2e1}}"#,
                "/params/task/t/1",
            ),
            (
                r#"{"_meta":{"baggage":1e1,"progressToken":1e1,"own":{"x":1e1}},"name":"n"}"#,
                "/params/_meta/own/x",
            ),
        ] {
            let message = message(params);
            let refusal = admit::<Cut>(&message).unwrap_err();
            assert_eq!(
                refusal.to_string(),
                Refusal {
                    code: Code::Number,
                    pointer: pointer.into(),
                    offset: u32::try_from(message.len()).unwrap(),
                }
                .to_string(),
                "{params}"
            );
        }
        let elsewhere =
            message(r#"{"_meta":{"baggage":1e1},"name":"n","inputResponses":{"a":1e1}}"#);
        assert!(
            admit::<Cut>(&elsewhere).is_ok(),
            "outside the action every number is admitted"
        );
    }

    #[test]
    fn bytes_that_it_did_not_give_are_no_action() {
        for (action, code, pointer) in [
            (
                r#"{"arguments":{"a":1.5},"method":"tools/call","name":"n"}"#,
                Code::Value,
                "",
            ),
            (
                r#"{"arguments":{"a":1e1},"method":"tools/call","name":"n"}"#,
                Code::Number,
                "/arguments/a",
            ),
            (
                r#"{"name":"n","arguments":{"a":1e1},"method":"tools/call"}"#,
                Code::Number,
                "/arguments/a",
            ),
            (
                r#"{"name":"n","arguments":{"a":1},"method":"tools/call"}"#,
                Code::Value,
                "",
            ),
            (r#"{"arguments":{"a":1e1},"name":"n"}"#, Code::Params, ""),
        ] {
            let refusal = interpret::<Cut>(action.as_bytes()).unwrap_err();
            assert_eq!(
                (refusal.code, refusal.pointer.as_str()),
                (code, pointer),
                "{action}"
            );
        }
    }
}
