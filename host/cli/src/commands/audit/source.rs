//! Where a bundle comes from: the gateway that runs or, where none does, its
//! store.

use std::fs::File;
use std::io::Write;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::export::{self, Wanted};
use countersign_gateway::operator;
use countersign_ledger::Selection;

use super::buffered;
use crate::failure::{Failure, Status};
use crate::files;
use crate::progress::Counted;

/// Asks the running gateway; where there is none, opens its store.
pub(super) fn ask(config: &Config, wanted: &Wanted, out: &mut dyn Write) -> Result<(), Failure> {
    let mut out = Counted::new(buffered(out), "exported");
    let failed = |error: &dyn std::error::Error| Failure::new(Status::USAGE, error.to_string());
    match operator::export(&config.store.operator, wanted, &mut out) {
        Ok(()) => {}
        Err(operator::OperatorError::NotRunning { .. }) => {
            export::from_store(&config.store, &Environment::system(), wanted, &mut out)
                .map(drop)
                .map_err(|error| failed(&error))?;
        }
        Err(error) => return Err(failed(&error)),
    }
    out.flush().map_err(|error| Failure::output(&error))
}

/// A bundle of a selection, in a file that nobody else sees.
pub(crate) fn whole_or_part(config: &Config, selection: &Selection) -> Result<File, Failure> {
    let wanted = Wanted {
        selection: selection.clone(),
        salts: true,
    };
    files::temporary(|out| ask(config, &wanted, out))
}
