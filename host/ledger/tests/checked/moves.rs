//! What may happen next.

use countersign_canon::Outcome;
use countersign_ledger::State as Stands;

use crate::bounds::{Bounds, Fault, LEASE};
use crate::state::{Life, Phase, State, Word};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A client's attempt reaches a replica, which decides it.
    Present {
        attempt: u8,
        replica: u8,
    },
    /// What was decided is committed and acknowledged, or loses to a rival.
    Commit {
        attempt: u8,
    },
    /// The connection breaks at the commit.
    Cut {
        attempt: u8,
    },
    /// A commit whose connection broke takes effect all the same.
    Lands {
        pending: u8,
    },
    /// Or it never will.
    Aborts {
        pending: u8,
    },
    /// The second transaction of two.
    CommitEntry {
        attempt: u8,
    },
    ReadBack {
        attempt: u8,
    },
    GiveUp {
        attempt: u8,
    },
    /// The owner asks the gate.
    Pass {
        attempt: u8,
    },
    /// The upstream cannot be reached; nothing was sent.
    Unreachable {
        attempt: u8,
    },
    /// The first byte leaves.
    Send {
        attempt: u8,
    },
    /// The upstream answers, or does not.
    Hears {
        attempt: u8,
        word: Word,
    },
    /// The settlement is decided.
    Settle {
        attempt: u8,
    },
    Deliver {
        attempt: u8,
    },
    /// A third of a lease goes by.
    Tick,
    Renew {
        replica: u8,
    },
    Reconnect {
        replica: u8,
    },
    Sleep {
        replica: u8,
    },
    Wake {
        replica: u8,
    },
    Crash {
        replica: u8,
    },
    Restart {
        replica: u8,
    },
    /// The store goes away, and comes back.
    Outage,
    Back,
    /// A sweeper ends an incarnation, in a transaction of its own.
    End {
        incarnation: u8,
    },
    /// A sweeper gives up a row whose owner has ended.
    Block {
        execution: u8,
    },
    Resolve {
        execution: u8,
        outcome: Outcome,
    },
    Abandon {
        execution: u8,
    },
    TaskEnds {
        execution: u8,
    },
}

impl Bounds {
    pub fn moves(&self, state: &State, moves: &mut Vec<Move>) {
        for attempt in 0..count(state.attempts.len()) {
            self.of_attempt(state, attempt, moves);
        }
        for pending in 0..count(state.store.pending.len()) {
            moves.push(Move::Lands { pending });
            moves.push(Move::Aborts { pending });
        }
        for replica in 0..count(state.replicas.len()) {
            self.of_replica(state, replica, moves);
        }
        if state.store.up {
            if state.left.outages > 0 {
                moves.push(Move::Outage);
            }
            self.of_operator(state, moves);
        } else {
            moves.push(Move::Back);
        }
        if self.time_may_pass(state) {
            moves.push(Move::Tick);
        }
    }

    fn of_attempt(&self, state: &State, attempt: u8, moves: &mut Vec<Move>) {
        let Attempting { talks, runs, phase } = attempting(state, attempt);
        match phase {
            Phase::Waiting if self.client_may(state, attempt) => {
                let here =
                    |replica: &u8| state.talks(*replica) && !state.incarnation(*replica).ended;
                let replicas = (0..count(state.replicas.len())).filter(here);
                moves.extend(replicas.map(|replica| Move::Present { attempt, replica }));
            }
            Phase::Decided(_) | Phase::Ending(..) if talks => {
                moves.push(Move::Commit { attempt });
                if state.left.cuts > 0 {
                    moves.push(Move::Cut { attempt });
                }
            }
            // With the store away the transaction is gone, and the caller is told.
            Phase::Decided(_) | Phase::Doubt(_) if runs && !state.store.up => {
                moves.push(Move::GiveUp { attempt });
            }
            Phase::Doubt(write) | Phase::GivenUp(write) | Phase::EndDoubt(_, _, write) if talks => {
                // The read-back repeats the same statement, which waits for
                // the first one's end.
                let open = state.store.pending.contains(write);
                if !open || self.fault == Some(Fault::AbsentBelieved) {
                    moves.push(Move::ReadBack { attempt });
                }
            }
            Phase::Half(..) if talks => moves.push(Move::CommitEntry { attempt }),
            Phase::Permitted(_) if runs => {
                moves.push(Move::Pass { attempt });
                moves.push(Move::Unreachable { attempt });
            }
            Phase::Armed(_) if runs => moves.push(Move::Send { attempt }),
            Phase::Sent(_) if runs => {
                let mut hears = |word| moves.push(Move::Hears { attempt, word });
                hears(Word::Answered);
                hears(Word::Unanswered);
                if self.rounds {
                    hears(Word::Asked);
                }
                if self.tasks {
                    hears(Word::Task);
                }
                if talks && self.fault == Some(Fault::SettleBeforeAnswer) {
                    moves.push(Move::Settle { attempt });
                }
            }
            Phase::Holds(_, word) => {
                if talks {
                    moves.push(Move::Settle { attempt });
                }
                let early = self.fault == Some(Fault::DeliverBeforeSettle);
                if runs && early && *word == Word::Answered {
                    moves.push(Move::Deliver { attempt });
                }
            }
            _ => {}
        }
    }

