//! `countersign explain`: whether two messages ask for the same, and if not,
//! where they differ.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use crate::difference::{self, Difference};
use crate::failure::{Failure, Status};
use crate::input;
use crate::profiles::{self, Bound, ProfileOptions};

/// Say whether two messages bind equal, and where they differ
///
/// Each difference is one line: a JSON Pointer into the action, and what each
/// message has there.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  they bind equal
  1  they do not
  2  wrong usage, or a file that cannot be read
  3  one of them is refused
  4  the profile cannot be loaded or is at fault")]
pub(crate) struct Explain {
    #[command(flatten)]
    profile: ProfileOptions,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// A message; `-` is the standard input
    a: String,
    /// Another message
    b: String,
}

impl Explain {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        if self.a == "-" && self.b == "-" {
            return Err(Failure::new(
                Status::USAGE,
                "the standard input is one message, not two",
            ));
        }
        let profile = self.profile.load()?;
        let bound = |path: &str, name| {
            let message = input::message(path)?;
            profiles::bind(&profile, &message).map_err(|unbound| unbound.into_failure(Some(name)))
        };
        let (a, b) = (bound(&self.a, "A")?, bound(&self.b, "B")?);
        let equal = a.meaning.binding == b.meaning.binding;
        let differences = difference::between(&a.meaning.view, &b.meaning.view);
        self.print(&mut io::stdout().lock(), (&a, &b), &differences)
            .map_err(|error| Failure::output(&error))?;
        Ok(if equal {
            Status::OK
        } else {
            Status::DOES_NOT_HOLD
        })
    }

    fn print(
        &self,
        output: &mut impl Write,
        (a, b): (&Bound, &Bound),
        differences: &[Difference],
    ) -> io::Result<()> {
        let equal = a.meaning.binding == b.meaning.binding;
        if self.json {
            let differences: Vec<_> = differences
                .iter()
                .map(|found| json!({ "pointer": found.pointer, "a": found.a, "b": found.b }))
                .collect();
            let printed = json!({
                "equal": equal,
                "a": a.meaning.binding.as_str(),
                "b": b.meaning.binding.as_str(),
                "differences": differences,
            });
            return writeln!(output, "{printed}");
        }
        if equal {
            writeln!(output, "A and B bind equal")?;
            return writeln!(output, "{}", a.meaning.binding);
        }
        writeln!(output, "A and B do not bind equal")?;
        writeln!(output, "A  {}", a.meaning.binding)?;
        writeln!(output, "B  {}", b.meaning.binding)?;
        for found in differences {
            writeln!(output, "{found}")?;
        }
        Ok(())
    }
}
