//! `countersign policy test`: cases from files.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::Policies;
use super::case::Case;
use crate::failure::{Failure, Status};
use crate::text::visible;
use crate::{files, text};

/// Decide the cases of files, and compare
///
/// A file holds one case a line, each a JSON object with the members `name`,
/// `tool` (`SERVER/TOOL`), `reason` (`permitted`, `forbidden`, `no-permit`,
/// `evaluation-error` or `invalid-request`), and, where they are needed,
/// `agent` (method, issuer, subject), `class`, `arguments` (their JSON text as
/// a caller would spell it), `execution_id`, `workflow_id`, `policies` (those
/// that determine it, sorted) and `code`.
///
/// Policies alone are asked: whether the tool is approved, whether the
/// arguments fit its input schema, and whether the configuration requires an
/// `execution_id` is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  every case is decided as it says
  1  one is not, or the policies do not hold
  2  wrong usage, or a file that cannot be read")]
pub(crate) struct Test {
    #[command(flatten)]
    policies: Policies,
    /// Files of cases
    #[arg(required = true, value_name = "CASES")]
    cases: Vec<PathBuf>,
}

impl Test {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        let loaded = self.policies.load()?;
        let (mut passed, mut failed) = (0, 0);
        let mut shown = String::new();
        for path in &self.cases {
            let all = files::text(path)?;
            for (number, line) in (1..).zip(all.lines()) {
                if line.trim().is_empty() {
                    continue;
                }
                let place = format!("{}:{number}", path.display());
                let case = Case::read(line)
                    .map_err(|what| Failure::new(Status::USAGE, format!("{place}: {what}")))?;
                match case.run(&loaded) {
                    Ok(()) => passed += 1,
                    Err(how) => {
                        failed += 1;
                        // Writing to a string cannot fail.
                        let _ =
                            writeln!(shown, "{place}: {}: {}", visible(&case.name), visible(&how));
                    }
                }
            }
        }
        let _ = writeln!(
            shown,
            "{passed} cases decided as they say, {failed} otherwise"
        );
        text::print(&shown)?;
        Ok(if failed == 0 {
            Status::OK
        } else {
            Status::DOES_NOT_HOLD
        })
    }
}
