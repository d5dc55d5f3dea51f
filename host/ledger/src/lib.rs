//! The execution state machine and the stores that persist what it decides.
//!
//! [`step`] says what may happen to an execution (`docs/spec/executions.md`
//! §2); [`Ledger`] makes it durable, together with its evidence, in one
//! transaction. Nothing is invoked without a [`Token`], and no token exists
//! without a durable row that this very attempt inserted or claimed. A token
//! is used up by settling, and nothing ever makes a second one for the same
//! round: an execution is never invoked twice under one identifier.
//!
//! The gateway calls this from async code; the ledger has a thread of its own
//! and needs no runtime. Only this crate knows SQL.

#![forbid(unsafe_code)]

mod anchor;
mod attempt;
mod check;
mod error;
mod execution;
mod explain;
mod identity;
mod in_force;
mod known;
mod lease;
mod ledger;
mod lock;
mod options;
mod plan;
mod postgres;
mod probe;
mod queue;
mod reading;
mod record;
mod recovery;
mod request;
mod settlement;
mod sqlite;
mod step;
mod store;
mod token;
mod writer;

pub use attempt::{
    Admitted, Attempt, DecideAgain, Epochs, Incomplete, Known, Position, Refused, Reserved, Verdict,
};
pub use check::{Checked, Finding, Progress, Step};
pub use error::{BackupError, CheckError, LedgerError, OpenError};
pub use execution::{Context, Execution, Presenting, Remembered, classify_attempt};
pub use explain::{Explanation, explain, late_answer};
pub use identity::{Fence, Incarnation, MalformedTaskId, TaskId};
pub use ledger::Ledger;
pub use options::{AnswerBounds, Clock, Options, Salts};
pub use postgres::{DatabaseUrl, MalformedDatabaseUrl, Postgres};
pub use probe::{Fault, Point, Probe};
pub use reading::{KnownLog, LogHead, Page, Selection, Standing, StoredCheckpoint, StoredEntry};
pub use record::{MAX_ROUNDS, OUTCOMES, Record, State, outcome_str, parse_outcome};
pub use request::{Act, InForce, Pending, Which};
pub use settlement::{Answer, Kept, Settled, Settlement};
pub use sqlite::check as check_sqlite;
pub use step::{Answered, At, Effects, Event, Illegal, Leaves, On, Owner, TRANSITIONS, step};
pub use token::{GateClosed, SendGate, Token};
