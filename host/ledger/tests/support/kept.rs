//! Calls whose answers are kept, and what is found of them.

use std::time::Duration;

use countersign_evidence::CallId;
use countersign_ledger::{Clock as _, Kept, Ledger};

use super::{Fixture, call, reserve, succeeded};

pub fn kept(fixture: &Fixture, text: &str, for_s: u64) -> Kept {
    let keep = Duration::from_secs(for_s);
    Kept {
        bytes: text.as_bytes().to_vec(),
        expires_us: fixture.clock.wall_us() + i64::try_from(keep.as_micros()).unwrap(),
    }
}

/// What is kept of a call, as text.
pub fn found(fixture: &Fixture, ledger: &Ledger, call: &str) -> Option<String> {
    let call = CallId::new(call).unwrap();
    let kept = ledger
        .kept_answer(&call, fixture.clock.wall_us())
        .wait()
        .unwrap();
    kept.map(|kept| String::from_utf8(kept.bytes).unwrap())
}

pub fn run(fixture: &Fixture, ledger: &Ledger, name: &str, answer: &str, for_s: u64) {
    let token = reserve(ledger, &call(name, Some(name)));
    let keep = Some(kept(fixture, answer, for_s));
    ledger
        .settle_keeping(token, succeeded(), keep)
        .wait()
        .unwrap();
}
