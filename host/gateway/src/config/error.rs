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
    // Of the name that was written, too, where there is a nearer one.
    let help = suggestion(error.message()).map(|name| format!("did you mean `{name}`?"));
    let message = said(error);
    ConfigError {
        file: None,
        line,
        message,
        help,
    }
}

/// What is wrong with a text of TOML, in one line and without any value of it: who
/// writes a value of another kind than is expected may have written a secret. Names of
/// keys are told.
pub(crate) fn said(error: &toml::de::Error) -> String {
    /// What these begin with goes on with the value, and then with what is expected.
    const QUOTING: [&str; 4] = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown variant ",
    ];
    const EXPECTED: &str = ", expected ";
    let message = error.message();
    let quoting = QUOTING.iter().find_map(|quoting| {
        let rest = message.strip_prefix(quoting)?;
        Some((*quoting, rest))
    });
    // Only the first line: the rest of the message may quote the file.
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let Some((quoting, rest)) = quoting else {
        return first(message);
    };
    // A value may have the same words in it; what is expected stands last.
    let expected = rest.rfind(EXPECTED).and_then(|at| rest.get(at..));
    let kind = rest.split(['"', '`', ',']).next().unwrap_or_default();
    let begun = format!("{quoting}{kind}");
    let begun = begun.trim_end_matches([' ', ':']);
    format!("{begun}{}", first(expected.unwrap_or_default()))
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::{file, schema};
    use crate::identity::TokenFile;

    /// Values of each kind, as TOML; none of them may be told.
    const SECRETS: [&str; 8] = [
        r#""s3cret""#,
        r#""Bearer s3cret, expected a \"s3cret\" `s3cret`""#,
        r#""line\ns3cret\n, expected s3cret\n""#,
        "9182736450",
        "-91827.36450",
        "2031-05-27T07:32:00Z",
        r#"["s3cret", 9182736450]"#,
        "[[\"s3cret\"], true]",
    ];
    const TOLD: [&str; 4] = ["s3cret", "9182736450", "91827.3645", "2031-05-27"];

    /// Every place in a document of a schema, each as what stands before and after a
    /// value there.
    fn places(
        schema: &Value,
        all: &Value,
        around: (String, String),
        found: &mut Vec<(String, String)>,
    ) {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return places(&all["$defs"][name], all, around, found);
        }
        for one in schema["anyOf"].as_array().into_iter().flatten() {
            places(one, all, around.clone(), found);
        }
        let within = |before: String, after: &str| {
            (
                format!("{}{before}", around.0),
                format!("{after}{}", around.1),
            )
        };
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            places(inner, all, within(format!("{{ {name} = "), " }"), found);
        }
        if schema["additionalProperties"].is_object() {
            let inner = &schema["additionalProperties"];
            places(inner, all, within("{ anything = ".to_owned(), " }"), found);
        }
        if schema["items"].is_object() {
            places(&schema["items"], all, within("[".to_owned(), "]"), found);
        }
        found.push(around);
    }

    #[test]
    fn no_value_is_told_whatever_key_has_one_of_another_kind() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let mut found = Vec::new();
        let mut refused = 0;
        for (name, inner) in schema["properties"].as_object().unwrap() {
            places(
                inner,
                &schema,
                (format!("{name} = "), String::new()),
                &mut found,
            );
        }
        assert!(found.len() > 120, "{}", found.len());
        for (before, after) in &found {
            for secret in SECRETS {
                let text = format!("\n{before}{secret}{after}\n");
                let Err(error) = toml::from_str::<file::File>(&text) else {
                    continue;
                };
                let said = syntax(&text, &error).to_string();
                assert!(!TOLD.iter().any(|told| said.contains(told)), "{text}{said}");
                if said.contains("missing field") {
                    continue;
                }
                assert!(said.starts_with("line 2: "), "{text}{said}");
                refused += usize::from(said.contains(", expected "));
            }
        }
        assert!(refused > 600, "{refused}");
    }

    #[test]
    fn what_is_wrong_is_told_all_the_same() {
        for (text, expected) in [
            (
                "listen = 7400",
                "line 1: invalid type: integer, expected a string",
            ),
            (
                "hosts = \"x\"",
                "line 1: invalid type: string, expected a sequence",
            ),
            (
                "\n[identity]\nmode = \"token\"",
                "line 3: unknown variant, expected one of `open`, `tokens`, `jwt`, `mtls`\n  help: did you mean `tokens`?",
            ),
            (
                "[limits]\ncalls = -1",
                "line 2: invalid value: integer, expected usize",
            ),
        ] {
            let error = toml::from_str::<file::File>(text).err().unwrap();
            assert_eq!(syntax(text, &error).to_string(), expected);
        }
        let misspelt = "[limits]\ncals = 1";
        let error = toml::from_str::<file::File>(misspelt).err().unwrap();
        let said = syntax(misspelt, &error).to_string();
        assert!(
            said.contains("`cals`") && said.contains("did you mean `calls`?"),
            "{said}"
        );
    }

    #[test]
    fn no_value_of_a_token_file_is_told() {
        let mut refused = 0;
        for secret in SECRETS {
            for place in [
                "agent = SECRET",
                "agent = [SECRET]",
                "agent = [{ subject = SECRET }]",
                "agent = [{ token = SECRET }]",
                "agent = [{ subject = \"a\", token = SECRET, added = \"b\" }]",
                "agent = [{ added = SECRET }]",
            ] {
                let text = place.replace("SECRET", secret);
                let said = TokenFile::parse(&text).unwrap_err().to_string();
                assert!(
                    !TOLD.iter().any(|told| said.contains(told)),
                    "{text}: {said}"
                );
                refused += usize::from(said.contains(", expected "));
            }
        }
        assert!(refused > 24, "{refused}");
    }
}
