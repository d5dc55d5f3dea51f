//! Which profile a command works with, and what it makes of a message.

use std::io::Write as _;

use clap::Args;
use countersign_canon::{Admitted, Call, ProfileId, Refusal};
use countersign_engine::{CacheSettings, Engine, Fault, Interpreted, Profile, Settings, embedded};

use crate::environment;
use crate::failure::Failure;

/// The options of every command that reads messages.
#[derive(Debug, Args)]
pub(crate) struct ProfileOptions {
    /// The profile that reads the message
    #[arg(long, value_name = "NAME@VERSION", default_value = embedded::DEFAULT)]
    profile: ProfileId,
    /// Compile the profile anew, and keep nothing
    #[arg(long)]
    no_cache: bool,
}

impl ProfileOptions {
    /// Loads the profile; what its cache has to say goes to the standard error.
    pub(crate) fn load(&self) -> Result<Profile, Failure> {
        let profile = engine(!self.no_cache, 1)?.load_embedded(&self.profile)?;
        for warning in profile.warnings() {
            let _ = writeln!(std::io::stderr().lock(), "warning: {warning}");
        }
        Ok(profile)
    }
}

/// An engine for so many instances at a time.
pub(crate) fn engine(with_cache: bool, slots: u32) -> Result<Engine, Failure> {
    let cache = environment::cache_folder()
        .filter(|_| with_cache)
        .map(|folder| CacheSettings {
            folder,
            random: environment::random,
        });
    Ok(Engine::new(&Settings { slots, cache })?)
}

/// A call, and what its action means.
pub(crate) struct Bound {
    pub(crate) call: Call,
    pub(crate) meaning: Interpreted,
}

/// Why there is no binding.
pub(crate) enum Unbound {
    Refused(Refusal),
    NotAnAction,
    Fault(Fault),
}

/// Reads a message as a gateway would, in two instances.
pub(crate) fn bind(profile: &Profile, message: &[u8]) -> Result<Bound, Unbound> {
    let call = match profile.admit(message).map_err(Unbound::Fault)? {
        Ok(Admitted::Call(call)) => call,
        Ok(_) => return Err(Unbound::NotAnAction),
        Err(refusal) => return Err(Unbound::Refused(refusal)),
    };
    match profile.interpret(&call.action).map_err(Unbound::Fault)? {
        Ok(meaning) => Ok(Bound { call, meaning }),
        Err(refusal) => Err(Unbound::Refused(refusal)),
    }
}

impl Unbound {
    /// As a failure of the command; `name` says which message, where there are
    /// two.
    pub(crate) fn into_failure(self, name: Option<&str>) -> Failure {
        match self {
            Self::Refused(refusal) => Failure::refused(name, &refusal),
            Self::NotAnAction => Failure::not_an_action(name),
            Self::Fault(fault) => fault.into(),
        }
    }
}
