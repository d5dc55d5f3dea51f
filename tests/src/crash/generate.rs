//! Sequences from seeds: what several agents do, and what goes wrong meanwhile.

use super::faults::{Does, Errno, Fault, Spot};
use super::plan::{Call, Cut, Deed, Round, Sequence, Step};
use super::upstream::{Moment, Reply};
use super::world::{PAST_LEASE_MS, Store};
use crate::fuzz::Random;

/// The same seed gives the same sequence, on every machine.
#[must_use]
pub fn generate(store: Store, seed: u64) -> Sequence {
    let mut random = Random::new(seed, store as u64);
    let random = &mut random;
    let steps = 3 + random.below(6);
    let mut sequence = Sequence {
        seed,
        steps: Vec::new(),
    };
    for _ in 0..steps {
        let step = step(store, random);
        let kills = match &step {
            Step::Call(call) => may_kill(call),
            Step::Do(_, Deed::Kill) => true,
            _ => false,
        };
        let replica = replica_of(&step);
        sequence.steps.push(step);
        // Most of the time somebody starts it again; else the next calls meet
        // nobody, or another replica.
        if kills && !random.once_in(3) {
            let fault = random.once_in(8).then(|| disk_fault(random));
            sequence.steps.push(Step::Start(replica, fault));
        }
    }
    sequence
}

fn replica_of(step: &Step) -> usize {
    match step {
        Step::Call(call) => call.replica,
        Step::Do(replica, _) => *replica,
        _ => 0,
    }
}

fn may_kill(call: &Call) -> bool {
    let kills = |deed: &Deed| match deed {
        Deed::Kill => true,
        Deed::Arm(fault) => fault.kills() || fault.at == Spot::WalSync,
        Deed::Database(cut) => matches!(
            cut,
            Cut::KillBeforeCommit | Cut::KillWithinCommit | Cut::KillAfterCommit
        ),
        _ => false,
    };
    call.before.as_ref().is_some_and(kills)
        || call.meanwhile.as_ref().is_some_and(|(_, deed)| kills(deed))
}

fn step(store: Store, random: &mut Random) -> Step {
    let replica = random.below(3);
    match random.below(20) {
        0..=9 => Step::Call(call(store, random)),
        10..=12 => Step::Together(calls(store, random)),
        13 => {
            let calls = calls(store, random);
            let us = u32::try_from(random.below(40_000)).unwrap_or(0);
            Step::Interrupted(calls, us, replica, deed(store, random))
        }
        14 => Step::Do(replica, Deed::Kill),
        15 => Step::Do(replica, Deed::Pause(long_or_not(store, random))),
        16 => Step::Do(replica, Deed::Clock(jump(random))),
        17 => Step::Stop(replica),
        18 if store == Store::Postgres && !random.once_in(3) => {
            Step::Do(replica, Deed::Database(cut(random)))
        }
        18 if store == Store::Postgres && random.once_in(3) => Step::RestoreRunning(replica),
        18 if random.once_in(2) => Step::Restore(replica),
        18 => Step::Second(replica),
        _ => Step::Wait(u32::try_from(random.below(50)).unwrap_or(0)),
    }
}

fn calls(store: Store, random: &mut Random) -> Vec<Call> {
    let count = 2 + random.below(4);
    (0..count).map(|_| call(store, random)).collect()
}

fn call(store: Store, random: &mut Random) -> Call {
    let round = random.once_in(4).then(|| Round {
        state: (!random.once_in(5)).then(|| state(random)),
        answer: i64::from(random.once_in(4)),
    });
    let id = (round.is_some() || !random.once_in(8)).then(|| random.below(3));
    Call {
        agent: random.below(2),
        id,
        action: 1 + i64::from(random.once_in(6)),
        replica: random.below(3),
        round,
        reply: reply(random),
        before: random.once_in(4).then(|| deed(store, random)),
        meanwhile: random
            .once_in(3)
            .then(|| (moment(random), deed(store, random))),
    }
}

fn state(random: &mut Random) -> String {
    format!("s{}", random.below(2))
}

fn reply(random: &mut Random) -> Reply {
    match random.below(14) {
        0..=5 => Reply::Result,
        6 => Reply::ToolError,
        7 => Reply::Error,
        8..=10 => Reply::Ask(state(random)),
        11 => Reply::Garbage,
        12 => Reply::Refuse,
        _ if random.once_in(2) => Reply::HangUp,
        _ => Reply::HalfResult,
    }
}

fn moment(random: &mut Random) -> Moment {
    *random.pick(&[
        Moment::Arriving,
        Moment::Read,
        Moment::Effect,
        Moment::Half,
        Moment::Answered,
    ])
}

