//! A profile that is wrong in one of many ways, to certify the certification.
//!
//! Which way is read from [`FAULT`], two digits in the component's data that a
//! test overwrites: so all of them are built at once, and each is the shipped
//! reader but for one thing. Sound where the digits are `00`.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

mod faults;
mod lenient;
mod rewrite;

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use countersign_canon::{Digest, Limits, Numbers, ProfileId, preimage};
use countersign_component::bindings::exports::countersign::admission::profile as wit;
use countersign_component::{Component, Profile, Vector};
use faults::Fault;

/// Ends in the two digits that say what is wrong.
#[used]
static FAULT: [u8; 20] = *b"countersign-fault=00";

struct Sound;

impl Profile for Sound {
    const ID: &'static str = "broken@1.0.0";
    const NUMBERS: Numbers = Numbers::AsWritten;
    // Computed, since they differ from fault to fault.
    const VECTORS: &'static [Vector] = &[];
}

type Base = Component<Sound>;

struct Broken;

countersign_component::export!(Broken);

fn fault() -> Fault {
    let [.., tens, ones] = *core::hint::black_box(&FAULT);
    Fault::of((tens - b'0') * 10 + (ones - b'0'))
}

fn id() -> Option<ProfileId> {
    Sound::ID.parse().ok()
}

/// What the call asks for that it describes.
pub(crate) const ACTION: &[u8] = br#"{"method":"tools/call","name":"t"}"#;
const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
const NO_JSON: &[u8] = b"x";

impl wit::Guest for Broken {
    fn describe() -> wit::Description {
        let mut limits = Limits::STANDARD;
        if fault() == Fault::StatesALimitThatItDoesNotKeep {
            limits.depth = 32;
        }
        let vector = |message: &[u8]| wit::Vector {
            message: message.to_vec(),
            answer: Self::admit(message.to_vec()).map(|admitted| match admitted {
                wit::Admitted::Call(call) => Some(wit::Bound {
                    binding: Self::interpret(call.action.clone())
                        .map_or_else(|_| String::new(), |said| said.binding),
                    action: call.action,
                }),
                _ => None,
            }),
        };
        wit::Description {
            id: Sound::ID.to_string(),
            limits: wit::Limits {
                message_bytes: limits.message_bytes,
                depth: limits.depth,
                number_bytes: limits.number_bytes,
                nodes: limits.nodes,
            },
            vectors: vec![vector(CALL), vector(NO_JSON)],
        }
    }

    fn admit(message: Vec<u8>) -> Result<wit::Admitted, wit::Refusal> {
        let fault = fault();
        fault.before(&message);
        let read = lenient::message(fault, &message);
        let admitted = Base::admit(read.unwrap_or_else(|| message.clone()));
        faults::admitted(fault, admitted, &message)
    }

    fn interpret(action: Vec<u8>) -> Result<wit::Interpretation, wit::Refusal> {
        let fault = fault();
        let read = faults::readable(fault, action.clone());
        let mut said = Base::interpret(read)?;
        let whole = action.as_slice();
        let bound = match fault {
            Fault::BindsTheArgumentsAlone => rewrite::part(whole, "arguments"),
            Fault::BindsTheToolAlone => rewrite::part(whole, "name"),
            Fault::HashesNothingButTheAction => {
                said.binding = Digest::of(&[whole]).as_str().to_string();
                return Ok(said);
            }
            _ => whole.to_vec(),
        };
        if let Some(id) = id() {
            said.binding = preimage::binding(&id, &bound).as_str().to_string();
        }
        if fault == Fault::CountsItsCalls && CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            said.binding = Digest::of(&[b"again"]).as_str().to_string();
        }
        faults::interpreted(fault, &mut said);
        Ok(said)
    }

    fn classify(presented: wit::Presented, recorded: Option<wit::Recorded>) -> wit::Classification {
        faults::classified(fault(), Base::classify(presented, recorded))
    }
}

/// How often this instance was asked to interpret.
static CALLS: AtomicU32 = AtomicU32::new(0);
