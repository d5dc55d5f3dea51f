//! The folder of a small server over stdio: how it behaves, and what it did.

use std::path::PathBuf;

pub struct Stdio(tempfile::TempDir);

impl Stdio {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The `[[server]]` table that starts it.
    pub fn table(&self) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/stdio.py");
        format!(
            "[[server]]\nname = \"up\"\ncommand = [\"python3\", {script:?}, {:?}]\n",
            self.0.path()
        )
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

    /// The lines of what it noted: `starts`, `lines`, `effects`, `replies`, `ends`.
    pub fn noted(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
