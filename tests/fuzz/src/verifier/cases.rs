//! Honest bundles, what a verifier brings to each, and what it says of them.
//!
//! They are those of the verifier's own tests: one of everything, a fleet, one
//! with blinded executions.

use std::io::Cursor;
use std::sync::OnceLock;

use countersign_verifier::{Inputs, Report, verify};

use crate::bundle::{self, Member};

#[allow(
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "it is a test's, and says what fails by failing"
)]
#[path = "../../../../host/verifier/tests/world/mod.rs"]
mod world;

use world::World;

/// One honest bundle.
pub(super) struct Case {
    pub(super) file: Vec<u8>,
    pub(super) members: Vec<Member>,
    pub(super) inputs: Inputs,
    pub(super) report: Report,
}

impl Case {
    fn of(world: &World, brought: bool) -> Self {
        let file = world.export();
        let mut inputs = world.inputs();
        match brought {
            true => inputs.receipts = world.receipts(),
            false => inputs.requests.clear(),
        }
        let report = verify(Cursor::new(&file), &inputs).expect("it is a bundle");
        let members = bundle::members(&file);
        assert_eq!(bundle::archive(&members), file);
        Self {
            file,
            members,
            inputs,
            report,
        }
    }
}

/// All of them; made once.
pub(super) fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        vec![
            Case::of(&World::full(), true),
            Case::of(&World::new(), true),
            Case::of(&World::every_kind(), false),
            Case::of(&World::fleet(), true),
            Case::of(&World::blinded(), true),
        ]
    })
}
