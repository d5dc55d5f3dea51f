//! Where PostgreSQL's programs are, and as whom they run.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folder with `initdb` and `postgres`.
pub(crate) fn folder() -> PathBuf {
    let asked = Command::new("pg_config").arg("--bindir").output();
    let said = asked.ok().filter(|output| output.status.success());
    let named = said.map(|output| PathBuf::from(text(&output.stdout).trim()));
    let installed = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"));
    let mut found: Vec<PathBuf> = named
        .into_iter()
        .chain(installed)
        .filter(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .collect();
    found.sort();
    found
        .pop()
        .expect("PostgreSQL's `initdb` and `postgres` are neither where `pg_config --bindir` says nor in /usr/lib/postgresql; install `postgresql`")
}

/// Where a program is that Debian keeps out of `PATH`.
pub(crate) fn system_program(name: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin"]
        .into_iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|program| program.exists())
}

/// The words that run a program as a user whom PostgreSQL accepts: it refuses
/// to run as root.
pub(crate) fn unprivileged() -> &'static [&'static str] {
    if rustix::process::geteuid().is_root() {
        &[
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
        ]
    } else {
        &[]
    }
}

/// The command that runs `program` so.
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    let mut words = unprivileged().iter();
    match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program.as_ref());
            command
        }
        None => Command::new(program.as_ref()),
    }
}

/// Runs a command, and answers what it said.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    text(&output.stdout)
}

/// Writes a file that the servers' user owns and nobody else reads.
pub(crate) fn put(path: &Path, content: &str) {
    let script = "umask 077 && cat > \"$1\"";
    let mut writing = command("sh");
    writing.args(["-c", script, "put"]).arg(path);
    let mut child = writing
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell can be started");
    let mut input = child.stdin.take().expect("its input is a pipe");
    input
        .write_all(content.as_bytes())
        .expect("it takes the content");
    drop(input);
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{}: {status}", path.display());
}

pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
