//! The ledger server as a process, and its journal as the ground truth.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{binaries, process::Process};

/// A ledger server; its journal stays readable after it ended.
#[derive(Debug)]
pub struct LedgerServer {
    folder: TempDir,
    process: Option<Process>,
    url: String,
}

impl LedgerServer {
    /// Starts it on a free port of loopback, speaking Streamable HTTP.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub async fn http() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(binaries::ledger_server());
        command.arg("--journal").arg(journal(folder.path()));
        let mut process = Process::start(&mut command, folder.path().join("log"));
        let url = process.says("listening on ", 0).await;
        Self {
            folder,
            process: Some(process),
            url,
        }
    }

    /// Starts nothing: a gateway is to spawn it, by [`LedgerServer::command`].
    ///
    /// # Panics
    ///
    /// When there is no room for its journal.
    #[must_use]
    pub fn stdio() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            process: None,
            url: String::new(),
        }
    }

    /// Where it listens, for an HTTP one.
    #[must_use]
    pub fn url(&self) -> &str {
        assert!(self.process.is_some(), "a stdio server has no address");
        &self.url
    }

    /// The command that runs it over stdio.
    #[must_use]
    pub fn command(&self) -> Vec<String> {
        let binary = binaries::ledger_server();
        let journal = journal(self.folder.path());
        [
            &binary,
            Path::new("--stdio"),
            Path::new("--journal"),
            &journal,
        ]
        .map(|word| word.display().to_string())
        .to_vec()
    }

    /// The effects that really happened, in order, one object each.
    ///
    /// # Panics
    ///
    /// When the journal can't be read.
    #[must_use]
    pub fn effects(&self) -> Vec<Value> {
        let journal = fs::read_to_string(journal(self.folder.path())).unwrap_or_default();
        journal
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits until at least `count` effects have happened.
    pub async fn wait_for_effects(&self, count: usize) {
        let began = crate::environment::now();
        while self.effects().len() < count {
            assert!(
                began.elapsed().as_secs() < 60,
                "{count} effects did not happen"
            );
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
}

fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}