fn deed(store: Store, random: &mut Random) -> Deed {
    match random.below(10) {
        0 | 1 => Deed::Kill,
        2 => Deed::Pause(long_or_not(store, random)),
        3 => Deed::Clock(jump(random)),
        _ if store == Store::Postgres && !random.once_in(4) => Deed::Database(cut(random)),
        _ if store == Store::Postgres => Deed::Arm(network_fault(random)),
        4 => Deed::Arm(network_fault(random)),
        _ => Deed::Arm(disk_fault(random)),
    }
}

fn pause(random: &mut Random) -> u32 {
    20 + u32::try_from(random.below(150)).unwrap_or(0)
}

/// Where others share the database, now and then past the lease.
fn long_or_not(store: Store, random: &mut Random) -> u32 {
    if store == Store::Postgres && random.once_in(12) {
        PAST_LEASE_MS
    } else {
        pause(random)
    }
}

fn jump(random: &mut Random) -> i64 {
    *random.pick(&[-86_400, -3_600, -1, 1, 3_600, 86_400, 315_360_000])
}

fn cut(random: &mut Random) -> Cut {
    match random.below(14) {
        12 => Cut::Down(long_or_not(Store::Postgres, random)),
        13 => Cut::NoRoomAtCommit,
        10 => Cut::PauseWithinCommit(long_or_not(Store::Postgres, random)),
        11 => Cut::TerminateAtCommit,
        0 => Cut::BeforeCommit,
        1 => Cut::Unacknowledged,
        2 => Cut::AfterCommit,
        3 => Cut::HoldCommit(20 + u32::try_from(random.below(300)).unwrap_or(0)),
        4 => Cut::KillBeforeCommit,
        5 => Cut::KillWithinCommit,
        6 => Cut::KillAfterCommit,
        7 => Cut::Silence(20 + u32::try_from(random.below(300)).unwrap_or(0)),
        8 => Cut::Outage(long_or_not(Store::Postgres, random)),
        _ => Cut::Terminate,
    }
}

fn disk_fault(random: &mut Random) -> Fault {
    let errno = *random.pick(&[Errno::Io, Errno::Full]);
    let (at, does) = match random.below(13) {
        0 => (Spot::WalWrite, Does::KillBefore),
        1 => (Spot::WalWrite, Does::KillHalf),
        2 => (Spot::WalWrite, Does::KillAfter),
        3 => (Spot::WalSync, Does::KillBefore),
        4 => (Spot::WalSync, Does::KillAfter),
        5 => (Spot::WalSync, Does::PowerLoss),
        6 => (Spot::WalWrite, Does::Fail(errno)),
        7 => (Spot::WalWrite, Does::FailHalf(errno)),
        8 => (Spot::WalSync, Does::Fail(Errno::Io)),
        9 => (Spot::WalSync, Does::Unacknowledged),
        10 => (Spot::AnchorRename, Does::Fail(errno)),
        11 => (Spot::WalSync, Does::PauseAfter(pause(random))),
        _ => (Spot::WalSync, Does::Slow(pause(random))),
    };
    // A write is one of several, a sync one of two for each call. What a loss of
    // power leaves is known up to the next sync only.
    let most = match (at, does) {
        (_, Does::PowerLoss) => 1,
        (Spot::WalWrite, _) => 12,
        _ => 3,
    };
    Fault {
        at,
        does,
        nth: 1 + u32::try_from(random.below(most)).unwrap_or(0),
        // A process that stops again and again would need somebody to wake it.
        times: if random.once_in(5) && !matches!(does, Does::PauseAfter(_)) {
            u32::MAX
        } else {
            1
        },
    }
}

fn network_fault(random: &mut Random) -> Fault {
    let at = *random.pick(&[Spot::Send, Spot::Deliver]);
    let does = match random.below(7) {
        0 => Does::KillBefore,
        1 => Does::KillHalf,
        2 => Does::KillAfter,
        3 => Does::Fail(Errno::Io),
        4 => Does::Unacknowledged,
        5 => Does::PauseBefore(pause(random)),
        _ => Does::PauseAfter(pause(random)),
    };
    Fault::next(at, does)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_sequence_and_it_reads_back() {
        for seed in 0..400 {
            let store = if seed % 2 == 0 {
                Store::Sqlite
            } else {
                Store::Postgres
            };
            let sequence = generate(store, seed);
            assert_eq!(sequence, generate(store, seed));
            let kept = serde_json::to_string(&sequence).unwrap();
            assert_eq!(serde_json::from_str::<Sequence>(&kept).unwrap(), sequence);
        }
    }
}
