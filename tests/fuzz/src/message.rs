//! Bytes as a JSON message: as they stand, or, so that a fuzzer need not find
//! JSON by itself, as the number of one that certification makes and what is
//! then broken in it.

use std::borrow::Cow;

use countersign_certify::generate::Generator;

use crate::choices::Choices;

/// What an input begins with that only names a message; in no text is there
/// such a byte.
pub(crate) const NAMED: u8 = 0xFF;

/// The message that an input stands for.
pub(crate) fn of(data: &[u8]) -> Cow<'_, [u8]> {
    let Some((&NAMED, rest)) = data.split_first() else {
        return Cow::Borrowed(data);
    };
    let mut choices = Choices::new(rest);
    let (seed, case) = (choices.number(), choices.number());
    let mut message = Generator::new(seed).message(case);
    while !choices.is_empty() {
        let at = choices.below(message.len() + 1);
        match choices.below(4) {
            0 => drop(message.splice(at..at, choices.bytes(8).iter().copied())),
            1 => drop(message.drain(at..(at + choices.below(9)).min(message.len()))),
            2 => {
                if let Some(byte) = message.get_mut(at) {
                    *byte = choices.byte();
                }
            }
            _ => {
                let end = (at + choices.below(33)).min(message.len());
                let piece = message[at..end].to_vec();
                let to = choices.below(message.len() + 1);
                message.splice(to..to, piece);
            }
        }
    }
    Cow::Owned(message)
}