    /// A client answers a round only once it was asked.
    fn client_may(&self, state: &State, attempt: u8) -> bool {
        let upstream = &state.upstream[usize::from(self.execution(attempt))];
        self.asks(attempt)
            .round
            .is_none_or(|round| upstream.asked > round)
    }

    fn of_replica(&self, state: &State, replica: u8, moves: &mut Vec<Move>) {
        let process = &state.replicas[usize::from(replica)];
        let (talks, up) = (state.talks(replica), state.store.up);
        match process.life {
            Life::Runs => {
                if up && !process.connected {
                    moves.push(Move::Reconnect { replica });
                }
                let mine = state.incarnation(replica);
                if talks && (mine.lease < LEASE || mine.ended) {
                    moves.push(Move::Renew { replica });
                }
                if state.left.pauses > 0 {
                    moves.push(Move::Sleep { replica });
                }
            }
            Life::Sleeps => moves.push(Move::Wake { replica }),
            Life::Dead if up => moves.push(Move::Restart { replica }),
            Life::Dead => {}
        }
        if process.life != Life::Dead && state.left.crashes > 0 {
            moves.push(Move::Crash { replica });
        }
        if talks {
            self.of_sweeper(state, replica, moves);
        }
    }

    /// Ends incarnations whose lease has run out, once it has waited; blocks
    /// what those that have ended hold.
    fn of_sweeper(&self, state: &State, replica: u8, moves: &mut Vec<Move>) {
        let process = &state.replicas[usize::from(replica)];
        if process.sweeps_in == 0 || self.fault == Some(Fault::SweepAtOnce) {
            for (other, theirs) in (0..).zip(&state.store.incarnations) {
                if theirs.lease == 0 && !theirs.ended && other != process.incarnation {
                    moves.push(Move::End { incarnation: other });
                }
            }
        }
        for (execution, row) in (0..).zip(&state.store.rows) {
            let Some(row) = row else { continue };
            let theirs = &state.store.incarnations[incarnation(row.record.owner.get())];
            let gone = match self.fault {
                Some(Fault::SweepOnlyRows) => theirs.lease == 0,
                _ => theirs.ended,
            };
            if row.record.state == Stands::InFlight && gone {
                moves.push(Move::Block { execution });
            }
        }
    }

    /// An operator looks at the upstream first, and says what is so.
    fn of_operator(&self, state: &State, moves: &mut Vec<Move>) {
        for (execution, row) in (0..).zip(&state.store.rows) {
            let Some(row) = row else { continue };
            let upstream = &state.upstream[usize::from(execution)];
            if row.record.state == Stands::TaskOpen {
                moves.push(Move::TaskEnds { execution });
            }
            if state.left.acts == 0 {
                continue;
            }
            match row.record.state {
                Stands::AwaitingInput => moves.push(Move::Abandon { execution }),
                Stands::Blocked | Stands::Settled(_) => {
                    let outcome = if upstream.effects.iter().any(|effects| *effects > 0) {
                        Outcome::Succeeded
                    } else {
                        Outcome::NotAttempted
                    };
                    moves.push(Move::Resolve { execution, outcome });
                }
                _ => {}
            }
        }
    }

    /// A third of a lease goes by only where everybody who runs did what it
    /// does far more often: renewed its lease, or found the store again within
    /// a lease; and where nobody stands between the gate and the first byte.
    fn time_may_pass(&self, state: &State) -> bool {
        let in_time = (0..count(state.replicas.len())).all(|replica| {
            let process = &state.replicas[usize::from(replica)];
            if !state.runs(replica) || !state.store.up {
                return true;
            }
            if process.connected {
                let mine = state.incarnation(replica);
                mine.lease == LEASE && !mine.ended
            } else {
                process.late < LEASE
            }
        });
        let between = state
            .attempts
            .iter()
            .any(|attempt| matches!(attempt.phase, Phase::Armed(_)));
        in_time && (!between || self.fault == Some(Fault::LongWindow))
    }
}

struct Attempting<'a> {
    talks: bool,
    runs: bool,
    phase: &'a Phase,
}

fn attempting(state: &State, attempt: u8) -> Attempting<'_> {
    let attempt = &state.attempts[usize::from(attempt)];
    Attempting {
        talks: state.talks(attempt.at),
        runs: state.runs(attempt.at),
        phase: &attempt.phase,
    }
}

fn count(length: usize) -> u8 {
    u8::try_from(length).expect("bounds are small")
}

/// The index of an incarnation, which rows hold as a number.
pub fn incarnation(number: i64) -> usize {
    usize::try_from(number).expect("numbers begin at 0")
}
