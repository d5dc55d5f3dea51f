//! What a profile says of itself, and the check that what it says is true.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use countersign_canon::{Admitted, Code, Limits};

use crate::bindings::exports::countersign::admission::profile as wit;
use crate::{Profile, convert, reading};

/// A message and the known answer to it.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// The message's bytes.
    pub message: &'static [u8],
    /// What the profile answers.
    pub answer: Answer,
}

/// A known answer.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// A call, with its canonical action and that action's binding.
    Bound {
        /// The canonical action.
        action: &'static str,
        /// `sha256:` and 64 lowercase hexadecimal digits.
        binding: &'static str,
    },
    /// Admitted, and not a call.
    NotACall,
    /// Refused.
    Refused {
        /// The refusal's code.
        code: Code,
        /// The refusal's pointer.
        pointer: &'static str,
        /// The refusal's offset.
        offset: u32,
    },
}

pub(crate) fn describe<P: Profile>() -> wit::Description {
    let Limits {
        message_bytes,
        depth,
        number_bytes,
        nodes,
    } = Limits::STANDARD;
    wit::Description {
        id: P::ID.into(),
        limits: wit::Limits {
            message_bytes,
            depth,
            number_bytes,
            nodes,
        },
        vectors: P::VECTORS.iter().map(vector).collect(),
    }
}

fn vector(vector: &Vector) -> wit::Vector {
    let answer = match vector.answer {
        Answer::Bound { action, binding } => Ok(Some(wit::Bound {
            action: action.into(),
            binding: binding.into(),
        })),
        Answer::NotACall => Ok(None),
        Answer::Refused {
            code,
            pointer,
            offset,
        } => Err(wit::Refusal {
            code: convert::code(code),
            pointer: pointer.into(),
            offset,
        }),
    };
    wit::Vector {
        message: vector.message.into(),
        answer,
    }
}

/// Compares every known answer of a profile with what it does answer.
///
/// # Errors
/// One line for each vector that is wrong, and one if the vectors are too few,
/// too many or all of one sort.
pub fn check<P: Profile>() -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    let calls = P::VECTORS
        .iter()
        .filter(|v| matches!(v.answer, Answer::Bound { .. }));
    let refusals = P::VECTORS
        .iter()
        .filter(|v| matches!(v.answer, Answer::Refused { .. }));
    if calls.count() == 0 || refusals.count() == 0 || !(2..=64).contains(&P::VECTORS.len()) {
        wrong.push("2 to 64 vectors, calls and refusals among them".to_string());
    }
    for vector in P::VECTORS {
        let said = told::<P>(vector.message);
        let known = alloc::format!("{:?}", vector.answer);
        if said != known {
            wrong.push(alloc::format!("{said} is not {known}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What a profile answers, written as an [`Answer`].
fn told<P: Profile>(message: &[u8]) -> String {
    let call = match reading::admit::<P>(message) {
        Ok(Admitted::Call(call)) => call,
        Ok(_) => return alloc::format!("{:?}", Answer::NotACall),
        Err(refusal) => {
            let countersign_canon::Refusal {
                code,
                pointer,
                offset,
            } = refusal;
            return alloc::format!(
                "Refused {{ code: {code:?}, pointer: {pointer:?}, offset: {offset} }}"
            );
        }
    };
    let binding = reading::interpret::<P>(&call.action);
    let binding = binding.map_or_else(|_| String::new(), |read| read.binding.to_string());
    let action = String::from_utf8_lossy(&call.action);
    alloc::format!("Bound {{ action: {action:?}, binding: {binding:?} }}")
}
