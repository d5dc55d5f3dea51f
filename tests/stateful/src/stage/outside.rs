//! The real binary, as a process that is started, stopped and killed.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;

use super::Ends;
use super::folder;
use crate::plan::Fault;
use crate::upstream::Upstream;

/// How often and how long is looked for what a process says.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 6_000;

pub(crate) struct Outside {
    folder: TempDir,
    upstream: String,
    process: Arc<Mutex<Option<Child>>>,
    died: watch::Sender<bool>,
    address: SocketAddr,
    key: String,
}

impl Outside {
    pub(super) fn new(upstream: &Upstream) -> Self {
        let folder = folder::temporary();
        folder::prepare(folder.path(), upstream.url());
        Self {
            folder,
            upstream: upstream.url().to_owned(),
            process: Arc::default(),
            died: watch::Sender::new(false),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            key: String::new(),
        }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(super) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn key(&self) -> String {
        self.key.clone()
    }

    pub(super) fn died(&self) -> watch::Receiver<bool> {
        self.died.subscribe()
    }

    pub(super) fn ends(&self) -> Ends {
        let (process, died) = (Arc::clone(&self.process), self.died.clone());
        Arc::new(move || {
            end(&process);
            died.send_replace(true);
        })
    }

    pub(super) fn start(&mut self, _: Option<Fault>) -> Result<(), String> {
        let log = self.folder.path().join("log");
        let to = File::create(&log).unwrap();
        let process = Command::new(countersign_tests::countersign())
            .args(["serve", "--config", "countersign.toml"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(to.try_clone().unwrap())
            .stderr(to)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(process);
        self.died.send_replace(false);
        for _ in 0..LOOKS {
            let said = fs::read_to_string(&log).unwrap();
            if let (Some(address), Some(key)) = (
                after(&said, "listening on http://"),
                after(&said, "log key "),
            ) {
                self.address = address.parse().map_err(|_| said.clone())?;
                if self.key.is_empty() {
                    self.key = key;
                }
                return Ok(());
            }
            let mut process = self.process.lock().unwrap();
            let ended = process
                .as_mut()
                .is_none_or(|it| it.try_wait().unwrap().is_some());
            if ended {
                return Err(said);
            }
            drop(process);
            std::thread::sleep(LOOK);
        }
        Err("it did not start".to_owned())
    }

    pub(super) fn stop(&mut self) -> Result<(), String> {
        let process = self.process.lock().unwrap().take();
        let Some(mut process) = process else {
            return Err("it did not run".to_owned());
        };
        let id = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let status = process.wait().unwrap();
        if status.success() {
            Ok(())
        } else {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
            Err(format!("it was to come to rest: {status}\n{log}"))
        }
    }

    pub(super) fn kill(&mut self) {
        end(&self.process);
        self.died.send_replace(true);
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.kill();
    }
}

fn end(process: &Mutex<Option<Child>>) {
    // Whoever drops it may be panicking.
    let process = process
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(mut process) = process {
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// The word that follows a text in what was said, once its line is whole.
fn after(said: &str, text: &str) -> Option<String> {
    let rest = said.split_once(text)?.1;
    let (line, _) = rest.split_once('\n')?;
    line.split_whitespace().next().map(str::to_owned)
}
