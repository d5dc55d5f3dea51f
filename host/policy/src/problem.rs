//! What is wrong with a bundle: where, and what to write instead.

use std::fmt;

/// A bundle that is not loaded; it lists every problem that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    problems: Vec<Problem>,
}

/// One problem of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub(crate) code: ProblemCode,
    pub(crate) file: Box<str>,
    pub(crate) line: usize,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The stable code of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemCode {
    /// Not Cedar's syntax.
    Syntax,
    /// Strict validation fails: an unknown name, a type that does not fit, an
    /// access that is not guarded.
    Invalid,
    /// The policy can never apply, so a `forbid` would never forbid.
    Impossible,
    /// A guard inside a `forbid` lets the rest pass.
    Guard,
    /// A tag key that is no literal JSON Pointer.
    TagKey,
    /// Two policies of one name.
    DuplicateId,
    /// A template; nothing links it.
    Template,
    /// An annotation with a value that nothing understands.
    Annotation,
}

impl LoadError {
    /// None where there are no problems.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by(|a, b| (&a.file, a.line, a.code).cmp(&(&b.file, b.line, b.code)));
        problems.dedup();
        (!problems.is_empty()).then_some(Self { problems })
    }

    /// Every problem, in the order of files and lines; at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl Problem {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ProblemCode {
        self.code
    }

    /// The file's name in its bundle.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead, where that is known.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl ProblemCode {
    /// Every code.
    pub const ALL: [Self; 8] = [
        Self::Syntax,
        Self::Invalid,
        Self::Impossible,
        Self::Guard,
        Self::TagKey,
        Self::DuplicateId,
        Self::Template,
        Self::Annotation,
    ];

    /// As it is written in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "policy-syntax",
            Self::Invalid => "policy-invalid",
            Self::Impossible => "policy-impossible",
            Self::Guard => "policy-guard",
            Self::TagKey => "policy-tag-key",
            Self::DuplicateId => "policy-duplicate-id",
            Self::Template => "policy-template",
            Self::Annotation => "policy-annotation",
        }
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            file,
            line,
            message,
            help,
        } = self;
        write!(f, "{file}:{line}: {code}: {message}")?;
        if let Some(help) = help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}
