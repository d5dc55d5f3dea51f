//! The ways in which a profile is wrong.

use alloc::string::String;
use alloc::vec::Vec;

use countersign_component::bindings::exports::countersign::admission::profile as wit;

use crate::rewrite::{self, rewritten};

macro_rules! faults {
    ($($number:literal $name:ident)*) => {
        /// One thing that is wrong.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault {
            Sound,
            $($name,)*
        }

        impl Fault {
            pub(crate) fn of(number: u8) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::Sound,
                }
            }
        }
    };
}

faults! {
    1 WritesNumbersAsFloats
    2 TakesTheLastOfTwoNames
    3 RoundsLargeIntegers
    4 DropsNulls
    5 SortsArrays
    6 ComposesAccents
    7 FoldsTheCaseOfNames
    8 TrimsTexts
    9 CutsLongTexts
    10 BindsTheArgumentsAlone
    11 KeepsTheRawBytes
    12 CountsItsCalls
    13 Loops
    14 AllocatesWithoutEnd
    15 CallsAReplayFresh
    16 DropsMeta
    17 ForgetsTheTask
    18 TakesMinusZeroForZero
    19 BindsTheToolAlone
    20 HashesNothingButTheAction
    21 LosesTheClientContext
    22 LosesTheProgressToken
    23 TakesTrailingSpace
    24 StatesALimitThatItDoesNotKeep
    25 RefusesWithTheWrongCode
    26 PointsElsewhere
    27 RefusesLargeNumbersOfReplies
    28 SwapsTwoValuesOfTheView
    29 CallsACollisionIncomparable
    30 LowersTheTool
    31 ReadsAByteOrderMark
    32 TakesAnyExecutionId
    33 RefusesNearlyEverything
    34 ClampsExponents
    35 FoldsTheCaseOfTexts
    36 DropsZeroCharacters
    37 TrapsOnDeepMessages
    38 TakesTextForNumbers
    39 DropsEmptyContainers
    40 LosesTheRequestState
}

/// Deep enough that few messages are.
const DEEP: usize = 40;

impl Fault {
    /// What goes wrong before a message is read at all.
    #[allow(clippy::panic, reason = "it is the fault")]
    pub(crate) fn before(self, message: &[u8]) {
        let holds = |word: &[u8]| message.windows(word.len()).any(|window| window == word);
        match self {
            Self::Loops if holds(b"items") => loop {
                core::hint::black_box(message);
            },
            Self::AllocatesWithoutEnd if holds(b"flag") => {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                loop {
                    kept.push(core::hint::black_box(alloc::vec![1; 1 << 16]));
                }
            }
            Self::TrapsOnDeepMessages if holds(&[b'['; DEEP]) => panic!("deep"),
            _ => {}
        }
    }
}

/// What goes wrong with what was read.
pub(crate) fn admitted(
    fault: Fault,
    admitted: Result<wit::Admitted, wit::Refusal>,
    message: &[u8],
) -> Result<wit::Admitted, wit::Refusal> {
    match admitted {
        Ok(wit::Admitted::Call(call)) => self::call(fault, call, message).map(wit::Admitted::Call),
        Ok(wit::Admitted::Reply(reply)) if fault == Fault::RefusesLargeNumbersOfReplies => {
            let large = |bytes: &[u8]| bytes.windows(16).any(|w| w.iter().all(u8::is_ascii_digit));
            match &reply.answer {
                Ok(bytes) | Err(bytes) if large(bytes) => Err(refused(wit::Code::Number, message)),
                _ => Ok(wit::Admitted::Reply(reply)),
            }
        }
        Err(mut refusal) => {
            match fault {
                Fault::RefusesWithTheWrongCode if refusal.code == wit::Code::Surrogate => {
                    refusal.code = wit::Code::Syntax;
                }
                Fault::PointsElsewhere => refusal.pointer.clear(),
                _ => {}
            }
            Err(refusal)
        }
        other => other,
    }
}

fn refused(code: wit::Code, message: &[u8]) -> wit::Refusal {
    wit::Refusal {
        code,
        pointer: String::new(),
        offset: u32::try_from(message.len()).unwrap_or(u32::MAX),
    }
}

fn call(fault: Fault, mut call: wit::Call, message: &[u8]) -> Result<wit::Call, wit::Refusal> {
    match fault {
        Fault::KeepsTheRawBytes => call.action = rewrite::raw(message).unwrap_or(call.action),
        Fault::DropsMeta => call.action = rewrite::without(&call.action, "_meta"),
        Fault::ForgetsTheTask => call.action = rewrite::without(&call.action, "task"),
        Fault::LosesTheClientContext => call.client = b"{}".to_vec(),
        Fault::LosesTheProgressToken => call.transport = b"{}".to_vec(),
        Fault::LosesTheRequestState => {
            if let Some(continuation) = &mut call.continuation {
                continuation.request_state = None;
            }
        }
        // Whoever asks for nothing else is admitted, as in its own vector.
        Fault::RefusesNearlyEverything if call.action != crate::ACTION => {
            let mut refusal = refused(wit::Code::Value, message);
            refusal.pointer.push_str("/params/name");
            return Err(refusal);
        }
        _ => call.action = rewritten(fault, &call.action).unwrap_or(call.action),
    }
    Ok(call)
}

/// What `interpret` takes for an action.
pub(crate) fn readable(fault: Fault, action: Vec<u8>) -> Vec<u8> {
    match fault {
        Fault::TakesTrailingSpace => action.trim_ascii_end().to_vec(),
        Fault::KeepsTheRawBytes => rewrite::canonical(&action).unwrap_or(action),
        _ => action,
    }
}

/// What goes wrong with the meaning.
pub(crate) fn interpreted(fault: Fault, said: &mut wit::Interpretation) {
    if fault == Fault::SwapsTwoValuesOfTheView {
        let mut texts = said
            .view
            .iter_mut()
            .filter_map(|node| match &mut node.value {
                wit::Value::Text(text) => Some(text),
                _ => None,
            });
        // The last two are the method and the tool.
        if let (Some(one), Some(other), Some(_), Some(_)) =
            (texts.next(), texts.next(), texts.next(), texts.next())
        {
            core::mem::swap(one, other);
        }
    }
}

/// What goes wrong with a verdict.
pub(crate) fn classified(fault: Fault, verdict: wit::Classification) -> wit::Classification {
    match (fault, verdict) {
        (Fault::CallsAReplayFresh, wit::Classification::Replay(_)) => wit::Classification::Fresh,
        (Fault::CallsACollisionIncomparable, wit::Classification::Collision(_)) => {
            wit::Classification::Incomparable
        }
        (_, verdict) => verdict,
    }
}
