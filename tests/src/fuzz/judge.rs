//! One message before every reader there is: native code, the components, and
//! the reference. They must say the same.

use countersign_canon::{
    Admitted, Interpretation, Numbers, ProfileId, Refusal, admit, envelop, interpret,
};
use countersign_engine::{Engine, Profile};

use super::Reference;
use crate::outcome::{self, Length};

/// The readers, and their profiles.
#[derive(Debug)]
pub struct Judge {
    profiles: Vec<(Profile, Numbers)>,
    reference: Reference,
}

/// What all readers agree on.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The action under `exact`, of a call that is admitted.
    pub(super) action: Option<Vec<u8>>,
    /// What an exact reader tells it apart by.
    pub(super) key: Option<String>,
    /// Whether the message is admitted under `exact`, as whatever it is.
    pub(super) admitted: bool,
}

/// Two readers that do not say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The profile under which.
    pub profile: String,
    /// Which readers, about what.
    pub about: &'static str,
    /// What each of them says.
    pub said: [String; 2],
}

impl Judge {
    /// Readers of their own, for one thread.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        let load = |id: &str, numbers| {
            let id: ProfileId = id.parse().expect("a profile's name");
            (engine.load_embedded(&id).expect("it is built in"), numbers)
        };
        let profiles = vec![
            load("exact@1.0.0", Numbers::AsWritten),
            load("jcs-integer@1.0.0", Numbers::SafeIntegers),
        ];
        Self {
            profiles,
            reference: Reference::start(),
        }
    }

    /// Asks every reader.
    pub(super) fn judge(&mut self, message: &[u8]) -> Result<Verdict, Box<Disagreement>> {
        let ids: Vec<&str> = self
            .profiles
            .iter()
            .map(|(profile, _)| profile.id().as_str())
            .collect();
        let opinion = self.reference.ask(message, &ids);
        let mut verdict = Verdict {
            action: None,
            key: opinion.key,
            admitted: false,
        };
        for ((profile, numbers), said) in self.profiles.iter().zip(opinion.outcomes) {
            let native = admit(*numbers, message);
            let written = outcome::to_json(profile.id(), &native, Length::Whole);
            same(profile, "native code and the reference", &written, &said)?;
            let wasm = profile.admit(message).map_err(|fault| fault.to_string());
            same(
                profile,
                "native code and the component",
                &Ok(native.clone()),
                &wasm,
            )?;
            let is_exact = *numbers == Numbers::AsWritten;
            verdict.admitted |= is_exact && native.is_ok();
            if let Ok(Admitted::Call(call)) = native {
                check_action(profile, *numbers, &call.action)?;
                if is_exact {
                    verdict.action = Some(call.action);
                }
            }
        }
        if verdict.action.is_some() != verdict.key.is_some() {
            let said = [
                format!("{:?}", verdict.action),
                format!("{:?}", verdict.key),
            ];
            let about = "the readers and the exact reader, whether it is a call";
            return Err(Box::new(Disagreement {
                profile: ids[0].into(),
                about,
                said,
            }));
        }
        Ok(verdict)
    }
}

/// An action means the same to all, and asks for itself.
fn check_action(
    profile: &Profile,
    numbers: Numbers,
    action: &[u8],
) -> Result<(), Box<Disagreement>> {
    let native = interpret(profile.id(), numbers, action);
    let wasm = profile
        .interpret(action)
        .map_err(|fault| fault.to_string())
        .map(|said| {
            said.map(|meaning| Interpretation {
                binding: meaning.binding,
                tool: meaning.tool,
                view: meaning.view.nodes().to_vec(),
            })
        });
    same(
        profile,
        "native code and the component, the meaning",
        &Ok(native),
        &wasm,
    )?;
    let again: Result<Option<Vec<u8>>, Refusal> = envelop(action)
        .and_then(|message| admit(numbers, &message))
        .map(|admitted| match admitted {
            Admitted::Call(call) => Some(call.action),
            _ => None,
        });
    same(
        profile,
        "an action and what its message asks for",
        &Ok(Some(action.to_vec())),
        &again,
    )
}

fn same<T: PartialEq + std::fmt::Debug>(
    profile: &Profile,
    about: &'static str,
    one: &T,
    other: &T,
) -> Result<(), Box<Disagreement>> {
    if one == other {
        return Ok(());
    }
    let said = [format!("{one:?}"), format!("{other:?}")];
    Err(Box::new(Disagreement {
        profile: profile.id().to_string(),
        about,
        said,
    }))
}
