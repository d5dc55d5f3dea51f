//! Text that does not read as it is shown.
//!
//! What turns the direction of writing, ends a line for some and not for
//! others, or is not seen at all makes a reviewer approve another policy than
//! the one that decides: in a comment as well, which may seem to be code, or
//! code a comment.

use countersign_catalog::hidden;

use crate::{File, Problem, ProblemCode};

/// Every line of a file with such a character in it.
pub(crate) fn problems(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    // A carriage return ends a line where it stands before a line feed.
    let text = file.text.replace("\r\n", "\n");
    for (line, text) in (1..).zip(text.split('\n')) {
        if let Some(found) = text.chars().find(|c| misread(*c)) {
            problems.push(Problem {
                code: ProblemCode::Invalid,
                file: file.name.clone(),
                line,
                message: format!("U+{:04X} stands here, and is not shown", u32::from(found)),
                help: Some("leave it out, or write it as `\\u{…}` in a string".to_owned()),
            });
        }
    }
    problems
}

/// Marks that choose how the letter before them is drawn turn and hide nothing.
fn misread(c: char) -> bool {
    let draws = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    hidden(c) && c != '\t' && !draws
}
