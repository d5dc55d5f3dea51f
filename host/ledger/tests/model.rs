//! Seeded sequences of whatever can happen, against a model that is not the
//! code under test.
//!
//! The model knows no fence, no incarnation, no transaction and no entry: only
//! what a caller may be told (`docs/spec/executions.md` §2–3), and that a permit
//! for one round of one execution exists once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Draft, Kind, Time};
use countersign_ledger::{
    Act, Answered, Fault, Ledger, LedgerError, Point, Probe, Settlement, State, Token, Verdict,
    Which,
};
use support::{
    Call, Fixture, agent, answer, call, code, digest, execution_id, not_sent, unanswered, verify,
};

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

type Key = (&'static str, &'static str);

#[derive(Clone, Debug, PartialEq)]
enum Stands {
    Running,
    Asked(Option<&'static str>),
    Blocked,
    Over(Outcome),
}

#[derive(Clone, Debug)]
struct Known {
    action: &'static str,
    tool: &'static str,
    stands: Stands,
    answered: Vec<&'static str>,
    /// Bytes of an earlier round have left.
    touched: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asks {
    action: &'static str,
    tool: &'static str,
    round: Option<(&'static str, Option<&'static str>)>,
}

/// What a caller may be told, in the model's own words.
fn told(known: Option<&Known>, asks: &Asks) -> &'static str {
    let Some(known) = known else {
        return if asks.round.is_some() {
            "continuation-mismatch"
        } else {
            "fresh"
        };
    };
    if known.action != asks.action || known.tool != asks.tool {
        return "collision";
    }
    match (&known.stands, asks.round) {
        (Stands::Over(_), _) => "replay",
        (Stands::Blocked, _) => "blocked",
        (_, Some((what, _))) if known.answered.contains(&what) => "round-replay",
        (Stands::Asked(_), None) => "round-replay",
        (Stands::Asked(issued), Some((_, state))) if *issued == state => "continuation",
        (Stands::Asked(_), Some(_)) => "continuation-mismatch",
        (Stands::Running, _) => "in-flight",
    }
}

#[derive(Default)]
struct Faults(Mutex<Option<(Point, Fault)>>);

impl Probe for Faults {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut next = self.0.lock().unwrap();
        match *next {
            Some((at, fault)) if at == point => {
                *next = None;
                Err(fault)
            }
            _ => Ok(()),
        }
    }
}

struct Run {
    fixture: Fixture,
    faults: Arc<Faults>,
    ledger: Option<Ledger>,
    model: HashMap<Key, Known>,
    open: Vec<(Key, Token)>,
    permits: HashMap<(Key, usize), usize>,
    calls: u64,
    numbers: Numbers,
    /// A fault was made since what is kept was tried again.
    faulty: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut fixture = Fixture::new();
        let faults = Arc::<Faults>::default();
        fixture.options.probe = Some(Arc::<Faults>::clone(&faults));
        let ledger = Some(fixture.open());
        let (model, open, permits) = (HashMap::new(), Vec::new(), HashMap::new());
        Self {
            fixture,
            faults,
            ledger,
            model,
            open,
            permits,
            calls: 0,
            numbers: Numbers(seed),
            faulty: false,
        }
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn key(&mut self) -> Key {
        (
            self.numbers.pick(&["alice", "bob"]),
            self.numbers.pick(&["pay", "send", "post"]),
        )
    }

    fn attempt(&mut self) {
        let key = self.key();
        let action = self.numbers.pick(&["five", "five", "five", "six"]);
        let tool = self
            .numbers
            .pick(&["transfer", "transfer", "transfer", "refund"]);
        let round = match self.numbers.below(2) {
            0 => None,
            _ => Some((
                self.numbers.pick(&["yes", "no", "maybe"]),
                self.numbers.pick(&[None, Some("s1")]),
            )),
        };
        let asks = Asks {
            action,
            tool,
            round,
        };
        let expected = told(self.model.get(&key), &asks);
        self.calls += 1;
        let attempt = Call {
            agent: key.0,
            action,
            tool,
            round,
            earlier: Some(match expected {
                "continuation" => Classification::Continuation,
                _ => Classification::Fresh,
            }),
            ..call(format!("c{}", self.calls), Some(key.1))
        };
        let verdict = match self.ledger().reserve(attempt.attempt()).wait() {
            Ok(verdict) => verdict,
            Err(error) => {
                assert_eq!(error, LedgerError::Unavailable);
                return;
            }
        };
        match verdict {
            Verdict::Reserved(reserved) => {
                let known = self.model.entry(key).or_insert_with(|| Known {
                    action,
                    tool,
                    stands: Stands::Running,
                    answered: Vec::new(),
                    touched: false,
                });
                known.stands = Stands::Running;
                known.answered.extend(round.map(|(what, _)| what));
                let round = known.answered.len();
                *self.permits.entry((key, round)).or_default() += 1;
                assert!(
                    ["fresh", "continuation"].contains(&expected),
                    "{asks:?}: {expected}"
                );
                self.open.push((key, reserved.token));
            }
            Verdict::Refused(refused) => assert_eq!(refused.code, code(expected), "{asks:?}"),
            Verdict::DecideAgain(again) => panic!("{asks:?}: {expected}: {again:?}"),
        }
    }

