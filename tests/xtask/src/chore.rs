//! What every chore uses: its error, and running a command in the workspace.

use std::{
    ffi::OsStr,
    fmt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use crate::workspace;

/// What a chore answers.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a chore failed: one sentence, with what to do next where that is known.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A command that runs in the workspace's root.
pub(crate) fn command<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(workspace::root())
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end, its output going to the terminal.
///
/// Fails when it can't be started or doesn't exit with 0; the failure shows
/// the command as it can be typed.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = status(command)?;
    succeed(status, &show(command))
}

/// As [`run`], for a command whose exit status says more than that it failed.
pub(crate) fn status(command: &mut Command) -> Outcome<ExitStatus> {
    let shown = show(command);
    println!("   $ {shown}");
    command
        .status()
        .map_err(|error| Failure::new(format!("`{shown}` can not be started: {error}")))
}

fn succeed(status: ExitStatus, shown: &str) -> Outcome {
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{shown}`: {status}")))
    }
}

/// The command as it can be typed in the workspace's root.
fn show(command: &Command) -> String {
    let root = workspace::root();
    let word = |word: &OsStr| {
        let path = Path::new(word);
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}
