//! What commands print for people: tables, and text that cannot play tricks
//! with a terminal.

use std::fmt;
use std::io::{self, Write as _};

use countersign_catalog::hidden;

use crate::failure::{Failure, Status};

/// A table with as wide columns as they need.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(titles: [&str; N]) -> Self {
        Self {
            rows: vec![titles.map(str::to_owned)],
        }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| visible(&cell)));
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// The text with what is not seen, or moves what stands around it, written as
/// escapes: names come from callers.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Prints to the standard output.
pub(crate) fn print(text: &str) -> Result<Status, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))?;
    Ok(Status::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_its_cells_and_no_cell_reaches_the_terminal() {
        let mut table = Table::new(["A", "B"]);
        table.row(["long".into(), "x\u{1b}[2J\ny".into()]);
        assert_eq!(table.to_string(), "A     B\nlong  x\\u{1b}[2J\\u{a}y\n");
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(visible("é ü 漢"), "é ü 漢");
        for c in ('\0'..=char::MAX).filter(|c| hidden(*c)) {
            assert_eq!(visible(&c.to_string()), c.escape_unicode().to_string());
        }
    }
}
