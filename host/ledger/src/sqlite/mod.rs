//! The embedded store: one SQLite database, one writer.
//!
//! [`store`] is the writer's connection: it reads what a plan needs and commits
//! what the plan decided, as [`write`] puts it into rows, all in one
//! transaction; [`wal`] keeps the WAL short. [`reads`] are the connections of
//! everyone else. Opening and migrating live in [`open`]; what durability rests
//! on is asserted there and at each reopening.

mod answers;
mod backfill;
mod backup;
mod check;
mod columns;
mod connect;
mod open;
mod reads;
mod rows;
mod schema;
mod signers;
mod store;
mod wal;
mod write;

pub use check::check;
pub(crate) use open::open;

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ffi;
        let code = error.sqlite_error().map(|error| error.extended_code);
        match code {
            Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC) => {
                Self::Sync(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
