//! Taking a policy file apart into its statements, before Cedar reads any.
//!
//! Each statement is parsed by itself, so that it keeps its file and line. And
//! each is measured first: Cedar's reader, validator and evaluator recurse, and
//! a verifier reads the files of strangers, so what they recurse over is
//! counted here, without recursion.

use crate::measure::Measure;

/// One policy's text, its semicolon included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    pub(crate) text: &'a str,
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
    /// What it has too much of, if anything.
    pub(crate) excess: Option<&'static str>,
    /// Its list items, annotations and operators: what it takes in memory
    /// beside its text.
    pub(crate) parts: usize,
}

/// Splits a file at the semicolons that stand outside strings and comments.
pub(crate) fn split(text: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut place = Place::Code;
    let mut line = 1;
    let mut open: Option<Open> = None;
    for (index, byte) in text.bytes().enumerate() {
        let begins = place == Place::Code && !byte.is_ascii_whitespace();
        place = place.after(byte, text.as_bytes().get(index + 1));
        if begins && place != Place::Comment {
            open.get_or_insert_with(|| Open::at(index, line));
        }
        if let Some(open) = open.as_mut() {
            let code = begins && place == Place::Code;
            open.measure.take(if code { byte } else { b' ' });
        }
        if begins && byte == b';' && place == Place::Code {
            statements.extend(open.take().map(|open| open.close(text, index + 1)));
        }
        line += usize::from(byte == b'\n');
    }
    statements.extend(open.map(|open| open.close(text, text.len())));
    statements
}

/// In what a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Code,
    Comment,
    Text,
    /// After a backslash in a string.
    Escape,
}

impl Place {
    fn after(self, byte: u8, next: Option<&u8>) -> Self {
        match (self, byte) {
            (Self::Code, b'/') if next == Some(&b'/') => Self::Comment,
            (Self::Comment, b'\n' | b'\r') => Self::Code,
            (Self::Comment, _) => Self::Comment,
            (Self::Text, b'\\') => Self::Escape,
            (Self::Code, b'"') | (Self::Escape, _) => Self::Text,
            (Self::Text, b'"') => Self::Code,
            (here, _) => here,
        }
    }
}

/// A statement that has begun.
struct Open {
    start: usize,
    line: usize,
    measure: Measure,
}

impl Open {
    fn at(start: usize, line: usize) -> Self {
        Self {
            start,
            line,
            measure: Measure::new(),
        }
    }

    fn close(self, text: &str, end: usize) -> Statement<'_> {
        Statement {
            // INVARIANT: both ends are at ASCII bytes or at the text's end.
            text: text.get(self.start..end).unwrap_or_default().trim_end(),
            line: self.line,
            parts: self.measure.parts(),
            excess: self.measure.excess(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, &str)> {
        split(source).iter().map(|s| (s.line, s.text)).collect()
    }

    #[test]
    fn a_statement_ends_at_a_semicolon_outside_strings_and_comments() {
        let source =
            "// a; comment\npermit (a);\n\n@id(\"x;\\\"y\") // more; \"\nforbid;\r// z\rlast ";
        assert_eq!(
            texts(source),
            [
                (2, "permit (a);"),
                (4, "@id(\"x;\\\"y\") // more; \"\nforbid;"),
                (5, "last"),
            ]
        );
        assert_eq!(texts(" // nothing\n\n"), []);
        assert_eq!(texts("a / b;"), [(1, "a / b;")]);
        assert_eq!(texts("é;ü;"), [(1, "é;"), (1, "ü;")]);
    }

    #[test]
    fn what_cedar_would_recurse_over_is_counted() {
        for (source, fits) in [
            (format!("{}{};", "(".repeat(32), ")".repeat(32)), true),
            (format!("{}{};", "(".repeat(33), ")".repeat(33)), false),
            (format!("\"{}\";", "(".repeat(33)), true),
            (format!("// {}\n;", "(".repeat(33)), true),
            (format!("{};", "if a then b else ".repeat(32)), true),
            (format!("{};", "if a then b else ".repeat(33)), false),
            (format!("{};", "iff i_f fif ".repeat(33)), true),
            (format!("{};", "a&&".repeat(128)), true),
            (format!("{};", "a&&".repeat(129)), false),
            (format!("{};", "a||".repeat(129)), false),
            (format!("[{}];", "a.b.c,".repeat(255)), true),
            (format!("[{}];", "a.b.c,".repeat(256)), false),
        ] {
            let statements = split(&source);
            assert_eq!(statements.len(), 1, "{source}");
            assert_eq!(statements[0].excess.is_none(), fits, "{source}");
        }
    }
}
