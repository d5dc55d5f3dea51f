//! A tool's input schema, ready to be held against arguments.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, View};
use jsonschema::{Draft, PatternOptions, Validator};

use crate::instance::{Held, ViewJson};
use crate::{Reason, SchemaRefused, choice, graph, keywords, pattern, text, work};

/// What one schema may hold.
const LIMITS: Limits = Limits {
    message_bytes: 256 << 10,
    depth: 64,
    number_bytes: 1_024,
    nodes: 16_384,
};
/// What holding the arguments of one call against a schema may take, in steps:
/// one for each value, each 32 bytes of text, each entry of a list of the schema
/// that is gone through for a value, and each 128 bytes of a compiled pattern
/// that 32 bytes of text are held against.
const MAX_STEPS: u64 = 1 << 24;
/// What a thread may do that has other calls to attend to.
const FEW_STEPS: u64 = 1 << 16;
/// What is told of where arguments do not fit.
const MAX_POINTER: usize = 256;

/// A compiled schema; shared freely between threads.
pub struct InputSchema {
    validator: Validator<ViewJson>,
    /// Whether finding where arguments do not fit takes no more than finding
    /// that they do not.
    located: bool,
}

/// Arguments that do not fit. Nothing of their values is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value at `{pointer}` does not fit the tool's input schema: `{keyword}`")]
pub struct Misfit {
    /// Where, from the action's root; the caller's text, cut within 256 bytes.
    pub pointer: String,
    /// The keyword of the schema that does not hold; `steps`, where finding out
    /// takes more than 16,777,216 of them; `schema`, where it is not looked for:
    /// with an `anyOf` or `oneOf` of draft-06.
    pub keyword: String,
}

impl std::fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InputSchema")
    }
}

impl InputSchema {
    /// Compiles a schema's text; none stands for a tool without one.
    ///
    /// # Errors
    /// [`SchemaRefused`] where it could not be held to exactly, or not at a
    /// bounded cost.
    pub fn compile(schema: Option<&[u8]>) -> Result<Self, SchemaRefused> {
        let missing = || SchemaRefused::new(Reason::Missing, "");
        let document = Document::read(schema.ok_or_else(missing)?, LIMITS)
            .map_err(|refusal| SchemaRefused::new(Reason::Cost, refusal.pointer))?;
        if document.root().kind() != Kind::Object {
            return Err(missing());
        }
        let draft = draft(document.root())?;
        let checked = graph::check(&document, draft)?;
        let conditions = draft != Draft::Draft6;
        let value = text::schema(&document, &checked.places, conditions)?;
        let patterns = PatternOptions::regex()
            .size_limit(pattern::MAX_BYTES)
            .dfa_size_limit(pattern::MAX_BYTES);
        let options = jsonschema::options_for::<ViewJson>();
        let options = keywords::exact(options, checked.patterns)
            .with_draft(draft)
            .with_pattern_options(patterns)
            .offline()
            .should_validate_formats(false);
        let validator = options.build(&value).map_err(|error| {
            let at = error.instance_path().to_string();
            let pattern = at.ends_with("/pattern") || at.contains("/patternProperties");
            let reason = if pattern {
                Reason::Pattern
            } else {
                Reason::Invalid
            };
            SchemaRefused::new(reason, at)
        })?;
        Ok(Self {
            validator,
            located: conditions || !checked.chooses,
        })
    }

    /// Holds the arguments of an action against the schema; absent ones stand
    /// for an empty object. Takes up to seconds.
    ///
    /// # Errors
    /// [`Misfit`]: the first place that was found, or that it takes too much.
    pub fn check(&self, action: &View) -> Result<(), Misfit> {
        self.check_within(action, MAX_STEPS)
            .unwrap_or_else(|| Err(misfit("", "steps".to_owned())))
    }

    /// The same, of so little work that it may be done anywhere; none where it
    /// takes more.
    ///
    /// # Errors
    /// As [`InputSchema::check`].
    pub fn check_quickly(&self, action: &View) -> Option<Result<(), Misfit>> {
        self.check_within(action, FEW_STEPS)
    }

    /// The same, of as many steps; none where it takes more.
    ///
    /// # Errors
    /// As [`InputSchema::check`].
    pub fn check_within(&self, action: &View, steps: u64) -> Option<Result<(), Misfit>> {
        let arguments = action.root().get("arguments");
        let held = arguments.map_or(Held::Nothing, Held::Node);
        work::within(steps, || {
            if self.validator.is_valid(held) {
                return Ok(());
            }
            if !self.located {
                return Err(misfit("", "schema".to_owned()));
            }
            let (path, keyword) = match self.validator.validate(held) {
                Err(error) => (
                    error.instance_path().to_string(),
                    keyword(&error.schema_path().to_string()),
                ),
                // INVARIANT: the two agree; where they did not, refusing is safe.
                Ok(()) => (String::new(), "not".to_owned()),
            };
            Err(misfit(&path, keyword))
        })
    }
}

fn misfit(path: &str, keyword: String) -> Misfit {
    let mut pointer = format!("/arguments{path}");
    if pointer.len() > MAX_POINTER {
        let cut = (0..=MAX_POINTER)
            .rev()
            .find(|at| pointer.is_char_boundary(*at));
        pointer.truncate(cut.unwrap_or(0));
    }
    Misfit { pointer, keyword }
}

/// The last step of a schema's path that is a keyword and no number or name.
fn keyword(path: &str) -> String {
    if let Some(choice) = choice::keyword(path) {
        return choice.to_owned();
    }
    let last = path.rsplit('/').find(|step| {
        !step.is_empty()
            && step
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'$')
    });
    last.unwrap_or("schema").to_owned()
}

fn draft(root: Item<'_>) -> Result<Draft, SchemaRefused> {
    let Some(said) = root.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    dialect(said).ok_or_else(|| SchemaRefused::new(Reason::Dialect, "/$schema"))
}

/// The dialect that a `$schema` names.
pub(crate) fn dialect(said: Item<'_>) -> Option<Draft> {
    let said = said.text().unwrap_or_default();
    let said = said.trim_end_matches('#').trim_start_matches("https://");
    match said.trim_start_matches("http://") {
        "json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        _ => None,
    }
}
