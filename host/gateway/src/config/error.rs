//! What is wrong with a configuration, where, and what to write instead.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::suggest::nearest;

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{}{message}{}", at(file.as_deref()), line_of(*line), help_of(help.as_deref()))]
pub struct ConfigError {
    file: Option<PathBuf>,
    line: Option<usize>,
    message: String,
    help: Option<String>,
}

fn at(file: Option<&Path>) -> String {
    file.map(|file| format!("`{}`: ", file.display()))
        .unwrap_or_default()
}

fn line_of(line: Option<usize>) -> String {
    line.map(|line| format!("line {line}: "))
        .unwrap_or_default()
}

fn help_of(help: Option<&str>) -> String {
    help.map(|help| format!("\n  help: {help}"))
        .unwrap_or_default()
}

impl ConfigError {
    /// The stable code of every configuration error.
    pub const CODE: &'static str = "config";

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn unreadable(path: &Path, source: &std::io::Error) -> Self {
        Self::new(format!("cannot be read: {source}")).in_file(path)
    }

    pub(super) fn in_file(mut self, path: &Path) -> Self {
        self.file.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The line, from 1, where it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// What is wrong, without file and line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead, where that is known.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// A file that is no TOML, or has a key or a value that there is not.
pub(super) fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let line = error
        .span()
        .and_then(|span| text.get(..span.start))
        .map(|before| before.matches('\n').count() + 1);
    // Only the first line: the rest of the message quotes the file, and a
    // value may be a secret.
    let message = error
        .message()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let help = suggestion(&message).map(|name| format!("did you mean `{name}`?"));
    ConfigError {
        file: None,
        line,
        message,
        help,
    }
}

/// Reads the names out of "unknown field `x`, expected one of `a`, `b`".
fn suggestion(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let given = quoted.next()?;
    nearest(given, quoted).map(str::to_owned)
}
