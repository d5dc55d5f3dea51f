//! What each move does.

use countersign_canon::Outcome;
use countersign_ledger::{Event, Leaves, Owner, State as Stands};
use stateright::{Model, Property};

use crate::bounds::{Bounds, Fault, LEASE};
use crate::moves::{Move, incarnation};
use crate::processes::{begun, crash, end, enlist, mine, reconnect, renew};
use crate::rules;
use crate::state::{
    Attempt, Broken, Left, Life, Phase, Replica, State, Store, Then, Told, Upstream, Word, Write,
};
use crate::transactions::{Settling, commit_entry, owner, permits};

impl Model for Bounds {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let executions = (0..self.attempts.len())
            .map(|attempt| usize::from(self.execution(at(attempt))) + 1)
            .max()
            .unwrap_or(0);
        let store = Store {
            up: true,
            incarnations: (0..self.replicas).map(begun).collect(),
            rows: vec![None; executions],
            chains: vec![Vec::new(); executions],
            pending: Vec::new(),
        };
        let replica = |incarnation| Replica {
            life: Life::Runs,
            incarnation,
            connected: true,
            sweeps_in: 0,
            late: 0,
        };
        let waiting = Attempt {
            at: 0,
            phase: Phase::Waiting,
        };
        vec![State {
            store,
            replicas: (0..self.replicas).map(replica).collect(),
            attempts: vec![waiting; self.attempts.len()],
            upstream: vec![Upstream::default(); executions],
            left: Left {
                crashes: self.crashes,
                pauses: self.pauses,
                outages: self.outages,
                cuts: self.cuts,
                acts: self.acts,
            },
            broken: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        // What is broken is reported; what follows from it is of no interest.
        if state.broken.is_empty() {
            self.moves(state, actions);
        }
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let mut state = last.clone();
        match action {
            Move::Lands { pending } => {
                let write = state.store.pending.remove(usize::from(pending));
                self.commit(&mut state, &write);
            }
            Move::Aborts { pending } => {
                state.store.pending.remove(usize::from(pending));
            }
            Move::Outage => {
                state.left.outages -= 1;
                state.store.up = false;
                for replica in &mut state.replicas {
                    (replica.connected, replica.late) = (false, 0);
                }
            }
            Move::Back => state.store.up = true,
            Move::Tick => self.tick(&mut state),
            Move::Renew { replica } => renew(&mut state, replica),
            Move::Reconnect { replica } => reconnect(&mut state, replica),
            Move::Sleep { replica } => {
                state.left.pauses -= 1;
                state.replicas[usize::from(replica)].life = Life::Sleeps;
                mine(&mut state, replica).absent = true;
            }
            Move::Wake { replica } => state.replicas[usize::from(replica)].life = Life::Runs,
            Move::Crash { replica } => crash(&mut state, replica),
            Move::Restart { replica } => {
                state.replicas[usize::from(replica)].life = Life::Runs;
                enlist(&mut state, replica);
                reconnect(&mut state, replica);
            }
            Move::End { incarnation } => end(&mut state, incarnation),
            Move::Block { execution } => self.block(&mut state, execution),
            Move::Resolve { execution, outcome } => {
                state.left.acts -= 1;
                let lost = state.store.rows[usize::from(execution)].as_ref()?;
                let owner = incarnation(lost.record.owner.get());
                // Given up, and so by its own gate unable to send any more.
                let owner_dead = state.store.incarnations[owner].ended;
                let event = Event::Resolve {
                    outcome,
                    owner_dead,
                };
                self.act(&mut state, execution, &event);
            }
            Move::Abandon { execution } => {
                state.left.acts -= 1;
                self.act(&mut state, execution, &Event::Abandon);
            }
            Move::TaskEnds { execution } => {
                state.upstream[usize::from(execution)].answered = true;
                let outcome = Outcome::Succeeded;
                self.act(&mut state, execution, &Event::TaskEnded { outcome });
            }
            of_attempt => self.attempt(&mut state, of_attempt)?,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        rules::properties(self)
    }
}

impl Bounds {
    fn attempt(&self, state: &mut State, action: Move) -> Option<()> {
        let index = match action {
            Move::Present { attempt, replica } => {
                self.present(state, attempt, replica);
                return Some(());
            }
            Move::Commit { attempt }
            | Move::Cut { attempt }
            | Move::CommitEntry { attempt }
            | Move::ReadBack { attempt }
            | Move::GiveUp { attempt }
            | Move::Pass { attempt }
            | Move::Unreachable { attempt }
            | Move::Send { attempt }
            | Move::Hears { attempt, .. }
            | Move::Settle { attempt }
            | Move::Deliver { attempt } => attempt,
            _ => return None,
        };
        let replica = state.attempts[usize::from(index)].at;
        let phase = state.attempts[usize::from(index)].phase.clone();
        let next = match (action, phase) {
            (Move::Commit { .. }, phase) => self.acknowledged(state, index, phase),
            (Move::CommitEntry { .. }, Phase::Half(write, next)) => {
                commit_entry(state, &write);
                *next
            }
            (Move::Cut { .. }, Phase::Decided(write)) => {
                cut(state, &write);
                Phase::Doubt(write)
            }
            (Move::Cut { .. }, Phase::Ending(by, word, write)) => {
                cut(state, &write);
                Phase::EndDoubt(by, word, write)
            }
            (Move::ReadBack { .. }, phase) => read_back(state, index, phase),
            (Move::GiveUp { .. }, Phase::Doubt(write)) => Phase::GivenUp(write),
            (Move::GiveUp { .. }, _) => Phase::Told(Told::Unavailable),
            (Move::Pass { .. }, Phase::Permitted(by)) => {
                if self.gate_opens(state, replica, by) {
                    Phase::Armed(by)
                } else {
                    Phase::Holds(by, Word::NotSent)
                }
            }
            (Move::Unreachable { .. }, Phase::Permitted(by)) => Phase::Holds(by, Word::NotSent),
            (Move::Send { .. }, Phase::Armed(by)) => {
                self.send(state, index, Some(by));
                Phase::Sent(by)
            }
            (Move::Hears { word, .. }, Phase::Sent(by)) => {
                let upstream = &mut state.upstream[usize::from(self.execution(index))];
                upstream.answered |= word == Word::Answered;
                upstream.asked += u8::from(word == Word::Asked);
                Phase::Holds(by, word)
            }
            (Move::Settle { .. }, Phase::Sent(by)) => {
                self.settling(state, index, by, Word::Answered)
            }
            (Move::Settle { .. }, Phase::Holds(by, word)) => self.settling(state, index, by, word),
            (Move::Deliver { .. }, _) => Phase::Told(Told::Outcome),
            _ => return None,
        };
        state.attempts[usize::from(index)].phase = next;
        Some(())
    }

    fn present(&self, state: &mut State, attempt: u8, replica: u8) {
        let write = self.decide(state, attempt, replica);
        if self.fault == Some(Fault::ReserveAfterInvoke) && write.then == Then::Permit {
            self.send(state, attempt, None);
        }
        state.attempts[usize::from(attempt)] = Attempt {
            at: replica,
            phase: Phase::Decided(write),
        };
    }

    /// A commit that is acknowledged; a rival that came first has it decided
    /// again.
    fn acknowledged(&self, state: &mut State, attempt: u8, phase: Phase) -> Phase {
        let (write, next, again) = match phase {
            Phase::Decided(write) => {
                // Nothing is written in the name of an incarnation that ended.
                let mine = state.incarnation(state.attempts[usize::from(attempt)].at);
                if mine.ended {
                    return Phase::Told(Told::Unavailable);
                }
                let next = match write.then {
                    Then::Permit => Phase::Permitted(owner(&write.row.record)),
                    _ => Phase::Told(Told::Refused),
                };
                (write, next, Phase::Waiting)
            }
            Phase::Ending(by, word, write) => {
                let told = match write.entry.leaves {
                    Leaves::LateAnswer => Told::Fenced,
                    _ => Told::Outcome,
                };
                (write, Phase::Told(told), Phase::Holds(by, word))
            }
            other => return other,
        };
        if self.fault == Some(Fault::TwoTransactions) {
            return match self.commit_row(state, &write) {
                true => Phase::Half(write, Box::new(next)),
                false => again,
            };
        }
        if self.commit(state, &write) {
            next
        } else {
            again
        }
    }

    fn settling(&self, state: &State, attempt: u8, by: Owner, word: Word) -> Phase {
        match self.settle(state, attempt, by, word) {
            Settling::Writes(write) => Phase::Ending(by, word, write),
            Settling::Before => Phase::Told(Told::Outcome),
            Settling::Fenced => Phase::Told(Told::Fenced),
        }
    }

    fn gate_opens(&self, state: &State, replica: u8, by: Owner) -> bool {
        let process = &state.replicas[usize::from(replica)];
        let of = match self.fault {
            Some(Fault::NoLeaseCheck) => return true,
            Some(Fault::NewestLease) => usize::from(process.incarnation),
            _ => incarnation(by.incarnation.get()),
        };
        state.store.incarnations[of].believed >= LEASE / 3
    }

    /// A byte leaves.
    fn send(&self, state: &mut State, attempt: u8, by: Option<Owner>) {
        let execution = usize::from(self.execution(attempt));
        let chain = &state.store.chains[execution];
        if !chain
            .iter()
            .any(|entry| entry.by == Some(attempt) && permits(entry))
        {
            state.breaks(Broken::EffectWithoutReservation);
        }
        let row = state.store.rows[execution].as_ref();
        let holds = row.is_some_and(|row| {
            row.record.state == Stands::InFlight && Some(owner(&row.record)) == by
        });
        if by.is_some() && !holds {
            state.breaks(Broken::SentAfterLoss);
        }
        let round = usize::from(self.asks(attempt).round.map_or(0, |round| round + 1));
        let effects = &mut state.upstream[execution].effects;
        effects.resize(effects.len().max(round + 1), 0);
        effects[round] += 1;
    }
}

/// Reads back what became of a commit whose acknowledgement was lost.
fn read_back(state: &mut State, attempt: u8, phase: Phase) -> Phase {
    let by_me = |entry: &crate::state::Entry| entry.by == Some(attempt);
    let (write, given_up) = match phase {
        Phase::Doubt(write) => (write, false),
        Phase::GivenUp(write) => (write, true),
        // Decided again, on the row as it is: settled before, or not yet.
        Phase::EndDoubt(by, word, _) => return Phase::Holds(by, word),
        other => return other,
    };
    let chain = &state.store.chains[usize::from(write.execution)];
    let durable = chain.iter().any(by_me);
    if write.then == Then::Refuse || !durable {
        return Phase::Told(match durable {
            true => Told::Refused,
            false => Told::Unavailable,
        });
    }
    let by = owner(&write.row.record);
    let row = state.store.rows[usize::from(write.execution)].as_ref();
    let holds =
        row.is_some_and(|row| row.record.state == Stands::InFlight && owner(&row.record) == by);
    let theirs = &mut state.store.incarnations[incarnation(by.incarnation.get())];
    if holds && !given_up && !theirs.ended {
        // Renewed in that same read.
        (theirs.lease, theirs.believed, theirs.absent) = (LEASE, LEASE, false);
        Phase::Permitted(by)
    } else {
        Phase::Holds(by, Word::NotSent)
    }
}

fn cut(state: &mut State, write: &Write) {
    state.left.cuts -= 1;
    state.store.pending.push(write.clone());
}

pub fn at(length: usize) -> u8 {
    u8::try_from(length).expect("bounds are small")
}
