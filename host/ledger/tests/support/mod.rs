//! What the ledger's tests share: a clock that only tests move, stores to open
//! and to damage, attempts by name, and the check that every test ends with.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test uses a part of it"
)]

mod call;
mod clock;
pub mod faults;
mod fixture;
mod kept;
mod verify;

pub use call::{Call, answer, call, not_sent, refused, reserve, reserved, succeeded, unanswered};
pub use clock::TestClock;
pub use fixture::{Backup, Fixture, Kept, key, key_of, log_id, options_in};
pub use kept::{found, kept, run};
pub use verify::{count, entries, entries_of, verify};

use countersign_canon::Digest;
use countersign_evidence::{Agent, Draft, ExecutionId, Kind, RefusalCode, Resolution, Time};
use countersign_ledger::Which;

pub fn pay() -> Which {
    Which::Execution(agent("alice"), execution_id("pay"))
}

pub fn operator() -> Draft {
    let mut draft = Draft::new(Kind::Resolution, Time::from_micros(0));
    draft.resolution = Some(Resolution {
        operator: "olga".into(),
        reason: "asked the bank".into(),
        evidence: Some(digest("statement.pdf")),
    });
    draft
}

/// Leaves one execution in flight behind a process that is gone.
pub fn orphan(fixture: &Fixture, id: Option<&str>) {
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", id));
    ledger.stop().unwrap();
    // The queue is closed: what is dropped now is never settled.
    drop(token);
}

pub fn agent(name: &str) -> Agent {
    Agent {
        method: "token".into(),
        issuer: String::new(),
        subject: name.into(),
    }
}

pub fn execution_id(id: &str) -> ExecutionId {
    ExecutionId::new(id).unwrap()
}

pub fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

pub fn code(text: &str) -> RefusalCode {
    RefusalCode::new(text).unwrap()
}
