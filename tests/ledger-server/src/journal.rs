//! The journal: one line of JSON for each effect, appended and never changed.
//!
//! It is the ground truth of the whole-system tests: the number of its lines
//! is the number of effects that happened, whatever anyone answered.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// One effect, as its line tells it.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Effect {
    /// The tool that had the effect.
    pub(crate) tool: String,
    /// The account that pays.
    pub(crate) from: String,
    /// The account that is paid.
    pub(crate) to: String,
    /// The amount as it arrived, of whatever JSON type.
    pub(crate) amount: Value,
}

impl Journal {
    /// Opens the journal for appending; a missing file is made.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }

    /// Appends one effect and answers the number of lines there are then.
    /// The line is in the file, for every process to see, when this returns.
    pub(crate) fn append(&self, effect: &Effect) -> io::Result<usize> {
        let mut line = serde_json::to_vec(effect)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)?;
        Ok(self.effects()?.len())
    }

    /// Every effect so far, in order.
    pub(crate) fn effects(&self) -> io::Result<Vec<Effect>> {
        std::fs::read_to_string(&self.path)?
            .lines()
            .map(|line| serde_json::from_str(line).map_err(io::Error::from))
            .collect()
    }
}
