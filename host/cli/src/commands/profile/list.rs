//! `countersign profile list`.

use std::io::{self, Write};

use clap::Args;
use countersign_engine::{WORLD, embedded};
use serde_json::json;

use crate::failure::{Failure, Status};

/// List the profiles that are built in
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let mut output = io::stdout().lock();
        for component in embedded::all() {
            let pin = component.pin();
            let is_default = pin.id.as_str() == embedded::DEFAULT;
            let printed = if self.json {
                let line = json!({
                    "profile": pin.id.as_str(),
                    "component": pin.digest.as_str(),
                    "world": WORLD,
                    "default": is_default,
                });
                writeln!(output, "{line}")
            } else {
                let mark = if is_default { "  (default)" } else { "" };
                writeln!(output, "{:<24}{}{mark}", pin.id.as_str(), pin.digest)
            };
            printed.map_err(|error| Failure::output(&error))?;
        }
        Ok(Status::OK)
    }
}
