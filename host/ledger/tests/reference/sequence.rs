//! Sequences of whatever can happen, made from a seed. Each step holds all of
//! its choices, so that a sequence from which steps were taken still means
//! something.

use countersign_canon::Outcome;
use countersign_ledger::Point;

/// What an attempt brings.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    pub agent: &'static str,
    /// `None` brings no identifier.
    pub id: Option<&'static str>,
    pub action: &'static str,
    pub tool: &'static str,
    pub round: Option<(&'static str, Option<&'static str>)>,
}

/// What becomes of an invocation.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    Dropped,
    NotSent,
    Unanswered,
    Succeeded,
    ToolError,
    Asked(Option<&'static str>),
    Task,
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Attempt(Asks),
    /// One of the permits that are open is used up.
    Settle {
        which: usize,
        sent: bool,
        word: Word,
    },
    /// Its row is given up by somebody else; then its answer comes.
    Late {
        which: usize,
    },
    Abandon(&'static str, &'static str),
    Resolve(&'static str, &'static str, Outcome),
    TaskObserved(&'static str, &'static str),
    TaskEnded(&'static str, &'static str, Outcome),
    /// The next group fails at a point; where `away`, the store cannot be
    /// reached for its read-back either.
    Fault {
        at: Point,
        away: bool,
    },
    Restart,
}

/// A sequence of numbers that a seed gives (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let index = self.below(of.len() as u64);
        of[usize::try_from(index).unwrap()]
    }
}

pub const AGENTS: [&str; 2] = ["alice", "bob"];
pub const IDS: [&str; 3] = ["pay", "send", "post"];

pub fn generate(seed: u64, length: usize) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    (0..length).map(|_| one(&mut numbers)).collect()
}

fn one(numbers: &mut Numbers) -> Step {
    let which = usize::try_from(numbers.below(8)).unwrap();
    let (agent, id) = (numbers.pick(&AGENTS), numbers.pick(&IDS));
    let outcome = numbers.pick(&[
        Outcome::Succeeded,
        Outcome::OutcomeUnknown,
        Outcome::NotAttempted,
    ]);
    match numbers.below(24) {
        0..=9 => Step::Attempt(Asks {
            agent,
            id: (numbers.below(6) > 0).then_some(id),
            action: numbers.pick(&["five", "five", "five", "six"]),
            tool: numbers.pick(&["transfer", "transfer", "transfer", "refund"]),
            round: (numbers.below(2) > 0).then(|| {
                let state = numbers.pick(&[None, Some("s1"), Some("s2")]);
                (numbers.pick(&["yes", "no", "maybe"]), state)
            }),
        }),
        10..=15 => Step::Settle {
            which,
            sent: numbers.below(3) > 0,
            word: numbers.pick(&[
                Word::Dropped,
                Word::NotSent,
                Word::Unanswered,
                Word::Succeeded,
                Word::ToolError,
                Word::Asked(None),
                Word::Asked(Some("s1")),
                Word::Asked(Some("s2")),
                Word::Task,
            ]),
        },
        16 => Step::Late { which },
        17 => Step::Abandon(agent, id),
        18 => Step::Resolve(agent, id, outcome),
        19 => Step::TaskObserved(agent, id),
        20 => Step::TaskEnded(agent, id, outcome),
        21 | 22 => Step::Fault {
            at: numbers.pick(&[
                Point::Decided,
                Point::Written,
                Point::Committing,
                Point::Committed,
            ]),
            away: numbers.below(3) == 0,
        },
        _ => Step::Restart,
    }
}
