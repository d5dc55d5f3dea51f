//! A process that a test starts, waits for, kills and counts on to be gone.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::environment;

/// How long a process may take to say what is waited for.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A running process; killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command, its standard output and standard error appended to
    /// one file.
    ///
    /// # Panics
    ///
    /// When it can't be started.
    #[must_use]
    pub fn start(command: &mut Command, log: PathBuf) -> Self {
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} can not be started: {error}"));
        Self { child, log }
    }

    /// Waits until the process has said something about `what` that wasn't in
    /// its log before byte `from`, and answers the rest of that line.
    ///
    /// # Panics
    ///
    /// When it ends first, or in five minutes does not say it.
    pub async fn says(&mut self, what: &str, from: usize) -> String {
        let began = environment::now();
        loop {
            let log = self.log();
            let lines = log.get(from..).unwrap_or_default().split_inclusive('\n');
            let complete = lines.filter_map(|line| line.strip_suffix('\n'));
            let mut said = complete.filter_map(|line| line.split_once(what));
            if let Some((_, rest)) = said.next() {
                return rest.trim().to_owned();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "it ended ({ended:?}) before saying `{what}`:\n{log}"
            );
            assert!(
                began.elapsed() < PATIENCE,
                "it did not say `{what}`:\n{log}"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Like [`Process::says`], where the process may end instead: then what it
    /// said.
    ///
    /// # Errors
    ///
    /// Everything that it said before it ended.
    ///
    /// # Panics
    ///
    /// When it neither says it nor ends in five minutes.
    pub async fn says_or_ends(&mut self, what: &str, from: usize) -> Result<String, String> {
        let began = environment::now();
        loop {
            let ended = self.child.try_wait().unwrap();
            let log = self.log();
            let new = log.get(from..).unwrap_or_default();
            let complete = new.split_inclusive('\n');
            let complete = complete.filter_map(|line| line.strip_suffix('\n'));
            let mut said = complete.filter_map(|line| line.split_once(what));
            if let Some((_, rest)) = said.next() {
                return Ok(rest.trim().to_owned());
            }
            if let Some(ended) = ended {
                return Err(format!("{ended}\n{new}"));
            }
            assert!(
                began.elapsed() < PATIENCE,
                "it did not say `{what}`:\n{new}"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, where it has.
    ///
    /// # Panics
    ///
    /// When the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Everything that it has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read(&self.log)
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, as `kill` does, and waits for it.
    ///
    /// # Panics
    ///
    /// When it does not end in five minutes.
    pub async fn terminate(mut self) -> ExitStatus {
        let id = i32::try_from(self.child.id()).ok();
        if let Some(id) = id.and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(id, Signal::TERM);
        }
        let began = environment::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "it did not end:\n{}",
                self.log()
            );
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
