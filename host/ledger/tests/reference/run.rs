//! Carries a sequence out on the ledger, and compares it with the reference at
//! each step and at the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Draft, Kind, Time};
use countersign_ledger::{
    Act, Answered, Fault, Ledger, LedgerError, Point, Probe, Settlement, State, Token, Verdict,
    Which,
};

use crate::sequence::{Asks, Step, Word};
use crate::support::{
    Call, Fixture, agent, answer, call, code, count, digest, execution_id, not_sent, succeeded,
    unanswered, verify,
};
use crate::told::{Key, Reference, Stands};

/// Faults that are made next, in order.
#[derive(Default)]
struct Faults(Mutex<Vec<Point>>);

impl Probe for Faults {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut next = self.0.lock().unwrap();
        if next.first() == Some(&point) {
            next.remove(0);
            return Err(Fault::Error);
        }
        Ok(())
    }
}

pub struct Run {
    fixture: Fixture,
    faults: Arc<Faults>,
    ledger: Option<Ledger>,
    reference: Reference,
    open: Vec<(Key, Token)>,
    calls: u64,
}

/// Carries all of it out; panics where ledger and reference differ. Says how
/// many permits there were.
pub fn run(sequence: &[Step], lies: bool) -> usize {
    let mut run = Run::new(lies);
    for step in sequence {
        run.step(step);
    }
    run.restart();
    run.compare();
    let log = verify(run.ledger());
    assert_eq!(count(&log, &Kind::LateAnswer), run.reference.late);
    run.reference.permits.len()
}

