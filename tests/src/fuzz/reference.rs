//! The Python reference as a process that answers line by line, in the format
//! of `tests/reference/README.md`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// One process of the reference; it ends when this is dropped.
#[derive(Debug)]
pub struct Reference {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What the reference says of one message.
#[derive(Clone, Debug)]
pub(super) struct Opinion {
    /// Under each profile, in the order that was asked for.
    pub(super) outcomes: Vec<Value>,
    /// What tells actions apart, by an exact reader of another making.
    pub(super) key: Option<String>,
}

impl Reference {
    /// Starts a process.
    #[must_use]
    pub fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/reference.py");
        let mut process = Command::new("python3")
            .arg(root)
            .arg("batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is on the path");
        let questions = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Self {
            process,
            questions,
            answers,
        }
    }

    /// Asks about one message.
    pub(super) fn ask(&mut self, message: &[u8], profiles: &[&str]) -> Opinion {
        let questions = self.questions.as_mut().expect("it is open until the end");
        writeln!(questions, "0\t{}", STANDARD.encode(message)).expect("the reference runs");
        questions.flush().expect("the reference runs");
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .expect("the reference runs");
        let answer: Value = serde_json::from_str(&line).expect("the reference answers JSON");
        let outcomes = profiles
            .iter()
            .map(|profile| answer[profile].clone())
            .collect();
        Opinion {
            outcomes,
            key: answer["key"].as_str().map(Into::into),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.questions.take());
        let _ = self.process.wait();
    }
}
