//! How a command ends: the exit statuses, and what is said on the way out.

use std::fmt;
use std::process::ExitCode;

use countersign_canon::Refusal;
use countersign_engine::{EngineError, Fault, LoadError};
use countersign_kit::KitError;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(u8);

impl Status {
    /// What was asked for was done, or holds.
    pub(crate) const OK: Self = Self(0);
    /// It was looked into, and does not hold.
    pub(crate) const DOES_NOT_HOLD: Self = Self(1);
    /// The command line is wrong, or a file cannot be read or written.
    pub(crate) const USAGE: Self = Self(2);
    /// A message was refused.
    pub(crate) const REFUSED: Self = Self(3);
    /// A profile cannot be loaded, or is at fault.
    pub(crate) const PROFILE: Self = Self(4);
    /// `verify` cannot use what it was given; 1 and 2 are its verdicts.
    pub(crate) const UNUSABLE: Self = Self(3);

    /// It was looked into, and could not be shown: as `verify` has it.
    pub(crate) const NOT_ESTABLISHED: Self = Self(2);

    /// The status of a verdict.
    pub(crate) const fn of(status: u8) -> Self {
        Self(status)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}

/// Why a command could not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    /// What stands before the text: a refusal is an answer, not an error of
    /// the command.
    lead: &'static str,
    text: String,
    help: Option<String>,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            lead: "error: ",
            text: text.into(),
            help: None,
        }
    }

    fn refusal(name: Option<&str>, text: &str) -> Self {
        let of = name.map(|name| format!("{name} is ")).unwrap_or_default();
        Self {
            status: Status::REFUSED,
            lead: "",
            text: format!("{of}refused: {text}"),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A message that is not admitted; `name` says which, where there are two.
    pub(crate) fn refused(name: Option<&str>, refusal: &Refusal) -> Self {
        Self::refusal(name, &refusal.to_string())
    }

    /// A message that is admitted and asks for no tool.
    pub(crate) fn not_an_action(name: Option<&str>) -> Self {
        Self::refusal(name, "not-an-action").with_help("only a `tools/call` request has a binding")
    }

    /// A path that cannot be read or written.
    pub(crate) fn path(path: &str, error: &std::io::Error) -> Self {
        Self::new(Status::USAGE, format!("`{path}`: {error}"))
    }

    /// An output that does not take what is written.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        Self::new(
            Status::USAGE,
            format!("the output cannot be written: {error}"),
        )
    }

    pub(crate) fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}{}", self.lead, self.text)?;
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::new(Status::PROFILE, format!("{error} ({})", error.code())).with_help(error.help())
    }
}

impl From<KitError> for Failure {
    fn from(error: KitError) -> Self {
        let status = match error {
            KitError::Toolchain(_) | KitError::Build(_) | KitError::Component(_) => Status::PROFILE,
            _ => Status::USAGE,
        };
        Self::new(status, format!("{error} ({})", error.code())).with_help(error.help())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(Status::PROFILE, error.to_string())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::new(Status::PROFILE, format!("{fault} ({})", Fault::CODE))
            .with_help("there is no verdict on this message; tell the profile's vendor")
    }
}
