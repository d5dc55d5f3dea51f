//! The anchor: what the log had come to, kept outside of the database.
//!
//! A restored backup looks whole, and would make old identifiers fresh. The
//! anchor tells: a database that does not hold what the anchor names was rolled
//! back (`docs/spec/executions.md` §5). It is written after what it names is
//! durable, so it is never ahead of a database that was left alone; what a
//! rollback may lose unseen is what came after the last anchor. That of one replica
//! names the logs of the others too, as far as it has seen them: one that has
//! written nothing for long would otherwise notice nothing.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use countersign_canon::Digest;
use countersign_evidence::{Head, LogId};

use crate::known::{End, Known};

/// The first line, so that the file says what it is.
const TITLE: &str = "countersign ledger anchor v1";

/// The first line of one that names other logs, a line each.
const TITLE_OF_A_FLEET: &str = "countersign ledger anchor v2";

/// The end of a log at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) log_id: LogId,
    pub(crate) size: u64,
    pub(crate) last: Option<Digest>,
    /// The ends of the other logs of the store.
    pub(crate) others: Vec<End>,
}

impl Anchor {
    pub(crate) fn of(head: &Head, others: &[End]) -> Self {
        Self {
            log_id: head.log_id().clone(),
            size: head.size(),
            last: head.last(),
            others: others.to_vec(),
        }
    }

    /// That of what a process has seen of its own log and of the others'; none where
    /// it has seen nothing of its own.
    pub(crate) fn seen(known: &Known, log_id: &LogId) -> Option<Self> {
        let own = known.own_end(log_id)?;
        Some(Self {
            log_id: own.log_id,
            size: own.size,
            last: Some(own.last),
            others: known.others().to_vec(),
        })
    }

    fn text(&self) -> String {
        let last = self
            .last
            .map_or_else(|| "-".to_owned(), |last| last.to_string());
        let title = if self.others.is_empty() {
            TITLE
        } else {
            TITLE_OF_A_FLEET
        };
        let mut text = format!("{title}\n{}\n{}\n{last}\n", self.log_id, self.size);
        for End { log_id, size, last } in &self.others {
            text.push_str(&format!("{log_id} {size} {last}\n"));
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let others_follow = match lines.next()? {
            TITLE => false,
            TITLE_OF_A_FLEET => true,
            _ => return None,
        };
        let log_id = lines.next()?.parse().ok()?;
        let size = lines.next()?.parse().ok()?;
        let last = match lines.next()? {
            "-" => None,
            digest => Some(digest.parse().ok()?),
        };
        // One that was cut short between two lines must not be taken for whole.
        let whole = text.ends_with('\n');
        let others: Option<Vec<End>> = lines.map(end).collect();
        let anchor = Self {
            log_id,
            size,
            last,
            others: others?,
        };
        let fits =
            (size == 0) == anchor.last.is_none() && others_follow != anchor.others.is_empty();
        (whole && fits).then_some(anchor)
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

/// Reads the line of another log.
fn end(line: &str) -> Option<End> {
    let mut words = line.split(' ');
    let end = End {
        log_id: words.next()?.parse().ok()?,
        size: words.next()?.parse().ok().filter(|size| *size > 0)?,
        last: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(size: u64, others: u64) -> Anchor {
        let last = (size > 0).then(|| Digest::of(&[b"x"]));
        let other = |number| End {
            log_id: format!("log.example/{number}").parse().unwrap(),
            size: number,
            last: Digest::of(&[b"y"]),
        };
        Anchor {
            log_id: "log.example/1".parse().unwrap(),
            size,
            last,
            others: (2..2 + others).map(other).collect(),
        }
    }

    #[test]
    fn an_anchor_reads_back_as_it_was_written_and_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        assert_eq!(Anchor::read(&path).unwrap(), None);
        for (size, others) in [(0, 0), (7, 0), (9, 0), (0, 1), (7, 2)] {
            let anchor = anchor(size, others);
            anchor.write(&path).unwrap();
            assert_eq!(Anchor::read(&path).unwrap(), Some(anchor));
        }
    }

    #[test]
    fn an_anchor_of_before_there_were_fleets_is_read_and_one_without_others_is_like_it() {
        let before = format!(
            "countersign ledger anchor v1\nlog.example/1\n7\n{}\n",
            Digest::of(&[b"x"])
        );
        assert_eq!(Anchor::parse(&before), Some(anchor(7, 0)));
        assert_eq!(anchor(7, 0).text(), before);
    }

    #[test]
    fn a_file_that_is_no_anchor_is_never_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        let (good, fleet) = (anchor(7, 0).text(), anchor(7, 2).text());
        let first_two = fleet.lines().take(4).collect::<Vec<_>>().join("\n") + "\n";
        for bad in [
            "",
            "x\n",
            &good[..good.len() - 5],
            &good[..good.len() - 1],
            &good.replace("\n7\n", "\n0\n"),
            &good.replace("v1", "v2"),
            &format!("{good}log.example/2\n"),
            &fleet[..fleet.len() - 5],
            &fleet.replace("v2", "v1"),
            &fleet.replace("/2 2", "/2 0"),
            &fleet.replace("/2 2", "/2"),
            &first_two,
        ] {
            fs::write(&path, bad).unwrap();
            assert!(Anchor::read(&path).is_err(), "{bad:?}");
        }
    }
}
