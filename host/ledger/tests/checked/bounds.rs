//! What is bounded, so that everything else can be gone through, and the faults
//! that the checker must find.

/// Ticks that a lease lasts; one tick is the third of it that the gate wants.
pub const LEASE: u8 = 3;

/// What one attempt brings.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    /// The identifier; `None` for an attempt that brings none.
    pub id: Option<u8>,
    /// The action, of which equal ones have equal bindings.
    pub action: u8,
    /// The round that it answers, with the state that the upstream issued.
    pub round: Option<u8>,
}

/// A call of one identifier.
pub fn asks(id: u8, action: u8) -> Asks {
    Asks {
        id: Some(id),
        action,
        round: None,
    }
}

/// An answer to a round of `asks(0, 0)`.
pub fn answers(round: u8) -> Asks {
    Asks {
        round: Some(round),
        ..asks(0, 0)
    }
}

/// A call without identifier.
pub const ALONE: Asks = Asks {
    id: None,
    action: 0,
    round: None,
};

/// How often what may go wrong does.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    pub replicas: u8,
    pub attempts: Vec<Asks>,
    /// The upstream may ask for another round.
    pub rounds: bool,
    /// The upstream may mint a task.
    pub tasks: bool,
    pub crashes: u8,
    pub pauses: u8,
    pub outages: u8,
    /// Connections that break between a commit and its acknowledgement.
    pub cuts: u8,
    /// Operators' resolutions and abandonments.
    pub acts: u8,
    pub fault: Option<Fault>,
}

/// What is taken out of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Neither fence nor length of the chain stand in the condition of a write.
    NoFence,
    /// The length of the chain does not stand there; owner and fence do.
    NoLength,
    /// Owner and fence do not stand there; the length of the chain does.
    OnlyLength,
    /// The gate does not look at the lease.
    NoLeaseCheck,
    /// The gate's clock stands still while the replica sleeps.
    SleepingClock,
    /// A replica may sleep for a third of a lease between the gate and the
    /// first byte. Nothing prevents it; this is the window that is documented.
    LongWindow,
    /// Row and entry are written in two transactions.
    TwoTransactions,
    /// The reservation follows the call.
    ReserveAfterInvoke,
    /// The outcome is written before the upstream answered.
    SettleBeforeAnswer,
    /// The answer is delivered before it is durable.
    DeliverBeforeSettle,
    /// A read-back that finds nothing is believed while the first commit may
    /// still happen.
    AbsentBelieved,
    /// The sweeper does not wait after its own reconnect.
    SweepAtOnce,
    /// The sweeper blocks rows and leaves their owner's lease renewable.
    SweepOnlyRows,
    /// A permit goes by the lease of whatever incarnation its process is now.
    NewestLease,
    /// An identifier whose outcome is unknown may be used again.
    ReuseUnknown,
}