impl Run {
    fn new(lies: bool) -> Self {
        let mut fixture = Fixture::new();
        let faults = Arc::<Faults>::default();
        fixture.options.probe = Some(Arc::<Faults>::clone(&faults));
        let ledger = Some(fixture.open());
        let reference = Reference {
            lies,
            ..Reference::default()
        };
        Self {
            fixture,
            faults,
            ledger,
            reference,
            open: Vec::new(),
            calls: 0,
        }
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Attempt(asks) => self.attempt(&asks),
            Step::Settle { which, sent, word } => self.settle(which, sent, word),
            Step::Late { which } => self.late(which),
            Step::Abandon(agent, id) => {
                let key = (agent, id.to_owned());
                let then = self.reference.abandoned(&key);
                self.act(&key, &Act::Abandon, then);
            }
            Step::Resolve(agent, id, outcome) => {
                let key = (agent, id.to_owned());
                let then = self.reference.resolved(&key, outcome);
                self.act(&key, &Act::Resolve(outcome), then);
            }
            Step::TaskObserved(agent, id) => {
                let key = (agent, id.to_owned());
                let then = self.reference.task(&key, None);
                self.act(&key, &Act::TaskObserved, then);
            }
            Step::TaskEnded(agent, id, outcome) => {
                let key = (agent, id.to_owned());
                let then = self.reference.task(&key, Some(outcome));
                self.act(&key, &Act::TaskEnded(outcome), then);
            }
            Step::Fault { at, away } => {
                let mut next = vec![at];
                if away {
                    next.push(Point::Reopened);
                }
                *self.faults.0.lock().unwrap() = next;
            }
            Step::Restart => self.restart(),
        }
    }

    fn attempt(&mut self, asks: &Asks) {
        self.calls += 1;
        let name = format!("c{}", self.calls);
        let key = (
            asks.agent,
            asks.id.map_or_else(|| name.clone(), str::to_owned),
        );
        let told = self.reference.told(asks);
        let earlier = match told {
            "continuation" => Classification::Continuation,
            _ => Classification::Fresh,
        };
        let attempt = Call {
            agent: asks.agent,
            action: asks.action,
            tool: asks.tool,
            round: asks.round,
            earlier: asks.id.map(|_| earlier),
            ..call(name, asks.id)
        };
        match self.ledger().reserve(attempt.attempt()).wait() {
            Ok(Verdict::Reserved(reserved)) => {
                let permits = ["fresh", "continuation"].contains(&told);
                assert!(permits, "{asks:?} was permitted, and is {told}");
                self.reference.permitted(&key, asks);
                self.open.push((key, reserved.token));
            }
            Ok(Verdict::Refused(refused)) => {
                assert_eq!(refused.code, code(told), "{asks:?}");
                let safe = self.reference.safe(&key, told);
                assert_eq!(refused.safe_with_new_id, safe, "{asks:?}: {told}");
                let again = self.reference.gives_again(&key, asks, told);
                let retained = again.then(|| b"?".to_vec());
                assert_eq!(refused.retained, retained, "{asks:?}: {told}");
            }
            Ok(Verdict::DecideAgain(again)) => panic!("{asks:?} is {told}: {again:?}"),
            Err(error) => {
                assert_eq!(error, LedgerError::Unavailable, "{asks:?}");
                self.in_doubt(&key, asks, told);
            }
        }
    }

    /// Whoever was told `ledger-unavailable` got no permit. What was reserved
    /// all the same ends as nobody could have sent it.
    fn in_doubt(&mut self, key: &Key, asks: &Asks, told: &str) {
        self.let_time_pass();
        let stands = self.found(key);
        let before = self
            .reference
            .known
            .get(key)
            .map(|known| known.stands.clone());
        if stands == before {
            return;
        }
        let unused = match told {
            "fresh" => Stands::Over(Outcome::NotAttempted),
            "continuation" => Stands::Over(Outcome::OutcomeUnknown),
            other => panic!("{asks:?} is {other}, and moved from {before:?} to {stands:?}"),
        };
        assert_eq!(stands, Some(unused.clone()), "{asks:?}");
        let permits = self.reference.permits.clone();
        self.reference.permitted(key, asks);
        // It moved, and nobody was permitted anything.
        self.reference.permits = permits;
        if let Some(known) = self.reference.known.get_mut(key) {
            known.stands = unused;
        }
    }

    fn settle(&mut self, which: usize, sent: bool, word: Word) {
        if self.open.is_empty() {
            return;
        }
        let (key, token) = self.open.swap_remove(which % self.open.len());
        if sent {
            token.gate().pass().unwrap();
        }
        // Kept and tried again where it fails, so the reference need not know.
        self.reference.settled(&key, sent, word);
        let settlement = match word {
            Word::Dropped => {
                drop(token);
                return self.let_time_pass();
            }
            Word::NotSent => not_sent(),
            Word::Unanswered => unanswered(),
            Word::Succeeded => succeeded(),
            Word::ToolError => Settlement::Answered {
                with: Answered::ToolError,
                answer: answer("no"),
            },
            Word::Asked(issued) => Settlement::Asked {
                issued: issued.map(digest),
                answer: answer("?"),
                retained: b"?".to_vec(),
            },
            Word::Task => Settlement::TaskOpened {
                task: "task".parse().unwrap(),
                status: "working".into(),
                answer: answer("task"),
            },
        };
        match self.ledger().settle(token, settlement).wait() {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, LedgerError::Settlement, "{key:?}");
                self.let_time_pass();
            }
        }
    }

    fn late(&mut self, which: usize) {
        let of_an_id = |(key, _): &(Key, Token)| self.reference.known[key].identified;
        let Some(index) = self.open.iter().skip(which % 3).position(of_an_id) else {
            return;
        };
        let (key, token) = self.open.swap_remove(index + which % 3);
        token.gate().pass().unwrap();
        // As another replica would, with an entry in a log of its own.
        let sql = "UPDATE executions SET state = 'blocked', boundary = \
                   max(boundary, 'transport-may-have-started'), fence = fence + 1 \
                   WHERE execution_id = ?1 AND agent = (SELECT number FROM agents WHERE subject = ?2)";
        let changed = self.fixture.sql().execute(sql, (&key.1, key.0)).unwrap();
        assert_eq!(changed, 1, "{key:?}");
        match self.ledger().settle(token, succeeded()).wait() {
            Err(LedgerError::Fenced) => {}
            Err(LedgerError::Settlement) => self.let_time_pass(),
            said => panic!("{key:?} was given up: {said:?}"),
        }
        self.reference.late += 1;
        if let Some(known) = self.reference.known.get_mut(&key) {
            known.stands = Stands::Blocked;
            known.heard = true;
        }
    }

    fn act(&mut self, key: &Key, act: &Act, then: Option<Stands>) {
        let which = Which::Execution(agent(key.0), execution_id(&key.1));
        let kind = match act {
            Act::TaskObserved | Act::TaskEnded(_) => Kind::Task,
            _ => Kind::Resolution,
        };
        let draft = Draft::new(kind, Time::from_micros(0));
        match (self.ledger().act(which, act.clone(), draft).wait(), then) {
            (Ok(_), Some(stands)) => self.stands(key, stands),
            (Err(LedgerError::Illegal(_) | LedgerError::NotFound), None) => {}
            (Err(LedgerError::Unavailable), then) => {
                self.let_time_pass();
                let found = self.found(key);
                if found.is_some() && found == then {
                    self.stands(key, then.unwrap());
                }
            }
            (said, then) => panic!("{key:?} {act:?}: {said:?}, and it may be {then:?}"),
        }
    }

    fn stands(&mut self, key: &Key, stands: Stands) {
        if let Some(known) = self.reference.known.get_mut(key) {
            known.stands = stands;
        }
    }

    /// What failed is tried again.
    fn let_time_pass(&self) {
        for _ in 0..3 {
            self.fixture.clock.advance(Duration::from_secs(2));
            drop(self.ledger().checkpoint().wait());
        }
    }

    fn restart(&mut self) {
        self.let_time_pass();
        self.faults.0.lock().unwrap().clear();
        self.let_time_pass();
        self.ledger().stop().unwrap();
        self.open.clear();
        self.reference.restarted();
        self.ledger = None;
        self.ledger = Some(self.fixture.open());
    }

    fn found(&self, key: &Key) -> Option<Stands> {
        let known = self.reference.known.get(key);
        let by_call = key.1.starts_with('c') && known.is_none_or(|known| !known.identified);
        let found = if by_call {
            self.ledger().lookup_call(&key.1.parse().unwrap())
        } else {
            self.ledger().lookup(&agent(key.0), &execution_id(&key.1))
        };
        found
            .wait()
            .unwrap()
            .map(|execution| match execution.record.state {
                State::InFlight => Stands::Running,
                State::AwaitingInput => Stands::Asked,
                State::TaskOpen => Stands::Task,
                State::Blocked => Stands::Blocked,
                State::Settled(outcome) => Stands::Over(outcome),
            })
    }

    /// What the ledger holds is what the reference says, and each round was
    /// permitted once.
    fn compare(&self) {
        for (key, known) in &self.reference.known {
            assert_eq!(self.found(key), Some(known.stands.clone()), "{key:?}");
        }
        for (round, permits) in &self.reference.permits {
            assert_eq!(*permits, 1, "{round:?}");
        }
    }
}
