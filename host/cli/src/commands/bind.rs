//! `countersign bind`: the binding of one message, or of many.

use std::io::{self, BufRead, Read as _, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use countersign_canon::write;
use countersign_engine::{Fault, Profile};
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::input;
use crate::profiles::{self, Bound, ProfileOptions, Unbound};

/// Print the binding of a `tools/call` message
///
/// A message that is not admitted is refused on the standard error; so is one
/// that asks for no tool, as `not-an-action`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  bound
  2  wrong usage, or a file that cannot be read
  3  refused
  4  the profile cannot be loaded or is at fault

With --batch each line `id<TAB>base64(message)` is answered at once by one line,
  `id<TAB>sha256:...`  or  `id<TAB>ERR code \"pointer\"`
the pointer written as a JSON string. A line that is not of that form is
answered with the code `malformed-line`, and the exit status is 0.")]
pub(crate) struct Bind {
    #[command(flatten)]
    profile: ProfileOptions,
    /// Print a JSON object that also says what the message carries
    #[arg(long, conflicts_with_all = ["canonical", "batch"])]
    json: bool,
    /// Print the canonical action instead, without a line end
    #[arg(long, conflicts_with = "batch")]
    canonical: bool,
    /// Answer lines from the standard input
    #[arg(long, conflicts_with = "file")]
    batch: bool,
    /// The message; `-` is the standard input
    #[arg(default_value = "-")]
    file: String,
}

/// base64 of the largest message that any profile reads has fewer characters.
const LINE_BYTES: u64 = 14 << 20;

impl Bind {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        let profile = self.profile.load()?;
        let mut output = io::stdout().lock();
        if self.batch {
            batch(&profile, &mut io::stdin().lock(), &mut output)
                .map_err(|error| Failure::output(&error))?;
            return Ok(Status::OK);
        }
        let message = input::message(&self.file)?;
        match profiles::bind(&profile, &message) {
            Ok(bound) => self
                .print(&mut output, &profile, &bound)
                .and_then(|()| output.flush())
                .map_err(|error| Failure::output(&error))
                .map(|()| Status::OK),
            Err(Unbound::Refused(refusal)) if self.json => {
                let refused = json!({
                    "profile": profile.id().as_str(),
                    "refused": {
                        "code": refusal.code.as_str(),
                        "offset": refusal.offset,
                        "pointer": refusal.pointer,
                    },
                });
                writeln!(io::stderr().lock(), "{refused}")
                    .map_err(|error| Failure::output(&error))
                    .map(|()| Status::REFUSED)
            }
            Err(unbound) => Err(unbound.into_failure(None)),
        }
    }

    fn print(&self, output: &mut impl Write, profile: &Profile, bound: &Bound) -> io::Result<()> {
        let (call, meaning) = (&bound.call, &bound.meaning);
        if self.canonical {
            return output.write_all(&call.action);
        }
        if !self.json {
            return writeln!(output, "{}", meaning.binding);
        }
        // The action is given as text, since it must not be written anew.
        let printed = json!({
            "profile": profile.id().as_str(),
            "component": profile.component_digest().as_str(),
            "binding": meaning.binding.as_str(),
            "tool": meaning.tool,
            "action": String::from_utf8_lossy(&call.action),
            "execution_id": call.execution_id,
            "workflow_id": call.workflow_id,
            "client": String::from_utf8_lossy(&call.client),
            "continuation": call.continuation.as_ref().map(|continuation| {
                String::from_utf8_lossy(&continuation.canonical).into_owned()
            }),
        });
        writeln!(output, "{printed}")
    }
}

/// Answers each line before it reads the next, so that another program can
/// keep this one running and ask as it goes.
fn batch(profile: &Profile, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input
            .by_ref()
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        let whole = line.pop_if(|last| *last == b'\n').is_some();
        let rest = if whole { 0 } else { skip_line(input)? };
        let answer = answer(profile, &line, rest == 0);
        output.write_all(&answer)?;
        output.flush()?;
    }
}

/// Reads past the end of a line that is longer than any message; how many
/// bytes there were.
fn skip_line(input: &mut impl BufRead) -> io::Result<usize> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        skipped += used;
        if done {
            return Ok(skipped);
        }
    }
}

fn answer(profile: &Profile, line: &[u8], whole: bool) -> Vec<u8> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut parts = line.splitn(2, |byte| *byte == b'\t');
    let (id, encoded) = (parts.next().unwrap_or_default(), parts.next());
    let mut answer = id.to_vec();
    answer.push(b'\t');
    let error = |answer: &mut Vec<u8>, code: &str, pointer: &str| {
        answer.extend_from_slice(b"ERR ");
        answer.extend_from_slice(code.as_bytes());
        answer.push(b' ');
        write::string(answer, pointer);
    };
    match encoded.map(|encoded| STANDARD.decode(encoded)) {
        Some(_) if !whole => error(&mut answer, "limit", ""),
        Some(Ok(message)) => match profiles::bind(profile, &message) {
            Ok(bound) => answer.extend_from_slice(bound.meaning.binding.as_str().as_bytes()),
            Err(Unbound::Refused(refusal)) => {
                error(&mut answer, refusal.code.as_str(), &refusal.pointer);
            }
            Err(Unbound::NotAnAction) => error(&mut answer, "not-an-action", ""),
            Err(Unbound::Fault(_)) => error(&mut answer, Fault::CODE, ""),
        },
        _ => error(&mut answer, "malformed-line", ""),
    }
    answer.push(b'\n');
    answer
}
