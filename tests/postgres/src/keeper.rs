//! A process that must be gone when the test is.
//!
//! The keeper is a shell between the test and a server. It takes orders from a
//! pipe whose other end the test's process holds: when that closes, for whatever
//! reason, the server is killed and its folder removed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::binaries;

/// Orders are `start`, and the name of a signal; each is answered by a line.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
folder="$1"; shift
cd "$folder" || exit 1
server=
start() { "$@" >>log 2>&1 </dev/null & server=$!; }
start "$@"
echo "$server"
while read -r order; do
    case "$order" in
        start) start "$@" ;;
        STOP|CONT) kill -"$order" "$server" ;;
        *) kill -"$order" "$server"; wait "$server" ;;
    esac
    echo "$server"
done
# PostgreSQL ends at once by the one, whatever else by the other.
for signal in CONT QUIT TERM; do kill -"$signal" "$server" 2>/dev/null; done
( sleep 5; kill -KILL "$server" 2>/dev/null ) &
wait "$server"
kill $! 2>/dev/null
cd / && rm -rf "$folder"
"#;

/// A server with its folder, and the keeper that sees to both.
#[derive(Debug)]
pub(crate) struct Keeper {
    folder: PathBuf,
    shell: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

/// A new folder that the servers' user owns.
pub(crate) fn folder(name: &str) -> PathBuf {
    let template = std::env::temp_dir().join(format!("countersign-{name}.XXXXXXXX"));
    let made = binaries::run(binaries::command("mktemp").arg("-d").arg(template));
    PathBuf::from(made.trim())
}

impl Keeper {
    /// Runs `words` in `folder`, which goes away with the keeper.
    pub(crate) fn start(folder: PathBuf, words: &[String]) -> Self {
        let mut shell = binaries::command("sh")
            .args(["-c", SCRIPT, "keeper"])
            .arg(&folder)
            .args(words)
            // What ends the test's group must not end the keeper.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        let orders = shell.stdin.take().expect("its input is a pipe");
        let mut answers = BufReader::new(shell.stdout.take().expect("its output is a pipe"));
        let mut line = String::new();
        answers.read_line(&mut line).expect("it answers");
        Self {
            folder,
            shell,
            pipes: Mutex::new(Some((orders, answers))),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives an order, and waits until it is carried out.
    pub(crate) fn order(&self, order: &str) {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let (orders, answers) = pipes.as_mut().expect("the keeper is there");
        writeln!(orders, "{order}").expect("the keeper takes orders");
        let mut line = String::new();
        answers.read_line(&mut line).expect("the keeper answers");
        assert!(!line.is_empty(), "the keeper is gone");
    }

    /// What the server has said so far.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits until the server has said `what` after byte `from` of its log;
    /// false where it says `otherwise` first.
    pub(crate) fn says(&self, what: &str, otherwise: &str, from: usize) -> bool {
        for _ in 0..60_000 {
            let log = self.log();
            let new = log.get(from..).unwrap_or_default();
            if new.contains(what) {
                return true;
            }
            if new.contains(otherwise) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it never said `{what}`:\n{}", self.log());
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let pipes = self.pipes.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(pipes.take());
        drop(self.shell.wait());
    }
}