    fn settle(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let index = usize::try_from(self.numbers.below(self.open.len() as u64)).unwrap();
        let (key, token) = self.open.swap_remove(index);
        let sent = self.numbers.below(3) > 0;
        if sent {
            token.gate().pass().unwrap();
        }
        let issued = self.numbers.pick(&[None, Some("s1")]);
        let known = self.model.get_mut(&key).unwrap();
        let nothing_left = !sent && !known.touched;
        let unsent = if nothing_left {
            Outcome::NotAttempted
        } else {
            Outcome::OutcomeUnknown
        };
        let (settlement, stands) = match self.numbers.below(6) {
            0 => {
                known.stands = Stands::Over(unsent);
                drop(token);
                // Settled before anything else is asked, or kept.
                drop(self.ledger().checkpoint().wait());
                return self.let_what_failed_be_tried_again();
            }
            1 => (not_sent(), Stands::Over(unsent)),
            2 => (unanswered(), Stands::Over(Outcome::OutcomeUnknown)),
            3 => (
                Settlement::Asked {
                    issued: issued.map(digest),
                    answer: answer("?"),
                    retained: b"?".to_vec(),
                },
                Stands::Asked(issued),
            ),
            4 => (
                Settlement::Answered {
                    with: Answered::ToolError,
                    answer: answer("no"),
                },
                Stands::Over(Outcome::ToolError),
            ),
            _ => (support::succeeded(), Stands::Over(Outcome::Succeeded)),
        };
        known.touched |= matches!(stands, Stands::Asked(_));
        // Kept and tried again where it fails, so the model need not know.
        known.stands = stands;
        match self.ledger().settle(token, settlement).wait() {
            Ok(_) | Err(LedgerError::Settlement) => {}
            Err(other) => panic!("{key:?}: {other}"),
        }
        self.let_what_failed_be_tried_again();
    }

    fn let_what_failed_be_tried_again(&mut self) {
        if std::mem::take(&mut self.faulty) {
            self.let_time_pass();
        }
    }

    fn let_time_pass(&mut self) {
        for _ in 0..2 {
            self.fixture.clock.advance(Duration::from_secs(2));
            drop(self.ledger().checkpoint().wait());
        }
    }

    fn restart(&mut self) {
        self.let_time_pass();
        *self.faults.0.lock().unwrap() = None;
        self.let_time_pass();
        self.ledger().stop().unwrap();
        for (key, token) in self.open.drain(..) {
            drop(token);
            self.model.get_mut(&key).unwrap().stands = Stands::Blocked;
        }
        self.ledger = None;
        self.ledger = Some(self.fixture.open());
    }

    fn act(&mut self) {
        let key = self.key();
        let outcome = self
            .numbers
            .pick(&[Outcome::Succeeded, Outcome::OutcomeUnknown]);
        let (act, expected) = match (self.numbers.below(2), self.model.get(&key)) {
            (
                0,
                Some(Known {
                    stands: Stands::Asked(_),
                    ..
                }),
            ) => (Act::Abandon, Some(Stands::Over(Outcome::OutcomeUnknown))),
            (0, _) => (Act::Abandon, None),
            (
                _,
                Some(Known {
                    stands: Stands::Blocked,
                    ..
                }),
            ) => (Act::Resolve(outcome), Some(Stands::Over(outcome))),
            (
                _,
                Some(Known {
                    stands: Stands::Over(first),
                    ..
                }),
            ) => (Act::Resolve(outcome), Some(Stands::Over(*first))),
            _ => (Act::Resolve(outcome), None),
        };
        let which = Which::Execution(agent(key.0), execution_id(key.1));
        let draft = Draft::new(Kind::Resolution, Time::from_micros(0));
        match (
            self.ledger().act(which, act.clone(), draft).wait(),
            expected,
        ) {
            (Ok(_), Some(stands)) => self.model.get_mut(&key).unwrap().stands = stands,
            (Err(LedgerError::Illegal(_) | LedgerError::NotFound), None) => {}
            (Err(LedgerError::Unavailable), _) => {}
            (said, expected) => panic!("{key:?} {act:?}: {said:?}, expected {expected:?}"),
        }
    }

    fn fault(&mut self) {
        let point = self.numbers.pick(&[
            Point::Decided,
            Point::Written,
            Point::Committing,
            Point::Committed,
        ]);
        *self.faults.0.lock().unwrap() = Some((point, Fault::Error));
        self.faulty = true;
    }

    /// What the ledger holds is what the model says.
    fn compare(&mut self) {
        self.let_time_pass();
        for name in ["alice", "bob"] {
            for id in ["pay", "send", "post"] {
                let found = self
                    .ledger()
                    .lookup(&agent(name), &execution_id(id))
                    .unwrap();
                let stands = found.map(|execution| match execution.record.state {
                    State::InFlight => Stands::Running,
                    State::AwaitingInput if execution.record.issued.is_some() => {
                        Stands::Asked(Some("s1"))
                    }
                    State::AwaitingInput => Stands::Asked(None),
                    State::Blocked => Stands::Blocked,
                    State::TaskOpen => panic!("no task was opened"),
                    State::Settled(outcome) => Stands::Over(outcome),
                });
                let expected = self
                    .model
                    .get(&(name, id))
                    .map(|known| known.stands.clone());
                assert_eq!(stands, expected, "{name} {id}");
            }
        }
        for (round, permits) in &self.permits {
            assert_eq!(*permits, 1, "{round:?}");
        }
    }
}

#[test]
fn whatever_happens_callers_are_told_what_the_model_says() {
    let mut permits = 0;
    for seed in 0..25 {
        let mut run = Run::new(seed);
        // Printed only where the seed fails.
        println!("seed {seed}");
        for step in 0..60 {
            let kind = run.numbers.below(20);
            println!("  step {step}: {kind}");
            match kind {
                0..=9 => run.attempt(),
                10..=14 => run.settle(),
                15..=16 => run.act(),
                17..=18 => run.fault(),
                _ => run.restart(),
            }
        }
        run.restart();
        run.compare();
        verify(run.ledger());
        permits += run.permits.len();
    }
    assert!(
        permits > 120,
        "{permits} permits: the sequences try too little"
    );
}
