//! The folder of a small server over stdio: how it behaves, and what it did.

use std::path::PathBuf;

pub struct Stdio(tempfile::TempDir);

impl Stdio {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The `[[server]]` table that starts it.
    pub fn table(&self) -> String {
        let [python, script, folder] = self.command();
        format!("[[server]]\nname = \"up\"\ncommand = [{python:?}, {script:?}, {folder:?}]\n")
    }

    /// The same through a shell that waits for it.
    pub fn wrapped(&self) -> String {
        let [python, script, folder] = self.command();
        let line = format!("{python} '{script}' '{folder}'; true");
        format!("[[server]]\nname = \"up\"\ncommand = [\"/bin/sh\", \"-c\", {line:?}]\n")
    }

    fn command(&self) -> [String; 3] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/stdio.py");
        let folder = self.0.path().to_str().unwrap();
        ["python3", script, folder].map(str::to_owned)
    }

    /// Which of the processes that it noted still run.
    pub fn alive(&self) -> Vec<String> {
        let mut processes = self.noted("processes");
        processes.retain(|process| runs(process));
        processes
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes it `broken` or `mute` from its next start on.
    pub fn set(&self, name: &str) {
        std::fs::write(self.file(name), "").unwrap();
    }

    pub fn unset(&self, name: &str) {
        std::fs::remove_file(self.file(name)).unwrap();
    }

    /// The lines of what it noted: `starts`, `processes`, `lines`, `effects`, `replies`,
    /// `ends`.
    pub fn noted(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Whether a process is there that has not ended: one that nobody has waited for
/// has.
pub fn runs(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
    state.is_ok_and(|state| !state.contains(") Z "))
}
