//! One thing is changed in a valid sequence, and what may come of it is said
//! beforehand.
//!
//! Each [`Row`] of the matrix is one way to change something, with every finding
//! that it may have: what the sender of the act that matters is told. `rules`
//! are the ways that touch order, agents, actions, policies, tools, approvals,
//! profiles, callbacks and operators; `faults` those of the store, and deaths at
//! each durable boundary.

mod faults;
mod rules;

use std::sync::OnceLock;

use countersign_tests::fuzz::Random;

use crate::generate::{Story, generate};
use crate::plan::{Act, Call, Plan, Step};

/// How often another seed is tried where a sequence has nothing to change.
const TRIES: u64 = 64;

/// One way to change something.
pub struct Row {
    /// What it changes: the matrix's row.
    pub name: String,
    /// Everything that may come of it.
    pub findings: Vec<&'static str>,
    story: Story,
    change: Box<Change>,
}

/// Changes something; the step whose finding counts, where it could.
type Change = dyn Fn(&mut Vec<Step>, &mut Random) -> Option<usize> + Send + Sync;

impl Row {
    pub(crate) fn new(
        name: impl Into<String>,
        story: Story,
        findings: &[&'static str],
        change: impl Fn(&mut Vec<Step>, &mut Random) -> Option<usize> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            findings: findings.to_vec(),
            story,
            change: Box::new(change),
        }
    }
}

/// Every row, in the order of the matrix.
#[must_use]
pub fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        [rules::rows(), faults::rows()]
            .into_iter()
            .flatten()
            .collect()
    })
}

/// A valid sequence with one thing changed.
///
/// # Panics
///
/// When no sequence has what the row changes.
#[must_use]
pub fn mutated(row: &Row, seed: u64) -> Plan {
    for more in 0..TRIES {
        let seed = seed.wrapping_add(more << 32);
        let mut plan = generate(seed, row.story);
        let mut random = Random::new(seed, u64::MAX);
        if let Some(at) = (row.change)(&mut plan.steps, &mut random) {
            plan.mutation.clone_from(&row.name);
            plan.at = at;
            return plan;
        }
    }
    panic!("nothing to change for `{}`", row.name);
}

/// The calls of the first story, in order.
fn own(steps: &[Step]) -> Vec<usize> {
    let own = |step: &Step| {
        matches!(
            &step.act,
            Act::Call(Call {
                agent: 0,
                id: Some(0),
                ..
            })
        )
    };
    (0..steps.len())
        .filter(|number| own(&steps[*number]))
        .collect()
}

/// The call of a step.
fn call_at(steps: &mut [Step], at: usize) -> Option<&mut Call> {
    match &mut steps.get_mut(at)?.act {
        Act::Call(call) => Some(call),
        _ => None,
    }
}

/// Puts acts before a step; answers where that is then.
fn before(steps: &mut Vec<Step>, at: usize, acts: impl IntoIterator<Item = Act>) -> usize {
    let acts: Vec<Step> = acts.into_iter().map(Step::from).collect();
    let count = acts.len();
    steps.splice(at..at, acts);
    at + count
}
