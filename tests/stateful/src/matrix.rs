//! Mutation × finding: how often which came of what.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::mutate::{Row, rows};
use crate::stage::On;

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    cells: BTreeMap<(String, String), u64>,
    /// Plans that were played on the real binary.
    pub on_the_binary: u64,
    /// Plans that were played.
    pub played: u64,
    /// Plans of which something did not hold, where the others were played too.
    pub failed: u64,
    /// Entries that were compared.
    pub entries: u64,
    /// Calls that reached the upstream.
    pub arrivals: u64,
}

impl Matrix {
    /// Notes what came of a mutation.
    pub fn add(&mut self, mutation: &str, finding: &str, on: On) {
        self.played += 1;
        self.on_the_binary += u64::from(on == On::Binary);
        let cell = (mutation.to_owned(), finding.to_owned());
        *self.cells.entry(cell).or_default() += 1;
    }

    /// Rows in which nothing was found.
    #[must_use]
    pub fn empty(&self) -> Vec<&'static str> {
        let met = |name: &str| self.cells.keys().any(|(mutation, _)| mutation == name);
        let rows = rows().iter().map(|row| row.name.as_str());
        rows.filter(|name| !met(name)).collect()
    }

    /// Cells that no row may have.
    #[must_use]
    pub fn unexpected(&self) -> Vec<String> {
        self.unexpected_in(rows())
    }

    /// The same, held against these rows.
    pub(crate) fn unexpected_in(&self, rows: &[Row]) -> Vec<String> {
        let may = |mutation: &str, finding: &str| {
            let row = rows.iter().find(|row| row.name == mutation);
            row.is_some_and(|row| row.findings.contains(&finding))
        };
        let cells = self.cells.keys();
        let unexpected = cells.filter(|(mutation, finding)| !may(mutation, finding));
        unexpected
            .map(|(mutation, finding)| format!("{mutation}: `{finding}`"))
            .collect()
    }

    /// The whole matrix as text: a row, its findings, how often each.
    #[must_use]
    pub fn table(&self) -> String {
        let widest = rows().iter().map(|row| row.name.chars().count()).max();
        let width = widest.unwrap_or_default();
        let mut text = String::new();
        for row in rows() {
            let cells = self.cells.iter();
            let own: Vec<String> = cells
                .filter(|((mutation, _), _)| *mutation == row.name)
                .map(|((_, finding), count)| format!("{finding} {count}"))
                .collect();
            let found = if own.is_empty() {
                "EMPTY".to_owned()
            } else {
                own.join(", ")
            };
            let _ = writeln!(text, "{:width$}  {found}", row.name);
        }
        text
    }
}
