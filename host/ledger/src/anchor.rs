//! The anchor: what the log had come to, kept outside of the database.
//!
//! A restored backup looks whole, and would make old identifiers fresh. The
//! anchor tells: a database that does not hold what the anchor names was rolled
//! back (`docs/spec/executions.md` §5). It is written after what it names is
//! durable, so it is never ahead of a database that was left alone; what a
//! rollback may lose unseen is what came after the last anchor.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use countersign_canon::Digest;
use countersign_evidence::{Head, LogId};

/// The first line, so that the file says what it is.
const TITLE: &str = "countersign ledger anchor v1";

/// The end of a log at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) log_id: LogId,
    pub(crate) size: u64,
    pub(crate) last: Option<Digest>,
}

impl Anchor {
    pub(crate) fn of(head: &Head) -> Self {
        Self {
            log_id: head.log_id().clone(),
            size: head.size(),
            last: head.last(),
        }
    }

    fn text(&self) -> String {
        let last = self
            .last
            .map_or_else(|| "-".to_owned(), |last| last.to_string());
        format!("{TITLE}\n{}\n{}\n{last}\n", self.log_id, self.size)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != TITLE {
            return None;
        }
        let log_id = lines.next()?.parse().ok()?;
        let size = lines.next()?.parse().ok()?;
        let last = match lines.next()? {
            "-" => None,
            digest => Some(digest.parse().ok()?),
        };
        let anchor = Self { log_id, size, last };
        (lines.next().is_none() && (size == 0) == anchor.last.is_none()).then_some(anchor)
    }

    /// Reads the anchor; `None` where there is no file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is no anchor.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text)
                .map(Some)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an anchor")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the anchor durably: whoever reads it sees the old or the new.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let beside = Path::new(&beside);
        let mut file = File::create(beside)?;
        file.write_all(self.text().as_bytes())?;
        if cfg!(not(countersign_bench = "without-durability")) {
            file.sync_all()?;
        }
        fs::rename(beside, path)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if cfg!(countersign_bench = "without-durability") {
            return Ok(());
        }
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(size: u64) -> Anchor {
        let last = (size > 0).then(|| Digest::of(&[b"x"]));
        Anchor {
            log_id: "log.example/1".parse().unwrap(),
            size,
            last,
        }
    }

    #[test]
    fn an_anchor_reads_back_as_it_was_written_and_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        assert_eq!(Anchor::read(&path).unwrap(), None);
        for size in [0, 7, 9] {
            anchor(size).write(&path).unwrap();
            assert_eq!(Anchor::read(&path).unwrap(), Some(anchor(size)));
        }
    }

    #[test]
    fn a_file_that_is_no_anchor_is_never_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        let good = anchor(7).text();
        for bad in [
            "",
            "x\n",
            &good[..good.len() - 5],
            &good.replace("\n7\n", "\n0\n"),
        ] {
            fs::write(&path, bad).unwrap();
            assert!(Anchor::read(&path).is_err(), "{bad:?}");
        }
    }
}
