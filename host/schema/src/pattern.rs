//! Patterns: matched in linear time, and counted by what a match takes.
//!
//! The time of a match is the text's length times the pattern's compiled size,
//! at worst, and a pattern of a few bytes may grow large: `a{1000}`. A pattern
//! is read as the library reads it, and matched here, since the library counts
//! neither and takes no look-ahead.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jsonschema::json::Node as _;
use jsonschema::{Keyword, ValidationError};
use jsonschema_regex::{PatternAnalysis, RepeatedClass, Search};
use regex_automata::meta::Regex;

use crate::Reason;
use crate::instance::{Held, ViewJson};
use crate::work;

/// What one pattern may grow to when it is compiled, in bytes.
/// `^https?://.{1,255}$` takes some 130 KiB.
pub(crate) const MAX_BYTES: usize = 512 << 10;
/// What the text of one may be that is compiled, in bytes.
const MAX_TEXT: usize = 16 << 10;
/// What all patterns of a schema may weigh together: 4 MiB compiled.
const MAX_WEIGHT: u64 = 1 << 15;
/// Bytes of a compiled pattern that a stretch of text is held against in one
/// step.
const STRIDE: usize = 128;

/// One pattern, for texts.
pub(crate) struct Pattern {
    /// Each with whether it is to match.
    parts: Vec<(bool, Part)>,
    /// Steps for each 32 bytes of text.
    weight: u64,
}

enum Part {
    Prefix(String),
    Exact(String),
    /// Sorted.
    OneOf(Vec<String>),
    Class(RepeatedClass),
    Regex(Box<Regex>),
}

impl Part {
    /// None where it cannot be matched in linear time, or is too large.
    fn compile(pattern: &str) -> Option<Self> {
        match jsonschema_regex::analyze_pattern(pattern) {
            Some(PatternAnalysis::Prefix(text)) => return Some(Self::Prefix(text.into_owned())),
            Some(PatternAnalysis::Exact(text)) => return Some(Self::Exact(text.into_owned())),
            Some(PatternAnalysis::Alternation(texts)) => return Some(Self::OneOf(texts)),
            Some(PatternAnalysis::NoWhitespace) | None => {}
        }
        if pattern.len() > MAX_TEXT {
            return None;
        }
        let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
        let translated = match jsonschema_regex::search_form(pattern, &translated) {
            Some(Search::RepeatedClass(class)) => return Some(Self::Class(class)),
            Some(Search::Collapsed(collapsed)) => collapsed,
            None => translated.into_owned(),
        };
        let config = Regex::config()
            .nfa_size_limit(Some(MAX_BYTES))
            .hybrid_cache_capacity(MAX_BYTES)
            .onepass(false)
            .dfa(false);
        let regex = Regex::builder().configure(config).build(&translated);
        Some(Self::Regex(Box::new(regex.ok()?)))
    }

