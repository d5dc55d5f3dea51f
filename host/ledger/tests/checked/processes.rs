//! Time, and what becomes of processes: leases that are renewed or run out,
//! sleep, crashes, reconnects, sweepers.

use countersign_ledger::Event;

use crate::bounds::{Bounds, Fault, LEASE};
use crate::machine::at;
use crate::moves::incarnation;
use crate::state::{Broken, Incarnation, Life, Phase, State, Told};
use crate::transactions::owner;

impl Bounds {
    pub fn tick(&self, state: &mut State) {
        for (index, incarnation) in (0..).zip(&mut state.store.incarnations) {
            let process = &state.replicas[usize::from(incarnation.replica)];
            let current = process.incarnation == index;
            incarnation.lease = incarnation.lease.saturating_sub(1);
            let stands = self.fault == Some(Fault::SleepingClock) && process.life == Life::Sleeps;
            if !(stands && current) {
                incarnation.believed = incarnation.believed.saturating_sub(1);
            }
        }
        for replica in (0..).take(state.replicas.len()) {
            let (talks, up) = (state.talks(replica), state.store.up);
            let process = &mut state.replicas[usize::from(replica)];
            if talks {
                process.sweeps_in = process.sweeps_in.saturating_sub(1);
                renew(state, replica);
            } else if up && process.life == Life::Runs {
                process.late += 1;
            }
        }
    }

    pub fn block(&self, state: &mut State, execution: u8) {
        let Some(row) = &state.store.rows[usize::from(execution)] else {
            return;
        };
        let lost = owner(&row.record);
        let theirs = incarnation(lost.incarnation.get());
        if !state.store.incarnations[theirs].absent {
            state.breaks(Broken::LivingGivenUp);
        }
        self.act(state, execution, &Event::OwnerLost { lost });
    }
}

pub fn begun(replica: u8) -> Incarnation {
    Incarnation {
        replica,
        lease: LEASE,
        believed: LEASE,
        ended: false,
        absent: false,
    }
}

pub fn mine(state: &mut State, replica: u8) -> &mut Incarnation {
    let number = state.replicas[usize::from(replica)].incarnation;
    &mut state.store.incarnations[usize::from(number)]
}

pub fn enlist(state: &mut State, replica: u8) {
    state.replicas[usize::from(replica)].incarnation = at(state.store.incarnations.len());
    state.store.incarnations.push(begun(replica));
}

/// Renews the lease, or becomes a new incarnation where others gave up this
/// one.
pub fn renew(state: &mut State, replica: u8) {
    let mine = mine(state, replica);
    if mine.ended {
        mine.believed = 0;
        enlist(state, replica);
    } else {
        (mine.lease, mine.believed, mine.absent) = (LEASE, LEASE, false);
    }
}

pub fn reconnect(state: &mut State, replica: u8) {
    let process = &mut state.replicas[usize::from(replica)];
    (process.connected, process.late, process.sweeps_in) = (true, 0, 2 * LEASE);
    renew(state, replica);
}

pub fn crash(state: &mut State, replica: u8) {
    state.left.crashes -= 1;
    let process = &mut state.replicas[usize::from(replica)];
    (process.life, process.connected) = (Life::Dead, false);
    mine(state, replica).absent = true;
    for attempt in &mut state.attempts {
        if attempt.at == replica && !matches!(attempt.phase, Phase::Waiting | Phase::Told(_)) {
            attempt.phase = Phase::Told(Told::Nothing);
        }
    }
}

/// Nothing is written in its name any more, and its lease cannot be renewed.
pub fn end(state: &mut State, incarnation: u8) {
    state.store.incarnations[usize::from(incarnation)].ended = true;
}
