//! What is asked of the writer, and how it answers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use countersign_canon::Outcome;
use countersign_evidence::{Agent, Draft, RefusalCode};
use tokio::sync::oneshot;

use crate::attempt::{Attempt, Epochs, Position, Verdict};
use crate::error::LedgerError;
use crate::execution::Execution;
use crate::settlement::{Settled, Settlement};
use crate::token::Closed;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// What an attempt wants.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    /// The permit.
    Reserve,
    /// To be refused: by its classification, or else by this code.
    Refuse(Option<RefusalCode>),
}

/// Which execution an operator or an observer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By agent and identifier.
    Execution(Agent, countersign_evidence::ExecutionId),
    /// By the call that opened it.
    Call(countersign_evidence::CallId),
}

/// What an operator, or an observer of a task, does to an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nobody will answer the round that is awaited.
    Abandon,
    /// The task has a state that is not its last.
    TaskObserved,
    /// The task has come to its end, or its time is up.
    TaskEnded(Outcome),
    /// An operator states an outcome. The ledger itself knows whether the
    /// owning incarnation is dead.
    Resolve(Outcome),
}

/// What a system entry brings into force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InForce {
    /// Nothing: decisions stand.
    #[default]
    Unchanged,
    /// Another policy set: attempts decided under the one before are decided
    /// again.
    Policy,
    /// Another catalog.
    Catalog,
}

#[derive(Debug)]
pub(crate) enum Request {
    Attempt {
        attempt: Box<Attempt>,
        intent: Intent,
        reply: Reply<Verdict>,
    },
    Settle {
        closed: Closed,
        settlement: Settlement,
        reply: Option<Reply<Settled>>,
    },
    Append {
        draft: Box<Draft>,
        in_force: InForce,
        reply: Reply<(Position, Epochs)>,
    },
    Act {
        which: Which,
        act: Act,
        draft: Box<Draft>,
        reply: Reply<Execution>,
    },
    AcceptRollback {
        draft: Box<Draft>,
        then: Vec<(Draft, InForce)>,
        reply: Reply<(Position, Epochs)>,
    },
    Checkpoint {
        reply: Reply<u64>,
    },
}

/// An answer that is on its way. Dropping it takes nothing back; a reservation
/// that nobody receives is settled as not sent.
#[derive(Debug)]
#[must_use = "what is asked may fail"]
pub struct Pending<T> {
    inner: Answering<T>,
}

#[derive(Debug)]
enum Answering<T> {
    Waiting(oneshot::Receiver<Result<T, LedgerError>>),
    /// `None` once it was given.
    Ready(Option<Box<Result<T, LedgerError>>>),
}

impl<T> Pending<T> {
    pub(crate) fn waiting(receiver: oneshot::Receiver<Result<T, LedgerError>>) -> Self {
        Self {
            inner: Answering::Waiting(receiver),
        }
    }

    /// An answer that is there already.
    pub(crate) fn ready(answer: Result<T, LedgerError>) -> Self {
        Self {
            inner: Answering::Ready(Some(Box::new(answer))),
        }
    }

    pub(crate) fn failed(error: LedgerError) -> Self {
        Self::ready(Err(error))
    }

    /// Waits on this thread; never call it on a thread that runs async tasks.
    ///
    /// # Errors
    ///
    /// What the ledger answers; [`LedgerError::Unavailable`] where it is gone.
    pub fn wait(self) -> Result<T, LedgerError> {
        match self.inner {
            Answering::Waiting(receiver) => receiver
                .blocking_recv()
                .unwrap_or(Err(LedgerError::Unavailable)),
            Answering::Ready(answer) => {
                answer.map_or(Err(LedgerError::Unavailable), |ready| *ready)
            }
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, LedgerError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.inner {
            Answering::Waiting(receiver) => Pin::new(receiver)
                .poll(context)
                .map(|answer| answer.unwrap_or(Err(LedgerError::Unavailable))),
            Answering::Ready(answer) => Poll::Ready(
                answer
                    .take()
                    .map_or(Err(LedgerError::Unavailable), |ready| *ready),
            ),
        }
    }
}