    fn weight(&self) -> u64 {
        let bytes = match self {
            Self::Prefix(_) | Self::Exact(_) | Self::Class(_) => 0,
            // Names are compared with one after the other.
            Self::OneOf(texts) => texts.len().saturating_mul(STRIDE / 16),
            Self::Regex(regex) => regex.memory_usage(),
        };
        1 + u64::try_from(bytes / STRIDE).unwrap_or(u64::MAX)
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Prefix(prefix) => text.starts_with(prefix),
            Self::Exact(exact) => text == exact,
            Self::OneOf(texts) => texts.binary_search_by(|it| it.as_str().cmp(text)).is_ok(),
            Self::Class(class) => class.is_match(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

impl Pattern {
    fn compile(pattern: &str) -> Option<Self> {
        let parts = split(pattern).unwrap_or_else(|| vec![(true, pattern.to_owned())]);
        let parts = parts
            .into_iter()
            .map(|(holds, part)| Some((holds, Part::compile(&part)?)))
            .collect::<Option<Vec<_>>>()?;
        let weight = parts.iter().map(|(_, part)| part.weight()).sum();
        Some(Self { parts, weight })
    }

    /// False, too, where the steps do not do.
    fn matches(&self, text: &str) -> bool {
        let steps = work::text(text.len()).saturating_mul(self.weight);
        // The engine is known to panic with patterns that are rare; what could
        // not be matched does not fit, be it under a `not`: no step is left.
        let all = || {
            let mut parts = self.parts.iter();
            parts.all(|(holds, part)| part.matches(text) == *holds)
        };
        work::spend(steps)
            && catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| work::spend(u64::MAX))
    }
}

/// The patterns of one schema, each once.
#[derive(Default)]
pub(crate) struct Patterns {
    known: HashMap<String, Arc<Pattern>>,
    weight: u64,
}

impl Patterns {
    /// Reads a pattern for texts.
    ///
    /// # Errors
    /// [`Reason::Pattern`], and [`Reason::Cost`] where there are too many.
    pub(crate) fn text(&mut self, pattern: &str) -> Result<(), Reason> {
        self.read(pattern).map(drop)
    }

    /// Reads a pattern for names, which the library matches; what it weighs.
    ///
    /// # Errors
    /// As [`Patterns::text`]; [`Reason::Pattern`] for look-aheads, too.
    pub(crate) fn name(&mut self, pattern: &str) -> Result<u64, Reason> {
        let read = self.read(pattern)?;
        match read.parts.as_slice() {
            [_] => Ok(read.weight),
            _ => Err(Reason::Pattern),
        }
    }

    fn read(&mut self, pattern: &str) -> Result<Arc<Pattern>, Reason> {
        if let Some(known) = self.known.get(pattern) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(Pattern::compile(pattern).ok_or(Reason::Pattern)?);
        self.weight = self.weight.saturating_add(read.weight);
        if self.weight > MAX_WEIGHT {
            return Err(Reason::Cost);
        }
        self.known.insert(pattern.to_owned(), Arc::clone(&read));
        Ok(read)
    }

    /// One that was read.
    pub(crate) fn get(&self, pattern: &str) -> Option<Matched> {
        self.known.get(pattern).cloned().map(Matched)
    }
}

/// The keyword.
pub(crate) struct Matched(Arc<Pattern>);

impl Keyword<'_, ViewJson> for Matched {
    fn validate(&self, instance: Held<'_>) -> Result<(), ValidationError<'static>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("the text does not fit"))
        }
    }

    fn is_valid(&self, instance: Held<'_>) -> bool {
        let text = instance.as_string();
        text.is_none_or(|text| self.0.matches(&text))
    }
}

/// The parts of a pattern that begins with look-aheads, `^(?!A)(?=B)C`: `^(?:A)`,
/// which must not match, `^(?:B)` and `^(?:C)`, which must. A look-ahead at the
/// start takes nothing of the text, so that the pattern matches where each part
/// does as it should.
fn split(pattern: &str) -> Option<Vec<(bool, String)>> {
    let mut rest = pattern.strip_prefix('^')?;
    let mut parts = Vec::new();
    loop {
        let (holds, after) = match (rest.strip_prefix("(?="), rest.strip_prefix("(?!")) {
            (Some(after), _) => (true, after),
            (None, Some(after)) => (false, after),
            (None, None) => break,
        };
        let (inner, outer) = group(after)?;
        parts.push((holds, format!("^(?:{inner})")));
        rest = outer;
    }
    if parts.is_empty() || rest.starts_with(['*', '+', '?', '{']) || !is_sequence(rest) {
        return None;
    }
    parts.push((true, format!("^(?:{rest})")));
    Some(parts)
}

/// What stands in a group that is open, and what comes after it.
fn group(text: &str) -> Option<(&str, &str)> {
    let (at, _) = outermost(text).find(|(_, sign)| *sign == ')')?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Whether no `|` stands outside of all groups, and each `)` closes one.
fn is_sequence(text: &str) -> bool {
    outermost(text).all(|(_, sign)| !matches!(sign, '|' | ')'))
}

/// The characters of a pattern outside of groups, classes and escapes, up to a
/// `)` that closes no group of it.
fn outermost(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut class, mut escaped) = (0_usize, false, false);
    text.char_indices().filter(move |(_, sign)| {
        if escaped {
            escaped = false;
            return false;
        }
        match sign {
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            _ if class => {}
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => return depth == 0,
        }
        false
    })
}
